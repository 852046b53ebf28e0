/*
 * profile_timeline.c - `heed profile --timeline`: times of single calls
 *
 * Each call of heed_execute() is timed by the host's clock, and its work by the device's timers. In
 * the gap between the work of two calls the device waits: for the host, or for the latency of a
 * launch.
 */
#include <stdlib.h>

#include "bench/engine.h"
#include "cli/base/cli.h"
#include "measure/stats.h"
#include "profile.h"
#include "report/format.h"

#define SEED 1
#define WARMUP 3

/* One problem. */
typedef struct timeline {
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    bool host; /* the device is the CPU: the call is the work */
    int calls;
    heed_call_times *times;
    double alone; /* seconds of a call in a replay, without the host; 0 on a CPU */
} timeline;

/* Summary of all calls. */
typedef struct timeline_summary {
    lab_summary host, gap, device;
    double idle; /* share of gaps in the time from the first call's work to the end of the last
                  * one's */
} timeline_summary;

static heed_status timed_call(void *data, int index, void *stream)
{
    const lab_bench_engine *engine = data;
    heed_buffers buffers = lab_bench_tensors_buffers(engine->tensors, index);
    buffers.workspace = engine->workspace;
    buffers.workspace_size = heed_plan_workspace_size(engine->plan);
    buffers.stream = stream;
    return heed_execute(engine->plan, &buffers);
}

static heed_status time_calls(timeline *line, lab_bench_engine *engine)
{
    heed_context *context = engine->tensors->context;
    heed_status status = HEED_OK;
    for (int i = 0; i < WARMUP && status == HEED_OK; i++)
        status = lab_bench_engine_call(engine);
    if (status == HEED_OK)
        status = heed_device_wait(context);
    if (status == HEED_OK)
        status = heed_device_timeline(context, timed_call, engine, line->calls, line->times);
    if (status == HEED_OK && !line->host)
        status = lab_bench_engine_capture(engine, line->calls, 1);
    if (status == HEED_OK && !line->host)
        status = lab_bench_engine_replay(engine, 1, WARMUP, &line->alone);
    return status;
}

static cli_exit measure(timeline *line, const cli_args *args, heed_context *context,
                        const heed_problem *problem)
{
    const lab_bench_source source = { .problem = *problem };
    lab_bench_tensors tensors;
    lab_bench_engine engine;
    heed_plan *plan;
    heed_status status = profile_plan(args, context, problem, &plan);
    if (status != HEED_OK)
        return cli_fail(status, line->spec);
    snprintf(line->kernel, sizeof line->kernel, "%s", heed_plan_name(plan));
    status = lab_bench_tensors_create(&tensors, context, &source, SEED, 0);
    if (status != HEED_OK) {
        heed_plan_destroy(plan);
        return cli_fail(status, line->spec);
    }
    status = lab_bench_engine_start(&engine, &tensors, plan, NULL);
    if (status == HEED_OK)
        status = time_calls(line, &engine);
    lab_bench_engine_stop(&engine);
    lab_bench_tensors_free(&tensors);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : cli_fail(status, line->spec);
}

/* -------------------------------------------------------------------------- */
/* The answer                                                                 */
/* -------------------------------------------------------------------------- */

/* The idle time of the device before call @index; 0 for the first. */
static double gap_before(const timeline *line, int index)
{
    return index ? line->times[index].device_start - line->times[index - 1].device_end : 0;
}

static bool summarize(const timeline *line, timeline_summary *summary)
{
    size_t count = (size_t)line->calls;
    double *figures = calloc(3 * count, sizeof *figures);
    double gaps = 0, whole = line->times[count - 1].device_end - line->times[0].device_start;
    if (!figures)
        return false;
    for (int i = 0; i < line->calls; i++) {
        const heed_call_times *it = &line->times[i];
        figures[i] = it->host_end - it->host_start;
        figures[count + (size_t)i] = gap_before(line, i);
        figures[2 * count + (size_t)i] = it->device_end - it->device_start;
        gaps += gap_before(line, i);
    }
    lab_stats_summarize(figures, count, &summary->host);
    lab_stats_summarize(figures + count + 1, count - 1, &summary->gap);
    lab_stats_summarize(figures + 2 * count, count, &summary->device);
    summary->idle = whole > 0 ? gaps / whole : 0;
    free(figures);
    return true;
}

static void add_seconds(lab_listing *rows, const char *key, const char *head, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    lab_cell_json(rows, key, cli_json_real(seconds));
    lab_cell_right(rows, head, "%s", lab_format_seconds(seconds < 0 ? 0 : seconds, text));
}

static void add_call(lab_listing *rows, const timeline *line, int index)
{
    const heed_call_times *it = &line->times[index];
    const bool apart = !line->host; /* the device has a separate time */
    lab_cell_right(rows, "call", "%d", index + 1);
    add_seconds(rows, "host_start", "begins", it->host_start);
    add_seconds(rows, "host_seconds", apart ? "host" : "call time", it->host_end - it->host_start);
    add_seconds(rows, "device_start", apart ? "begins there" : NULL, it->device_start);
    add_seconds(rows, "device_seconds", NULL, it->device_end - it->device_start);
    if (index == 0)
        lab_cell_right(rows, "gap", "-");
    add_seconds(rows, "gap_seconds", index == 0 ? NULL : "gap", gap_before(line, index));
    add_seconds(rows, NULL, apart ? "device" : NULL, it->device_end - it->device_start);
    lab_row_end(rows);
}

static lab_listing list_calls(const timeline *line, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (int i = 0; i < line->calls; i++)
        add_call(&rows, line, i);
    return rows;
}

static void add_median(lab_listing *rows, const timeline *line, const timeline_summary *summary)
{
    lab_listing_rule(rows, NULL);
    lab_cell_right(rows, "call", "median");
    lab_cell_right(rows, "begins", "%s", "");
    add_seconds(rows, NULL, "host", summary->host.p50);
    if (!line->host)
        lab_cell_right(rows, "begins there", "%s", "");
    add_seconds(rows, NULL, "gap", summary->gap.p50);
    add_seconds(rows, NULL, line->host ? NULL : "device", summary->device.p50);
    lab_row_end(rows);
}

/* Prints the conclusions, on an asynchronous device. */
static void print_verdict(const timeline *line, const timeline_summary *summary)
{
    char text[LAB_FORMAT_SIZE], host[LAB_FORMAT_SIZE], device[LAB_FORMAT_SIZE];
    printf("in a graph, without the host, a call takes %s; ",
           lab_format_seconds(line->alone, text));
    if (summary->host.p50 > summary->device.p50)
        printf("the host binds: it needs %s a call, the device %s and waits %.0f %% of its time. "
               "Capture the calls into a graph\n",
               lab_format_seconds(summary->host.p50, host),
               lab_format_seconds(summary->device.p50, device), 100 * summary->idle);
    else
        printf("the device binds, and waits %.0f %% of its time\n", 100 * summary->idle);
}

static cli_exit print_text(const timeline *line, const timeline_summary *summary)
{
    lab_listing calls = list_calls(line, false);
    add_median(&calls, line, summary);
    printf("%s%s%s\n%s\n\n", cli_style(stdout, LAB_BOLD), line->spec, cli_style(stdout, LAB_PLAIN),
           line->kernel);
    cli_exit code = cli_table_print(calls);
    putchar('\n');
    if (!line->host) {
        print_verdict(line, summary);
        putchar('\n');
    }
    return code;
}

static json_t *json_line(const timeline *line, const timeline_summary *summary)
{
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o}", "problem", line->spec, "kernel",
                     line->kernel, "host_p50_seconds", summary->host.p50, "gap_p50_seconds",
                     summary->gap.p50, "device_p50_seconds", summary->device.p50, "idle_share",
                     summary->idle, "replay_seconds",
                     line->host ? json_null() : cli_json_real(line->alone), "calls",
                     lab_listing_take(list_calls(line, true)));
}

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

static cli_exit show_problem(const cli_args *args, heed_context *context,
                             const heed_problem *problem, json_t **list)
{
    timeline line = { .host = heed_device_is_host(context),
                      .calls = (int)cli_args_integer(args, "calls") };
    timeline_summary summary = { .idle = 0 };
    line.times = calloc((size_t)line.calls, sizeof *line.times);
    if (!line.times)
        return CLI_ENVIRONMENT;
    heed_problem_print(problem, line.spec, sizeof line.spec);
    cli_exit code = measure(&line, args, context, problem);
    if (code == CLI_OK && !summarize(&line, &summary))
        code = CLI_ENVIRONMENT;
    if (code == CLI_OK && cli_args_json(args))
        *list = cli_json_append(*list, json_line(&line, &summary));
    else if (code == CLI_OK)
        code = print_text(&line, &summary);
    free(line.times);
    return code;
}

cli_exit profile_timeline(const cli_args *args)
{
    lab_problems problems;
    heed_context *context = NULL;
    json_t *list = json_array();
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = cli_context_open_read(&context, args);
    for (size_t i = 0; i < problems.count && code == CLI_OK; i++)
        code = show_problem(args, context, &problems.items[i], &list);
    if (code == CLI_OK && cli_args_json(args))
        code = cli_json_print(
            json_pack("{s:s, s:O}", "device", heed_context_device(context), "problems", list),
            "profile-timeline");
    else if (code == CLI_OK)
        printf("on %s\n", heed_context_device(context));
    json_decref(list);
    heed_context_destroy(context);
    cli_problems_free(&problems);
    return code;
}
