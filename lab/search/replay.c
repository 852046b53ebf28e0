/*
 * replay.c - evaluates strategies on recorded trials
 */
#include "lab/search/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"

#define SEEDS 200
#define WITHIN 0.05

typedef struct replayer {
    const lab_space *space;
    const lab_trials *trials;
    double *truth; /* by point: the score; INFINITY if something failed, NAN: not to be run */
    double limit;  /* scores up to this are good */
    double noise;
    uint64_t noise_seed;
    int64_t run_trials;        /* trials of the run so far */
    int64_t unsatisfied;       /* of them, when its best was last not good, ... */
    int64_t asked, asked_then; /* evaluations, so far and at that time */
} replayer;

/* ---- The truth ---- */

static double truth_of(const replayer *self, int64_t point)
{
    double sum = 0;
    for (int shape = 0; shape < self->trials->shape_count; shape++) {
        const lab_evaluation *answer = lab_trials_find(self->trials, point, shape, -1);
        if (!answer || answer->state == LAB_STATE_PRUNED)
            return NAN;
        if (answer->state != LAB_STATE_TIMED || !(answer->seconds > 0))
            return INFINITY;
        sum += log(answer->seconds);
    }
    return sum / self->trials->shape_count;
}

static heed_status find_truth(replayer *self, const lab_replay_options *options,
                              lab_replay_result *result, lab_error *error)
{
    double best = INFINITY;
    result->points = lab_space_count(self->space);
    self->truth = malloc((size_t)result->points * sizeof *self->truth);
    if (!self->truth)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a replay");
    for (int64_t i = 0; i < result->points; i++) {
        self->truth[i] = truth_of(self, i);
        result->runnable += !isnan(self->truth[i]);
        result->working += isfinite(self->truth[i]);
        if (isfinite(self->truth[i]))
            best = fmin(best, self->truth[i]);
    }
    if (isinf(best))
        return lab_fail(error, HEED_ERR_INVALID, "no point of %s has seconds on all shapes",
                        self->space->name);
    self->limit = best + log1p(options->within > 0 ? options->within : WITHIN);
    result->best_seconds = exp(best);
    for (int64_t i = 0; i < result->points; i++)
        result->good += self->truth[i] <= self->limit;
    return HEED_OK;
}

/* ---- The evaluator ---- */

static bool refuse(void *data, const lab_point *point, char why[LAB_WHY_SIZE])
{
    const replayer *self = data;
    if (!isnan(self->truth[lab_space_index(self->space, point)]))
        return false;
    snprintf(why, LAB_WHY_SIZE, "pruned, or not recorded");
    return true;
}

static heed_status evaluate(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result)
{
    replayer *self = data;
    int64_t index = lab_space_index(self->space, point);
    const lab_evaluation *answer = lab_trials_find(self->trials, index, shape, -1);
    (void)effort;
    self->asked++;
    if (!answer) { /* it failed on an earlier shape, or will on a later one */
        *result = (lab_evaluation){ .state = LAB_STATE_FAILED, .why = "not recorded" };
        return HEED_OK;
    }
    *result = *answer;
    uint64_t which = (uint64_t)(index * LAB_SEARCH_SHAPES + shape);
    if (self->noise > 0)
        result->seconds *= exp(self->noise * lab_random_normal(self->noise_seed, which));
    return HEED_OK;
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    replayer *self = data;
    if ((int64_t)one->trial > self->run_trials)
        self->run_trials = (int64_t)one->trial;
    if (best && self->truth[best->index] <= self->limit)
        return;
    self->unsatisfied = self->run_trials;
    self->asked_then = self->asked;
}

/* ---- Runs ---- */

/* The trials and evaluations until a run's best was good and stayed so; INFINITY if it ended with
 * one that is not. */
static heed_status play(replayer *self, const lab_replay_options *options, uint64_t seed,
                        double *needed, double *evaluations, lab_error *error)
{
    const lab_evaluator evaluator = { .data = self,
                                      .shapes = self->trials->shape_count,
                                      .efforts = 1,
                                      .evaluate = evaluate,
                                      .refuse = refuse };
    const lab_search_options search_options = { .strategy = options->strategy,
                                                .seed = seed,
                                                .trials = options->trials,
                                                .finalists = -1,
                                                .tried = tried,
                                                .data = self };
    lab_search *search;
    self->noise_seed = lab_random_stream(seed, 2);
    self->run_trials = self->unsatisfied = self->asked = self->asked_then = 0;
    heed_status status = lab_search_run(&search, self->space, &evaluator, &search_options, error);
    const lab_try *best = status == HEED_OK ? lab_search_get(search).best : NULL;
    bool good = best && self->truth[best->index] <= self->limit;
    *needed = good ? (double)self->unsatisfied + 1 : INFINITY;
    *evaluations = good ? (double)(self->asked_then + self->trials->shape_count) : INFINITY;
    lab_search_free(search);
    return status;
}

static void summarize(double *needed, double *evaluations, int runs, lab_replay_result *result)
{
    qsort(needed, (size_t)runs, sizeof *needed, lab_order_reals);
    qsort(evaluations, (size_t)runs, sizeof *evaluations, lab_order_reals);
    result->evaluations = evaluations[(runs - 1) / 2];
    result->runs = runs;
    for (int i = 0; i < runs; i++)
        result->missed += isinf(needed[i]);
    result->median = needed[(runs - 1) / 2];
    result->p90 = needed[(runs * 9 + 9) / 10 - 1];
    result->worst = needed[runs - 1];
}

heed_status lab_replay_run(const lab_space *space, const lab_trials *trials,
                           const lab_replay_options *options, lab_replay_result *result,
                           lab_error *error)
{
    replayer self = { .space = space, .trials = trials, .noise = options->noise };
    int runs = options->seeds > 0 ? options->seeds : SEEDS;
    memset(result, 0, sizeof *result);
    double *needed = calloc(2 * (size_t)runs, sizeof *needed);
    double *evaluations = needed ? needed + runs : NULL;
    heed_status status = needed ? find_truth(&self, options, result, error)
                                : lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a replay");
    for (int i = 0; i < runs && status == HEED_OK; i++)
        status = play(&self, options, options->seed + (uint64_t)i, &needed[i], &evaluations[i],
                      error);
    if (status == HEED_OK)
        summarize(needed, evaluations, runs, result);
    free(self.truth);
    free(needed);
    return status;
}
