/*
 * contest.c - the best of each search against the previous champion
 *
 * The best was selected by its times, so these are partly luck. In a duel, on fresh samples, it
 * must be FASTER by the gain that a champion needs, and again in a second duel, which selects
 * nothing; and it must pass all gates. All problems are judged together.
 *
 * A leader of the board that cannot be planned, such as a user's source, is then challenged in the
 * same way, by the winner of the first contest or else by heed's plan.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tune/tune.h"

/* Share of a comparison's time for the duel itself; with less it is not worthwhile. */
#define DUEL_SHARE 0.7
#define DUEL_LEAST 0.01

/* Every problem has two contests: with its champion, or, if @lead, with the board's leader. */
static lab_tune_contest *contest_of(lab_tune_shape *shape, bool lead)
{
    return lead ? &shape->lead : &shape->challenge;
}

/* True if there is something to compare. */
static bool is_wanted(const lab_tune_shape *shape, bool lead)
{
    return lead ? shape->foreign
                : *shape->best && strcmp(shape->best, shape->champion) != 0 && !shape->late;
}

const char *lab_tune_contender(const lab_tune_shape *shape)
{
    return shape->challenge.won ? shape->best : shape->champion;
}

/* Runs the duel of @pair, and records its start and end. */
static heed_status take_turns(lab_tune *tune, const lab_tune_shape *shape,
                              lab_tune_contest *contest, int round, const lab_duel_options *options)
{
    lab_record_now(contest->times[round][0]);
    heed_status status = lab_bench_pair_run(&contest->pairs[round], &tune->bench, shape->source,
                                            options);
    lab_record_now(contest->times[round][1]);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Contest with the champion                                                  */
/* -------------------------------------------------------------------------- */

static void say(lab_tune_shape *shape, const char *why)
{
    snprintf(shape->challenge.why, sizeof shape->challenge.why, "%s", why);
}

/* A kernel that fails here has lost. */
static heed_status play_champion(lab_tune *tune, lab_tune_shape *shape, int round,
                                 const lab_duel_options *options)
{
    lab_bench_pair *pair = &shape->challenge.pairs[round];
    pair->names[0] = shape->best;
    pair->names[1] = shape->champion;
    heed_status status = take_turns(tune, shape, &shape->challenge, round, options);
    if (status != HEED_OK || pair->outcome == LAB_BENCH_OK)
        return status;
    status = lab_tune_add_broken(tune, shape, pair->names[pair->blame == 1], LAB_TUNE_BROKEN,
                                 pair->outcome, pair->reason);
    if (pair->outcome == LAB_BENCH_WRONG && pair->blame == 0)
        shape->proven = LAB_REFUTED;
    say(shape, pair->reason);
    *shape->best = '\0';
    return status;
}

static void explain_challenge(lab_tune_shape *shape)
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
/* Contest with a leader that cannot be planned                               */
/* -------------------------------------------------------------------------- */

/* The leader stays, for a reason. */
static void keep_leader(lab_tune_shape *shape, const char *what, const char *reason)
{
    snprintf(shape->lead.why, sizeof shape->lead.why, "%.60s stays leader: %.24s%.160s",
             shape->leader.name, what, reason);
}

/* A leader that now fails loses its place. */
static heed_status refute(lab_tune *tune, lab_tune_shape *shape, lab_record_verdict fault,
                          const char *reason)
{
    snprintf(shape->lead.why, sizeof shape->lead.why, "%.60s is no longer ranked: %.160s",
             shape->leader.name, reason);
    return lab_record_refute(tune->session.record, tune->session.run, shape->leader.trial, fault,
                             reason, &tune->trouble);
}

/* Runs the duel with a leader that is ready. */
static heed_status play_ready(lab_tune *tune, lab_tune_shape *shape, int round,
                              const lab_rerun *leader, const lab_duel_options *options)
{
    lab_bench_pair *pair = &shape->lead.pairs[round];
    pair->names[0] = lab_tune_contender(shape);
    pair->names[1] = shape->leader.name;
    pair->contender = leader->contender;
    pair->maker = leader->maker;
    heed_status status = take_turns(tune, shape, &shape->lead, round, options);
    pair->contender = NULL;
    pair->maker = NULL;
    if (status != HEED_OK || pair->outcome == LAB_BENCH_OK)
        return status;
    lab_record_verdict fault = leader->contender && pair->blame == 1
                                   ? lab_bench_worker_fault(&leader->worker)
                                   : LAB_RECORD_OK;
    if (fault != LAB_RECORD_OK)
        return refute(tune, shape, fault, leader->worker.process.outcome.text);
    keep_leader(shape, pair->blame == 1 ? "it cannot be run here: " : "", pair->reason);
    return HEED_OK;
}

static heed_status play_leader(lab_tune *tune, lab_tune_shape *shape, int round,
                               const lab_duel_options *options)
{
    lab_rerun *leader = malloc(sizeof *leader);
    if (!leader)
        return lab_fail(&tune->trouble, HEED_ERR_NO_MEMORY, "not enough memory to meet %s",
                        shape->leader.name);
    heed_status status = lab_rerun_open(
        leader, &tune->rebuild, &tune->bench, NULL, tune->session.record, shape->leader.trial,
        shape->leader.name, &shape->source->problem, &tune->trouble);
    if (status == HEED_OK && *leader->why)
        keep_leader(shape, "it cannot be run here: ", leader->why);
    else if (status == HEED_OK)
        status = play_ready(tune, shape, round, leader, options);
    lab_rerun_close(leader);
    free(leader);
    return lab_interrupted(tune->bench.sink) ? HEED_ERR_SYSTEM : status;
}

static void explain_lead(lab_tune_shape *shape)
{
    const lab_bout *bout = &shape->lead.bout;
    const lab_comparison *last = &bout->compared[bout->rounds - 1];
    snprintf(shape->lead.why, sizeof shape->lead.why,
             "%.60s is %s than %.60s%s, %.3fx [%.3f, %.3f]%s", lab_tune_contender(shape),
             lab_compared_name(last->verdict), shape->leader.name,
             bout->rounds > 1 ? " on fresh samples too" : "", last->ratio.estimate, last->ratio.low,
             last->ratio.high, bout->decision.ahead ? "" : ", which stays leader");
}

/* -------------------------------------------------------------------------- */
/* Rounds                                                                     */
/* -------------------------------------------------------------------------- */

/* A contest in progress. */
typedef struct contest_run {
    lab_tune *tune;
    bool lead;
    lab_progress progress;
    size_t players, done; /* of the round */
} contest_run;

/* Handles a lack of time for a round. */
static void give_up(const lab_sink *sink, lab_tune_shape *shape, bool lead, int round)
{
    if (lead) {
        char advice[LAB_ADVICE_SIZE], why[LAB_ADVICE_SIZE + 64];
        snprintf(why, sizeof why, "there was no time to meet it%s",
                 lab_advise(sink, LAB_ADVICE_TIME, advice));
        keep_leader(shape, "", why);
        return;
    }
    shape->late = true;
    snprintf(shape->challenge.why, sizeof shape->challenge.why,
             "%.100s was found, and there was no time to compare it%s", shape->best,
             round ? " once more" : "");
}

static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    contest_run *it = data;
    lab_tune_shape *shape = &it->tune->shapes[index];
    const lab_bench_pair *pair = &contest_of(shape, it->lead)->pairs[round];
    double share = lab_tune_left(it->tune, LAB_TUNE_DUELS) / (double)(it->players - it->done);
    options.seconds = fmin(it->tune->duel, DUEL_SHARE * (round ? 1 : 0.5) * share);
    lab_progress_step(&it->progress, it->done++, shape->spec);
    if (options.seconds < DUEL_LEAST) {
        give_up(it->tune->bench.sink, shape, it->lead, round);
        return HEED_OK;
    }
    heed_status status = it->lead ? play_leader(it->tune, shape, round, &options)
                                  : play_champion(it->tune, shape, round, &options);
    if (status == HEED_OK && pair->outcome == LAB_BENCH_OK)
        *duel = &pair->duel;
    return status;
}

/* Plays both rounds, the second for challengers that won the first. */
static heed_status play_rounds(contest_run *it, lab_contest *contest)
{
    heed_status status = HEED_OK;
    for (int round = 0; round < LAB_ROUNDS && status == HEED_OK; round++) {
        const lab_duel_options options = { .seed = it->tune->session.seed +
                                                   (it->lead ? 5000 : 1000) + (uint64_t)round };
        it->players = lab_contest_players(contest, round);
        it->done = 0;
        it->progress = lab_progress_start(it->tune->bench.sink,
                                          it->lead ? "meeting leaders of the board"
                                          : round  ? "confirming"
                                                   : "comparing",
                                          it->players);
        status = lab_contest_round(contest, round, &options);
        lab_progress_end(&it->progress);
    }
    if (status != HEED_OK && !*it->tune->trouble.text)
        lab_fail(&it->tune->trouble, status, "the kernels cannot be compared: %s",
                 heed_status_name(status));
    return status;
}

static heed_status hold(lab_tune *tune, bool lead)
{
    contest_run it = { .tune = tune, .lead = lead };
    lab_contest contest = { .bouts = calloc(tune->count, sizeof *contest.bouts),
                            .count = tune->count,
                            .each = true,
                            .play = play,
                            .data = &it };
    if (!contest.bouts)
        return lab_fail(&tune->trouble, HEED_ERR_NO_MEMORY, "not enough memory to compare kernels");
    for (size_t i = 0; i < tune->count; i++)
        contest.bouts[i].out = !is_wanted(&tune->shapes[i], lead);
    heed_status status = play_rounds(&it, &contest);
    for (size_t i = 0; i < tune->count && status == HEED_OK; i++) {
        lab_tune_contest *one = contest_of(&tune->shapes[i], lead);
        one->bout = contest.bouts[i];
        one->won = lab_bout_won(&one->bout);
        if (!one->bout.out)
            (lead ? explain_lead : explain_challenge)(&tune->shapes[i]);
    }
    free(contest.bouts);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Board                                                                      */
/* -------------------------------------------------------------------------- */

/* Adds the rounds of a contest: the first one has attempt number @attempt; *@id is the trial of the
 * second. */
static heed_status record_rounds(lab_tune *tune, lab_tune_shape *shape,
                                 const lab_tune_contest *contest, int attempt, int64_t *id)
{
    heed_status status = HEED_OK;
    for (int round = 0; round < contest->bout.rounds && status == HEED_OK; round++)
        status = lab_tune_add_round(tune, shape, contest, round, attempt + round, id);
    return status;
}

static heed_status record_shape(lab_tune *tune, lab_tune_shape *shape)
{
    lab_record *record = tune->session.record;
    int64_t id = 0, lead = 0;
    heed_status status = record_rounds(tune, shape, &shape->challenge, LAB_TUNE_FIRST, &id);
    if (status == HEED_OK)
        status = record_rounds(tune, shape, &shape->lead, LAB_TUNE_LEAD, &lead);
    if (status == HEED_OK && shape->lead.won)
        status = lab_record_promote(record, lead, shape->leader.trial, shape->lead.why,
                                    &tune->trouble);
    if (status == HEED_OK && shape->challenge.won && !shape->foreign)
        status = lab_record_promote(record, id, shape->promoted, shape->challenge.why,
                                    &tune->trouble);
    return status;
}

/* Explains why there is nothing to compare. */
static void explain(lab_tune_shape *shape)
{
    if (shape->late)
        say(shape, "there was no time to search");
    else if (shape->space_count > 0 && !*shape->best)
        say(shape, "no point of its spaces ran");
    else if (*shape->best && strcmp(shape->best, shape->champion) == 0)
        say(shape, "the search found nothing faster");
}

heed_status lab_tune_challenge(lab_tune *tune)
{
    for (size_t i = 0; i < tune->count; i++)
        explain(&tune->shapes[i]);
    heed_status status = hold(tune, false);
    if (status == HEED_OK)
        status = hold(tune, true);
    if (status == HEED_OK)
        status = lab_tune_prove(tune, true);
    for (size_t i = 0; i < tune->count && status == HEED_OK; i++)
        status = record_shape(tune, &tune->shapes[i]);
    return status;
}
