/*
 * own.c - heed against a user's kernel: proved first, then timed in turns
 */
#include <stdlib.h>

#include "lab/bench/match.h"
#include "lab/bench/worker.h"
#include "src/measure.h"

static bool fail(lab_bench_match *match, lab_bench_outcome outcome, const char *reason)
{
    match->outcome = outcome;
    snprintf(match->reason, sizeof match->reason, "%s", reason);
    return false;
}

/* The outcome of a process that failed: an error of the laboratory, a refusal, or else a wrong
 * kernel. */
static lab_bench_outcome outcome_of(const lab_trial_outcome *outcome)
{
    switch (outcome->verdict) {
    case LAB_TRIAL_REFUSED:
    case LAB_TRIAL_COMPILE_ERROR:
    case LAB_TRIAL_UNSUPPORTED:
        return LAB_BENCH_REFUSED;
    case LAB_TRIAL_SYSTEM:
    case LAB_TRIAL_LOST:
    case LAB_TRIAL_UNPROTECTED:
        return LAB_BENCH_FAILED;
    default:
        return LAB_BENCH_WRONG;
    }
}

/* Reports the first gate that failed, and why. */
static bool tell_gate(lab_bench_match *match, const lab_report *report)
{
    char reason[LAB_PEER_REASON_SIZE];
    for (size_t i = 0; i < LAB_GATES; i++) {
        if (report->verdicts[i].outcome != LAB_FAIL)
            continue;
        snprintf(reason, sizeof reason, "wrong, by the gate %s: %s", lab_gate_at(i)->name,
                 report->verdicts[i].reason);
        return fail(match, LAB_BENCH_WRONG, reason);
    }
    return fail(match, LAB_BENCH_REFUSED, report->verdicts[0].reason);
}

/* All gates that ranked kernels must pass. False: see @match, or *@status. */
static bool prove(const lab_bench *bench, lab_bench_match *match, const heed_problem *problem,
                  heed_status *status)
{
    lab_bench_candidate candidate = lab_bench_worker_candidate(bench->own->worker);
    lab_report *report = calloc(1, sizeof *report);
    uint64_t seed;
    *status = report ? lab_bench_candidate_prove(&candidate, problem, bench->host_threads, report,
                                                 &seed)
                     : HEED_ERR_NO_MEMORY;
    bool well = *status == HEED_OK && report->outcome == LAB_PASS;
    if (*status == HEED_OK && !well) {
        if (candidate.worst.verdict != LAB_TRIAL_OK)
            fail(match, outcome_of(&candidate.worst), candidate.worst.text);
        else
            tell_gate(match, report);
    }
    free(report);
    return well;
}

/* Makes it ready for blocks; writes the seconds of a call and of a block in all. */
static heed_status start(const lab_bench_contender *contender, const lab_bench_tensors *tensors,
                         double *seconds, double *round)
{
    heed_status status = contender->start(contender->data, tensors, seconds);
    int64_t begun = heed_clock_ns();
    if (status == HEED_OK)
        status = contender->side.fn(contender->side.data, seconds);
    *round = (double)(heed_clock_ns() - begun) * 1e-9;
    return status;
}

static heed_status take_turns(const lab_bench *bench, lab_bench_match *match,
                              lab_bench_engine *heed, double heed_seconds)
{
    lab_bench_worker *worker = bench->own->worker;
    const lab_bench_contender contender = lab_bench_worker_contender(worker);
    const lab_side other = lab_bench_process_side(&worker->process);
    double seconds = 0, round = 0;
    heed_status status = start(&contender, heed->tensors, &seconds, &round);
    if (status == HEED_OK)
        status = lab_bench_match_interleave(bench, match, heed, &other,
                                            lab_bench_engine_round(heed, heed_seconds) + round);
    match->error = worker->process.worst;
    if (status == HEED_OK)
        match->asking = lab_bench_worker_overhead(worker, match->seconds);
    else if (!heed_context_stopped(bench->context) && match->error > 1)
        fail(match, LAB_BENCH_WRONG, worker->process.outcome.text);
    else if (!heed_context_stopped(bench->context) &&
             worker->process.outcome.verdict != LAB_TRIAL_OK)
        fail(match, outcome_of(&worker->process.outcome), worker->process.outcome.text);
    return match->outcome == LAB_BENCH_OK ? status : HEED_OK;
}

/* Adds the problem to the reason. */
static void add_problem(lab_bench_match *match, const heed_problem *problem)
{
    char spec[HEED_SPEC_SIZE], reason[LAB_PEER_REASON_SIZE];
    heed_problem_print(problem, spec, sizeof spec);
    snprintf(reason, sizeof reason, "%.100s: %.*s", spec, (int)sizeof reason - 103, match->reason);
    snprintf(match->reason, sizeof match->reason, "%s", reason);
}

heed_status lab_bench_meet_own(const lab_bench *bench, lab_bench_match *match,
                               lab_bench_engine *heed, double heed_seconds)
{
    heed_status status = HEED_OK;
    match->name = bench->own->name;
    snprintf(match->method, sizeof match->method, "%.200s", bench->own->path);
    if (prove(bench, match, &heed->tensors->problem, &status))
        status = take_turns(bench, match, heed, heed_seconds);
    lab_bench_process_close(&bench->own->worker->process);
    if (match->outcome != LAB_BENCH_OK)
        add_problem(match, &heed->tensors->problem);
    return status;
}

lab_bench_outcome lab_bench_own_outcome(const lab_bench *bench)
{
    lab_bench_outcome worst = LAB_BENCH_OK;
    for (size_t i = 0; bench->own && i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        for (size_t j = 0; j < row->match_count; j++)
            if (row->matches[j].name == bench->own->name && row->matches[j].outcome > worst)
                worst = row->matches[j].outcome;
    }
    return worst;
}
