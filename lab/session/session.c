/*
 * session.c - the run of a search on the board, and measurements as its entries
 */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"

#define KEY_SIZE (LAB_RECORD_HASH_SIZE + 32)

/* The key: everything that determines a run, except its time limit. */
static heed_status make_key(const lab_session *session, const lab_session_work *work,
                            char key[KEY_SIZE])
{
    const lab_record_environment *around = &session->environment;
    char hash[LAB_RECORD_HASH_SIZE], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return HEED_ERR_NO_MEMORY;
    fprintf(stream, "%s\n%s\n%s %d\n%s\n%" PRIu64 " %d\n", work->what, session->device.name,
            around->features, around->threads, around->build, session->seed, session->cold);
    for (size_t i = 0; i < work->count; i++)
        fprintf(stream, "%s\n", work->specs + i * work->stride);
    heed_status status = fclose(stream) == 0 ? HEED_OK : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK) {
        lab_record_hash(text, size, hash);
        snprintf(key, KEY_SIZE, "%.16s %s", session->verb, hash);
    }
    free(text);
    return status;
}

heed_status lab_session_begin(lab_session *session, const lab_session_work *work, lab_error *error)
{
    char key[KEY_SIZE], command[512];
    if (make_key(session, work, key) != HEED_OK)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for %zu problems",
                        work->count);
    snprintf(command, sizeof command, "heed %s %.200s'%.200s'%s", session->verb, work->subject,
             work->specs, work->count > 1 ? " ..." : "");
    const lab_record_work run = { .key = key,
                                  .verb = session->verb,
                                  .command = command,
                                  .budget = work->budget,
                                  .seed = session->seed,
                                  .afresh = work->afresh };
    return lab_record_begin(session->record, &run, &session->run, &session->resumed, error);
}

heed_status lab_session_end(const lab_session *session, lab_record_state state, const char *note,
                            lab_error *error)
{
    return session->run > 0 ? lab_record_end(session->record, session->run, state, note, error)
                            : HEED_OK;
}

void lab_session_name_set(lab_session_name *name, const char *whole)
{
    memset(name, 0, sizeof *name);
    snprintf(name->whole, sizeof name->whole, "%s", whole);
    snprintf(name->kernel, sizeof name->kernel, "%s", whole);
    char *end = strstr(name->kernel, "__");
    name->config = end ? end + 2 : "";
    if (end)
        *end = '\0';
}

lab_record_trial lab_session_trial(const lab_session *session, const lab_session_name *name,
                                   const heed_problem *problem, int attempt)
{
    lab_record_trial trial = { .run = session->run,
                               .problem = problem,
                               .attempt = attempt,
                               .device = session->device,
                               .environment = session->environment,
                               .selftest = session->selftest,
                               .seed = session->seed };
    if (name)
        trial.candidate = (lab_record_candidate){ .kernel = name->kernel,
                                                  .config = name->config,
                                                  .proposer = session->verb,
                                                  .seed = session->seed,
                                                  .thought = *name->thought ? name->thought : NULL,
                                                  .parents = name->parents,
                                                  .parent_count = name->parent_count };
    return trial;
}

/* -------------------------------------------------------------------------- */
/* Entries                                                                    */
/* -------------------------------------------------------------------------- */

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

static lab_evaluation evaluation_of(const lab_record_found *found)
{
    return (lab_evaluation){ .state = state_of(found->verdict),
                             .seconds = found->least > 0 ? found->least : found->seconds };
}

/* -------------------------------------------------------------------------- */
/* Finding and adding                                                         */
/* -------------------------------------------------------------------------- */

static bool is_kept(const lab_session *session)
{
    return session && session->record;
}

heed_status lab_session_find(const lab_session *session, const lab_record_trial *trial,
                             lab_evaluation *result, bool *found, lab_error *error)
{
    lab_record_found there = { .trial = 0 };
    heed_status status = is_kept(session) ? lab_record_find(session->record, trial, &there, error)
                                          : HEED_OK;
    *found = status == HEED_OK && there.trial > 0;
    if (*found)
        *result = evaluation_of(&there);
    return status;
}

heed_status lab_session_add(const lab_session *session, lab_record_trial *trial, int64_t *id,
                            lab_error *error)
{
    if (!is_kept(session))
        return HEED_OK;
    const lab_floor floor = lab_roofline_floor(trial->problem, &session->ceilings);
    double least = trial->timing == LAB_RECORD_COLD ? floor.cold : floor.hot;
    if (trial->seconds > 0 && least > 0 && !(trial->of_roofline > 0))
        trial->of_roofline = least / trial->seconds;
    return lab_record_append(session->record, trial, id, error);
}
