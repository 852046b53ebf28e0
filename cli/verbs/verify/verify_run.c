/*
 * verify_run.c - runs the problems of `heed verify` one after another
 */
#include <stdlib.h>
#include <string.h>

#include "cli/base/inputs.h"
#include "report/format.h"
#include "verify.h"
#include "verify/operands.h"
#include "verify/proof.h"

/* Problems with more floating-point operations or more bytes than this get normal values and one
 * other kind; smaller ones all kinds. */
#define ALL_INPUTS_FLOPS 1e8
#define ALL_INPUTS_BYTES 4e6

/* With --quick the gates for properties run on one in this many problems. */
#define QUICK_PROPERTIES 4

/* The kinds of inputs for a problem: those of --inputs; else all if it is small, without --quick;
 * else the normal ones and another kind, by @index. */
static size_t choose_inputs(const lab_inputs **list, const heed_problem *problem, size_t index,
                            const verify_wanted *wanted)
{
    size_t count = 0, kinds = 0;
    for (; count < wanted->input_count; count++)
        list[count] = wanted->inputs[count];
    if (count)
        return count;
    while (lab_inputs_at(kinds))
        kinds++;
    bool all = !wanted->quick && heed_problem_flops(problem) <= ALL_INPUTS_FLOPS &&
               heed_problem_bytes(problem) <= ALL_INPUTS_BYTES;
    for (size_t i = 0; i < kinds && count < VERIFY_INPUTS_MAX; i++)
        if (all || i == 0 || i == 1 + index % (kinds - 1))
            list[count++] = lab_inputs_at(i);
    return count;
}

/* The gates for properties, which run a kernel many times. */
static uint32_t property_gates(void)
{
    uint32_t gates = 0;
    for (size_t i = 0; lab_gate_at(i); i++)
        gates |= (uint32_t)lab_gate_at(i)->property << i;
    return gates;
}

/* On a device, several problems make one campaign, so that they share contexts, which are slow to
 * create; but problems that use much of its memory run alone. */
#define BATCH_PROBLEMS 128
#define BATCH_RESULTS 20000
#define LARGE_BYTES ((double)(1 << 30))

/* Problems of this many bytes or more have separate progress. */
#define SHOWN_BYTES 1e6

/* The options --device and --jobs for the next problems. */
typedef struct batch {
    lab_verify_case *cases;
    size_t room;
    size_t count;
    size_t problems; /* number of problems in these cases */
    bool large;
} batch;

static void show_progress(void *data, size_t done)
{
    verify_job *job = data;
    lab_progress_step(&job->batch, done, *job->on ? job->on : NULL);
}

/* Completes @campaign from the command line, runs it and adds the results. */
static cli_exit run_campaign(verify_job *job, lab_campaign *campaign)
{
    size_t count = campaign->case_count * job->contenders.count;
    lab_campaign_result *results = calloc(count, sizeof *results);
    campaign->contenders = job->contenders.items;
    campaign->contender_count = job->contenders.count;
    campaign->options = job->options;
    campaign->deadline_s = job->wanted.deadline_s;
    campaign->together = job->wanted.together;
    campaign->exact = job->wanted.exact;
    campaign->stop = cli_interrupted;
    campaign->progress = campaign->jobs > 1 || *job->on ? show_progress : NULL;
    campaign->data = job;
    heed_status status = results ? lab_campaign_run(campaign, results) : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK)
        verify_report_add(job, campaign, results);
    else
        cli_error("cannot verify: %s",
                  status == HEED_ERR_NO_MEMORY ? "not enough memory" : "no process can be started");
    free(results);
    return cli_exit_of(status);
}

/* The bytes from the first element of each tensor to its last, in total. */
static double extent(const heed_problem *problem)
{
    double bytes = 0;
    for (int role = LAB_Q; role < LAB_ROLES; role++) {
        const lab_view view = lab_view_of(problem, (lab_role)role);
        bytes += (double)lab_view_bytes(&view);
    }
    return bytes;
}

/* Shows the tensors in progress. Every kernel at every level of features runs about twenty times,
 * and each time all elements of the tensors are written, locked and compared: for large tensors
 * that takes longer than the kernels. */
static void tell_tensors(verify_job *job, const heed_problem *problem)
{
    char bytes[LAB_FORMAT_SIZE];
    const double size = extent(problem);
    job->on[0] = '\0';
    if (size > SHOWN_BYTES)
        snprintf(job->on, sizeof job->on, "kernels on tensors of %s",
                 lab_format_bytes((uint64_t)size, bytes));
}

/* Runs the cases of @next, if there are any, and empties it. */
static cli_exit run_batch(verify_job *job, batch *next)
{
    const lab_verify_case *last = next->cases + next->count - 1;
    char spec[HEED_SPEC_SIZE];
    lab_campaign campaign = { .cases = next->cases,
                              .case_count = next->count,
                              .jobs = next->large ? 1 : job->jobs };
    if (next->count == 0)
        return CLI_OK;
    heed_problem_print(&last->problem, spec, sizeof spec);
    lab_progress_step(&job->progress, job->done, spec);
    job->problems += next->problems;
    job->batch = lab_progress_start(&cli_sink, next->problems > 1 ? "this batch" : spec,
                                    next->count * job->contenders.count);
    tell_tensors(job, &last->problem);
    cli_exit code = run_campaign(job, &campaign);
    lab_progress_end(&job->batch);
    job->done += next->problems;
    next->count = next->problems = 0;
    return code;
}

static bool is_full(const verify_job *job, const batch *next, bool large)
{
    size_t problems = job->contenders.on_host && job->jobs == 1 ? 1 : BATCH_PROBLEMS;
    return next->problems >= problems || large != next->large ||
           next->count + VERIFY_INPUTS_MAX > next->room ||
           next->count * job->contenders.count > BATCH_RESULTS;
}

/* Adds the cases of a proof on @problem. */
static void add_proof(const verify_job *job, batch *next, const heed_problem *problem)
{
    const lab_proof proof = { .problem = *problem,
                              .seed = job->options.seed,
                              .sliced = !job->own.text };
    next->count += lab_proof_list(&proof, next->cases + next->count);
}

/* True for a full proof: a user's source gets all cases that ranking requires, unless options ask
 * for less. */
static bool wants_proof(const verify_job *job)
{
    bool less = job->wanted.input_count > 0 || job->wanted.quick;
    return job->wanted.proof || (job->own.text && !less);
}

static void add_kinds(const verify_job *job, batch *next, const heed_problem *problem, size_t index)
{
    const lab_inputs *inputs[VERIFY_INPUTS_MAX];
    size_t count = choose_inputs(inputs, problem, index, &job->wanted);
    bool properties = !job->wanted.quick || index % QUICK_PROPERTIES == 0;
    for (size_t i = 0; i < count; i++)
        next->cases[next->count++] = (lab_verify_case){ .problem = *problem,
                                                        .inputs = inputs[i],
                                                        .gates = properties ? UINT32_MAX
                                                                            : ~property_gates() };
}

/* Adds the cases of the @index-th problem to @next, after running those for which there is no more
 * room. */
static cli_exit add_problem(verify_job *job, batch *next, const heed_problem *problem, size_t index)
{
    bool large = extent(problem) > LARGE_BYTES;
    cli_exit code = is_full(job, next, large) ? run_batch(job, next) : CLI_OK;
    if (wants_proof(job))
        add_proof(job, next, problem);
    else
        add_kinds(job, next, problem, index);
    next->problems++;
    job->half_problems += problem->accumulate == HEED_ACC_F16;
    job->rounded_problems += problem->products != HEED_PRODUCTS_FULL;
    next->large = large;
    return code;
}

static cli_exit verify_problems(verify_job *job, const lab_problems *problems)
{
    batch next = { .room = (size_t)VERIFY_INPUTS_MAX * BATCH_PROBLEMS };
    next.cases = calloc(next.room, sizeof *next.cases);
    if (!next.cases) {
        cli_error("not enough memory for the problems");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = CLI_OK;
    job->progress = lab_progress_start(&cli_sink, "verify", problems->count);
    for (size_t i = 0; i < problems->count && code == CLI_OK && !cli_interrupted(); i++)
        code = add_problem(job, &next, &problems->items[i], i);
    if (code == CLI_OK && !cli_interrupted())
        code = run_batch(job, &next);
    lab_progress_end(&job->progress);
    free(next.cases);
    return code;
}

/* Verifies with values from files, at the strides of their order there. */
static cli_exit verify_captured(verify_job *job, const cli_args *args)
{
    lab_verify_case captured = { .inputs = &lab_inputs_captured, .gates = UINT32_MAX };
    lab_campaign campaign = { .cases = &captured, .case_count = 1 };
    lab_values values;
    cli_inputs files;
    cli_exit code = cli_inputs_read(&files, args);
    if (code == CLI_OK)
        code = cli_inputs_problem(&captured.problem, &files, args);
    if (code == CLI_OK)
        code = cli_inputs_sort(&files);
    heed_status status = HEED_OK;
    memset(&values, 0, sizeof values);
    if (code == CLI_OK)
        status = lab_values_create(&values, &captured.problem);
    if (status != HEED_OK) {
        cli_error("not enough memory for the arrays");
        code = CLI_ENVIRONMENT;
    }
    if (code == CLI_OK) {
        memcpy(lab_values_data(&values, LAB_Q), files.q.tensor.data,
               lab_tensor_bytes(&files.q.tensor));
        memcpy(lab_values_data(&values, LAB_K), files.k.tensor.data,
               lab_tensor_bytes(&files.k.tensor));
        memcpy(lab_values_data(&values, LAB_V), files.v.tensor.data,
               lab_tensor_bytes(&files.v.tensor));
        lab_operands_fill(&values, LAB_OPERANDS_FINITE, job->options.seed);
        campaign.values = &values;
        job->problems++;
        code = run_campaign(job, &campaign);
    }
    lab_values_destroy(&values);
    cli_inputs_free(&files);
    return code;
}

static bool has_captured(const verify_job *job)
{
    return job->wanted.tensors || job->wanted.q;
}

cli_exit verify_read(verify_job *job, const cli_args *args)
{
    bool specs = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    return specs || !has_captured(job) ? cli_problems_read(&job->asked, args) : CLI_OK;
}

cli_exit verify_run(verify_job *job, const cli_args *args)
{
    cli_exit code = verify_problems(job, &job->asked);
    if (code == CLI_OK && has_captured(job) && !cli_interrupted())
        code = verify_captured(job, args);
    return code;
}
