/*
 * tune_challenge.c - the best of each search against what there was
 *
 * The times of a search chose the best, so part of them is luck. Side by side, on fresh samples, it
 * has to be FASTER by the gain that a champion needs; once more, by which nobody chose anything;
 * and it has to pass all gates. All problems are judged together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/family.h"
#include "report/format.h"
#include "tune.h"

/* Of the time for a comparison so much is for the turns themselves; less is not worth it. */
#define DUEL_SHARE 0.7
#define DUEL_LEAST 0.01

static lab_rules rules_of(void)
{
    return (lab_rules){ .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
}

static void say(tune_shape *shape, const char *why)
{
    snprintf(shape->challenge.why, sizeof shape->challenge.why, "%s", why);
}

/* -------------------------------------------------------------------------- */
/* Rounds                                                                     */
/* -------------------------------------------------------------------------- */

/* Is the shape in that round? */
static bool plays(const tune_shape *shape, int round)
{
    return *shape->best && strcmp(shape->best, shape->champion) != 0 && !shape->late &&
           shape->challenge.rounds == round && (round == 0 || shape->challenge.won);
}

static size_t count_players(const tune_run *tune, int round)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++)
        count += plays(&tune->shapes[i], round);
    return count;
}

static cli_pair *pair_of(tune_shape *shape, int round)
{
    return round ? &shape->challenge.again : &shape->challenge.first;
}

static lab_comparison *comparison_of(tune_shape *shape, int round)
{
    return round ? &shape->challenge.two : &shape->challenge.one;
}

/* There is no time for it. */
static void give_up(tune_shape *shape, int round)
{
    shape->late = true;
    shape->challenge.won = false;
    snprintf(shape->challenge.why, sizeof shape->challenge.why,
             "%.100s was found, and there was no time to %s it", shape->best,
             round ? "compare it once more" : "compare it");
}

/* Lets two kernels take turns; a kernel that fails at it has lost. */
static cli_exit play(tune_run *tune, tune_shape *shape, int round, size_t players, uint64_t seed,
                     double seconds)
{
    const lab_rules rules = rules_of();
    const lab_duel_options options = { .rules = lab_family_rules(&rules, players),
                                       .seconds = seconds,
                                       .seed = seed };
    cli_pair *pair = pair_of(shape, round);
    pair->names[0] = shape->best;
    pair->names[1] = shape->champion;
    lab_record_now(shape->challenge.times[round][0]);
    cli_exit code = cli_pair_run(pair, &tune->bench, shape->source, &options);
    lab_record_now(shape->challenge.times[round][1]);
    if (code == CLI_OK && pair->outcome != BENCH_OK) {
        lab_error error;
        const char *who = pair->blame == 1 ? shape->champion : shape->best;
        heed_status status = tune_add_broken(tune, shape, who, TUNE_BROKEN, pair->outcome,
                                             pair->reason, &error);
        if (status != HEED_OK)
            code = cli_board_fail(status, &error);
        shape->challenge.won = false;
        if (pair->outcome == BENCH_WRONG && pair->blame == 0)
            shape->proof = TUNE_REFUTED;
        say(shape, pair->reason);
        *shape->best = '\0';
    }
    return code;
}

/* The winner of the rounds so far. */
static void decide(tune_shape *shape, int round)
{
    const lab_decision decision = lab_champion_decide(
        &shape->challenge.one, round ? &shape->challenge.two : NULL, 1, LAB_CHAMPION_GAIN, 1);
    const lab_comparison *last = comparison_of(shape, round);
    shape->challenge.rounds = round + 1;
    shape->challenge.won = decision.succession != LAB_KEEP_CHAMPION;
    char interval[64] = "; too few pairs for an interval";
    if (isfinite(last->ratio.high))
        snprintf(interval, sizeof interval, " [%.3f, %.3f]", last->ratio.low, last->ratio.high);
    snprintf(shape->challenge.why, sizeof shape->challenge.why, "%.100s is %s%s, %.3fx%s%s",
             shape->best, lab_compared_name(last->verdict), round ? " on fresh samples too" : "",
             last->ratio.estimate, interval,
             shape->challenge.won ? "" : ", where a champion has to be FASTER by 3 %");
}

static cli_exit judge(tune_run *tune, int round)
{
    const lab_rules rules = rules_of();
    lab_family_member *members = calloc(tune->count, sizeof *members);
    size_t count = 0;
    for (size_t i = 0; members && i < tune->count; i++) {
        tune_shape *shape = &tune->shapes[i];
        if (plays(shape, round))
            members[count++] = (lab_family_member){ lab_duel_series(&pair_of(shape, round)->duel),
                                                    comparison_of(shape, round) };
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
    size_t players = count_players(tune, round), done = 0;
    cli_exit code = CLI_OK;
    cli_progress progress = cli_progress_start(round ? "confirming" : "comparing", players);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        if (!plays(&tune->shapes[i], round))
            continue;
        double share = tune_left(tune, TUNE_DUELS) / (double)(players - done);
        double seconds = fmin(tune->duel, DUEL_SHARE * (round ? 1 : 0.5) * share);
        cli_progress_step(&progress, done++, tune->shapes[i].spec);
        if (seconds < DUEL_LEAST)
            give_up(&tune->shapes[i], round);
        else
            code = play(tune, &tune->shapes[i], round, players,
                        tune->seed + 2 * i + (uint64_t)round + 1000, seconds);
    }
    cli_progress_end(&progress);
    return code == CLI_OK ? judge(tune, round) : code;
}

/* -------------------------------------------------------------------------- */
/* Board, wisdom                                                              */
/* -------------------------------------------------------------------------- */

/* The outcome of meeting the leader of the board. */
static heed_status record_title(tune_run *tune, tune_shape *shape, lab_error *error)
{
    int64_t id = 0;
    heed_status status = HEED_OK;
    if (shape->meeting.rounds > 0)
        status = tune_add_pair(tune, shape, TUNE_TITLE, NULL, error);
    if (status == HEED_OK && shape->meeting.rounds > 1)
        status = tune_add_pair(tune, shape, TUNE_TITLE_AGAIN, &id, error);
    if (status == HEED_OK && shape->meeting.won)
        status = lab_record_promote(tune->record, id, shape->leader.trial, shape->meeting.why,
                                    error);
    return status;
}

static heed_status record_shape(tune_run *tune, tune_shape *shape, lab_error *error)
{
    int64_t id = 0;
    heed_status status = HEED_OK;
    if (shape->challenge.rounds > 0)
        status = tune_add_pair(tune, shape, TUNE_FIRST, NULL, error);
    if (status == HEED_OK && shape->challenge.rounds > 1)
        status = tune_add_pair(tune, shape, TUNE_AGAIN, &id, error);
    if (status == HEED_OK)
        status = record_title(tune, shape, error);
    if (status != HEED_OK || !shape->challenge.won)
        return status;
    return shape->foreign
               ? HEED_OK
               : lab_record_promote(tune->record, id, shape->title, shape->challenge.why, error);
}

/* Where there is nothing to compare. */
static void explain(tune_shape *shape)
{
    if (shape->late)
        say(shape, "there was no time to search");
    else if (shape->hunt_count > 0 && !*shape->best)
        say(shape, "no point of its spaces ran");
    else if (*shape->best && strcmp(shape->best, shape->champion) == 0)
        say(shape, "the search found nothing faster");
}

cli_exit tune_challenge(tune_run *tune)
{
    lab_error error;
    for (size_t i = 0; i < tune->count; i++)
        explain(&tune->shapes[i]);
    cli_exit code = play_round(tune, 0);
    if (code == CLI_OK)
        code = play_round(tune, 1);
    for (size_t i = 0; i < tune->count; i++)
        tune->shapes[i].challenge.won &= tune->shapes[i].challenge.rounds > 1;
    if (code == CLI_OK)
        code = tune_meet_leaders(tune);
    if (code == CLI_OK)
        code = tune_prove(tune, true);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        heed_status status = record_shape(tune, &tune->shapes[i], &error);
        if (status != HEED_OK)
            code = cli_board_fail(status, &error);
    }
    return code;
}
