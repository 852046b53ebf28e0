/*
 * tune_search.c - searches for each problem, whose every trial is on the board: a sweep of each
 * space, and evolution in the space where the best was found
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "src/measure.h"
#include "tune.h"

#define NS_PER_SECOND 1e9

#define SWEEPS_SHARE 0.65 /* of the time and the trials; evolution has the rest */

/* ---- Results ---- */

void tune_job_show(tune_job *job)
{
    char text[LAB_FORMAT_SIZE], what[HEED_SPEC_SIZE + 64];
    if (job->sweep.shapes && job->sweep.shapes[0].best > 0)
        snprintf(what, sizeof what, "%s  best %s", job->shape->spec,
                 lab_format_seconds(job->sweep.shapes[0].best, text));
    else
        snprintf(what, sizeof what, "%s", job->shape->spec);
    lab_progress_step(job->progress, (size_t)tune_passed(job->tune), what);
}

void tune_job_take(tune_job *job, const lab_point *point, double seconds)
{
    tune_shape *shape = job->shape;
    if (job->best == 0 || seconds < job->best)
        job->best = seconds;
    if (shape->searched > 0 && seconds >= shape->searched)
        return;
    lab_space_name(&job->sweep.space, point, job->sweep.kernel, shape->best, NULL);
    shape->searched = seconds;
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    (void)one;
    (void)best;
    tune_job_show(data);
}

/* ---- One space ---- */

/* All spaces of a problem compute in the same tensors, @shape's. */
static cli_exit open_job(tune_job *it, lab_sweep_shape *shape)
{
    lab_sweep *sweep = &it->sweep;
    tune_run *tune = it->tune;
    char found[1024];
    const char *path = cli_find_list("spaces", it->space->name, found, sizeof found);
    *sweep = (lab_sweep){ .sink = &cli_sink,
                          .options = tune->options,
                          .session = &tune->session,
                          .shapes = shape,
                          .context = tune->bench.context,
                          .replay = tune->bench.replay,
                          .arch = heed_device_arch(tune->bench.context),
                          .judge = tune->judge,
                          .threads = tune->bench.host_threads };
    heed_status status = lab_space_load(&sweep->space, path, &it->error);
    if (status != HEED_OK)
        return cli_fail_error(status, &it->error);
    sweep->limits = sweep->space.limits;
    snprintf(sweep->kernel, sizeof sweep->kernel, "%s", it->space->kernel);
    snprintf(sweep->device, sizeof sweep->device, "%s", heed_context_device(sweep->context));
    sweep->problems.items = calloc(1, sizeof *sweep->problems.items);
    if (!sweep->problems.items) {
        cli_error("not enough memory to search");
        return CLI_ENVIRONMENT;
    }
    sweep->problems.count = 1;
    sweep->problems.items[0] = it->shape->source->problem;
    it->inner = lab_sweep_evaluator(sweep);
    return sweep_start_pool(sweep);
}

static void close_job(tune_job *it)
{
    it->shape->reused += it->tune->session.resumed ? it->sweep.reused : 0;
    lab_sweep_pool_stop(it->sweep.pool);
    lab_search_free(it->sweep.search);
    free(it->sweep.problems.items);
    lab_space_free(&it->sweep.space);
}

/* The champion is where every search of its kernel begins, and then what the cost model likes. */
static lab_point *find_starts(tune_job *it, size_t *count)
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

static void take_sweep(tune_job *it)
{
    const lab_search_result result = lab_search_get(it->sweep.search);
    it->space->points = result.points - result.refused;
    it->space->pruned = result.pruned;
    it->space->launched = result.launched;
    if (!result.best)
        return;
    const lab_point point = lab_space_at(&it->sweep.space, result.best->index);
    tune_job_take(it, &point, exp(result.best->score));
}

/* Sweeps the space until @until_ns, or for @trials launches. */
static cli_exit sweep_space(tune_job *it, int64_t until_ns, int64_t trials)
{
    size_t count = 0;
    int64_t budget = until_ns - heed_clock_ns();
    if (it->sweep.pool)
        lab_sweep_pool_until(it->sweep.pool, until_ns);
    lab_point *starts = find_starts(it, &count);
    const lab_search_options options = { .seed = it->tune->options.seed,
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
    return (double)(shape->space_count - from) + (from == 0);
}

/* The share of space number @at in @trials (0: any number), without the share of evolution. */
static int64_t trials_of(const tune_shape *shape, size_t at, int64_t trials)
{
    double share = SWEEPS_SHARE * (double)trials * (at == 0 ? 2 : 1) / weight_left(shape, 0);
    return trials <= 0 ? 0 : at == 0 && share < 1 ? 1 : (int64_t)share;
}

static cli_exit sweep_all(tune_job *jobs, tune_shape *shape, lab_sweep_shape *common,
                          int64_t until_ns, int64_t trials)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < shape->space_count && code == CLI_OK; i++) {
        int64_t now = heed_clock_ns(), wanted = trials_of(shape, i, trials);
        double share = (i == 0 ? 2 : 1) / weight_left(shape, i);
        if ((i > 0 && now >= until_ns) || (trials > 0 && wanted == 0))
            continue;
        jobs[i].space = &shape->spaces[i];
        code = open_job(&jobs[i], common);
        tune_job_show(&jobs[i]);
        if (code == CLI_OK)
            code = sweep_space(&jobs[i], now + (int64_t)((double)(until_ns - now) * share), wanted);
    }
    return code;
}

/* Evolution in the space where the best was found. */
static cli_exit evolve_best(tune_job *jobs, tune_shape *shape, int64_t until_ns, int64_t trials)
{
    tune_job *best = NULL;
    int64_t launched = 0;
    for (size_t i = 0; i < shape->space_count; i++) {
        launched += shape->spaces[i].launched;
        if (jobs[i].best > 0 && (!best || jobs[i].best < best->best))
            best = &jobs[i];
    }
    if (!best || heed_clock_ns() >= until_ns || (trials > 0 && launched >= trials))
        return CLI_OK;
    if (best->sweep.pool)
        lab_sweep_pool_until(best->sweep.pool, until_ns);
    return tune_evolve(best, until_ns, trials > 0 ? trials - launched : 0);
}

static cli_exit search_shape(tune_run *tune, tune_shape *shape, int64_t until_ns,
                             lab_progress *progress)
{
    tune_job jobs[TUNE_SPACES];
    int64_t trials = tune->options.trials, now = heed_clock_ns();
    int64_t sweeps_until = now + (int64_t)((double)(until_ns - now) * SWEEPS_SHARE);
    lab_sweep_shape *common = calloc(1, sizeof *common);
    if (!common) {
        cli_error("not enough memory to search");
        return CLI_ENVIRONMENT;
    }
    common->source = *shape->source;
    snprintf(common->spec, sizeof common->spec, "%s", shape->spec);
    for (size_t i = 0; i < TUNE_SPACES; i++)
        jobs[i] = (tune_job){ .tune = tune, .shape = shape, .progress = progress };
    cli_exit code = sweep_all(jobs, shape, common, sweeps_until, trials);
    if (code == CLI_OK)
        code = evolve_best(jobs, shape, until_ns, trials);
    for (size_t i = 0; i < TUNE_SPACES; i++)
        if (jobs[i].space)
            close_job(&jobs[i]);
    lab_sweep last = { .shapes = common, .problems = { .count = 1 } };
    lab_sweep_shapes_free(&last);
    return code;
}

cli_exit tune_search(tune_run *tune)
{
    size_t left = 0;
    cli_exit code = CLI_OK;
    lab_progress progress = lab_progress_start_seconds(&cli_sink, "searching",
                                                       tune->options.seconds);
    for (size_t i = 0; i < tune->count; i++)
        left += tune->shapes[i].space_count > 0;
    /* Time that one search leaves of its share goes to the others. */
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        tune_shape *shape = &tune->shapes[i];
        if (shape->space_count == 0)
            continue;
        if (tune_left(tune, TUNE_SEARCHES) > 0)
            code = search_shape(tune, shape, tune_share(tune, TUNE_SEARCHES, left), &progress);
        else
            shape->late = true;
        left--;
    }
    lab_progress_end(&progress);
    return code;
}
