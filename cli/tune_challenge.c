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
#include "wisdom_line.h"

static lab_rules rules_of(void)
{
    return (lab_rules){ .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
}

static void say(tune_shape *shape, const char *why)
{
    snprintf(shape->why, sizeof shape->why, "%s", why);
}

/* -------------------------------------------------------------------------- */
/* Rounds                                                                     */
/* -------------------------------------------------------------------------- */

/* Is the shape in that round? */
static bool plays(const tune_shape *shape, int round)
{
    return *shape->best && strcmp(shape->best, shape->champion) != 0 && !shape->refuted &&
           shape->rounds == round && (round == 0 || shape->won);
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
    return round ? &shape->again : &shape->first;
}

static lab_comparison *comparison_of(tune_shape *shape, int round)
{
    return round ? &shape->two : &shape->one;
}

/* Lets two kernels take turns; a kernel that fails at it has lost. */
static cli_exit play(tune_run *tune, tune_shape *shape, int round, size_t players, uint64_t seed)
{
    const lab_rules rules = rules_of();
    const lab_duel_options options = { .rules = lab_family_rules(&rules, players),
                                       .seconds = tune->duel,
                                       .seed = seed };
    cli_pair *pair = pair_of(shape, round);
    pair->names[0] = shape->best;
    pair->names[1] = shape->champion;
    cli_exit code = cli_pair_run(pair, &tune->bench, shape->source, &options);
    if (code == CLI_OK && pair->outcome != BENCH_OK) {
        shape->won = false;
        shape->refuted = pair->outcome == BENCH_WRONG && pair->blame == 0;
        say(shape, pair->reason);
        *shape->best = '\0';
    }
    return code;
}

/* Who won the rounds that there have been? */
static void decide(tune_shape *shape, int round)
{
    const lab_decision decision = lab_champion_decide(&shape->one, round ? &shape->two : NULL, 1,
                                                      LAB_CHAMPION_GAIN, 1);
    const lab_comparison *last = comparison_of(shape, round);
    shape->rounds = round + 1;
    shape->won = decision.succession != LAB_KEEP_CHAMPION;
    char interval[64] = "; too few pairs for an interval";
    if (isfinite(last->ratio.high))
        snprintf(interval, sizeof interval, " [%.3f, %.3f]", last->ratio.low, last->ratio.high);
    snprintf(shape->why, sizeof shape->why, "%.100s is %s%s, %.3fx%s%s", shape->best,
             lab_compared_name(last->verdict), round ? " on fresh samples too" : "",
             last->ratio.estimate, interval,
             shape->won ? "" : ", where a champion has to be FASTER by 3 %");
}

static cli_exit judge(tune_run *tune, int round)
{
    const lab_rules rules = rules_of();
    lab_series *series = calloc(tune->count, sizeof *series);
    lab_comparison *comparisons = calloc(tune->count, sizeof *comparisons);
    size_t count = 0, at = 0;
    heed_status status = series && comparisons ? HEED_OK : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; status == HEED_OK && i < tune->count; i++)
        if (plays(&tune->shapes[i], round))
            series[count++] = lab_duel_series(&pair_of(&tune->shapes[i], round)->duel);
    if (status == HEED_OK && count > 0)
        status = lab_family_judge(series, count, &rules, comparisons);
    for (size_t i = 0; status == HEED_OK && i < tune->count; i++) {
        if (!plays(&tune->shapes[i], round))
            continue;
        *comparison_of(&tune->shapes[i], round) = comparisons[at++];
        decide(&tune->shapes[i], round);
    }
    free(series);
    free(comparisons);
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
        cli_progress_step(&progress, done++, tune->shapes[i].spec);
        code = play(tune, &tune->shapes[i], round, players,
                    tune->seed + 2 * i + (uint64_t)round + 1000);
    }
    cli_progress_end(&progress);
    return code == CLI_OK ? judge(tune, round) : code;
}

/* -------------------------------------------------------------------------- */
/* Gates, board, wisdom                                                       */
/* -------------------------------------------------------------------------- */

/* All gates of heed verify, in a process of its own. */
static cli_exit verify(tune_run *tune, tune_shape *shape)
{
    const char *words[16] = { "heed",     "verify",    "--device", cli_device(tune->args),
                              "--kernel", shape->best, "--once",   "--time-limit",
                              "1",        shape->spec };
    if (cli_args_given(tune->args, "cpu")) {
        words[10] = "--cpu";
        words[11] = cli_args_text(tune->args, "cpu");
    }
    int code = cli_run_self((char *const *)(const void *)words);
    if (code == CLI_INTERRUPTED || cli_interrupted())
        return CLI_INTERRUPTED;
    if (code == CLI_OK)
        return CLI_OK;
    shape->won = false;
    shape->refuted = code == CLI_VERIFY_FAILED || code == CLI_FINDING;
    if (shape->refuted)
        snprintf(shape->why, sizeof shape->why, "%.100s does not pass 'heed verify'", shape->best);
    else
        snprintf(shape->why, sizeof shape->why,
                 "%.100s could not be verified: 'heed verify' returned %d", shape->best, code);
    cli_warning("%s: %s", shape->spec, shape->why);
    return CLI_OK;
}

static cli_exit verify_all(tune_run *tune)
{
    cli_exit code = CLI_OK;
    cli_progress progress = cli_progress_start("verifying", tune->count);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        cli_progress_step(&progress, i, tune->shapes[i].spec);
        if (tune->shapes[i].won)
            code = verify(tune, &tune->shapes[i]);
    }
    cli_progress_end(&progress);
    return code;
}

static heed_status record_shape(tune_run *tune, tune_shape *shape, lab_error *error)
{
    int64_t id = 0;
    heed_status status = HEED_OK;
    if (shape->rounds > 0)
        status = tune_add_pair(tune, shape, TUNE_FIRST, NULL, error);
    if (status == HEED_OK && shape->rounds > 1)
        status = tune_add_pair(tune, shape, TUNE_AGAIN, &id, error);
    if (status != HEED_OK || !shape->won)
        return status;
    if (!shape->foreign)
        status = lab_record_promote(tune->record, id, shape->title, shape->why, error);
    if (status == HEED_OK && heed_wisdom_learn(tune->bench.context, &shape->source->problem,
                                               shape->best, shape->again.seconds[0]) != HEED_OK)
        cli_warning("%s: no wisdom: %s", shape->spec, heed_message());
    return status;
}

cli_exit tune_challenge(tune_run *tune)
{
    lab_error error;
    for (size_t i = 0; i < tune->count; i++) {
        tune_shape *shape = &tune->shapes[i];
        if (*shape->space && !*shape->best)
            say(shape, "no point of the space ran");
        else if (*shape->best && strcmp(shape->best, shape->champion) == 0)
            say(shape, "the search found nothing faster");
    }
    cli_exit code = play_round(tune, 0);
    if (code == CLI_OK)
        code = play_round(tune, 1);
    for (size_t i = 0; i < tune->count; i++)
        tune->shapes[i].won &= tune->shapes[i].rounds > 1;
    if (code == CLI_OK)
        code = verify_all(tune);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        heed_status status = record_shape(tune, &tune->shapes[i], &error);
        if (status != HEED_OK)
            code = cli_board_fail(status, &error);
    }
    return code;
}
