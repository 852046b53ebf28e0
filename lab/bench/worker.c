/*
 * worker.c - blocks of a candidate in a separate process
 */
#include "lab/bench/worker.h"

#include <math.h>
#include <string.h>

#include "lab/search/declare.h"
#include "src/message.h"

/* A block lasts about this long, if memory allows enough sets. */
#define BLOCK_SECONDS 5e-3

/* Allowance for communication, which takes some 50 microseconds in addition to computing. */
#define OVERHEAD_SECONDS 100e-6

static heed_status fail(const lab_bench_worker *worker)
{
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", worker->name, worker->process.outcome.text);
}

/* Code for a device is compiled for one kind of problem. */
static bool open_cuda(lab_bench_worker *worker, const heed_problem *problem)
{
    lab_declared declared;
    lab_error error;
    lab_bench_process *process = &worker->process;
    if (lab_declare_read(worker->source, problem, &declared, &error) != HEED_OK)
        return lab_trial_outcome_set(&process->outcome, LAB_TRIAL_REFUSED, "%s", error.text);
    const lab_candidate candidate = { .name = worker->name,
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = worker->source,
                                      .source_size = strlen(worker->source),
                                      .knobs = declared.knobs,
                                      .knob_count = LAB_DECLARED_KNOBS,
                                      .launch = declared.launch };
    return lab_trial_open(&process->trial, &candidate, &process->limits, &process->outcome);
}

bool lab_bench_worker_open(lab_bench_worker *worker, const heed_problem *problem)
{
    lab_bench_process *process = &worker->process;
    bool cuda = worker->language == LAB_LANGUAGE_CUDA;
    if (process->trial && (!cuda || lab_declare_same_kind(&worker->home, problem)))
        return true;
    lab_bench_process_close(process);
    worker->home = *problem;
    worker->log[0] = '\0';
    process->limits = worker->limits;
    if (cuda ? open_cuda(worker, problem)
             : lab_bench_process_open(process, worker->name, worker->source))
        return true;
    if (process->trial && process->outcome.verdict == LAB_TRIAL_COMPILE_ERROR)
        snprintf(worker->log, sizeof worker->log, "%s", lab_trial_code(process->trial)->log);
    lab_bench_process_close(process);
    return false;
}

static bool reopen(lab_bench_candidate *candidate, const heed_problem *problem)
{
    lab_bench_worker *worker = candidate->data;
    bool well = lab_bench_worker_open(worker, problem);
    candidate->trial = worker->process.trial;
    if (!well)
        candidate->outcome = worker->process.outcome;
    return well;
}

lab_bench_candidate lab_bench_worker_candidate(lab_bench_worker *worker)
{
    return (lab_bench_candidate){ .trial = worker->process.trial,
                                  .name = worker->name,
                                  .seconds = -1,
                                  .open = reopen,
                                  .data = worker };
}

static heed_status timed_block(lab_bench_worker *worker, double *seconds)
{
    heed_status status = lab_bench_process_block(&worker->process, seconds);
    return status == HEED_OK || lab_limits_interrupted(&worker->limits) ? status : fail(worker);
}

static heed_status block(void *data, double *seconds)
{
    lab_bench_worker *worker = data;
    heed_status status = timed_block(worker, seconds);
    if (status == HEED_OK && worker->forgiven)
        *seconds *= fmax(1 - lab_bench_worker_overhead(worker, *seconds), 0.01);
    return status;
}

static heed_status renew(void *data, uint64_t common, uint64_t own)
{
    lab_bench_worker *worker = data;
    heed_status status = lab_bench_process_renew(&worker->process, common, own);
    return status == HEED_OK || lab_limits_interrupted(&worker->limits) ? status : fail(worker);
}

static heed_status start(void *data, const lab_bench_tensors *tensors, double *seconds)
{
    lab_bench_worker *worker = data;
    heed_status status = HEED_OK;
    worker->process.by_clock = !worker->beside;
    worker->process.renewed = false;
    if (!lab_bench_worker_open(worker, &tensors->problem) ||
        !lab_bench_process_take(&worker->process, tensors))
        return fail(worker);
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first call pays one-time costs */
        status = timed_block(worker, seconds);
    if (status == HEED_OK)
        lab_bench_process_size(&worker->process, *seconds, BLOCK_SECONDS);
    return status;
}

static double error(void *data)
{
    const lab_bench_worker *worker = data;
    return worker->process.worst;
}

static void stop(void *data)
{
    lab_bench_worker *worker = data;
    lab_bench_process_close(&worker->process);
}

lab_bench_contender lab_bench_worker_contender(lab_bench_worker *worker)
{
    return (lab_bench_contender){ .data = worker,
                                  .name = worker->name,
                                  .start = start,
                                  .side = { block, renew, worker },
                                  .stop = stop,
                                  .error = error };
}

lab_record_verdict lab_bench_worker_fault(const lab_bench_worker *worker)
{
    static const bool own[LAB_RECORD_VERDICTS] = {
        [LAB_RECORD_UNFIT] = true,   [LAB_RECORD_HANG] = true,      [LAB_RECORD_CRASH] = true,
        [LAB_RECORD_ACCESS] = true,  [LAB_RECORD_MEMORY] = true,    [LAB_RECORD_PROTOCOL] = true,
        [LAB_RECORD_FLOOD] = true,   [LAB_RECORD_FORK] = true,      [LAB_RECORD_FILES] = true,
        [LAB_RECORD_NETWORK] = true, [LAB_RECORD_FORBIDDEN] = true, [LAB_RECORD_EXITED] = true,
        [LAB_RECORD_OUTSIDE] = true, [LAB_RECORD_WRONG] = true,
    };
    const lab_bench_process *process = &worker->process;
    lab_record_verdict verdict = lab_record_verdict_find(
        lab_trial_verdict_name(process->outcome.verdict));
    if (lab_limits_interrupted(&worker->limits))
        return LAB_RECORD_OK;
    if (process->worst > 1)
        return LAB_RECORD_WRONG;
    return (size_t)verdict < LAB_RECORD_VERDICTS && own[verdict] ? verdict : LAB_RECORD_OK;
}

double lab_bench_worker_overhead(const lab_bench_worker *worker, double seconds)
{
    double block_seconds = seconds * worker->process.calls.count;
    return block_seconds > OVERHEAD_SECONDS ? OVERHEAD_SECONDS / block_seconds : 1;
}
