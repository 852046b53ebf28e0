/*
 * tune_time.c - how `heed tune` shares out its seconds
 */
#include <math.h>

#include "src/measure.h"
#include "tune.h"

#define NS_PER_SECOND 1e9

/* When each stage has to end, as a share of all the time. Time that one does not use goes to the
 * next ones. A third is kept for the gates: nothing is ranked or kept that did not pass them. */
static const double ends[TUNE_STAGES] = { [TUNE_BASELINES] = 0.20,
                                          [TUNE_SEARCHES] = 0.50,
                                          [TUNE_DUELS] = 0.65,
                                          [TUNE_PROOFS] = 0.85,
                                          [TUNE_AFTERWARDS] = 1.0 };

int64_t tune_until(const tune_run *tune, tune_stage stage)
{
    return tune->start_ns + (int64_t)(tune->options.seconds * ends[stage] * NS_PER_SECOND);
}

double tune_left(const tune_run *tune, tune_stage stage)
{
    return fmax((double)(tune_until(tune, stage) - heed_clock_ns()) / NS_PER_SECOND, 0);
}

int64_t tune_share(const tune_run *tune, tune_stage stage, size_t parts)
{
    int64_t now = heed_clock_ns(), left = tune_until(tune, stage) - now;
    return left <= 0 ? now : now + left / (int64_t)(parts > 0 ? parts : 1);
}

double tune_passed(const tune_run *tune)
{
    return (double)(heed_clock_ns() - tune->start_ns) / NS_PER_SECOND;
}
