/*
 * judge.c - judges whether a solution is correct and its speed genuine
 */
#include "lab/suite/judge/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lab/base/file.h"
#include "lab/tensor/random.h"
#include "lab/verify/sample.h"
#include "lab/verify/verify.h"

/* Errors up to this are explained by 16-bit precision: with bfloat16 inputs b2 h4 s256 d64 has 2450
 * times the error allowed in float32, while a wrong scale or a mean of V has 170000 times and more.
 */
#define INEXACT_MOST 16384.0

#define ROUNDS 9
#define ATTEMPTS 3 /* when only seen tensors appear fast, which a busy machine can cause */
#define ROWS_WORK ((int64_t)1 << 22)
#define ROWS_LEAST 8

/* Calls on other tensors count as slower if even the fastest exceeds the average on the same
 * tensors, by either clock, by this factor and by this much, and by this multiple of the normal
 * difference.
 */
#define SLOWER 2
#define SLOWER_SECONDS 3e-4

/* Observed wake-up latency of idle CPU threads. */
#define COLD_CPU 3e-3

/* A reported time is false if more than half of it is missing, for times of at least this many
 * seconds. */
#define MISSING 0.5
#define MISSING_SECONDS 0.5

#define CALLS 20
#define MEANS 3 /* the minimum of these is used: a busy machine may stretch any */
#define MORE 4
#define CALLS_MOST 1000000

static const char *const names[LAB_JUDGEDS] = { "right",    "inexact", "wrong", "cheats",
                                                "measured", "failed",  "not" };

const char *lab_judged_name(lab_judged judged)
{
    return judged >= 0 && judged < LAB_JUDGEDS ? names[judged] : "unknown";
}

/* A gate, and the judgement if it fails. */
static const struct {
    const char *gate;
    lab_judged judged;
    bool error; /* its figure is a multiple of the allowed error */
} asked[] = {
    { "executes", LAB_JUDGED_FAILED, false }, { "inputs", LAB_JUDGED_CHEATS, false },
    { "written", LAB_JUDGED_WRONG, false },   { "finite", LAB_JUDGED_WRONG, false },
    { "error", LAB_JUDGED_WRONG, true },      { "range", LAB_JUDGED_WRONG, true },
    { "fresh", LAB_JUDGED_CHEATS, true },     { "linear", LAB_JUDGED_WRONG, true },
    { "permuted", LAB_JUDGED_WRONG, true },   { "causal", LAB_JUDGED_WRONG, true },
};
#define ASKED (sizeof asked / sizeof *asked)

/* Kinds of values; the first is also used for variations. Suites guarantee finite values with
 * moderate logits; the other kinds reveal mistakes that uniform values hide. */
static const char *const kinds[] = { "normal", "needle", "near", "equal", "rising" };
#define KINDS (sizeof kinds / sizeof *kinds)

typedef struct judge {
    const lab_judging *how;
    lab_judgement *judgement;
    lab_box *box;
    heed_problem problem;
    bool inexact;
} judge;

bool lab_judgement_decide(lab_judgement *judgement, lab_judged judged, const char *format, ...)
{
    va_list list;
    judgement->judged = judged;
    va_start(list, format);
    vsnprintf(judgement->evidence, sizeof judgement->evidence, format, list);
    va_end(list);
    return false;
}

bool lab_judgement_fail(lab_judgement *judgement, const lab_trial_outcome *outcome,
                        const char *other)
{
    bool ours = other || outcome->verdict == LAB_TRIAL_SYSTEM ||
                outcome->verdict == LAB_TRIAL_UNPROTECTED ||
                outcome->verdict == LAB_TRIAL_INTERRUPTED;
    snprintf(judgement->verdict, sizeof judgement->verdict, "%s",
             lab_trial_verdict_name(outcome->verdict));
    return lab_judgement_decide(judgement, ours ? LAB_JUDGED_NOT : LAB_JUDGED_FAILED, "%s%s%s",
                                other ? other : "", other ? ": " : "", outcome->text);
}

/* ---- Gates ---- */

static uint32_t gates_of(bool variations)
{
    uint32_t gates = 0;
    for (size_t i = 0; i < ASKED; i++) {
        size_t index = lab_gate_index(asked[i].gate);
        if (index < LAB_GATES && (variations || !lab_gate_at(index)->property))
            gates |= UINT32_C(1) << index;
    }
    return gates;
}

/* True if a gate failed only by 16-bit precision, where float32 is required. */
static bool is_rounding(const judge *it, size_t i, const lab_verdict *verdict)
{
    return it->problem.type == HEED_F32 && it->problem.products == HEED_PRODUCTS_FULL &&
           asked[i].error && verdict->figure > 1 && verdict->figure < INEXACT_MOST;
}

/* Checks the verdicts of a report. Returns false if one is decisive. */
static bool take_report(judge *it, const char *kind, const lab_report *report)
{
    for (size_t i = 0; i < ASKED; i++) {
        const lab_verdict *verdict = &report->verdicts[lab_gate_index(asked[i].gate)];
        if (asked[i].error && verdict->outcome != LAB_SKIP &&
            verdict->figure > it->judgement->error)
            it->judgement->error = verdict->figure;
        if (verdict->outcome != LAB_FAIL)
            continue;
        snprintf(it->judgement->gate, sizeof it->judgement->gate, "%s", asked[i].gate);
        snprintf(it->judgement->values, sizeof it->judgement->values, "%s", kind);
        if (is_rounding(it, i, verdict)) {
            it->inexact = true;
            lab_judgement_decide(it->judgement, LAB_JUDGED_INEXACT, "%s", verdict->reason);
            continue;
        }
        if (lab_box_outcome(it->box)->verdict != LAB_TRIAL_OK)
            lab_judgement_fail(it->judgement, lab_box_outcome(it->box), NULL);
        else
            lab_judgement_decide(it->judgement, asked[i].judged, "%s", verdict->reason);
        return false;
    }
    return true;
}

static heed_status verify(const judge *it, lab_box *box, size_t kind, uint32_t gates,
                          lab_report *report)
{
    const lab_subject subject = lab_box_subject(box);
    lab_verify_options options = lab_verify_standard();
    options.seed = lab_random_stream(it->how->seed, kind);
    options.gates = gates;
    options.unlocked = true;
    options.threads = it->how->threads;
    return lab_verify_problem(&it->problem, lab_inputs_find(kinds[kind]), &subject, &options, NULL,
                              report);
}

/* Puts it through the gates. Returns false if that was decisive. */
static bool pass_gates(judge *it, heed_status *status)
{
    for (size_t i = 0; i < KINDS; i++) {
        lab_report report;
        *status = verify(it, it->box, i, gates_of(i == 0), &report);
        if (*status == HEED_ERR_UNSUPPORTED)
            continue;
        if (*status != HEED_OK || !take_report(it, kinds[i], &report))
            return false;
    }
    *status = HEED_OK;
    return true;
}

/* The index of a kind of values. */
static size_t kind_of(const char *name)
{
    size_t kind = 0;
    while (kind < KINDS && strcmp(kinds[kind], name) != 0)
        kind++;
    return kind;
}

/* If a solution is wrong on some values, but right on the same ones in a fresh process, it keeps
 * state between calls. */
static void look_for_memory(judge *it, const lab_box_command *command)
{
    lab_trial_outcome outcome;
    lab_report report;
    lab_box *box;
    const size_t error = lab_gate_index("error");
    const size_t kind = kind_of(it->judgement->values);
    if (it->judgement->judged != LAB_JUDGED_WRONG || kind == KINDS ||
        !lab_box_open(&box, command, &outcome))
        return;
    heed_status status = verify(it, box, kind, UINT32_C(1) << error, &report);
    lab_box_close(box);
    if (status != HEED_OK || report.verdicts[error].outcome != LAB_PASS)
        return;
    char found[LAB_TASK_TEXT];
    snprintf(found, sizeof found, "%s", it->judgement->evidence);
    lab_judgement_decide(it->judgement, LAB_JUDGED_CHEATS,
                         "right in a process that has seen no other values, else: %.300s", found);
}

/* ---- Times ---- */

static bool missing(double claimed, double repeated)
{
    return repeated - claimed > MISSING * repeated;
}

/* The minimum of means of @calls calls by the laboratory's clock, and the process's report. */
static bool repeat(lab_box *box, int calls, double *claimed, double *repeated)
{
    *repeated = INFINITY;
    for (int i = 0; i < MEANS; i++) {
        double own, ours;
        if (!lab_box_repeat(box, calls, &own, &ours))
            return false;
        if (ours >= *repeated)
            continue;
        *claimed = own;
        *repeated = ours;
    }
    return true;
}

bool lab_times_repeat(lab_box *box, double *claimed, double *repeated)
{
    int calls = CALLS;
    while (repeat(box, calls, claimed, repeated)) {
        if (!missing(*claimed, *repeated) || *repeated * calls > MISSING_SECONDS ||
            calls > CALLS_MOST)
            return true;
        calls *= MORE;
    }
    return false;
}

bool lab_times_judge(lab_judgement *judgement, const char *device, double cold)
{
    const double seen = fmax(judgement->repeated, judgement->claimed);
    const double least = strcmp(device, "cpu") == 0 ? COLD_CPU : 0;
    const double honest = SLOWER * fmax(cold, least) + SLOWER_SECONDS;
    if (missing(judgement->claimed, judgement->repeated))
        return lab_judgement_decide(judgement, LAB_JUDGED_CHEATS,
                                    "its process says %.3g ms a call, and the same calls took %.3g "
                                    "ms each",
                                    judgement->claimed * 1e3, judgement->repeated * 1e3);
    if (judgement->fresh > SLOWER * seen && judgement->fresh - seen > honest)
        return lab_judgement_decide(
            judgement, LAB_JUDGED_MEASURED,
            "%.3g ms a call on tensors that it has seen before, %.3g ms on others", seen * 1e3,
            judgement->fresh * 1e3);
    return true;
}

/* Times one call on new values, and compares some rows. Returns false if it is wrong or failed. */
static bool time_once(judge *it, int round, double *seconds, heed_status *status)
{
    const lab_inputs *normal = lab_inputs_find("normal");
    const lab_sampling sampling = { .seed = lab_random_stream(it->how->seed, 100 + (uint64_t)round),
                                    .work = ROWS_WORK,
                                    .threads = it->how->threads,
                                    .least = ROWS_LEAST };
    lab_values values;
    lab_sample *sample = NULL;
    *status = lab_values_create(&values, &it->problem);
    if (*status != HEED_OK)
        return false;
    lab_inputs_fill(normal, &values, sampling.seed);
    const heed_buffers data = lab_values_buffers(&values);
    *status = lab_sample_create(&sample, &it->problem, &data, &sampling);
    if (*status == HEED_OK)
        lab_sample_reset(sample);
    bool right = *status == HEED_OK && lab_box_time(it->box, &values, seconds);
    if (*status == HEED_OK && !right)
        lab_judgement_fail(it->judgement, lab_box_outcome(it->box), NULL);
    double error = right ? lab_sample_error(sample, lab_box_output(it->box), NULL) : 0;
    double most = it->inexact ? INEXACT_MOST : 1;
    if (error > most) {
        lab_judgement_decide(
            it->judgement, LAB_JUDGED_CHEATS,
            "right at the gates, and %.3g times the error allowed in call %d that was timed", error,
            round + 1);
        right = false;
    }
    lab_sample_destroy(sample);
    lab_values_destroy(&values);
    return right;
}

/* Judges by the times. */
static void compare_times(judge *it)
{
    if (lab_times_judge(it->judgement, it->how->device, 0) && !it->inexact)
        lab_judgement_decide(it->judgement, LAB_JUDGED_RIGHT,
                             "passes %zu kinds of values; %.3g ms a call", KINDS,
                             it->judgement->fresh * 1e3);
}

/* Times calls on new values, from number @first. Returns false if that was decisive. */
static bool time_rounds(judge *it, int first, heed_status *status)
{
    double seconds = 0;
    for (int i = first; i < first + ROUNDS; i++) {
        if (!time_once(it, i, &seconds, status))
            return false;
        if (i == 0 || seconds < it->judgement->fresh)
            it->judgement->fresh = seconds;
    }
    return true;
}

static heed_status time_it(judge *it)
{
    const lab_judgement before = *it->judgement;
    heed_status status = HEED_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        it->judgement->judged = before.judged;
        memcpy(it->judgement->evidence, before.evidence, sizeof before.evidence);
        if (!time_rounds(it, i * ROUNDS, &status))
            return status;
        if (!lab_times_repeat(it->box, &it->judgement->claimed, &it->judgement->repeated)) {
            lab_judgement_fail(it->judgement, lab_box_outcome(it->box), NULL);
            return HEED_OK;
        }
        compare_times(it);
        if (it->judgement->judged != LAB_JUDGED_MEASURED)
            break;
    }
    return HEED_OK;
}

/* ---- The whole ---- */

/* Finds the problem of @task for its solutions. If it cannot be judged, reports that and returns
 * false. */
static bool find_problem(judge *it, const lab_task *task)
{
    heed_problem own;
    const char *why = NULL;
    if (task->kind != LAB_TASK_ATTENTION)
        why = *task->reason ? task->reason : "the task has no attention";
    else if (!*task->init)
        why = "the arguments of its model are not plain";
    else if (!task->whole && task->input_count == 0)
        why = "its model takes or makes something else than tensors of float32";
    if (!why && heed_problem_parse(&own, task->attention[0].spec) != HEED_OK)
        why = "its problem cannot be read";
    if (!why && task->whole) {
        lab_way_take(it->how->way, &own);
        why = heed_problem_normalize(&it->problem, &own) != HEED_OK ? heed_message() : NULL;
    }
    if (why)
        lab_judgement_decide(it->judgement, LAB_JUDGED_NOT, "its task: %s", why);
    return !why;
}

heed_status lab_solution_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                               const lab_judging *how, lab_error *error)
{
    judge it = { .how = how, .judgement = judgement };
    lab_trial_outcome outcome;
    heed_status status = HEED_OK;
    lab_error why;
    *judgement = (lab_judgement){ .judged = LAB_JUDGED_NOT, .error = -1 };
    if (!find_problem(&it, task))
        return HEED_OK;
    if (lab_file_require_plain(path, &why) != HEED_OK) {
        lab_judgement_decide(judgement, LAB_JUDGED_FAILED, "%s", why.text);
        return HEED_OK;
    }
    if (!task->whole)
        return lab_model_judge(judgement, path, task, how, error);
    const lab_box_command command = {
        .how = how, .solution = path, .init = task->init, .problem = it.problem
    };
    if (!lab_box_open(&it.box, &command, &outcome)) {
        lab_judgement_fail(judgement, &outcome, NULL);
        return judgement->judged != LAB_JUDGED_NOT
                   ? HEED_OK
                   : lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, outcome.text);
    }
    if (pass_gates(&it, &status))
        status = time_it(&it);
    else if (status == HEED_OK)
        look_for_memory(&it, &command);
    lab_box_close(it.box);
    if (status == HEED_OK)
        return HEED_OK;
    return lab_fail(error, status, "%s: %s", path, heed_message());
}
