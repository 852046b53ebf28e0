/*
 * tune_title.c - a leader of the board that cannot be planned: a user's source
 *
 * The winner of the search, or heed's plan where there is none, meets it as any champion is
 * met: FASTER by the gain that a champion needs, and that again on fresh samples; all such problems
 * are judged together, and the gates come after.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "holder.h"
#include "measure/family.h"
#include "tune.h"

#define DUEL_SHARE 0.7 /* of the time for a comparison so much is for the turns themselves */
#define DUEL_LEAST 0.01

const char *tune_contender(const tune_shape *shape)
{
    return shape->challenge.won ? shape->best : shape->champion;
}

static bool plays(const tune_shape *shape, int round)
{
    const tune_meeting *met = &shape->meeting;
    return shape->foreign && !*met->why && met->rounds == round && (round == 0 || met->won);
}

static size_t count_players(const tune_run *tune, int round)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++)
        count += plays(&tune->shapes[i], round);
    return count;
}

/* It keeps its title, for a reason. */
static void keep_title(tune_shape *shape, const char *what, const char *reason)
{
    snprintf(shape->meeting.why, sizeof shape->meeting.why, "%.60s keeps its title: %.24s%.160s",
             shape->leader.name, what, reason);
    shape->meeting.won = false;
}

/* A leader that does not do any more what it got its title for has lost it. */
static cli_exit refute(tune_run *tune, tune_shape *shape, lab_record_verdict fault,
                       const char *reason)
{
    lab_error error;
    snprintf(shape->meeting.why, sizeof shape->meeting.why, "%.60s is ranked no more: %.160s",
             shape->leader.name, reason);
    shape->meeting.won = false;
    heed_status status = lab_record_refute(tune->record, tune->run, shape->leader.trial, fault,
                                           reason, &error);
    return status == HEED_OK ? CLI_OK : cli_board_fail(status, &error);
}

/* In turns with a leader that is ready. */
static cli_exit play_pair(tune_run *tune, tune_shape *shape, int round, const cli_holder *holder,
                          const lab_duel_options *options)
{
    tune_meeting *met = &shape->meeting;
    cli_pair *pair = round ? &met->again : &met->first;
    pair->names[0] = tune_contender(shape);
    pair->names[1] = shape->leader.name;
    pair->guest = holder->guest;
    pair->maker = holder->maker;
    lab_record_now(met->times[round][0]);
    cli_exit code = cli_pair_run(pair, &tune->bench, shape->source, options);
    lab_record_now(met->times[round][1]);
    pair->guest = NULL;
    pair->maker = NULL;
    if (code != CLI_OK || pair->outcome == BENCH_OK)
        return code;
    lab_record_verdict fault = holder->guest && pair->blame == 1 ? cli_worker_fault(&holder->worker)
                                                                 : LAB_RECORD_OK;
    if (fault != LAB_RECORD_OK)
        code = refute(tune, shape, fault, holder->worker.seat.outcome.text);
    else
        keep_title(shape, pair->blame == 1 ? "it cannot be run here: " : "", pair->reason);
    return code;
}

static cli_exit play(tune_run *tune, tune_shape *shape, int round, const lab_duel_options *options)
{
    const cli_holder_place place = { .args = tune->args,
                                     .context = tune->bench.context,
                                     .device = tune->bench.device,
                                     .threads = tune->bench.host_threads,
                                     .seed = tune->seed };
    lab_error error;
    cli_exit code = CLI_OK;
    cli_holder *holder = malloc(sizeof *holder);
    if (!holder) {
        cli_error("not enough memory to meet %s", shape->leader.name);
        return CLI_ENVIRONMENT;
    }
    heed_status status = cli_holder_open(holder, &place, tune->record, shape->leader.trial,
                                         shape->leader.name, &shape->source->problem, &error);
    if (status != HEED_OK)
        code = cli_board_fail(status, &error);
    else if (*holder->why)
        keep_title(shape, "it cannot be run here: ", holder->why);
    else
        code = play_pair(tune, shape, round, holder, options);
    cli_holder_close(holder);
    free(holder);
    return cli_interrupted() ? CLI_INTERRUPTED : code;
}

/* The winner of the rounds so far. */
static void decide(tune_shape *shape, int round)
{
    tune_meeting *met = &shape->meeting;
    const lab_comparison *last = round ? &met->two : &met->one;
    const lab_decision decision = lab_champion_decide(&met->one, round ? &met->two : NULL, 1,
                                                      LAB_CHAMPION_GAIN, 1);
    met->rounds = round + 1;
    met->won = decision.succession != LAB_KEEP_CHAMPION;
    if (met->won && round == 0)
        return;
    snprintf(met->why, sizeof met->why, "%.60s is %s than %.60s%s, %.3fx [%.3f, %.3f]%s",
             tune_contender(shape), lab_compared_name(last->verdict), shape->leader.name,
             round ? " on fresh samples too" : "", last->ratio.estimate, last->ratio.low,
             last->ratio.high, met->won ? "" : ", which keeps its title");
}

static cli_exit judge(tune_run *tune, int round)
{
    const lab_rules rules = { .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
    lab_family_member *members = calloc(tune->count, sizeof *members);
    size_t count = 0;
    for (size_t i = 0; members && i < tune->count; i++) {
        tune_meeting *met = &tune->shapes[i].meeting;
        if (plays(&tune->shapes[i], round))
            members[count++] = (lab_family_member){ lab_duel_series(round ? &met->again.duel
                                                                          : &met->first.duel),
                                                    round ? &met->two : &met->one };
    }
    heed_status status = members ? lab_family_judge(members, count, &rules) : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; status == HEED_OK && i < tune->count; i++)
        if (plays(&tune->shapes[i], round))
            decide(&tune->shapes[i], round);
    free(members);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("the kernels cannot be compared: %s", heed_status_name(status));
    return cli_exit_of(status);
}

static cli_exit play_round(tune_run *tune, int round)
{
    const lab_rules rules = { .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
    size_t players = count_players(tune, round), done = 0;
    cli_exit code = CLI_OK;
    cli_progress progress = cli_progress_start("meeting leaders of the board", players);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        tune_shape *shape = &tune->shapes[i];
        if (!plays(shape, round))
            continue;
        double share = tune_left(tune, TUNE_DUELS) / (double)(players - done);
        const lab_duel_options options = { .rules = lab_family_rules(&rules, players),
                                           .seconds = fmin(tune->duel,
                                                           DUEL_SHARE * (round ? 1 : 0.5) * share),
                                           .seed = tune->seed + 2 * i + (uint64_t)round + 5000 };
        cli_progress_step(&progress, done++, shape->spec);
        if (options.seconds < DUEL_LEAST)
            keep_title(shape, "", "there was no time to meet it: see --seconds");
        else
            code = play(tune, shape, round, &options);
    }
    cli_progress_end(&progress);
    return code == CLI_OK ? judge(tune, round) : code;
}

cli_exit tune_meet_leaders(tune_run *tune)
{
    cli_exit code = CLI_OK;
    for (int round = 0; round < 2 && code == CLI_OK && count_players(tune, round) > 0; round++)
        code = play_round(tune, round);
    return code;
}
