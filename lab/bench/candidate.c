/*
 * candidate.c - a candidate under trial, as a subject of verification
 */
#include "lab/bench/candidate.h"

#include <stdio.h>

#include "lab/tensor/random.h"
#include "src/message.h"

/* The laboratory's status for a verdict. The gates find writes outside the outputs in the tensors.
 */
static heed_status status_of(lab_bench_candidate *candidate)
{
    const lab_trial_outcome *outcome = &candidate->outcome;

    if (outcome->verdict == LAB_TRIAL_OK || outcome->verdict == LAB_TRIAL_WROTE_OUTSIDE)
        return HEED_OK;
    if (outcome->verdict == LAB_TRIAL_UNSUPPORTED)
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", outcome->text);
    if (candidate->worst.verdict == LAB_TRIAL_OK)
        candidate->worst = *outcome;
    return heed_fail(HEED_ERR_DEVICE, "%s", outcome->text);
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    lab_bench_candidate *candidate = data;
    size_t workspace;

    if (candidate->worst.verdict != LAB_TRIAL_OK) /* do not let it hang again */
        return heed_fail(HEED_ERR_DEVICE, "%s", candidate->worst.text);
    if (candidate->open && !candidate->open(candidate, problem))
        return status_of(candidate);
    if (!lab_trial_prepare(candidate->trial, problem, &workspace, &candidate->outcome))
        return status_of(candidate);
    snprintf(needs->name, sizeof needs->name, "%s", candidate->name);
    needs->workspace_size = workspace;
    needs->deterministic = false; /* not a promise that can be enforced */
    needs->seconds = candidate->seconds;
    return HEED_OK;
}

static lab_span span_of(const lab_region *region)
{
    return (lab_span){ .room = region->room,
                       .room_size = region->room_size,
                       .start = region->map ? (size_t)(region->data - region->room) : 0,
                       .size = region->map ? region->size : 0 };
}

static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    lab_bench_candidate *candidate = data;
    lab_set set;

    if (candidate->worst.verdict != LAB_TRIAL_OK) {
        *outcome = heed_fail(HEED_ERR_DEVICE, "%s", candidate->worst.text);
        return HEED_OK;
    }
    for (int i = 0; i < LAB_BLOCKS; i++)
        set.span[i] = span_of(&stage->block[i].region);
    lab_trial_run(candidate->trial, &set, 1, 0, &candidate->outcome);
    *outcome = status_of(candidate);
    return HEED_OK;
}

/* Never called, as run_away() is set. */
static heed_status run(void *data, const heed_buffers *buffers)
{
    (void)data;
    (void)buffers;
    return heed_fail(HEED_ERR_INVALID, "a candidate runs in a process of its own");
}

lab_subject lab_bench_candidate_subject(lab_bench_candidate *candidate)
{
    return (lab_subject){ .data = candidate, .prepare = prepare, .run = run, .run_away = run_away };
}

heed_status lab_bench_candidate_prove(lab_bench_candidate *candidate, const heed_problem *problem,
                                      int threads, lab_report *report, uint64_t *seed)
{
    const lab_subject subject = lab_bench_candidate_subject(candidate);
    if (!lab_random_hidden(seed))
        return heed_fail(HEED_ERR_SYSTEM, "the system gives no random numbers");
    const lab_proof proof = { .problem = *problem, .seed = *seed, .threads = threads };
    return lab_prove(&proof, &subject, report);
}
