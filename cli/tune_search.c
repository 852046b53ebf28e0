/*
 * tune_search.c - a search for each problem, whose every trial is on the board
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "report/format.h"
#include "tune.h"

#define NS_PER_SECOND 1e9

/* One search. */
typedef struct search_of {
    tune_run *tune;
    tune_shape *shape;
    sweep_run sweep; /* of one problem */
    lab_evaluator inner;
    lab_error error;
    cli_progress *progress;
} search_of;

/* ---- Answers of the board, and those that go there ---- */

static const struct {
    lab_fate fate;
    lab_record_verdict verdict;
} words[] = {
    { LAB_FATE_TIMED, LAB_RECORD_OK },      { LAB_FATE_WRONG, LAB_RECORD_WRONG },
    { LAB_FATE_CRASHED, LAB_RECORD_CRASH }, { LAB_FATE_LATE, LAB_RECORD_HANG },
    { LAB_FATE_FAILED, LAB_RECORD_FAILED },
};

static lab_fate fate_of(lab_record_verdict verdict)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].verdict == verdict)
            return words[i].fate;
    return LAB_FATE_FAILED;
}

static lab_record_verdict verdict_of(lab_fate fate)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].fate == fate)
            return words[i].verdict;
    return LAB_RECORD_FAILED;
}

static heed_status append(search_of *it, lab_record_trial *trial, const lab_evaluation *result)
{
    if (result->fate == LAB_FATE_PRUNED) /* nothing ran, and it is soon found out anew */
        return HEED_OK;
    trial->verdict = verdict_of(result->fate);
    trial->reason = *result->why ? result->why : NULL;
    if (result->fate == LAB_FATE_TIMED) {
        trial->seconds = result->seconds;
        trial->timing = it->tune->bench.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    }
    return lab_record_append(it->tune->record, trial, NULL, &it->error);
}

static heed_status evaluate(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result)
{
    search_of *it = data;
    char whole[HEED_NAME_SIZE], thought[LAB_POINT_TEXT];
    tune_name name;
    lab_record_found found;
    if (lab_space_name(&it->sweep.space, point, it->sweep.kernel, whole, NULL) != HEED_OK)
        return it->inner.evaluate(it->inner.data, point, shape, effort, result);
    lab_record_trial trial = tune_trial(it->tune, it->shape, whole, effort, &name);
    lab_point_print(&it->sweep.space, point, thought);
    trial.candidate.thought = thought;
    heed_status status = lab_record_find(it->tune->record, &trial, &found, &it->error);
    if (status == HEED_OK && found.trial) {
        it->shape->reused++;
        *result = (lab_evaluation){ .fate = fate_of(found.verdict), .seconds = found.seconds };
        return HEED_OK;
    }
    if (status == HEED_OK)
        status = it->inner.evaluate(it->inner.data, point, shape, effort, result);
    return status == HEED_OK ? append(it, &trial, result) : status;
}

static bool refuse(void *data, const lab_point *point, char why[LAB_WHY_SIZE])
{
    search_of *it = data;
    return it->inner.refuse(it->inner.data, point, why);
}

static void announce(void *data, const lab_point *points, size_t count)
{
    search_of *it = data;
    it->inner.announce(it->inner.data, points, count);
}

/* ---- The search ---- */

/* Progress in tenths of a second of all the time that there is. */
static void show(search_of *it, const lab_try *best)
{
    char text[LAB_FORMAT_SIZE], what[HEED_SPEC_SIZE + 64];
    double passed = (double)(heed_clock_ns() - it->tune->start_ns) / NS_PER_SECOND;
    if (best)
        snprintf(what, sizeof what, "tenths of a second  %s  best %s", it->shape->spec,
                 lab_format_seconds(exp(best->score), text));
    else
        snprintf(what, sizeof what, "tenths of a second  %s", it->shape->spec);
    cli_progress_step(it->progress, (size_t)(10 * passed), what);
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    (void)one;
    show(data, best);
}

static cli_exit open_sweep(search_of *it)
{
    sweep_run *sweep = &it->sweep;
    const tune_run *tune = it->tune;
    char found[1024];
    const char *path = cli_find_list("spaces", it->shape->space, found, sizeof found);
    *sweep = (sweep_run){ .args = tune->args,
                          .context = tune->bench.context,
                          .replay = tune->bench.replay,
                          .arch = heed_device_arch(tune->bench.context),
                          .cold = tune->bench.cold,
                          .threads = tune->bench.host_threads };
    heed_status status = lab_space_load(&sweep->space, path, &it->error);
    if (status != HEED_OK)
        return cli_board_fail(status, &it->error);
    sweep->limits = sweep->space.limits;
    snprintf(sweep->kernel, sizeof sweep->kernel, "%s", it->shape->kernel);
    snprintf(sweep->device, sizeof sweep->device, "%s", heed_context_device(sweep->context));
    sweep->problems.items = calloc(1, sizeof *sweep->problems.items);
    sweep->shapes = calloc(1, sizeof *sweep->shapes);
    if (!sweep->problems.items || !sweep->shapes) {
        cli_error("not enough memory to search");
        return CLI_ENVIRONMENT;
    }
    sweep->problems.count = 1;
    sweep->problems.items[0] = it->shape->source->problem;
    sweep->shapes[0].source = *it->shape->source;
    snprintf(sweep->shapes[0].spec, sizeof sweep->shapes[0].spec, "%s", it->shape->spec);
    return sweep_start_pool(sweep);
}

static void close_sweep(sweep_run *sweep)
{
    sweep_pool_stop(sweep->pool);
    lab_search_free(sweep->search);
    if (sweep->shapes)
        sweep_shapes_free(sweep);
    free(sweep->problems.items);
    lab_space_free(&sweep->space);
}

/* The champion is where every search begins, and then what the cost model likes. */
static lab_point *find_starts(search_of *it, size_t *count)
{
    char name[HEED_NAME_SIZE];
    lab_point *starts = sweep_find_starts(&it->sweep, count);
    lab_point *all = starts ? realloc(starts, (*count + 1) * sizeof *all) : NULL;
    if (!all)
        return starts;
    for (int64_t i = 0; i < lab_space_count(&it->sweep.space); i++) {
        const lab_point point = lab_space_at(&it->sweep.space, i);
        if (lab_space_name(&it->sweep.space, &point, it->sweep.kernel, name, NULL) != HEED_OK ||
            strcmp(name, it->shape->champion) != 0)
            continue;
        if (*count > 0 && lab_space_index(&it->sweep.space, &all[0]) == i)
            break;
        all[(*count)++] = all[0];
        all[0] = point;
        break;
    }
    return all;
}

static void take_result(search_of *it)
{
    const lab_search_result result = lab_search_get(it->sweep.search);
    tune_shape *shape = it->shape;
    shape->points = result.points - result.refused;
    shape->pruned = result.pruned;
    shape->launched = result.launched;
    if (!result.best)
        return;
    const lab_point point = lab_space_at(&it->sweep.space, result.best->index);
    lab_space_name(&it->sweep.space, &point, it->sweep.kernel, shape->best, NULL);
    shape->searched = exp(result.best->score);
}

static cli_exit search(search_of *it, double seconds)
{
    tune_run *tune = it->tune;
    int64_t trials = cli_args_integer(tune->args, "trials");
    size_t count = 0;
    it->inner = sweep_evaluator(&it->sweep);
    lab_point *starts = find_starts(it, &count);
    const lab_evaluator evaluator = { .data = it,
                                      .shapes = 1,
                                      .efforts = it->inner.efforts,
                                      .evaluate = evaluate,
                                      .refuse = refuse,
                                      .announce = announce };
    const lab_search_options options = { .seed = tune->seed,
                                         .trials = trials > 0 ? trials : 0,
                                         .budget_ns = (int64_t)(seconds * NS_PER_SECOND),
                                         .starts = starts,
                                         .start_count = count,
                                         .interrupted = cli_interrupted,
                                         .tried = tried,
                                         .data = it };
    heed_status status = lab_search_run(&it->sweep.search, &it->sweep.space, &evaluator, &options,
                                        &it->error);
    free(starts);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("%s: %s%s%s", it->shape->spec, it->error.text, *it->sweep.trouble ? ": " : "",
                  it->sweep.trouble);
        return cli_exit_of(status);
    }
    take_result(it);
    return CLI_OK;
}

static cli_exit search_shape(tune_run *tune, tune_shape *shape, double seconds,
                             cli_progress *progress)
{
    search_of it = { .tune = tune, .shape = shape, .progress = progress };
    cli_exit code = open_sweep(&it);
    show(&it, NULL);
    if (code == CLI_OK)
        code = search(&it, seconds);
    close_sweep(&it.sweep);
    return code;
}

cli_exit tune_search(tune_run *tune)
{
    size_t left = 0;
    cli_exit code = CLI_OK;
    cli_progress progress = cli_progress_start("searching", (size_t)(10 * tune->seconds));
    for (size_t i = 0; i < tune->count; i++)
        left += *tune->shapes[i].space != '\0';
    tune->start_ns = heed_clock_ns();
    /* What one search leaves of its share the others have. */
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        double passed = (double)(heed_clock_ns() - tune->start_ns) / NS_PER_SECOND;
        double rest = fmax(tune->seconds - passed, 0.01);
        if (*tune->shapes[i].space)
            code = search_shape(tune, &tune->shapes[i], rest / (double)left--, &progress);
    }
    cli_progress_end(&progress);
    return code;
}
