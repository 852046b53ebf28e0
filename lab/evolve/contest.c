/*
 * contest.c - contests of a challenger with the champion of an evolution or the leaders of the
 * board
 */
#include "lab/evolve/evolve.h"
#include "lab/session/challenge.h"

static heed_status play(void *data, size_t index, const lab_duel_options *options, lab_duel *duel)
{
    const lab_evolve_contest *it = data;
    const lab_challenged *leader = &it->leaders[index];
    /* Against a kernel of this process both are timed by the clock. */
    if (it->challenger->worker)
        it->challenger->worker->process.by_clock = leader->contender.side.fn ==
                                                   lab_bench_engine_block;
    return lab_sweep_play(&it->run->sweep, leader->shape, &it->challenger->contender,
                          &leader->contender, options, duel);
}

static lab_record_trial trial_of(void *data, size_t index, int round)
{
    const lab_evolve_contest *it = data;
    return it->challenger->trial(it->challenger->contender.data, it->leaders[index].shape,
                                 it->attempt + round);
}

static const char *leader_of(void *data, size_t index)
{
    const lab_evolve_contest *it = data;
    return it->leaders[index].contender.name;
}

heed_status lab_evolve_contest_run(lab_evolve_contest *it, bool *yes)
{
    lab_evolve *run = it->run;
    lab_error *trouble = &run->sweep.trouble;
    lab_challenge_result result;
    const lab_challenge challenge = { .session = &run->session,
                                      .count = it->count,
                                      .wins = run->sweep.problems.count < 2 ? 1 : 0,
                                      .seconds = run->duel,
                                      .seed = run->session.seed * 1000003 +
                                              (uint64_t)(it->challenger->number + it->attempt - 1) *
                                                  2,
                                      .proved = it->proved,
                                      .data = it,
                                      .judge = it->data,
                                      .trial = trial_of,
                                      .leader = leader_of,
                                      .play = play,
                                      .gates = it->gates,
                                      .won = it->won };
    heed_status status = lab_challenge_run(&challenge, &result, trouble);
    *yes = result.won;
    run->challenges++;
    run->refuted += result.refuted;
    if (*result.reason)
        snprintf(run->last, sizeof run->last, "%s", result.reason);
    if (status != HEED_OK && !*trouble->text && !lab_interrupted(run->sweep.sink))
        lab_fail(trouble, status, "%s: %.200s", it->challenger->contender.name, heed_message());
    return status;
}

heed_status lab_evolve_contest_champion(lab_evolve_contest *it, const lab_bench_contender *champion,
                                        bool *yes)
{
    it->attempt = 1;
    it->count = it->run->sweep.problems.count;
    for (size_t i = 0; i < it->count; i++)
        it->leaders[i] = (lab_challenged){ .shape = i, .contender = *champion };
    return lab_evolve_contest_run(it, yes);
}
