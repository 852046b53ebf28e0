/*
 * evolve_contest.c - does a challenger replace the champion?
 *
 * Its first times were luck in part, being the best of many. So it meets the champion in turns on
 * every problem, and if it wins once more on fresh samples, and then it has to pass all gates.
 */
#include <stdlib.h>

#include "evolve.h"

/* A contest under way. */
typedef struct contest_run {
    const evolve_contest *it;
    lab_bout bouts[LAB_SEARCH_SHAPES];
    lab_duel duels[LAB_ROUNDS][LAB_SEARCH_SHAPES];
} contest_run;

/* Makes both ready. Two kernels of this process differ in nothing but what they compute. */
static heed_status start(const evolve_contest *it, const evolve_leader *leader, lab_side *a,
                         lab_side *b)
{
    const evolve_side *challenger = &it->challenger->side;
    sweep_run *sweep = &it->run->sweep;
    heed_status status = sweep_open_shape(sweep, &sweep->shapes[leader->shape]);
    if (status == HEED_OK)
        status = challenger->start(challenger->data, leader->shape, a);
    if (status == HEED_OK)
        status = leader->side.start(leader->side.data, leader->shape, b);
    if (status == HEED_OK && a->fn == lab_bench_engine_block && b->fn == lab_bench_engine_block)
        status = lab_bench_engine_level(a->data, b->data);
    if (it->challenger->worker) /* beside a kernel of this process both go by the clock */
        it->challenger->worker->seat.by_clock = b->fn == lab_bench_engine_block;
    return status;
}

static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    contest_run *all = data;
    const evolve_leader *leader = &all->it->leaders[index];
    lab_side a, b;
    heed_status status = start(all->it, leader, &a, &b);
    *duel = &all->duels[round][index];
    if (status == HEED_OK)
        status = lab_duel_run(&all->duels[round][index], &a, &b, &options);
    leader->side.stop(leader->side.data);
    all->it->challenger->side.stop(all->it->challenger->side.data);
    return status;
}

static lab_record_trial trial_of(const evolve_contest *it, size_t index, int round)
{
    return it->challenger->trial(it->challenger->side.data, it->leaders[index].shape,
                                 it->attempt + round);
}

static uint64_t seed_of(const evolve_contest *it)
{
    return it->run->seed * 1000003 + (uint64_t)(it->challenger->number + it->attempt - 1) * 2;
}

/* ---- On the board ---- */

/* The parts that all trials of a round have in common. */
typedef struct round_words {
    bool confirmed;                  /* nobody chose it by these samples, and it passed all gates */
    const lab_record_gate *gate;     /* what they said; NULL: they were not asked */
    const lab_record_fact *decision; /* or NULL */
} round_words;

static heed_status add_bout(const contest_run *all, size_t index, int round,
                            const round_words *words, int64_t *id)
{
    const evolve_contest *it = all->it;
    lab_entry_parts parts;
    lab_record_trial trial = trial_of(it, index, round);
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
                                              it->leaders[index].name, it->run->sweep.cold);
    return status == HEED_OK ? evolve_add(it->run, &trial, id) : status;
}

static heed_status add_round(const contest_run *all, int round, const round_words *words,
                             int64_t ids[LAB_SEARCH_SHAPES])
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < all->it->count && status == HEED_OK; i++)
        status = add_bout(all, i, round, words, &ids[i]);
    return status;
}

/* The earlier decision, if this is a run that goes on: the problem that is added last tells. */
static heed_status find_decision(const evolve_contest *it, bool *known, bool *yes)
{
    evolve_run *run = it->run;
    lab_record_found found;
    double number = 0;
    const lab_record_trial trial = trial_of(it, it->count - 1, 0);
    heed_status status = lab_record_find(run->session.record, &trial, &found, &run->trouble);
    *known = status == HEED_OK && found.trial &&
             evolve_find_number(run, found.trial, "succeeds", &number);
    *yes = number > 0;
    return status;
}

/* ---- The rule ---- */

/* The consequences of having won, before the decision is on the board. */
static heed_status tell_won(const contest_run *all, const int64_t *ids)
{
    const evolve_contest *it = all->it;
    heed_status status = HEED_OK;
    for (size_t i = 0; it->won && i < it->count && status == HEED_OK; i++)
        status = it->won(it->data, i, &all->bouts[i].compared[1], ids[i],
                         all->bouts[i].decision.reason);
    return status;
}

/* Both rounds. */
static heed_status play_rounds(contest_run *all)
{
    const evolve_contest *it = all->it;
    lab_contest contest = { .bouts = all->bouts,
                            .count = it->count,
                            .wins = it->run->sweep.problems.count < 2 ? 1 : 0,
                            .play = play,
                            .data = all };
    lab_duel_options options = { .seconds = it->run->duel, .seed = seed_of(it) };
    heed_status status = lab_contest_round(&contest, 0, &options);
    options.seed++;
    return status == HEED_OK && lab_contest_players(&contest, 1) > 0
               ? lab_contest_round(&contest, 1, &options)
               : status;
}

/* The gates, if it won, and the second round on the board. */
static heed_status prove(const contest_run *all, bool *yes, int64_t ids[LAB_SEARCH_SHAPES])
{
    const evolve_contest *it = all->it;
    bool won = lab_bout_won(&all->bouts[0]), asked = false;
    heed_status status = HEED_OK;
    *yes = won;
    if (won && it->gates)
        status = it->gates(it->data, yes, &asked);
    bool refused = asked && !*yes;
    it->run->refuted += won && !*yes;
    const lab_record_gate gate = { .name = "verify",
                                   .passed = !refused,
                                   .detail = refused ? "the gates refuse it on these problems"
                                                     : NULL,
                                   .seed = seed_of(it) };
    const round_words words = { .confirmed = it->proved || (asked && *yes),
                                .gate = asked || it->proved ? &gate : NULL };
    if (status == HEED_OK)
        status = add_round(all, 1, &words, ids);
    return status == HEED_OK && *yes ? tell_won(all, ids) : status;
}

/* Both rounds, the gates, and their traces on the board: the decision last. */
static heed_status decide(contest_run *all, bool *yes)
{
    evolve_run *run = all->it->run;
    int64_t ids[LAB_SEARCH_SHAPES] = { 0 };
    heed_status status = play_rounds(all);
    if (status != HEED_OK)
        return status;
    if (all->bouts[0].rounds == LAB_ROUNDS)
        status = prove(all, yes, ids);
    snprintf(run->last, sizeof run->last, "%s", all->bouts[0].decision.reason);
    const lab_record_fact fact = { .name = "succeeds", .number = *yes };
    const round_words words = { .decision = &fact };
    return status == HEED_OK ? add_round(all, 0, &words, ids) : status;
}

heed_status evolve_contest_run(const evolve_contest *it, bool *yes)
{
    evolve_run *run = it->run;
    bool known = false;
    *yes = false;
    heed_status status = find_decision(it, &known, yes);
    if (status != HEED_OK)
        return status;
    run->challenges++;
    if (known)
        return HEED_OK;
    contest_run *all = calloc(1, sizeof *all);
    if (!all)
        return HEED_ERR_NO_MEMORY;
    all->it = it;
    status = decide(all, yes);
    for (size_t i = 0; i < it->count; i++)
        for (int round = 0; round < LAB_ROUNDS; round++)
            lab_duel_free(&all->duels[round][i]);
    free(all);
    if (status != HEED_OK && !*run->trouble.text && !cli_interrupted())
        snprintf(run->trouble.text, sizeof run->trouble.text, "%s: %.200s", it->challenger->name,
                 heed_message());
    return status;
}

heed_status evolve_contest_champion(evolve_contest *it, const char *champion, evolve_side side,
                                    bool *yes)
{
    it->attempt = 1;
    it->count = it->run->sweep.problems.count;
    for (size_t i = 0; i < it->count; i++)
        it->leaders[i] = (evolve_leader){ .shape = i, .name = champion, .side = side };
    return evolve_contest_run(it, yes);
}
