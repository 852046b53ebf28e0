/*
 * challenge.c - decides whether a challenger replaces the leaders
 */
#include "challenge.h"

#include <stdlib.h>
#include <string.h>

/* A challenge in progress. */
typedef struct challenge_run {
    const lab_challenge *it;
    lab_error *error;
    lab_bout bouts[LAB_SEARCH_SHAPES];
    lab_duel duels[LAB_ROUNDS][LAB_SEARCH_SHAPES];
    int64_t ids[LAB_SEARCH_SHAPES]; /* of the trials of the last round added */
} challenge_run;

/* ---- The earlier decision ---- */

#define DECISION "succeeds"

typedef struct decision_search {
    bool found;
    double number;
} decision_search;

static heed_status look_for(void *data, const lab_record_field *field)
{
    decision_search *it = data;
    if (strcmp(field->section, "facts") == 0 && strcmp(field->name, "value") == 0 && field->key &&
        strcmp(field->key, DECISION) == 0) {
        it->found = field->kind == LAB_RECORD_REAL || field->kind == LAB_RECORD_INTEGER;
        it->number = field->kind == LAB_RECORD_REAL ? field->real : (double)field->integer;
    }
    return HEED_OK;
}

/* The decision is with the last problem added. */
static heed_status find_decision(const lab_challenge *it, lab_challenge_result *result,
                                 lab_error *error)
{
    lab_record *record = it->session->record;
    lab_record_found found;
    decision_search decision = { .found = false };
    const lab_record_trial trial = it->trial(it->data, it->count - 1, 0);
    heed_status status = lab_record_find(record, &trial, &found, error);
    if (status == HEED_OK && found.trial)
        status = lab_record_show(record, found.trial, look_for, &decision, error);
    result->known = status == HEED_OK && decision.found;
    result->won = result->known && decision.number > 0;
    return status;
}

/* ---- Rounds on the board ---- */

/* Parts shared by all trials of a round. */
typedef struct round_words {
    bool confirmed;              /* it was not selected by these samples, and passed all gates */
    const lab_record_gate *gate; /* verdict of the gates; NULL: they were not run */
    const lab_record_fact *decision; /* or NULL */
} round_words;

static heed_status add_bout(challenge_run *all, size_t index, int round, const round_words *words)
{
    const lab_challenge *it = all->it;
    lab_entry_parts parts;
    lab_record_trial trial = it->trial(it->data, index, round);
    bool refused = words->gate && !words->gate->passed;
    trial.verdict = refused ? LAB_RECORD_WRONG : LAB_RECORD_OK;
    trial.reason = refused ? words->gate->detail : NULL;
    trial.confirmed = words->confirmed;
    trial.gates = words->gate;
    trial.gate_count = words->gate != NULL;
    trial.facts = words->decision;
    trial.fact_count = words->decision != NULL;
    heed_status status = lab_entry_take_turns(&trial, &parts, &all->duels[round][index],
                                              &all->bouts[index].compared[round],
                                              it->leader(it->data, index), it->session->cold);
    return status == HEED_OK ? lab_session_add(it->session, &trial, &all->ids[index], all->error)
                             : status;
}

static heed_status add_round(challenge_run *all, int round, const round_words *words)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < all->it->count && status == HEED_OK; i++)
        status = add_bout(all, i, round, words);
    return status;
}

/* ---- The rule ---- */

static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    challenge_run *all = data;
    *duel = &all->duels[round][index];
    return all->it->play(all->it->data, index, &options, &all->duels[round][index]);
}

static heed_status play_rounds(challenge_run *all)
{
    const lab_challenge *it = all->it;
    lab_contest contest = {
        .bouts = all->bouts, .count = it->count, .wins = it->wins, .play = play, .data = all
    };
    lab_duel_options options = { .seconds = it->seconds, .seed = it->seed };
    heed_status status = lab_contest_round(&contest, 0, &options);
    options.seed++;
    return status == HEED_OK && lab_contest_players(&contest, 1) > 0
               ? lab_contest_round(&contest, 1, &options)
               : status;
}

/* Runs the gates if it won, adds the second round to the board, and then applies the consequences.
 */
static heed_status prove(challenge_run *all, lab_challenge_result *result)
{
    const lab_challenge *it = all->it;
    bool won = lab_bout_won(&all->bouts[0]), asked = false;
    heed_status status = HEED_OK;
    result->won = won;
    if (won && it->gates)
        status = it->gates(it->judge, &result->won, &asked);
    result->refuted = won && !result->won;
    bool refused = asked && !result->won;
    const lab_record_gate gate = { .name = "verify",
                                   .passed = !refused,
                                   .detail = refused ? "it fails the gates on these problems"
                                                     : NULL,
                                   .seed = it->seed };
    const round_words words = { .confirmed = it->proved || (asked && result->won),
                                .gate = asked || it->proved ? &gate : NULL };
    if (status == HEED_OK)
        status = add_round(all, 1, &words);
    for (size_t i = 0; it->won && result->won && i < it->count && status == HEED_OK; i++)
        status = it->won(it->judge, i, &all->bouts[i].compared[1], all->ids[i], result->reason);
    return status;
}

/* Runs both rounds and the gates, and records them on the board: the decision last. */
static heed_status decide(challenge_run *all, lab_challenge_result *result)
{
    const lab_decision *decision = &all->bouts[0].decision;
    heed_status status = play_rounds(all);
    if (status != HEED_OK)
        return status;
    memcpy(result->reason, decision->reason, sizeof result->reason);
    if (all->bouts[0].rounds == LAB_ROUNDS)
        status = prove(all, result);
    const lab_record_fact fact = { .name = DECISION, .number = result->won };
    const round_words words = { .decision = &fact };
    return status == HEED_OK ? add_round(all, 0, &words) : status;
}

heed_status lab_challenge_run(const lab_challenge *it, lab_challenge_result *result,
                              lab_error *error)
{
    *result = (lab_challenge_result){ .won = false };
    heed_status status = find_decision(it, result, error);
    if (status != HEED_OK || result->known)
        return status;
    challenge_run *all = calloc(1, sizeof *all);
    if (!all)
        return HEED_ERR_NO_MEMORY;
    all->it = it;
    all->error = error;
    status = decide(all, result);
    for (size_t i = 0; i < it->count; i++)
        for (int round = 0; round < LAB_ROUNDS; round++)
            lab_duel_free(&all->duels[round][i]);
    free(all);
    return status;
}
