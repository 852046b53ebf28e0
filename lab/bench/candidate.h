/*
 * candidate.h - a candidate under trial, as a subject of verification
 */
#ifndef LAB_BENCH_CANDIDATE_H
#define LAB_BENCH_CANDIDATE_H

#include "lab/trial/trial.h"
#include "lab/verify/proof.h"

typedef struct lab_bench_candidate {
    lab_trial *trial;
    const char *name;
    double seconds;            /* expected time of a run; negative: not known */
    lab_trial_outcome outcome; /* of the last step */
    lab_trial_outcome worst; /* the first that was neither LAB_TRIAL_OK nor LAB_TRIAL_UNSUPPORTED */

    /* Makes sure that candidate->trial suits @problem: code for a device is compiled for one kind
     * of problem. Returns false, with candidate->outcome, if it cannot. NULL: it always suits. */
    bool (*open)(struct lab_bench_candidate *candidate, const heed_problem *problem);
    void *data; /* of open() */
} lab_bench_candidate;

/* lab_bench_candidate_subject() returns @candidate, whose trial is open, as a subject that runs in
 * a separate process: its statuses and messages tell how that ended. The candidate must outlive it.
 */
lab_subject lab_bench_candidate_subject(lab_bench_candidate *candidate);

/* lab_bench_candidate_prove() is lab_prove() for a candidate, with an unpredictable seed, which is
 * written to *@seed. Also HEED_ERR_SYSTEM if the system has no random numbers. */
heed_status lab_bench_candidate_prove(lab_bench_candidate *candidate, const heed_problem *problem,
                                      int threads, lab_report *report, uint64_t *seed);

#endif /* LAB_BENCH_CANDIDATE_H */
