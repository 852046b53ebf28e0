/*
 * verify.c - verifies one kernel with all gates, such as one of the library
 */
#include "lab/verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/base/planner.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/reference.h"
#include "src/device.h"
#include "src/message.h"

/* Assumed operations per second of a kernel without an estimate. */
#define FLOPS_PER_SECOND 1e9

/* The most runs of a property gate. */
#define PROPERTY_RUNS 3

/* Random streams of a verification's seed. */
enum {
    STREAM_VALUES = 32,
    STREAM_ROWS,
    STREAM_CHECK
};

lab_verify_options lab_verify_standard(void)
{
    return (lab_verify_options){
        .seed = 1,
        .gates = UINT32_MAX,
        .work = (int64_t)1 << 24,
        .property_work = (int64_t)1 << 20,
        .time_limit_s = INFINITY,
        .threads = 1,
    };
}

static lab_sampling sampling_of(const lab_verify_options *options, int64_t work)
{
    return (lab_sampling){ .seed = lab_random_stream(options->seed, STREAM_ROWS),
                           .work = work,
                           .threads = options->threads,
                           .own = options->own };
}

/* ---------------------------------------------------------------------------------------------- */
/* Cases                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

const char *lab_case_absent(const heed_problem *problem, const lab_inputs *inputs)
{
    if (problem->append > 0 && problem->page > 0 && problem->pages < lab_pages_named(problem))
        return "new keys of two batch elements would share a page";
    return inputs->absent ? inputs->absent(problem) : NULL;
}

static heed_status fill(lab_case *result, const heed_problem *problem, const lab_values *values,
                        uint64_t seed)
{
    if (values)
        return lab_values_copy(&result->values, values);
    if (!result->inputs->fill || lab_case_absent(problem, result->inputs))
        return HEED_ERR_UNSUPPORTED;
    heed_status status = lab_values_create(&result->values, problem);
    if (status == HEED_OK)
        lab_inputs_fill(result->inputs, &result->values, lab_random_stream(seed, STREAM_VALUES));
    return status;
}

heed_status lab_case_create(lab_case *result, const heed_problem *problem, const lab_inputs *inputs,
                            const lab_values *values, const lab_verify_options *options)
{
    lab_sampling sampling = sampling_of(options, options->work);
    heed_problem normal;
    memset(result, 0, sizeof *result);
    heed_status status = heed_problem_normalize(&normal, problem);
    if (status != HEED_OK)
        return status;
    result->inputs = inputs;
    status = fill(result, &normal, values, options->seed);
    if (status == HEED_OK) {
        heed_buffers data = lab_values_buffers(&result->values);
        status = lab_expect_create(&result->expect, &normal, &data, &sampling);
    }
    if (status != HEED_OK)
        lab_case_destroy(result);
    return status;
}

void lab_case_destroy(lab_case *result)
{
    lab_values_destroy(&result->values);
    lab_expect_destroy(result->expect);
    for (int i = 0; i < LAB_MEMOS; i++)
        lab_expect_destroy(result->memos[i]);
    memset(result, 0, sizeof *result);
}

/* ---------------------------------------------------------------------------------------------- */
/* Gates                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Seconds that one run takes by the kernel's own estimate. */
static double estimate(const lab_needs *needs, const heed_problem *problem)
{
    return needs->seconds > 0 ? needs->seconds : heed_problem_flops(problem) / FLOPS_PER_SECOND;
}

/* Runs the subject against either wall. */
static heed_status run_twice(lab_check *check)
{
    for (int i = 0; i < 2; i++) {
        const lab_layout layout = { .edge = i ? LAB_EDGE_START : LAB_EDGE_END,
                                    .sign = i ? -1 : 1,
                                    .lse = true };
        lab_trace_step(check->trace, i ? "tensors at the start of their pages"
                                       : "tensors at the end of their pages");
        heed_status status = lab_run_create(&check->runs[i], check, check->values, layout);
        if (status != HEED_OK)
            return status;
    }
    return HEED_OK;
}

/* Property gates make their own values, so they run once only: with the normal values. */
static bool has_properties(const lab_inputs *inputs)
{
    return inputs == lab_inputs_at(0) || inputs == &lab_inputs_captured;
}

/* Returns true if the device was lost. The gate @gate then fails, and later gates cannot be
 * judged. */
static bool lost(const lab_check *check, size_t gate, lab_report *report)
{
    const lab_subject *subject = check->subject;
    report->lost = subject->lost && subject->lost(subject->data);
    if (!report->lost)
        return false;
    lab_verdict_fail(&report->verdicts[gate], -1, "the device was lost: %s", heed_message());
    for (size_t i = gate + 1; i < LAB_GATES; i++)
        lab_verdict_skip(&report->verdicts[i], "the device was lost");
    report->outcome = LAB_FAIL;
    return true;
}

static void ask_gates(const lab_check *check, const lab_verify_options *options, lab_report *report)
{
    double seconds = PROPERTY_RUNS * estimate(&check->runs[0].needs, &check->values->problem);
    for (size_t i = 1; i < LAB_GATES; i++) {
        const lab_gate *gate = lab_gate_at(i);
        lab_verdict *verdict = &report->verdicts[i];
        if (!(options->gates >> i & 1))
            lab_verdict_skip(verdict, "not asked for");
        else if (gate->property && !has_properties(check->inputs))
            lab_verdict_skip(verdict, "judged with normal values");
        else if (gate->property && seconds > options->time_limit_s)
            lab_verdict_skip(verdict, "its runs take about %.2g s", seconds);
        else
            gate->judge(check, verdict);
        if (verdict->outcome != LAB_FAIL)
            continue;
        report->outcome = LAB_FAIL;
        if (lost(check, i, report))
            return;
    }
}

/* Returns true if the subject can do the problem within the time limit; if not, the first verdict
 * has the reason. */
static bool is_feasible(const lab_check *check, const lab_verify_options *options,
                        lab_report *report)
{
    const lab_subject *subject = check->subject;
    lab_verdict *verdict = &report->verdicts[0];
    lab_needs needs = { .seconds = -1 };
    heed_status status = subject->prepare(subject->data, &check->values->problem, &needs);
    memcpy(report->name, needs.name, sizeof report->name);
    double seconds = 2 * estimate(&needs, &check->values->problem);
    if (status == HEED_ERR_UNSUPPORTED)
        lab_verdict_skip(verdict, "%s", heed_message());
    else if (status != HEED_OK && subject->run_away) /* the status of its process */
        lab_verdict_fail(verdict, -1, "%s", heed_message());
    else if (status == HEED_ERR_NO_MEMORY || status == HEED_ERR_SYSTEM)
        lab_verdict_skip_status(verdict, status);
    else if (status != HEED_OK)
        lab_verdict_fail(verdict, -1, "planning returned %s: %s", heed_status_name(status),
                         heed_message());
    else if (seconds > options->time_limit_s)
        lab_verdict_skip(verdict, "two runs take about %.2g s", seconds);
    else
        return true;
    report->outcome = verdict->outcome;
    return false;
}

void lab_case_verify(lab_case *subject_case, const lab_subject *subject,
                     const lab_verify_options *options, lab_trace *trace, lab_report *report)
{
    lab_check check = {
        .subject = subject,
        .inputs = subject_case->inputs,
        .values = &subject_case->values,
        .expect = subject_case->expect,
        .sampling = sampling_of(options, options->property_work),
        .seed = lab_random_stream(options->seed, STREAM_CHECK),
        .strict = options->strict || subject_case->values.problem.invariant,
        .lock = !options->unlocked && !subject->run_away,
        .memos = subject_case->memos,
        .trace = trace,
    };
    memset(report, 0, sizeof *report);
    report->rows = lab_rows(&check.values->problem);
    report->rows_compared = check.expect->count;
    for (size_t i = 0; i < LAB_GATES; i++)
        lab_verdict_skip(&report->verdicts[i], "the kernel did not run");
    if (!is_feasible(&check, options, report)) {
        if (report->outcome == LAB_FAIL)
            lost(&check, 0, report);
        return;
    }

    heed_status status = run_twice(&check);
    if (status == HEED_OK)
        lab_gate_executes(&check, &report->verdicts[0]);
    else
        lab_verdict_skip_status(&report->verdicts[0], status);
    report->outcome = report->verdicts[0].outcome;
    if (report->outcome == LAB_PASS)
        ask_gates(&check, options, report);
    else if (report->outcome == LAB_FAIL)
        lost(&check, 0, report);
    lab_run_destroy(&check.runs[0]);
    lab_run_destroy(&check.runs[1]);
}

heed_status lab_report_kept_by(const lab_report *report)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < LAB_GATES && status == HEED_OK; i++)
        status = report->verdicts[i].kept_by;
    return status;
}

heed_status lab_verify_problem(const heed_problem *problem, const lab_inputs *inputs,
                               const lab_subject *subject, const lab_verify_options *options,
                               lab_trace *trace, lab_report *report)
{
    lab_case subject_case;
    heed_status status = lab_case_create(&subject_case, problem, inputs, NULL, options);
    if (status == HEED_OK)
        lab_case_verify(&subject_case, subject, options, trace, report);
    if (status == HEED_OK && report->outcome != LAB_FAIL)
        status = lab_report_kept_by(report);
    lab_case_destroy(&subject_case);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */
/* A kernel of the library                                                                        */
/* ---------------------------------------------------------------------------------------------- */

static bool same_problem(const heed_problem *a, const heed_problem *b)
{
    char spec[2][HEED_SPEC_SIZE];
    heed_problem_print(a, spec[0], sizeof spec[0]);
    heed_problem_print(b, spec[1], sizeof spec[1]);
    return strcmp(spec[0], spec[1]) == 0;
}

/* The new plan is created before the old one is destroyed, so that compiled code that they share
 * stays loaded. */
static heed_status make_plan(lab_planned *planned, const heed_problem *problem)
{
    heed_plan *plan;
    if (planned->plan && same_problem(heed_plan_problem(planned->plan), problem))
        return HEED_OK;
    heed_status status = planned->kernel
                             ? heed_plan_create_named(&plan, planned->context, problem,
                                                      planned->kernel)
                             : heed_plan_create(&plan, planned->context, problem, HEED_ESTIMATE);
    lab_planned_release(planned);
    planned->plan = plan;
    return status;
}

/* The host allocates no memory for gaps that nothing touches; a device does. */
static heed_status fit_device(const lab_planned *planned, const heed_problem *problem)
{
    size_t memory = heed_device_memory(planned->context), total = 0;
    if (!planned->mirror || memory == 0)
        return HEED_OK;
    for (int role = 0; role < LAB_ROLES; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        if (__builtin_add_overflow(total, lab_view_bytes(&view), &total))
            total = SIZE_MAX;
    }
    if (total <= memory)
        return HEED_OK;
    return heed_fail(HEED_ERR_UNSUPPORTED, "the tensors take %zu MiB, the device has %zu MiB",
                     total >> 20, memory >> 20);
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    lab_planned *planned = data;
    heed_status status = fit_device(planned, problem);
    if (status == HEED_OK && planned->worthwhile && planned->kernel)
        status = heed_plan_considers_named(planned->context, problem, planned->kernel);
    if (status == HEED_OK)
        status = make_plan(planned, problem);
    if (status != HEED_OK)
        return status;
    snprintf(needs->name, sizeof needs->name, "%s", heed_plan_name(planned->plan));
    needs->workspace_size = heed_plan_workspace_size(planned->plan);
    needs->deterministic = heed_plan_deterministic(planned->plan);
    needs->seconds = lab_plan_chosen(planned->plan).predicted;
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const lab_planned *planned = data;
    return heed_execute(planned->plan, buffers);
}

/* The upload reports a device that was lost before; the download waits for all work. */
static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    const lab_planned *planned = data;
    *outcome = HEED_OK;
    heed_status status = lab_mirror_place(planned->mirror, stage);
    if (status == HEED_OK)
        status = lab_mirror_copy(planned->mirror, stage, true);
    if (status != HEED_OK && status != HEED_ERR_LOST)
        return status;
    heed_buffers buffers = lab_mirror_buffers(planned->mirror, stage);
    *outcome = status == HEED_OK ? heed_execute(planned->plan, &buffers) : status;
    if (*outcome == HEED_OK)
        *outcome = heed_device_wait(planned->context);
    return *outcome == HEED_OK ? lab_mirror_copy(planned->mirror, stage, false) : HEED_OK;
}

static bool is_lost(void *data)
{
    const lab_planned *planned = data;
    return heed_device_wait(planned->context) == HEED_ERR_LOST;
}

lab_subject lab_planned_subject(lab_planned *planned)
{
    return (lab_subject){ .data = planned,
                          .prepare = prepare,
                          .run = run,
                          .run_away = planned->mirror ? run_away : NULL,
                          .lost = is_lost };
}

void lab_planned_release(lab_planned *planned)
{
    heed_plan_destroy(planned->plan);
    planned->plan = NULL;
}
