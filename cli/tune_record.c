/*
 * tune_record.c - what `heed tune` puts on the board
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

#define RIVALS_MAX 32

lab_record_trial tune_trial(const tune_run *tune, const tune_shape *shape, const char *kernel,
                            int attempt, tune_name *name)
{
    snprintf(name->kernel, sizeof name->kernel, "%s", kernel);
    char *end = strstr(name->kernel, "__");
    name->config = end ? end + 2 : "";
    if (end)
        *end = '\0';
    return (lab_record_trial){
        .run = tune->run,
        .candidate = { .kernel = name->kernel,
                       .config = name->config,
                       .proposer = "tune",
                       .seed = tune->seed },
        .problem = &shape->source->problem,
        .attempt = attempt,
        .device = tune->place.device,
        .environment = tune->place.environment,
        .selftest = tune->selftest,
        .seed = tune->seed,
    };
}

static lab_record_timing timing_of(const tune_run *tune)
{
    return tune->bench.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
}

/* The 90th percentile of samples in any order; 0 without memory. */
static double p90_of(const double *seconds, size_t count)
{
    lab_summary summary = { 0 };
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted && count > 0) {
        memcpy(sorted, seconds, count * sizeof *sorted);
        lab_stats_summarize(sorted, count, &summary);
    }
    free(sorted);
    return summary.p90;
}

/* Only the second round may rank a kernel: nobody chose it by these samples. */
heed_status tune_add_pair(const tune_run *tune, const tune_shape *shape, int attempt, int64_t *id,
                          lab_error *error)
{
    const cli_pair *pair = attempt == TUNE_AGAIN ? &shape->again : &shape->first;
    const lab_comparison *compared = attempt == TUNE_AGAIN ? &shape->two : &shape->one;
    tune_name name;
    lab_record_trial trial = tune_trial(tune, shape, pair->planned[0], attempt, &name);
    const lab_record_comparison comparison = cli_board_comparison(compared, pair->planned[1],
                                                                  pair->seconds[1]);
    const lab_record_samples samples[2] = {
        { .against = pair->planned[1],
          .kind = timing_of(tune),
          .seconds = pair->duel.a,
          .count = pair->duel.pairs },
        { .against = pair->planned[1],
          .other = true,
          .kind = timing_of(tune),
          .seconds = pair->duel.b,
          .count = pair->duel.pairs },
    };
    bool wrong = shape->proof == TUNE_REFUTED;
    trial.verdict = wrong ? LAB_RECORD_WRONG : LAB_RECORD_OK;
    trial.reason = wrong ? shape->why : NULL;
    trial.confirmed = attempt == TUNE_AGAIN;
    trial.timing = timing_of(tune);
    trial.seconds = pair->seconds[0];
    trial.p90 = p90_of(pair->duel.a, pair->duel.pairs);
    trial.samples = samples;
    trial.sample_count = 2;
    trial.comparisons = &comparison;
    trial.comparison_count = 1;
    return lab_record_append(tune->record, &trial, id, error);
}

static lab_record_comparison rival_of(const bench_match *match)
{
    lab_record_comparison comparison = cli_board_comparison(&match->comparison, match->name,
                                                            match->seconds);
    comparison.method = *match->method ? match->method : NULL;
    if (match->outcome == BENCH_OK)
        return comparison;
    return (lab_record_comparison){ .against = match->name,
                                    .outcome = bench_outcome_name(match->outcome),
                                    .reason = *match->reason ? match->reason : NULL };
}

heed_status tune_add_row(const tune_run *tune, const tune_shape *shape, const bench_row *row,
                         int attempt, int64_t *id, lab_error *error)
{
    lab_record_comparison rivals[RIVALS_MAX];
    tune_name name;
    const lab_record_samples own = { .kind = timing_of(tune),
                                     .calls = row->calls,
                                     .seconds = row->samples,
                                     .count = (size_t)row->count };
    *id = 0;
    if (row->outcome != BENCH_OK || row->count <= 0)
        return HEED_OK;
    lab_record_trial trial = tune_trial(tune, shape, row->kernel, attempt, &name);
    for (size_t i = 0; i < row->match_count && trial.comparison_count < RIVALS_MAX; i++)
        rivals[trial.comparison_count++] = rival_of(&row->matches[i]);
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = true;
    trial.timing = timing_of(tune);
    trial.seconds = row->summary.p50;
    trial.p90 = row->summary.p90;
    trial.of_roofline = bench_of_roofline(row);
    trial.samples = &own;
    trial.sample_count = 1;
    trial.comparisons = rivals;
    return lab_record_append(tune->record, &trial, id, error);
}
