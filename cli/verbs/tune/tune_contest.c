/*
 * tune_contest.c - the best of each search against the kernel that was there before
 *
 * The times of a search chose the best, so part of them is luck. Side by side, on fresh samples, it
 * has to be FASTER by the gain that a champion needs; once more, by which nobody chose anything;
 * and it has to pass all gates. All problems are judged together.
 *
 * A leader of the board that cannot be planned, a user's source, is met in the same way, by the
 * winner of the first contest or by heed's plan where there is none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "tune.h"

/* Of the time for a comparison so much is for the turns themselves; less is not worth it. */
#define DUEL_SHARE 0.7
#define DUEL_LEAST 0.01

/* Every problem has two contests: with its champion, or with the @lead of the board. */
static tune_contest *contest_of(tune_shape *shape, bool lead)
{
    return lead ? &shape->lead : &shape->challenge;
}

/* Is there something to compare? */
static bool is_wanted(const tune_shape *shape, bool lead)
{
    return lead ? shape->foreign
                : *shape->best && strcmp(shape->best, shape->champion) != 0 && !shape->late;
}

const char *tune_contender(const tune_shape *shape)
{
    return shape->challenge.won ? shape->best : shape->champion;
}

/* Lets the two of @pair take turns, and notes when. */
static cli_exit take_turns(tune_run *tune, const tune_shape *shape, tune_contest *contest,
                           int round, const lab_duel_options *options)
{
    lab_record_now(contest->times[round][0]);
    cli_exit code = bench_exit_of_work(
        lab_bench_pair_run(&contest->pairs[round], &tune->bench, shape->source, options));
    lab_record_now(contest->times[round][1]);
    return code;
}

/* -------------------------------------------------------------------------- */
/* With the champion                                                          */
/* -------------------------------------------------------------------------- */

static void say(tune_shape *shape, const char *why)
{
    snprintf(shape->challenge.why, sizeof shape->challenge.why, "%s", why);
}

/* A kernel that fails at it has lost. */
static cli_exit play_champion(tune_run *tune, tune_shape *shape, int round,
                              const lab_duel_options *options)
{
    lab_error error;
    lab_bench_pair *pair = &shape->challenge.pairs[round];
    pair->names[0] = shape->best;
    pair->names[1] = shape->champion;
    cli_exit code = take_turns(tune, shape, &shape->challenge, round, options);
    if (code != CLI_OK || pair->outcome == LAB_BENCH_OK)
        return code;
    heed_status status = tune_add_broken(tune, shape, pair->names[pair->blame == 1], TUNE_BROKEN,
                                         pair->outcome, pair->reason, &error);
    if (pair->outcome == LAB_BENCH_WRONG && pair->blame == 0)
        shape->proof = TUNE_REFUTED;
    say(shape, pair->reason);
    *shape->best = '\0';
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static void explain_challenge(tune_shape *shape)
{
    const lab_bout *bout = &shape->challenge.bout;
    const lab_comparison *last = &bout->compared[bout->rounds - 1];
    char interval[64] = "; too few pairs for an interval";
    if (isfinite(last->ratio.high))
        snprintf(interval, sizeof interval, " [%.3f, %.3f]", last->ratio.low, last->ratio.high);
    snprintf(shape->challenge.why, sizeof shape->challenge.why, "%.100s is %s%s, %.3fx%s%s",
             shape->best, lab_compared_name(last->verdict),
             bout->rounds > 1 ? " on fresh samples too" : "", last->ratio.estimate, interval,
             bout->decision.ahead ? "" : ", where a champion has to be FASTER by 3 %");
}

/* -------------------------------------------------------------------------- */
/* With a leader of the board that cannot be planned                          */
/* -------------------------------------------------------------------------- */

/* The leader stays, for a reason. */
static void keep_leader(tune_shape *shape, const char *what, const char *reason)
{
    snprintf(shape->lead.why, sizeof shape->lead.why, "%.60s stays leader: %.24s%.160s",
             shape->leader.name, what, reason);
}

/* A leader that no longer does what made it leader loses its place. */
static cli_exit refute(tune_run *tune, tune_shape *shape, lab_record_verdict fault,
                       const char *reason)
{
    lab_error error;
    snprintf(shape->lead.why, sizeof shape->lead.why, "%.60s is ranked no more: %.160s",
             shape->leader.name, reason);
    heed_status status = lab_record_refute(tune->session.record, tune->session.run,
                                           shape->leader.trial, fault, reason, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

/* In turns with a leader that is ready. */
static cli_exit play_ready(tune_run *tune, tune_shape *shape, int round, const lab_rerun *leader,
                           const lab_duel_options *options)
{
    lab_bench_pair *pair = &shape->lead.pairs[round];
    pair->names[0] = tune_contender(shape);
    pair->names[1] = shape->leader.name;
    pair->guest = leader->guest;
    pair->maker = leader->maker;
    cli_exit code = take_turns(tune, shape, &shape->lead, round, options);
    pair->guest = NULL;
    pair->maker = NULL;
    if (code != CLI_OK || pair->outcome == LAB_BENCH_OK)
        return code;
    lab_record_verdict fault = leader->guest && pair->blame == 1
                                   ? lab_bench_worker_fault(&leader->worker)
                                   : LAB_RECORD_OK;
    if (fault != LAB_RECORD_OK)
        return refute(tune, shape, fault, leader->worker.process.outcome.text);
    keep_leader(shape, pair->blame == 1 ? "it cannot be run here: " : "", pair->reason);
    return CLI_OK;
}

static cli_exit play_leader(tune_run *tune, tune_shape *shape, int round,
                            const lab_duel_options *options)
{
    lab_error error;
    cli_exit code = CLI_OK;
    lab_rerun *leader = malloc(sizeof *leader);
    if (!leader) {
        cli_error("not enough memory to meet %s", shape->leader.name);
        return CLI_ENVIRONMENT;
    }
    heed_status status = lab_rerun_open(leader, &tune->rerun, tune->session.record,
                                        shape->leader.trial, shape->leader.name,
                                        &shape->source->problem, &error);
    if (status != HEED_OK)
        code = cli_fail_error(status, &error);
    else if (*leader->why)
        keep_leader(shape, "it cannot be run here: ", leader->why);
    else
        code = play_ready(tune, shape, round, leader, options);
    lab_rerun_close(leader);
    free(leader);
    return cli_interrupted() ? CLI_INTERRUPTED : code;
}

static void explain_lead(tune_shape *shape)
{
    const lab_bout *bout = &shape->lead.bout;
    const lab_comparison *last = &bout->compared[bout->rounds - 1];
    snprintf(shape->lead.why, sizeof shape->lead.why,
             "%.60s is %s than %.60s%s, %.3fx [%.3f, %.3f]%s", tune_contender(shape),
             lab_compared_name(last->verdict), shape->leader.name,
             bout->rounds > 1 ? " on fresh samples too" : "", last->ratio.estimate, last->ratio.low,
             last->ratio.high, bout->decision.ahead ? "" : ", which stays leader");
}

/* -------------------------------------------------------------------------- */
/* Rounds                                                                     */
/* -------------------------------------------------------------------------- */

/* A contest under way. */
typedef struct contest_run {
    tune_run *tune;
    bool lead;
    lab_progress progress;
    size_t players, done; /* of the round */
    cli_exit code;
} contest_run;

/* There is no time for a round. */
static void give_up(tune_shape *shape, bool lead, int round)
{
    if (lead) {
        keep_leader(shape, "", "there was no time to meet it: see --seconds");
        return;
    }
    shape->late = true;
    snprintf(shape->challenge.why, sizeof shape->challenge.why,
             "%.100s was found, and there was no time to %s it", shape->best,
             round ? "compare it once more" : "compare it");
}

static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    contest_run *it = data;
    tune_shape *shape = &it->tune->shapes[index];
    const lab_bench_pair *pair = &contest_of(shape, it->lead)->pairs[round];
    double share = tune_left(it->tune, TUNE_DUELS) / (double)(it->players - it->done);
    options.seconds = fmin(it->tune->duel, DUEL_SHARE * (round ? 1 : 0.5) * share);
    lab_progress_step(&it->progress, it->done++, shape->spec);
    if (options.seconds < DUEL_LEAST) {
        give_up(shape, it->lead, round);
        return HEED_OK;
    }
    it->code = it->lead ? play_leader(it->tune, shape, round, &options)
                        : play_champion(it->tune, shape, round, &options);
    if (it->code == CLI_OK && pair->outcome == LAB_BENCH_OK)
        *duel = &pair->duel;
    return it->code == CLI_OK ? HEED_OK : HEED_ERR_SYSTEM;
}

/* Both rounds, as far as there are challengers that won the first one. */
static cli_exit play_rounds(contest_run *it, lab_contest *contest)
{
    heed_status status = HEED_OK;
    for (int round = 0; round < LAB_ROUNDS && status == HEED_OK; round++) {
        const lab_duel_options options = { .seed = it->tune->options.seed +
                                                   (it->lead ? 5000 : 1000) + (uint64_t)round };
        it->players = lab_contest_players(contest, round);
        it->done = 0;
        it->progress = lab_progress_start(&cli_sink,
                                          it->lead ? "meeting leaders of the board"
                                          : round  ? "confirming"
                                                   : "comparing",
                                          it->players);
        status = lab_contest_round(contest, round, &options);
        lab_progress_end(&it->progress);
    }
    if (status != HEED_OK && it->code == CLI_OK) {
        cli_error("the kernels cannot be compared: %s", heed_status_name(status));
        return cli_exit_of(status);
    }
    return it->code;
}

static cli_exit hold(tune_run *tune, bool lead)
{
    contest_run it = { .tune = tune, .lead = lead };
    lab_contest contest = { .bouts = calloc(tune->count, sizeof *contest.bouts),
                            .count = tune->count,
                            .each = true,
                            .play = play,
                            .data = &it };
    if (!contest.bouts) {
        cli_error("not enough memory to compare kernels");
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < tune->count; i++)
        contest.bouts[i].out = !is_wanted(&tune->shapes[i], lead);
    cli_exit code = play_rounds(&it, &contest);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        tune_contest *one = contest_of(&tune->shapes[i], lead);
        one->bout = contest.bouts[i];
        one->won = lab_bout_won(&one->bout);
        if (!one->bout.out)
            (lead ? explain_lead : explain_challenge)(&tune->shapes[i]);
    }
    free(contest.bouts);
    return code;
}

/* -------------------------------------------------------------------------- */
/* Board                                                                      */
/* -------------------------------------------------------------------------- */

/* Adds the rounds of a contest: the first one has the number @attempt; *@id is that of the second
 * one. */
static heed_status record_rounds(tune_run *tune, tune_shape *shape, const tune_contest *contest,
                                 int attempt, int64_t *id, lab_error *error)
{
    heed_status status = HEED_OK;
    for (int round = 0; round < contest->bout.rounds && status == HEED_OK; round++)
        status = tune_add_round(tune, shape, contest, round, attempt + round, id, error);
    return status;
}

static heed_status record_shape(tune_run *tune, tune_shape *shape, lab_error *error)
{
    int64_t id = 0, lead = 0;
    heed_status status = record_rounds(tune, shape, &shape->challenge, TUNE_FIRST, &id, error);
    if (status == HEED_OK)
        status = record_rounds(tune, shape, &shape->lead, TUNE_LEAD, &lead, error);
    if (status == HEED_OK && shape->lead.won)
        status = lab_record_promote(tune->session.record, lead, shape->leader.trial,
                                    shape->lead.why, error);
    if (status == HEED_OK && shape->challenge.won && !shape->foreign)
        status = lab_record_promote(tune->session.record, id, shape->promoted, shape->challenge.why,
                                    error);
    return status;
}

/* Where there is nothing to compare. */
static void explain(tune_shape *shape)
{
    if (shape->late)
        say(shape, "there was no time to search");
    else if (shape->space_count > 0 && !*shape->best)
        say(shape, "no point of its spaces ran");
    else if (*shape->best && strcmp(shape->best, shape->champion) == 0)
        say(shape, "the search found nothing faster");
}

cli_exit tune_challenge(tune_run *tune)
{
    lab_error error;
    for (size_t i = 0; i < tune->count; i++)
        explain(&tune->shapes[i]);
    cli_exit code = hold(tune, false);
    if (code == CLI_OK)
        code = hold(tune, true);
    if (code == CLI_OK)
        code = tune_prove(tune, true);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        heed_status status = record_shape(tune, &tune->shapes[i], &error);
        if (status != HEED_OK)
            code = cli_fail_error(status, &error);
    }
    return code;
}
