/*
 * entry.c - measurements as entries of the board
 */
#include "entry.h"

#include "measure/stats.h"

static lab_record_timing timing_of(bool cold)
{
    return cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
}

/* ---- Duels ---- */

lab_record_comparison lab_entry_comparison(const lab_comparison *comparison, const char *against,
                                           double seconds)
{
    return (lab_record_comparison){
        .against = against,
        .outcome = "ok",
        .seconds = seconds,
        .ratio = comparison->ratio.estimate,
        .low = comparison->ratio.low,
        .high = comparison->ratio.high,
        .margin = comparison->margin,
        .verdict = lab_compared_name(comparison->verdict),
        .pairs = (int64_t)comparison->pairs,
    };
}

heed_status lab_entry_take_turns(lab_record_trial *trial, lab_entry_parts *parts,
                                 const lab_duel *duel, const lab_comparison *comparison,
                                 const char *against, bool cold)
{
    const lab_summary own = lab_stats_summary_of(duel->a, duel->pairs);
    const lab_summary other = lab_stats_summary_of(duel->b, duel->pairs);
    if (own.n != duel->pairs || other.n != duel->pairs)
        return HEED_ERR_NO_MEMORY;
    parts->samples[0] = (lab_record_samples){
        .against = against, .kind = timing_of(cold), .seconds = duel->a, .count = duel->pairs
    };
    parts->samples[1] = parts->samples[0];
    parts->samples[1].other = true;
    parts->samples[1].seconds = duel->b;
    parts->comparison = lab_entry_comparison(comparison, against, other.p50);
    trial->timing = timing_of(cold);
    trial->seconds = own.p50;
    trial->p90 = own.p90;
    trial->samples = parts->samples;
    trial->sample_count = 2;
    trial->comparisons = &parts->comparison;
    trial->comparison_count = 1;
    return HEED_OK;
}

/* ---- Evaluations ---- */

/* The board's verdict for each state of an evaluation. */
static const lab_record_verdict verdicts[LAB_STATES] = {
    [LAB_STATE_TIMED] = LAB_RECORD_OK,
    [LAB_STATE_PRUNED] = LAB_RECORD_PRUNED,
    [LAB_STATE_FAILED] = LAB_RECORD_FAILED,
    [LAB_STATE_WRONG] = LAB_RECORD_WRONG,
    [LAB_STATE_CRASHED] = LAB_RECORD_CRASH,
    [LAB_STATE_LATE] = LAB_RECORD_HANG,
    [LAB_STATE_IMPOSSIBLE] = LAB_RECORD_IMPOSSIBLE,
};

static lab_state state_of(lab_record_verdict verdict)
{
    for (int i = 0; i < LAB_STATES; i++)
        if (verdicts[i] == verdict)
            return (lab_state)i;
    return LAB_STATE_FAILED;
}

static void take_samples(lab_record_trial *trial, lab_entry_parts *parts,
                         const lab_evaluation *result)
{
    const lab_summary summary = lab_stats_summary_of(result->samples, result->sample_count);
    if (summary.n == 0)
        return;
    trial->seconds = summary.p50;
    trial->p90 = summary.p90;
    parts->samples[0] = (lab_record_samples){ .kind = trial->timing,
                                              .calls = result->calls,
                                              .seconds = result->samples,
                                              .count = result->sample_count };
    trial->samples = parts->samples;
    trial->sample_count = 1;
}

void lab_entry_take(lab_record_trial *trial, lab_entry_parts *parts, const lab_evaluation *result,
                    bool cold)
{
    bool timed = result->state == LAB_STATE_TIMED || result->state == LAB_STATE_IMPOSSIBLE;
    trial->verdict = result->state < LAB_STATES ? verdicts[result->state] : LAB_RECORD_FAILED;
    trial->reason = *result->why ? result->why : NULL;
    if (timed || result->state == LAB_STATE_WRONG) {
        parts->gate = (lab_record_gate){
            .name = "rows", .passed = timed, .detail = trial->reason, .seed = LAB_ENTRY_ROWS_SEED
        };
        trial->gates = &parts->gate;
        trial->gate_count = 1;
    }
    if (!timed)
        return;
    trial->seconds = result->seconds;
    trial->timing = timing_of(cold);
    if (result->samples)
        take_samples(trial, parts, result);
}

void lab_entry_take_confirmed(lab_record_trial *trial, lab_entry_parts *parts,
                              const lab_evaluation *result, bool cold)
{
    lab_entry_take(trial, parts, result, cold);
    trial->confirmed = result->state == LAB_STATE_TIMED;
    parts->gate = (lab_record_gate){ .name = "verify", .passed = true };
    trial->gates = &parts->gate;
    trial->gate_count = 1;
}

lab_evaluation lab_entry_evaluation(const lab_record_found *found)
{
    return (lab_evaluation){ .state = state_of(found->verdict),
                             .seconds = found->least > 0 ? found->least : found->seconds };
}
