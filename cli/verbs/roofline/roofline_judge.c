/*
 * roofline_judge.c - `heed roofline --judge`: rank correlation of the cost model's predictions with
 * times
 *
 * For each problem, Spearman's rank correlation of predicted and measured times over the points of
 * a sweep; and of their geometric means over the problems, for points that were timed on all of
 * them. The regret of the model's choice is printed as well: its time relative to the best.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "measure/environment.h"
#include "measure/stats.h"
#include "roofline.h"
#include "search/trials.h"
#include "src/cuda/facts.h"
#include "src/device.h"

/* A load above this gets a warning. */
#define LOAD_QUIET 0.5

/* A point's times, by problem. NAN: unknown. */
typedef struct judged {
    double measured[LAB_SEARCH_SHAPES], predicted[LAB_SEARCH_SHAPES];
} judged;

/* The result for one problem, or for all together. */
typedef struct verdict {
    size_t points;
    double correlation;
    double regret; /* time of the model's choice over the smallest one */
} verdict;

typedef struct judge {
    roofline_run *run;
    lab_space space;
    lab_trials trials;
    heed_problem problems[LAB_SEARCH_SHAPES];
    judged *points;
    size_t count;
} judge;

/* ---- The model's predictions ---- */

static double predict_cpu(heed_context *context, const heed_problem *problem, const char *name)
{
    heed_plan *plan;
    if (heed_plan_create_named(&plan, context, problem, name) != HEED_OK)
        return NAN;
    double seconds = lab_plan_chosen(plan).predicted;
    heed_plan_destroy(plan);
    return seconds >= 0 ? seconds : NAN;
}

static double predict(const judge *self, int shape, const char *name)
{
    const roofline_run *run = self->run;
    heed_cuda_facts facts;
    if (run->context && heed_device_is_host(run->context))
        return predict_cpu(run->context, &self->problems[shape], name);
    if (heed_cuda_facts_for(name, &self->problems[shape], &run->gpu, &facts) != HEED_OK)
        return NAN;
    return facts.seconds;
}

static void take_point(judge *self, int64_t index)
{
    const lab_point point = lab_space_at(&self->space, index);
    judged *one = &self->points[self->count];
    char name[HEED_NAME_SIZE];
    int known = 0;
    lab_error error;
    if (lab_space_name(&self->space, &point, self->trials.kernel, name, &error) != HEED_OK)
        return;
    for (int i = 0; i < self->trials.shape_count; i++) {
        const lab_evaluation *found = lab_trials_find(&self->trials, index, i, -1);
        bool timed = found && found->state == LAB_STATE_TIMED && found->seconds > 0;
        one->measured[i] = timed ? found->seconds : NAN;
        one->predicted[i] = timed ? predict(self, i, name) : NAN;
        known += isfinite(one->predicted[i]);
    }
    self->count += known > 0;
}

static cli_exit take_points(judge *self)
{
    int64_t points = lab_space_count(&self->space);
    for (int i = 0; i < self->trials.shape_count; i++) {
        heed_status status = heed_problem_parse(&self->problems[i], self->trials.shapes[i]);
        if (status != HEED_OK)
            return cli_fail(status, self->trials.shapes[i]);
    }
    self->points = calloc((size_t)points, sizeof *self->points);
    if (!self->points) {
        cli_error("not enough memory for %lld points", (long long)points);
        return CLI_ENVIRONMENT;
    }
    for (int64_t i = 0; i < points && !cli_interrupted(); i++)
        take_point(self, i);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* ---- Agreement ---- */

/* The verdict for @shape; for all shapes together if that is negative. */
static verdict weigh(const judge *self, int shape)
{
    double *measured = calloc(2 * self->count + 1, sizeof *measured);
    double *predicted = measured + self->count;
    verdict result = { .correlation = NAN, .regret = NAN };
    size_t chosen = 0, best = 0, count = 0;
    for (size_t i = 0; measured && i < self->count; i++) {
        const judged *one = &self->points[i];
        size_t shapes = (size_t)self->trials.shape_count;
        measured[count] = shape < 0 ? lab_stats_geomean(one->measured, shapes)
                                    : one->measured[shape];
        predicted[count] = shape < 0 ? lab_stats_geomean(one->predicted, shapes)
                                     : one->predicted[shape];
        if (!isfinite(measured[count]) || !isfinite(predicted[count]))
            continue;
        chosen = predicted[count] < predicted[chosen] ? count : chosen;
        best = measured[count] < measured[best] ? count : best;
        count++;
    }
    if (count > 0) {
        result.points = count;
        result.correlation = lab_rank_correlation(measured, predicted, count);
        result.regret = measured[chosen] / measured[best];
    }
    free(measured);
    return result;
}

/* ---- The answer ---- */

static void add_verdict(lab_listing *rows, const char *problem, const verdict *found)
{
    lab_cell_text(rows, "problem", NULL, problem);
    lab_cell_left(rows, "problem", "%s", problem ? problem : "all together");
    lab_cell_count(rows, "points", "points", (int64_t)found->points);
    lab_cell_json(rows, "rank_correlation", cli_json_real(found->correlation));
    if (isfinite(found->correlation))
        lab_cell_right(rows, "rank correlation", "%.2f", found->correlation);
    else
        lab_cell_right(rows, "rank correlation", "-");
    lab_cell_real(rows, "chosen_over_best", "chosen/best", found->regret, "%.2fx", found->regret);
    lab_row_end(rows);
}

static cli_exit print(const judge *self, const verdict *overall)
{
    lab_listing rows = cli_rows_begin(cli_args_json(self->run->args));
    for (int i = 0; i < self->trials.shape_count; i++) {
        const verdict one = weigh(self, i);
        add_verdict(&rows, self->trials.shapes[i], &one);
    }
    json_t *problems = lab_listing_rows(&rows);
    lab_listing_rule(&rows, NULL);
    add_verdict(&rows, NULL, overall);
    if (!rows.json) {
        printf("%s, %s of %s\n\n", self->trials.device, self->trials.kernel, self->space.name);
        return cli_table_print(rows);
    }
    json_t *last = lab_listing_take(rows);
    json_t *all = json_pack("{s:o, s:s, s:s, s:f, s:b, s:O?, s:o}", "device",
                            lab_json_text(self->trials.device), "space", self->space.name, "kernel",
                            self->trials.kernel, "least", ROOFLINE_JUDGE_LEAST, "good",
                            overall->correlation >= ROOFLINE_JUDGE_LEAST, "overall",
                            json_array_get(last, 0), "problems", problems);
    json_decref(last);
    return cli_json_print(all, "roofline-judge");
}

static cli_exit report(const judge *self)
{
    const verdict overall = weigh(self, -1);
    bool good = overall.correlation >= ROOFLINE_JUDGE_LEAST;
    cli_exit code = print(self, &overall);
    if (code != CLI_OK || good)
        return code;
    cli_error("the cost model's rank correlation is %.2f, which is less than %.1f: use "
              "--effort measure here, not estimate",
              overall.correlation, ROOFLINE_JUDGE_LEAST);
    return CLI_FINDING;
}

/* ---- Sources of the times ---- */

static const char *space_name(const roofline_run *run)
{
    const char *given = cli_args_text(run->args, "space");
    bool host = run->context && heed_device_is_host(run->context);
    return given ? given : host ? "cpu_tile" : "sweep90";
}

#define ARGUMENTS_MAX 32 /* in addition to the problems */

/* Writes the command of a sweep with the same device and problems, whose trials go to @path, and
 * which ends with NULL. */
static void say_sweep(const char **words, const cli_args *args, const char *space, const char *path)
{
    static const char *const fixed[] = { "heed",         "sweep",       "--strategy",
                                         "random",       "--trials",    "90",
                                         "--no-compare", "--no-verify", "--record" };
    static const char *const passed[][2] = { { "device", "--device" },
                                             { "cpu", "--cpu" },
                                             { "threads", "--threads" } };
    int operands = cli_args_operand_count(args);
    size_t lists = cli_args_list_count(args, "shapes");
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        *words++ = fixed[i];
    *words++ = path;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (cli_args_given(args, passed[i][0])) {
            *words++ = passed[i][1];
            *words++ = cli_args_text(args, passed[i][0]);
        }
    for (size_t i = 0; i < lists || (i == 0 && operands == 0); i++) {
        *words++ = "--shapes";
        *words++ = i < lists ? cli_args_list(args, "shapes", i) : "seed";
    }
    *words++ = space;
    for (int i = 0; i < operands; i++)
        *words++ = cli_args_operand(args, i);
}

static cli_exit sweep(const roofline_run *run, const char *space, const char *path)
{
    size_t problems = (size_t)cli_args_operand_count(run->args) +
                      2 * cli_args_list_count(run->args, "shapes");
    const char **words = calloc(problems + ARGUMENTS_MAX, sizeof *words);
    if (!words) {
        cli_error("not enough memory to run a sweep");
        return CLI_ENVIRONMENT;
    }
    say_sweep(words, run->args, space, path);
    cli_message("timing up to 90 points of %s ...", space);
    int code = cli_run_self((char *const *)(const void *)words, 0);
    free(words);
    if (code == CLI_OK || code == CLI_INTERRUPTED)
        return (cli_exit)code;
    cli_error("'heed sweep %s' ended with %d; run it by hand to see why", space, code);
    return code < 0 ? CLI_ENVIRONMENT : (cli_exit)code;
}

static cli_exit read_trials(judge *self, const char *path)
{
    lab_error error;
    heed_status status = lab_trials_read(&self->trials, &self->space, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    heed_gpu timed;
    if (!self->run->machine || !heed_gpu_find(&timed, self->trials.device) ||
        strcmp(timed.name, self->run->gpu.name) == 0)
        return CLI_OK;
    cli_error("--trials: %s has times of an %s, which say nothing of predictions for an %s", path,
              timed.name, self->run->gpu.name);
    return CLI_USAGE;
}

/* On a CPU, other programs add to the times. */
static void warn_if_busy(const roofline_run *run)
{
    lab_environment environment;
    lab_environment_read(&environment);
    if (run->context && heed_device_is_host(run->context) && environment.load > LOAD_QUIET)
        cli_warning("the load average of the last minute is %.2f: disturbed times cannot judge the "
                    "cost model; 'chrt -f 5 heed roofline --judge --threads 1 ...', as root, keeps "
                    "other programs away",
                    environment.load);
}

/* Runs a sweep for its trials. */
static cli_exit make_trials(judge *self, const char *space)
{
    const char *folder = getenv("TMPDIR");
    char own[LAB_CEILINGS_PATH], path[LAB_CEILINGS_PATH + 16];
    snprintf(own, sizeof own, "%s/heed-judge-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(own)) {
        cli_error("%s: %s", own, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    snprintf(path, sizeof path, "%s/trials.txt", own);
    warn_if_busy(self->run);
    cli_exit code = sweep(self->run, space, path);
    if (code == CLI_OK)
        code = read_trials(self, path);
    unlink(path);
    rmdir(own);
    return code;
}

/* Finds the GPU of predictions, unless --machine has set it. */
static cli_exit find_gpu(roofline_run *run)
{
    const char *name = run->context ? heed_context_device(run->context) : "";
    if (run->machine || heed_device_is_host(run->context))
        return CLI_OK;
    if (heed_gpu_find(&run->gpu, name) || heed_gpu_arch(&run->gpu, heed_device_arch(run->context)))
        return CLI_OK;
    cli_error("the cost model does not know the GPU %s", name);
    return CLI_UNSUPPORTED;
}

cli_exit roofline_judge(roofline_run *run)
{
    judge self = { .run = run };
    const char *trials = cli_args_text(run->args, "trials"), *space = space_name(run);
    cli_exit code = find_gpu(run);
    if (code != CLI_OK)
        return code;
    code = cli_space_load(&self.space, space, "");
    if (code != CLI_OK)
        return code;
    code = trials ? read_trials(&self, trials) : make_trials(&self, space);
    if (code == CLI_OK)
        code = take_points(&self);
    if (code == CLI_OK)
        code = report(&self);
    free(self.points);
    lab_trials_free(&self.trials);
    lab_space_free(&self.space);
    return code;
}
