/*
 * replay.h - how many trials a strategy needs, found out on recorded ones, without a device
 */
#ifndef LAB_REPLAY_H
#define LAB_REPLAY_H

#include "lab/search/trials.h"

/* Zero in a field means its default. */
typedef struct lab_replay_options {
    const char *strategy;
    int seeds;      /* runs, each with another seed; default 200 */
    uint64_t seed;  /* of the first one */
    double within;  /* of the best score, as a share; default 0.05 */
    double noise;   /* standard deviation that is added to what was recorded, as a share */
    int64_t trials; /* that a run may take; default all points */
} lab_replay_options;

typedef struct lab_replay_result {
    int64_t points;   /* of the space */
    int64_t runnable; /* of them, those that were recorded and not pruned */
    int64_t working;  /* and had seconds on all shapes */
    int64_t good;     /* and are within the share of the best */
    int runs;
    int missed;                /* runs that never came within it for good */
    double median, p90, worst; /* trials until a run's best was within it, and stayed so to its end;
                                  INFINITY for a missed run */
    double evaluations;        /* on single shapes until then, in the median: the cost of a strategy
                                  that takes many points on few shapes */
    double best_seconds;       /* geometric mean over shapes, at the best point */
} lab_replay_result;

/* lab_replay_run() runs a strategy against @trials. A point without records, or that was pruned, is
 * refused beforehand and costs nothing; one that failed is a trial. A run's best point
 * is judged by the records without noise. Returns HEED_OK; HEED_ERR_INVALID if no point has seconds
 * on all shapes or an option is bad; HEED_ERR_NO_MEMORY. */
heed_status lab_replay_run(const lab_space *space, const lab_trials *trials,
                           const lab_replay_options *options, lab_replay_result *result,
                           lab_error *error);

#endif /* LAB_REPLAY_H */
