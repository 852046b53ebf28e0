/*
 * record.c - the trials that tuning adds to the board
 */
#include <math.h>
#include <string.h>

#include "lab/tune/tune.h"

#define RIVALS_MAX 32
#define FACTS_MAX 16

/* Begins a trial of @kernel, which gets that @name. */
static lab_record_trial begin_trial(const lab_tune *tune, const lab_tune_shape *shape,
                                    const char *kernel, int attempt, lab_session_name *name)
{
    lab_session_name_set(name, kernel);
    return lab_session_trial(&tune->session, name, &shape->source->problem, attempt);
}

static lab_record_timing timing_of(const lab_tune *tune)
{
    return tune->bench.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
}

/* Only the second round may rank a kernel: it was not selected by these samples. */
heed_status lab_tune_add_round(lab_tune *tune, const lab_tune_shape *shape,
                               const lab_tune_contest *contest, int round, int attempt, int64_t *id)
{
    const lab_bench_pair *pair = &contest->pairs[round];
    lab_entry_parts parts;
    lab_session_name name;
    lab_record_trial trial = begin_trial(tune, shape, pair->planned[0], attempt, &name);
    const lab_record_gate gate = { .name = "verify",
                                   .passed = shape->proven == LAB_PROVEN,
                                   .detail = shape->proven == LAB_PROVEN ? NULL
                                                                         : shape->challenge.why,
                                   .seed = tune->session.seed };
    bool wrong = shape->proven == LAB_REFUTED;
    trial.started = contest->times[round][0];
    trial.ended = contest->times[round][1];
    trial.gates = &gate;
    trial.gate_count = wrong || shape->proven == LAB_PROVEN;
    trial.verdict = wrong ? LAB_RECORD_WRONG : LAB_RECORD_OK;
    trial.reason = wrong ? shape->challenge.why : NULL;
    trial.confirmed = round > 0;
    heed_status status = lab_entry_take_turns(&trial, &parts, &pair->duel,
                                              &contest->bout.compared[round], pair->planned[1],
                                              tune->bench.cold);
    if (status != HEED_OK)
        return lab_fail(&tune->trouble, status, "no memory for a round of %s", shape->spec);
    return lab_session_add(&tune->session, &trial, id, &tune->trouble);
}

static const char *version_of(const lab_tune *tune, const char *name)
{
    for (size_t i = 0; i < tune->bench.rival_count; i++) {
        const lab_bench_rival *rival = &tune->bench.rivals[i];
        if (strcmp(rival->name, name) == 0 && rival->peer && *rival->peer->version)
            return rival->peer->version;
    }
    return NULL;
}

static lab_record_comparison rival_of(const lab_tune *tune, const lab_bench_match *match)
{
    lab_record_comparison comparison = lab_entry_comparison(&match->comparison, match->name,
                                                            match->seconds);
    comparison.version = version_of(tune, match->name);
    comparison.method = *match->method ? match->method : NULL;
    if (match->outcome == LAB_BENCH_OK)
        return comparison;
    return (lab_record_comparison){ .against = match->name,
                                    .version = comparison.version,
                                    .outcome = lab_bench_outcome_name(match->outcome),
                                    .reason = *match->reason ? match->reason : NULL };
}

/* The parts of a trial from a match with the rivals. */
typedef struct row_parts {
    lab_record_comparison rivals[RIVALS_MAX];
    lab_record_samples samples[1 + 2 * RIVALS_MAX];
    lab_record_fact facts[FACTS_MAX];
    lab_record_gate gates[2];
} row_parts;

static void add_rival(const lab_tune *tune, lab_record_trial *trial, row_parts *parts,
                      const lab_bench_match *match)
{
    lab_record_samples samples = { .against = match->name,
                                   .kind = timing_of(tune),
                                   .seconds = match->heed,
                                   .count = match->pairs };
    parts->rivals[trial->comparison_count++] = rival_of(tune, match);
    if (match->outcome != LAB_BENCH_OK || match->pairs == 0)
        return;
    parts->samples[trial->sample_count++] = samples;
    samples.other = true;
    samples.calls = match->calls;
    samples.seconds = match->other;
    parts->samples[trial->sample_count++] = samples;
}

/* Adds facts other than samples, with the same names as records of heed bench. */
static void add_facts(lab_record_trial *trial, row_parts *parts, const lab_bench_row *row)
{
    const heed_device_state *state = &row->state;
    bool replayed = row->calls > 0;
    const lab_record_fact facts[FACTS_MAX] = {
        { .name = "error", .number = row->error },
        { .name = "rows_checked", .number = (double)row->rows_checked },
        { .name = "copies", .number = (double)row->copies },
        { .name = "hot_seconds", .number = replayed ? row->hot : 0 },
        { .name = "cold_seconds", .number = replayed ? row->cold : 0 },
        { .name = "launch_seconds", .number = replayed ? row->launch : 0 },
        { .name = "eager_p50", .number = replayed ? row->eager.p50 : 0 },
        { .name = "eager_p90", .number = replayed ? row->eager.p90 : 0 },
        { .name = "sm_clock_hz", .number = replayed ? state->sm_clock_hz : 0 },
        { .name = "memory_clock_hz", .number = replayed ? state->memory_clock_hz : 0 },
        { .name = "power_w", .number = replayed ? state->power_w : 0 },
        { .name = "temperature_c", .number = replayed ? state->temperature_c : 0 },
    };
    for (size_t i = 0; i < FACTS_MAX && facts[i].name; i++)
        if (i == 0 || facts[i].number > 0)
            parts->facts[trial->fact_count++] = facts[i];
    if (replayed && *state->throttle)
        parts->facts[trial->fact_count++] = (lab_record_fact){ .name = "throttle",
                                                               .text = state->throttle };
    if (replayed && state->other_processes >= 0)
        parts->facts[trial->fact_count++] = (lab_record_fact){ .name = "other_processes",
                                                               .number = state->other_processes };
}

heed_status lab_tune_add_broken(lab_tune *tune, const lab_tune_shape *shape, const char *kernel,
                                int attempt, lab_bench_outcome outcome, const char *reason)
{
    static const lab_record_verdict verdicts[] = {
        [LAB_BENCH_OK] = LAB_RECORD_OK,           [LAB_BENCH_REFUSED] = LAB_RECORD_UNFIT,
        [LAB_BENCH_SKIPPED] = LAB_RECORD_SKIPPED, [LAB_BENCH_FAILED] = LAB_RECORD_FAILED,
        [LAB_BENCH_WRONG] = LAB_RECORD_WRONG,     [LAB_BENCH_IMPOSSIBLE] = LAB_RECORD_IMPOSSIBLE,
    };
    lab_session_name name;
    const lab_record_gate gate = { .name = "rows", .detail = reason, .seed = tune->bench.seed };
    if (!*kernel || outcome == LAB_BENCH_OK || outcome == LAB_BENCH_SKIPPED)
        return HEED_OK;
    lab_record_trial trial = begin_trial(tune, shape, kernel, attempt, &name);
    trial.verdict = verdicts[outcome];
    trial.reason = reason;
    trial.gates = &gate;
    trial.gate_count = outcome == LAB_BENCH_WRONG;
    return lab_session_add(&tune->session, &trial, NULL, &tune->trouble);
}

heed_status lab_tune_add_row(lab_tune *tune, const lab_tune_shape *shape, const lab_bench_row *row,
                             int attempt, const char *started, int64_t *id)
{
    /* This confirms the final leader if all gates let it pass; see lab_tune_prove(). */
    bool proved = (attempt == LAB_TUNE_AFTER || attempt == LAB_TUNE_PROVEN) &&
                  shape->proven == LAB_PROVEN;
    row_parts parts = { .gates = { { .name = "rows", .passed = true, .seed = tune->bench.seed },
                                   { .name = "verify", .passed = true } } };
    lab_session_name name;
    const lab_record_samples own = { .kind = timing_of(tune),
                                     .calls = row->calls,
                                     .seconds = row->samples,
                                     .count = (size_t)row->count };
    *id = 0;
    if (row->outcome != LAB_BENCH_OK || row->count <= 0)
        return lab_tune_add_broken(tune, shape, row->kernel, attempt, row->outcome, row->reason);
    lab_record_trial trial = begin_trial(tune, shape, row->kernel, attempt, &name);
    trial.started = started;
    parts.samples[trial.sample_count++] = own;
    for (size_t i = 0; i < row->match_count && trial.comparison_count < RIVALS_MAX; i++)
        add_rival(tune, &trial, &parts, &row->matches[i]);
    add_facts(&trial, &parts, row);
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = proved;
    trial.timing = timing_of(tune);
    trial.seconds = row->summary.p50;
    trial.p90 = row->summary.p90;
    trial.of_roofline = lab_bench_of_roofline(row);
    trial.samples = parts.samples;
    trial.comparisons = parts.rivals;
    trial.facts = parts.facts;
    trial.gates = parts.gates;
    trial.gate_count = proved ? 2 : 1;
    return lab_session_add(&tune->session, &trial, id, &tune->trouble);
}
