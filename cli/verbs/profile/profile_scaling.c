/*
 * profile_scaling.c - `heed profile --scaling`: the growth of the time as one size doubles
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine.h"
#include "cli/base/cli.h"
#include "inspect/scaling.h"
#include "measure/stats.h"
#include "profile.h"
#include "src/measure.h"
#include "src/message.h"

#define SEED 1
#define AXES_MAX 4
#define SAMPLES_MIN 5
#define SAMPLES_MAX 1000

/* A size whose call would take longer than this multiple of --seconds is left out. */
#define PATIENCE 25

/* A suspicious time is measured again this many times, twice as long each time: on a busy machine
 * good times look suspicious too. */
#define CONFIRMATIONS 3

#define POINTS_MAX 20

/* One size of an axis. */
typedef struct scaling_point {
    heed_problem problem;
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    char reason[256]; /* why it was not timed; empty if it was */
} scaling_point;

typedef struct scaling_axis {
    lab_axis axis;
    size_t count;
    scaling_point points[POINTS_MAX];
    lab_scale_point figures[POINTS_MAX];
    lab_scale_finding finding;
} scaling_axis;

typedef struct scaling_job {
    const cli_args *args;
    heed_context *context;
    double seconds;
    lab_progress progress;
    size_t done;
    bool found;
    json_t *problems; /* of --json */
} scaling_job;

/* -------------------------------------------------------------------------- */
/* Sizes                                                                      */
/* -------------------------------------------------------------------------- */

static size_t axes_of(const heed_problem *problem, lab_axis axes[AXES_MAX])
{
    size_t count = 0;
    axes[count++] = LAB_AXIS_BATCH;
    axes[count++] = LAB_AXIS_HEADS;
    if (problem->seq_q == problem->seq_k) {
        axes[count++] = LAB_AXIS_LENGTH;
    } else {
        axes[count++] = LAB_AXIS_QUERIES;
        axes[count++] = LAB_AXIS_KEYS;
    }
    return count;
}

static int64_t size_of(const heed_problem *problem, lab_axis axis)
{
    const int64_t sizes[LAB_AXES] = { problem->batch, problem->heads_q, problem->seq_q,
                                      problem->seq_q, problem->seq_k };
    return sizes[axis];
}

/* Writes the spec of @base with one size @factor times as large, and all other words unchanged. */
static void grow_spec(const heed_problem *base, lab_axis axis, int64_t factor,
                      char spec[2 * HEED_SPEC_SIZE])
{
    char words[HEED_SPEC_SIZE], *rest = NULL;
    long long b = axis == LAB_AXIS_BATCH ? factor : 1, h = axis == LAB_AXIS_HEADS ? factor : 1;
    long long q = axis == LAB_AXIS_LENGTH || axis == LAB_AXIS_QUERIES ? factor : 1;
    long long k = axis == LAB_AXIS_LENGTH || axis == LAB_AXIS_KEYS ? factor : 1;
    size_t room = (size_t)2 * HEED_SPEC_SIZE;
    size_t length = (size_t)snprintf(spec, room, "b%lld h%lld/%lld s%lld/%lld", base->batch * b,
                                     base->heads_q * h, base->heads_kv * h, base->seq_q * q,
                                     base->seq_k * k);
    heed_problem_print(base, words, sizeof words);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!strchr("bhs", word[0]) || word[1] < '0' || word[1] > '9')
            length += (size_t)snprintf(spec + length, room - length, " %s", word);
}

static void make_points(const scaling_job *job, const heed_problem *base, scaling_axis *axis)
{
    axis->count = (size_t)cli_args_integer(job->args, "steps");
    for (size_t i = 0; i < axis->count; i++) {
        char spec[2 * HEED_SPEC_SIZE];
        scaling_point *point = &axis->points[i];
        lab_scale_point *figure = &axis->figures[i];
        figure->size = size_of(base, axis->axis) << i;
        grow_spec(base, axis->axis, INT64_C(1) << i, spec);
        if (heed_problem_parse(&point->problem, spec) != HEED_OK) {
            snprintf(point->reason, sizeof point->reason, "%.*s",
                     (int)strcspn(heed_message(), "\n"), heed_message());
            snprintf(point->spec, sizeof point->spec, "%s", spec);
            continue;
        }
        heed_problem_print(&point->problem, point->spec, sizeof point->spec);
        figure->flops = heed_problem_flops(&point->problem);
        figure->bytes = heed_problem_bytes(&point->problem);
    }
}

/* -------------------------------------------------------------------------- */
/* Times                                                                      */
/* -------------------------------------------------------------------------- */

static void describe(const scaling_job *job, const heed_plan *plan, scaling_point *point,
                     lab_scale_point *figure)
{
    heed_device_launch launch = heed_device_launch_of(plan);
    snprintf(point->kernel, sizeof point->kernel, "%s", heed_plan_name(plan));
    figure->kernel = point->kernel;
    figure->blocks = launch.blocks;
    figure->units = heed_device_get_limits(job->context).multiprocessors;
    figure->capacity = figure->units * launch.resident;
}

/* Samples blocks of replays, on an asynchronous device. */
static heed_status sample_replays(lab_bench_engine *engine, double budget, double *samples,
                                  int *count)
{
    *count = 0;
    heed_status status = lab_bench_engine_estimate(engine, true, &samples[0]);
    if (status == HEED_OK)
        status = lab_bench_engine_ready(engine, true, samples[0]);
    int64_t end = heed_clock_ns() + (int64_t)(budget * 1e9);
    while (status == HEED_OK && *count < SAMPLES_MAX &&
           (*count < SAMPLES_MIN || heed_clock_ns() < end))
        status = lab_bench_engine_block(engine, &samples[(*count)++]);
    return status;
}

/* Takes short samples, on a CPU: some of them may be undisturbed. */
static heed_status sample_calls(lab_bench_engine *engine, double budget, double *samples,
                                int *count)
{
    const heed_sampling sampling = { .warmup_ns = (int64_t)(budget * 0.1e9),
                                     .sample_ns = (int64_t)(budget * 1e9 / SAMPLES_MAX),
                                     .budget_ns = (int64_t)(budget * 1e9),
                                     .samples_min = SAMPLES_MIN,
                                     .samples_max = SAMPLES_MAX };
    return heed_sample(lab_bench_engine_call, engine, &sampling, samples, count);
}

/* Disturbances only add to a time, so the minimum counts. */
static heed_status sample(lab_bench_engine *engine, double budget, lab_scale_point *figure)
{
    double samples[SAMPLES_MAX];
    lab_summary summary;
    int count;
    heed_status status = heed_device_is_host(engine->tensors->context)
                             ? sample_calls(engine, budget, samples, &count)
                             : sample_replays(engine, budget, samples, &count);
    if (status != HEED_OK)
        return status;
    lab_stats_summarize(samples, (size_t)count, &summary);
    if (!(figure->seconds > 0 && figure->seconds < samples[0]))
        figure->seconds = samples[0];
    figure->spread = summary.p50 / figure->seconds;
    return HEED_OK;
}

/* Times @point, and keeps the smaller time if it already has one. */
static heed_status time_point(const scaling_job *job, double budget, scaling_point *point,
                              lab_scale_point *figure)
{
    const lab_bench_source source = { .problem = point->problem };
    lab_bench_tensors tensors;
    lab_bench_engine engine;
    heed_plan *plan;
    heed_status status = profile_plan(job->args, job->context, &point->problem, &plan);
    if (status != HEED_OK)
        return status;
    describe(job, plan, point, figure);
    status = lab_bench_tensors_create(&tensors, job->context, &source, SEED, 0);
    if (status != HEED_OK) {
        heed_plan_destroy(plan);
        return heed_fail(status, "there is not enough memory for its tensors");
    }
    status = lab_bench_engine_start(&engine, &tensors, plan, NULL);
    if (status == HEED_OK)
        status = sample(&engine, budget, figure);
    lab_bench_engine_stop(&engine);
    lab_bench_tensors_free(&tensors);
    return status;
}

/* True if it would take too long, judged by the previous size. */
static bool is_too_long(const scaling_job *job, const lab_scale_point *before,
                        const lab_scale_point *figure)
{
    return before && before->seconds > 0 &&
           before->seconds * lab_scale_work(before, figure) > PATIENCE * job->seconds;
}

static cli_exit time_axis(scaling_job *job, scaling_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++) {
        scaling_point *point = &axis->points[i];
        const lab_scale_point *before = i > 0 ? &axis->figures[i - 1] : NULL;
        heed_status status = HEED_OK;
        lab_progress_step(&job->progress, job->done++, point->spec);
        if (*point->reason)
            continue;
        if (before && !(before->seconds > 0))
            snprintf(point->reason, sizeof point->reason, "the previous size was not timed");
        else if (is_too_long(job, before, &axis->figures[i]))
            snprintf(point->reason, sizeof point->reason,
                     "a call would take longer than %g s; --seconds gives more",
                     PATIENCE * job->seconds);
        else
            status = time_point(job, job->seconds, point, &axis->figures[i]);
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        if (status != HEED_OK && i == 0)
            return cli_fail(status, point->spec);
        if (status != HEED_OK)
            snprintf(point->reason, sizeof point->reason, "%s", heed_message());
    }
    return CLI_OK;
}

static cli_exit judge_axis(scaling_job *job, scaling_axis *axis)
{
    double cache = (double)heed_device_cache(job->context);
    double budget = job->seconds;
    for (int i = 0;; i++) {
        axis->finding = lab_scale_judge(axis->axis, axis->figures, axis->count, cache);
        if (axis->finding.cause == LAB_SCALE_FINE || i == CONFIRMATIONS)
            break;
        const size_t again[] = { axis->finding.from, axis->finding.to };
        budget *= 2;
        for (size_t k = 0; k < 2; k++)
            if (time_point(job, budget, &axis->points[again[k]], &axis->figures[again[k]]) !=
                HEED_OK)
                return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
    }
    job->found |= axis->finding.cause > LAB_SCALE_NOISE;
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The growth of times, as text or JSON                                       */
/* -------------------------------------------------------------------------- */

static void add_ratio(lab_listing *rows, const char *head, double ratio)
{
    lab_cell_real(rows, NULL, head, ratio > 0 ? ratio : -1, "%.2fx", ratio);
}

static void add_point(lab_listing *rows, const scaling_axis *axis, size_t index)
{
    const lab_scale_point *first = &axis->figures[0], *figure = &axis->figures[index];
    const scaling_point *point = &axis->points[index];
    bool timed = figure->seconds > 0;
    lab_cell_text(rows, "problem", NULL, point->spec);
    lab_cell_left(rows, "axis", "%s", index ? "" : lab_axis_name(axis->axis));
    lab_cell_count(rows, "size", "size", figure->size);
    lab_cell_seconds(rows, "seconds", "time", figure->seconds);
    lab_cell_json(rows, "spread", cli_json_real(timed ? figure->spread : NAN));
    lab_cell_json(rows, "flops", cli_json_real(figure->flops));
    lab_cell_json(rows, "bytes", cli_json_real(figure->bytes));
    lab_cell_json(rows, "blocks", json_integer((json_int_t)figure->blocks));
    lab_cell_json(rows, "capacity", json_integer((json_int_t)figure->capacity));
    add_ratio(rows, "growth", figure->seconds / first->seconds);
    add_ratio(rows, "work", lab_scale_work(first, figure));
    add_ratio(rows, "waves", timed ? lab_scale_waves(first, figure) : 0);
    lab_cell_text(rows, "kernel", NULL, *point->kernel ? point->kernel : NULL);
    lab_cell_text(rows, "reason", NULL, *point->reason ? point->reason : NULL);
    lab_cell_left(rows, "kernel", "%s", timed ? point->kernel : point->reason);
    lab_row_end(rows);
}

static void add_axis(lab_listing *rows, const scaling_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++)
        add_point(rows, axis, i);
}

static void print_finding(const scaling_axis *axis)
{
    char why[512];
    const lab_scale_finding *it = &axis->finding;
    const char *name = lab_axis_name(axis->axis);
    if (it->to == 0) {
        printf("%s: only one size was timed\n", name);
        return;
    }
    lab_scale_explain(it, axis->figures, why, sizeof why);
    printf("%s: from %lld to %lld %.2fx the time for %.2fx the work", name,
           (long long)axis->figures[it->from].size, (long long)axis->figures[it->to].size, it->time,
           it->work);
    if (it->cause == LAB_SCALE_FINE)
        printf("\n");
    else
        printf(": %s%s%s: %s\n",
               cli_style(stdout, it->cause == LAB_SCALE_NOISE ? LAB_WARN : LAB_BAD),
               lab_scale_cause_name(it->cause), cli_style(stdout, LAB_PLAIN), why);
}

static cli_exit print_axes(const char *spec, const scaling_axis *axes, size_t count)
{
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < count; i++)
        add_axis(&rows, &axes[i]);
    printf("%s%s%s\n\n", cli_style(stdout, LAB_BOLD), spec, cli_style(stdout, LAB_PLAIN));
    cli_exit code = cli_table_print(rows);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        print_finding(&axes[i]);
    putchar('\n');
    return code;
}

static json_t *json_axis(const void *item)
{
    const scaling_axis *axis = item;
    char why[512];
    const lab_scale_finding *it = &axis->finding;
    lab_listing points = cli_rows_begin(true);
    add_axis(&points, axis);
    lab_scale_explain(it, axis->figures, why, sizeof why);
    return json_pack(
        "{s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "axis", lab_axis_name(axis->axis),
        "points", lab_listing_take(points), "cause", lab_scale_cause_name(it->cause), "from",
        (json_int_t)axis->figures[it->from].size, "to", (json_int_t)axis->figures[it->to].size,
        "time_ratio", cli_json_real(it->time), "work_ratio", cli_json_real(it->work), "room_ratio",
        cli_json_real(it->room), "waves_ratio", cli_json_real(it->waves), "why", why);
}

/* Adds a problem to the output, and prints it if that is text. */
static cli_exit report_problem(scaling_job *job, const char *spec, const scaling_axis *axes,
                               size_t count)
{
    if (!cli_args_json(job->args))
        return print_axes(spec, axes, count);
    json_t *list = cli_json_list(axes, count, sizeof *axes, json_axis);
    job->problems = cli_json_append(job->problems,
                                    json_pack("{s:s, s:o}", "problem", spec, "axes", list));
    return CLI_OK;
}

static cli_exit report_end(const scaling_job *job)
{
    if (cli_args_json(job->args))
        return cli_json_print(
            json_pack("{s:s, s:i, s:O}", "device", heed_context_device(job->context), "exit",
                      job->found ? CLI_FINDING : CLI_OK, "problems", job->problems),
            "profile-scaling");
    printf("on %s; times are the least of %g s each\n", heed_context_device(job->context),
           job->seconds);
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

static cli_exit scale_problem(scaling_job *job, const heed_problem *problem)
{
    lab_axis kinds[AXES_MAX];
    char spec[HEED_SPEC_SIZE];
    size_t count = axes_of(problem, kinds);
    scaling_axis *axes = calloc(count, sizeof *axes);
    cli_exit code = axes ? CLI_OK : CLI_ENVIRONMENT;
    heed_problem_print(problem, spec, sizeof spec);
    for (size_t i = 0; i < count && code == CLI_OK; i++) {
        axes[i].axis = kinds[i];
        make_points(job, problem, &axes[i]);
        code = time_axis(job, &axes[i]);
        if (code == CLI_OK)
            code = judge_axis(job, &axes[i]);
    }
    lab_progress_end(&job->progress);
    if (code == CLI_OK)
        code = report_problem(job, spec, axes, count);
    free(axes);
    return code;
}

cli_exit profile_scaling(const cli_args *args)
{
    lab_problems problems;
    scaling_job job = { .args = args,
                        .seconds = cli_args_real(args, "seconds"),
                        .problems = json_array() };
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = cli_context_open_read(&job.context, args);
    job.progress = lab_progress_start(&cli_sink, "scaling",
                                      problems.count * 3 * (size_t)cli_args_integer(args, "steps"));
    for (size_t i = 0; i < problems.count && code == CLI_OK; i++)
        code = scale_problem(&job, &problems.items[i]);
    lab_progress_end(&job.progress);
    if (code == CLI_OK)
        code = report_end(&job);
    json_decref(job.problems);
    heed_context_destroy(job.context);
    cli_problems_free(&problems);
    return code == CLI_OK && job.found ? CLI_FINDING : code;
}
