/*
 * evolve_contest.c - a challenger of an evolution meets a champion, or those who lead the board
 */
#include "evolve.h"
#include "session/challenge.h"

/* Makes both ready. Two kernels of this process differ in nothing but what they compute. */
static heed_status start(const evolve_contest *it, const evolve_leader *leader, lab_side *a,
                         lab_side *b)
{
    const evolve_side *challenger = &it->challenger->side;
    lab_sweep *sweep = &it->run->sweep;
    heed_status status = lab_sweep_open_shape(sweep, &sweep->shapes[leader->shape]);
    if (status == HEED_OK)
        status = challenger->start(challenger->data, leader->shape, a);
    if (status == HEED_OK)
        status = leader->side.start(leader->side.data, leader->shape, b);
    if (status == HEED_OK && a->fn == lab_bench_engine_block && b->fn == lab_bench_engine_block)
        status = lab_bench_engine_level(a->data, b->data);
    /* Beside a kernel of this process both go by the clock. */
    if (status == HEED_OK && it->challenger->worker)
        it->challenger->worker->process.by_clock = b->fn == lab_bench_engine_block;
    return status;
}

static heed_status play(void *data, size_t index, const lab_duel_options *options, lab_duel *duel)
{
    const evolve_contest *it = data;
    const evolve_leader *leader = &it->leaders[index];
    lab_side a, b;
    heed_status status = start(it, leader, &a, &b);
    if (status == HEED_OK)
        status = lab_duel_run(duel, &a, &b, options);
    leader->side.stop(leader->side.data);
    it->challenger->side.stop(it->challenger->side.data);
    return status;
}

static lab_record_trial trial_of(void *data, size_t index, int round)
{
    const evolve_contest *it = data;
    return it->challenger->trial(it->challenger->side.data, it->leaders[index].shape,
                                 it->attempt + round);
}

static const char *leader_of(void *data, size_t index)
{
    const evolve_contest *it = data;
    return it->leaders[index].name;
}

static heed_status ask_gates(void *data, bool *yes, bool *asked)
{
    const evolve_contest *it = data;
    return it->gates ? it->gates(it->data, yes, asked) : HEED_OK;
}

static heed_status tell_won(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                            const char *reason)
{
    const evolve_contest *it = data;
    return it->won ? it->won(it->data, index, fresh, trial, reason) : HEED_OK;
}

heed_status evolve_contest_run(evolve_contest *it, bool *yes)
{
    evolve_run *run = it->run;
    lab_challenge_result result;
    const lab_challenge challenge = {
        .session = &run->session,
        .count = it->count,
        .wins = run->sweep.problems.count < 2 ? 1 : 0,
        .seconds = run->duel,
        .seed = run->seed * 1000003 + (uint64_t)(it->challenger->number + it->attempt - 1) * 2,
        .proved = it->proved,
        .data = it,
        .trial = trial_of,
        .leader = leader_of,
        .play = play,
        .gates = ask_gates,
        .won = tell_won
    };
    heed_status status = lab_challenge_run(&challenge, &result, &run->trouble);
    *yes = result.won;
    run->challenges++;
    run->refuted += result.refuted;
    if (*result.reason)
        snprintf(run->last, sizeof run->last, "%s", result.reason);
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
