/*
 * replay.h - measures on recorded trials, without a device, how many trials a strategy needs
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
    double noise;   /* standard deviation of noise added to recorded times, as a share */
    int64_t trials; /* maximum per run; default all points */
} lab_replay_options;

typedef struct lab_replay_result {
    int64_t points;   /* of the space */
    int64_t runnable; /* of these: recorded and not pruned */
    int64_t working;  /* of these: with seconds on all shapes */
    int64_t good;     /* of these: within the share of the best */
    int runs;
    int missed;                /* runs whose final best was not good */
    double median, p90, worst; /* trials until a run's best was good, and stayed so to the end;
                                  INFINITY for a missed run */
    double evaluations; /* median of evaluations on single shapes until then: the cost of a strategy
                           that tries many points on few shapes */
    double best_seconds; /* geometric mean over shapes, at the best point */
} lab_replay_result;

/* lab_replay_run() runs a strategy against @trials. A point that was pruned or has no records is
 * refused in advance and costs nothing; a failed one is a trial. A run's best point is judged by
 * the recorded times without noise. Returns HEED_OK; HEED_ERR_INVALID if no point has seconds on
 * all shapes or an option is bad; HEED_ERR_NO_MEMORY. */
heed_status lab_replay_run(const lab_space *space, const lab_trials *trials,
                           const lab_replay_options *options, lab_replay_result *result,
                           lab_error *error);

#endif /* LAB_REPLAY_H */
