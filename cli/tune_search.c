/*
 * tune_search.c - searches for each problem, whose every trial is on the board: a sweep of each
 * space, and evolution in the space where the best was found
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "report/format.h"
#include "tune.h"

#define NS_PER_SECOND 1e9

#define SWEEPS_SHARE 0.65 /* of the time and the trials; evolution has the rest */

/* ---- Results ---- */

void tune_quest_show(tune_quest *quest)
{
    char text[LAB_FORMAT_SIZE], what[HEED_SPEC_SIZE + 64];
    if (quest->sweep.shapes && quest->sweep.shapes[0].best > 0)
        snprintf(what, sizeof what, "%s  best %s", quest->shape->spec,
                 lab_format_seconds(quest->sweep.shapes[0].best, text));
    else
        snprintf(what, sizeof what, "%s", quest->shape->spec);
    cli_progress_step(quest->progress, (size_t)tune_passed(quest->tune), what);
}

void tune_quest_take(tune_quest *quest, const lab_point *point, double seconds)
{
    tune_shape *shape = quest->shape;
    if (quest->best == 0 || seconds < quest->best)
        quest->best = seconds;
    if (shape->searched > 0 && seconds >= shape->searched)
        return;
    lab_space_name(&quest->sweep.space, point, quest->sweep.kernel, shape->best, NULL);
    shape->searched = seconds;
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    (void)one;
    (void)best;
    tune_quest_show(data);
}

/* ---- One space ---- */

/* All spaces of a problem compute in the same tensors, @shape's. */
static cli_exit open_quest(tune_quest *it, sweep_shape *shape)
{
    sweep_run *sweep = &it->sweep;
    tune_run *tune = it->tune;
    char found[1024];
    const char *path = cli_find_list("spaces", it->hunt->space, found, sizeof found);
    *sweep = (sweep_run){ .args = tune->args,
                          .session = &tune->session,
                          .shapes = shape,
                          .context = tune->bench.context,
                          .replay = tune->bench.replay,
                          .arch = heed_device_arch(tune->bench.context),
                          .cold = tune->bench.cold,
                          .judge = tune->judge,
                          .threads = tune->bench.host_threads };
    heed_status status = lab_space_load(&sweep->space, path, &it->error);
    if (status != HEED_OK)
        return cli_board_fail(status, &it->error);
    sweep->limits = sweep->space.limits;
    snprintf(sweep->kernel, sizeof sweep->kernel, "%s", it->hunt->kernel);
    snprintf(sweep->device, sizeof sweep->device, "%s", heed_context_device(sweep->context));
    sweep->problems.items = calloc(1, sizeof *sweep->problems.items);
    if (!sweep->problems.items) {
        cli_error("not enough memory to search");
        return CLI_ENVIRONMENT;
    }
    sweep->problems.count = 1;
    sweep->problems.items[0] = it->shape->source->problem;
    it->inner = sweep_evaluator(sweep);
    return sweep_start_pool(sweep);
}

static void close_quest(tune_quest *it)
{
    it->shape->reused += it->tune->session.resumed ? it->sweep.reused : 0;
    sweep_pool_stop(it->sweep.pool);
    lab_search_free(it->sweep.search);
    free(it->sweep.problems.items);
    lab_space_free(&it->sweep.space);
}

/* The champion is where every search of its kernel begins, and then what the cost model likes. */
static lab_point *find_starts(tune_quest *it, size_t *count)
{
    lab_point *starts = sweep_find_starts(&it->sweep, count);
    lab_point *all = starts ? realloc(starts, (*count + 1) * sizeof *all) : NULL;
    int64_t champion = all ? sweep_find_point(&it->sweep, it->shape->champion) : -1;
    if (!all)
        return starts;
    if (champion < 0 || (*count > 0 && lab_space_index(&it->sweep.space, &all[0]) == champion))
        return all;
    all[(*count)++] = all[0];
    all[0] = lab_space_at(&it->sweep.space, champion);
    return all;
}

static void take_sweep(tune_quest *it)
{
    const lab_search_result result = lab_search_get(it->sweep.search);
    it->hunt->points = result.points - result.refused;
    it->hunt->pruned = result.pruned;
    it->hunt->launched = result.launched;
    if (!result.best)
        return;
    const lab_point point = lab_space_at(&it->sweep.space, result.best->index);
    tune_quest_take(it, &point, exp(result.best->score));
}

/* Sweeps the space until @until_ns, or for @trials launches. */
static cli_exit sweep_space(tune_quest *it, int64_t until_ns, int64_t trials)
{
    size_t count = 0;
    int64_t budget = until_ns - heed_clock_ns();
    if (it->sweep.pool)
        sweep_pool_until(it->sweep.pool, until_ns);
    lab_point *starts = find_starts(it, &count);
    const lab_search_options options = { .seed = it->tune->seed,
                                         .trials = trials,
                                         .budget_ns = budget > 1 ? budget * 4 / 5 : 1,
                                         .starts = starts,
                                         .start_count = count,
                                         .interrupted = cli_interrupted,
                                         .tried = tried,
                                         .data = it };
    heed_status status = lab_search_run(&it->sweep.search, &it->sweep.space, &it->inner, &options,
                                        &it->error);
    free(starts);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("%s: %s%s%s", it->shape->spec, it->error.text, *it->sweep.trouble ? ": " : "",
                  it->sweep.trouble);
        return cli_exit_of(status);
    }
    take_sweep(it);
    return CLI_OK;
}

/* ---- One problem ---- */

/* The space of the champion's kernel, which is the first, has twice the share of another one. */
static double weight_left(const tune_shape *shape, size_t from)
{
    return (double)(shape->hunt_count - from) + (from == 0);
}

/* Of so many trials, 0 for any, the part for space number @at; what evolution gets is left out. */
static int64_t trials_of(const tune_shape *shape, size_t at, int64_t trials)
{
    double share = SWEEPS_SHARE * (double)trials * (at == 0 ? 2 : 1) / weight_left(shape, 0);
    return trials <= 0 ? 0 : at == 0 && share < 1 ? 1 : (int64_t)share;
}

static cli_exit sweep_all(tune_quest *quests, tune_shape *shape, sweep_shape *common,
                          int64_t until_ns, int64_t trials)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < shape->hunt_count && code == CLI_OK; i++) {
        int64_t now = heed_clock_ns(), wanted = trials_of(shape, i, trials);
        double share = (i == 0 ? 2 : 1) / weight_left(shape, i);
        if ((i > 0 && now >= until_ns) || (trials > 0 && wanted == 0))
            continue;
        quests[i].hunt = &shape->hunts[i];
        code = open_quest(&quests[i], common);
        tune_quest_show(&quests[i]);
        if (code == CLI_OK)
            code = sweep_space(&quests[i], now + (int64_t)((double)(until_ns - now) * share),
                               wanted);
    }
    return code;
}

/* Evolution in the space where the best was found. */
static cli_exit evolve_best(tune_quest *quests, tune_shape *shape, int64_t until_ns, int64_t trials)
{
    tune_quest *best = NULL;
    int64_t launched = 0;
    for (size_t i = 0; i < shape->hunt_count; i++) {
        launched += shape->hunts[i].launched;
        if (quests[i].best > 0 && (!best || quests[i].best < best->best))
            best = &quests[i];
    }
    if (!best || heed_clock_ns() >= until_ns || (trials > 0 && launched >= trials))
        return CLI_OK;
    if (best->sweep.pool)
        sweep_pool_until(best->sweep.pool, until_ns);
    return tune_evolve(best, until_ns, trials > 0 ? trials - launched : 0);
}

static cli_exit search_shape(tune_run *tune, tune_shape *shape, int64_t until_ns,
                             cli_progress *progress)
{
    tune_quest quests[TUNE_HUNTS];
    int64_t trials = cli_args_integer(tune->args, "trials"), now = heed_clock_ns();
    int64_t sweeps_until = now + (int64_t)((double)(until_ns - now) * SWEEPS_SHARE);
    sweep_shape *common = calloc(1, sizeof *common);
    if (!common) {
        cli_error("not enough memory to search");
        return CLI_ENVIRONMENT;
    }
    common->source = *shape->source;
    snprintf(common->spec, sizeof common->spec, "%s", shape->spec);
    for (size_t i = 0; i < TUNE_HUNTS; i++)
        quests[i] = (tune_quest){ .tune = tune, .shape = shape, .progress = progress };
    cli_exit code = sweep_all(quests, shape, common, sweeps_until, trials);
    if (code == CLI_OK)
        code = evolve_best(quests, shape, until_ns, trials);
    for (size_t i = 0; i < TUNE_HUNTS; i++)
        if (quests[i].hunt)
            close_quest(&quests[i]);
    sweep_run last = { .shapes = common, .problems = { .count = 1 } };
    sweep_shapes_free(&last);
    return code;
}

cli_exit tune_search(tune_run *tune)
{
    size_t left = 0;
    cli_exit code = CLI_OK;
    cli_progress progress = cli_progress_start_seconds("searching", tune->seconds);
    for (size_t i = 0; i < tune->count; i++)
        left += tune->shapes[i].hunt_count > 0;
    /* Time that one search leaves of its share goes to the others. */
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        tune_shape *shape = &tune->shapes[i];
        if (shape->hunt_count == 0)
            continue;
        if (tune_left(tune, TUNE_SEARCHES) > 0)
            code = search_shape(tune, shape, tune_share(tune, TUNE_SEARCHES, left), &progress);
        else
            shape->late = true;
        left--;
    }
    cli_progress_end(&progress);
    return code;
}
