/*
 * search.c - searches for each problem, with every trial on the board: a sweep of each space with a
 * suitable kernel, and evolution in the space of the best
 *
 * A sweep finds the good regions of a space; evolution then crosses and mutates the best points,
 * guided by their limits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report/format.h"
#include "lab/tune/tune.h"
#include "src/device.h"
#include "src/measure.h"

#define SWEEPS_SHARE 0.65 /* of the time and the trials; evolution gets the remainder */
#define STARTS 8          /* of evolution */

/* The search of one space for one problem. */
typedef struct job {
    lab_tune *tune;
    lab_tune_shape *shape;
    lab_tune_space *space;
    heed_problem problem;
    lab_sweep sweep; /* of the space */
    lab_evaluator evaluator;
    double best; /* seconds of its best point; 0: none */
    lab_progress *progress;
} job;

/* ---- Spaces ---- */

/* The kernel of the space to search with: the champion's, else the first that runs; NULL: none. */
static const char *choose_kernel(const lab_tune *tune, const lab_tune_shape *shape,
                                 const lab_space *space, const char *champion)
{
    for (int i = 0; i < space->kernel_count; i++)
        if (strcmp(space->kernels[i], champion) == 0)
            return space->kernels[i];
    for (int i = 0; i < space->kernel_count; i++)
        if (lab_sweep_kernel_runs(tune->bench.context, &shape->source->problem,
                                  space->kernels[i]) == HEED_OK)
            return space->kernels[i];
    return NULL;
}

/* Adds a space; that of the champion's kernel comes first. */
static void add_space(lab_tune_shape *shape, const char *name, const lab_space *space,
                      const char *kernel, const char *champion)
{
    if (shape->space_count == LAB_TUNE_SPACES)
        return;
    lab_tune_space *one = &shape->spaces[shape->space_count++];
    if (strcmp(kernel, champion) == 0 && one != &shape->spaces[0]) {
        *one = shape->spaces[0];
        one = &shape->spaces[0];
    }
    *one = (lab_tune_space){ .name = name, .space = space };
    snprintf(one->kernel, sizeof one->kernel, "%s", kernel);
}

void lab_tune_find_spaces(const lab_tune *tune, lab_tune_shape *shape)
{
    lab_session_name champion;
    lab_session_name_set(&champion, shape->champion);
    for (size_t i = 0; i < tune->spaces.count; i++) {
        const lab_space *space = &tune->spaces.items[i];
        const char *kernel = choose_kernel(tune, shape, space, champion.kernel);
        if (kernel)
            add_space(shape, tune->spaces.names[i], space, kernel, champion.kernel);
    }
    if (shape->space_count == 0)
        snprintf(shape->challenge.why, sizeof shape->challenge.why,
                 "no space has a kernel for it: there is nothing to search");
}

/* ---- Results ---- */

static void show(void *data, const char *what)
{
    const job *it = data;
    char text[LAB_FORMAT_SIZE], words[HEED_SPEC_SIZE + 64];
    (void)what;
    if (it->sweep.shapes[0].best > 0)
        snprintf(words, sizeof words, "%s  best %s", it->shape->spec,
                 lab_format_seconds(it->sweep.shapes[0].best, text));
    else
        snprintf(words, sizeof words, "%s", it->shape->spec);
    lab_progress_step(it->progress, (size_t)lab_tune_passed(it->tune), words);
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    (void)one;
    (void)best;
    show(data, NULL);
}

/* Takes the results of the search. */
static void take(job *it)
{
    lab_tune_shape *shape = it->shape;
    const lab_search_result result = lab_search_get(it->sweep.search);
    it->space->points = result.points - result.refused;
    it->space->pruned = result.pruned;
    it->space->launched = result.launched;
    it->space->figures = (lab_figures){ .candidates = 0 };
    lab_figures_count(&it->space->figures, &result);
    if (!result.best)
        return;
    const lab_point point = lab_space_at(&it->sweep.space, result.best->index);
    it->best = exp(result.best->score);
    if (shape->searched > 0 && it->best >= shape->searched)
        return;
    lab_space_name(&it->sweep.space, &point, it->sweep.kernel, shape->best, NULL);
    shape->searched = it->best;
}

/* Reports why a search failed; HEED_ERR_SYSTEM once interrupted. */
static heed_status fail(const job *it, heed_status status, const lab_error *error)
{
    const char *trouble = it->sweep.trouble.text;
    if (lab_interrupted(it->tune->bench.sink))
        return HEED_ERR_SYSTEM;
    return lab_fail(&it->tune->trouble, status, "%s: %.200s%s%.200s", it->shape->spec, error->text,
                    *error->text && *trouble ? ": " : "", trouble);
}

/* ---- One space ---- */

/* All spaces of a problem use the same tensors, those of @shape. */
static heed_status open_job(job *it, lab_sweep_shape *shape)
{
    lab_tune *tune = it->tune;
    it->problem = it->shape->source->problem;
    it->sweep = (lab_sweep){ .sink = tune->bench.sink,
                             .space = *it->space->space,
                             .problems = { &it->problem, 1 },
                             .shapes = shape,
                             .context = tune->bench.context,
                             .replay = tune->bench.replay,
                             .cold = tune->bench.cold,
                             .arch = heed_device_arch(tune->bench.context),
                             .threads = tune->bench.host_threads,
                             .limits = it->space->space->limits,
                             .judge = tune->judge,
                             .session = &tune->session };
    snprintf(it->sweep.kernel, sizeof it->sweep.kernel, "%s", it->space->kernel);
    heed_status status = lab_sweep_pool_start(&it->sweep);
    it->evaluator = lab_sweep_evaluator(&it->sweep);
    return status;
}

static void close_job(job *it)
{
    it->shape->reused += it->tune->session.resumed ? it->sweep.reused : 0;
    lab_sweep_pool_stop(it->sweep.pool);
    lab_search_free(it->sweep.search);
}

/* A search begins with the champion, if it has its kernel, and then the cost model's favourites. */
static lab_point *find_starts(const job *it, size_t *count)
{
    lab_point *starts = lab_sweep_find_starts(&it->sweep, count);
    lab_point *all = starts ? realloc(starts, (*count + 1) * sizeof *all) : NULL;
    int64_t champion = all ? lab_sweep_find_point(&it->sweep, it->shape->champion) : -1;
    if (!all)
        return starts;
    if (champion < 0 || (*count > 0 && lab_space_index(&it->sweep.space, &all[0]) == champion))
        return all;
    all[(*count)++] = all[0];
    all[0] = lab_space_at(&it->sweep.space, champion);
    return all;
}

/* The options of a search until @until_ns: a fifth of the time is for its finals. */
static lab_search_options options_of(job *it, int64_t until_ns, int64_t trials)
{
    const lab_sink *sink = it->tune->bench.sink;
    int64_t budget = until_ns - heed_clock_ns();
    if (it->sweep.pool)
        lab_sweep_pool_until(it->sweep.pool, until_ns);
    return (lab_search_options){ .seed = it->tune->session.seed,
                                 .trials = trials,
                                 .budget_ns = budget > 1 ? budget * 4 / 5 : 1,
                                 .interrupted = sink ? sink->interrupted : NULL,
                                 .tried = tried,
                                 .data = it };
}

/* Sweeps the space until @until_ns, or for @trials launches. */
static heed_status sweep_space(job *it, int64_t until_ns, int64_t trials)
{
    lab_error error = { "" };
    size_t count = 0;
    lab_point *starts = find_starts(it, &count);
    lab_search_options options = options_of(it, until_ns, trials);
    options.starts = starts;
    options.start_count = count;
    heed_status status = lab_search_run(&it->sweep.search, &it->sweep.space, &it->evaluator,
                                        &options, &error);
    free(starts);
    if (status != HEED_OK || lab_interrupted(it->tune->bench.sink))
        return fail(it, status, &error);
    take(it);
    return HEED_OK;
}

/* ---- Evolution ---- */

/* Starts evolution from the best points of the sweep. */
static heed_status begin_evolution(lab_sweep_evolution *it)
{
    const lab_search_result result = lab_search_get(it->sweep->search);
    int64_t starts[STARTS];
    size_t count = 0, timed = 0;
    const lab_try **tries = calloc(result.count + 1, sizeof *tries);
    if (!tries)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < result.count; i++)
        if (isfinite(result.tries[i].score))
            tries[timed++] = &result.tries[i];
    qsort(tries, timed, sizeof *tries, lab_try_order);
    for (; count < STARTS && count < timed; count++)
        starts[count] = tries[count]->index;
    free(tries);
    return lab_sweep_evolution_create(it, starts, count);
}

/* Continues from the sweep's results until @until_ns, or for @trials more launches. */
static heed_status evolve(job *it, lab_sweep_evolution *bred, int64_t until_ns, int64_t trials)
{
    lab_error error = { "" };
    lab_search *search = it->sweep.search;
    heed_status status = begin_evolution(bred);
    if (status != HEED_OK)
        return fail(it, status, &error);
    lab_search_options options = options_of(
        it, until_ns, trials > 0 ? lab_search_get(search).launched + trials : 0);
    options.strategy = "evolution";
    options.evolution = bred->evolution;
    status = lab_search_continue(search, &options, &error);
    it->space->bred = lab_evolution_children(bred->evolution);
    it->shape->course = bred->course;
    it->shape->insight = bred->insights[0];
    if (status != HEED_OK || lab_interrupted(it->tune->bench.sink))
        return fail(it, status, &error);
    take(it);
    return HEED_OK;
}

/* ---- One problem ---- */

/* The space of the champion's kernel, the first, gets twice the share of the others. */
static double weight_left(const lab_tune_shape *shape, size_t from)
{
    return (double)(shape->space_count - from) + (from == 0);
}

/* The share of space number @at in @trials (0: any number), without the share of evolution. */
static int64_t trials_of(const lab_tune_shape *shape, size_t at, int64_t trials)
{
    double share = SWEEPS_SHARE * (double)trials * (at == 0 ? 2 : 1) / weight_left(shape, 0);
    return trials <= 0 ? 0 : at == 0 && share < 1 ? 1 : (int64_t)share;
}

static heed_status sweep_all(job *jobs, lab_tune_shape *shape, lab_sweep_shape *common,
                             int64_t until_ns, int64_t trials)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < shape->space_count && status == HEED_OK; i++) {
        int64_t now = heed_clock_ns(), wanted = trials_of(shape, i, trials);
        double share = (i == 0 ? 2 : 1) / weight_left(shape, i);
        const lab_error none = { "" };
        if ((i > 0 && now >= until_ns) || (trials > 0 && wanted == 0))
            continue;
        jobs[i].space = &shape->spaces[i];
        status = open_job(&jobs[i], common);
        if (status != HEED_OK)
            return fail(&jobs[i], status, &none);
        show(&jobs[i], NULL);
        status = sweep_space(&jobs[i], now + (int64_t)((double)(until_ns - now) * share), wanted);
    }
    return status;
}

/* Runs evolution in the space of the best point. */
static heed_status evolve_best(job *jobs, const lab_tune_shape *shape, int64_t until_ns,
                               int64_t trials)
{
    job *best = NULL;
    int64_t launched = 0, now = heed_clock_ns();
    for (size_t i = 0; i < shape->space_count; i++) {
        launched += shape->spaces[i].launched;
        if (jobs[i].best > 0 && (!best || jobs[i].best < best->best))
            best = &jobs[i];
    }
    if (!best || now >= until_ns || (trials > 0 && launched >= trials))
        return HEED_OK;
    lab_sweep_evolution *bred = malloc(sizeof *bred);
    if (!bred)
        return HEED_ERR_NO_MEMORY;
    *bred = (lab_sweep_evolution){ .sweep = &best->sweep,
                                   .device = best->tune->device,
                                   .course = { .mode = best->tune->insights,
                                               .budget = lab_insight_budget(
                                                   (double)(until_ns - now) * 1e-9) },
                                   .show = show,
                                   .data = best };
    heed_status status = evolve(best, bred, until_ns, trials > 0 ? trials - launched : 0);
    lab_sweep_evolution_free(bred);
    free(bred);
    return status;
}

static heed_status search_shape(lab_tune *tune, lab_tune_shape *shape, int64_t until_ns,
                                lab_progress *progress)
{
    job jobs[LAB_TUNE_SPACES];
    int64_t now = heed_clock_ns();
    int64_t sweeps_until = now + (int64_t)((double)(until_ns - now) * SWEEPS_SHARE);
    lab_sweep_shape *common = calloc(1, sizeof *common);
    if (!common)
        return lab_fail(&tune->trouble, HEED_ERR_NO_MEMORY, "not enough memory to search");
    common->source = *shape->source;
    snprintf(common->spec, sizeof common->spec, "%s", shape->spec);
    for (size_t i = 0; i < LAB_TUNE_SPACES; i++)
        jobs[i] = (job){ .tune = tune, .shape = shape, .progress = progress };
    heed_status status = sweep_all(jobs, shape, common, sweeps_until, tune->trials);
    if (status == HEED_OK)
        status = evolve_best(jobs, shape, until_ns, tune->trials);
    for (size_t i = 0; i < LAB_TUNE_SPACES; i++)
        if (jobs[i].space)
            close_job(&jobs[i]);
    lab_sweep last = { .shapes = common, .problems = { .count = 1 } };
    lab_sweep_shapes_free(&last);
    return status;
}

heed_status lab_tune_search(lab_tune *tune)
{
    size_t left = 0;
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start_seconds(tune->bench.sink, "searching",
                                                       tune->seconds);
    for (size_t i = 0; i < tune->count; i++)
        left += tune->shapes[i].space_count > 0;
    /* Unused time of one search goes to the others. */
    for (size_t i = 0; i < tune->count && status == HEED_OK; i++) {
        lab_tune_shape *shape = &tune->shapes[i];
        if (shape->space_count == 0)
            continue;
        if (lab_tune_left(tune, LAB_TUNE_SEARCHES) > 0)
            status = search_shape(tune, shape, lab_tune_share(tune, LAB_TUNE_SEARCHES, left),
                                  &progress);
        else
            shape->late = true;
        left--;
    }
    lab_progress_end(&progress);
    return status;
}
