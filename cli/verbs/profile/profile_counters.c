/*
 * profile_counters.c - the hardware counters of every problem, or of a recording
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "insight/ncu.h"
#include "profile.h"
#include "report/format.h"
#include "src/device.h"

#define RECORDING_MAX (INT64_C(64) << 20) /* bytes */

typedef struct profile_row {
    char spec[HEED_SPEC_SIZE];   /* empty: from a recording */
    char kernel[HEED_NAME_SIZE]; /* and config; empty: from a recording */
    bool known;                  /* false: only the trouble is */
    lab_profile profile;
    lab_gate_result gates[LAB_PROFILE_GATES];
    lab_gate_verdict verdict;
    lab_ncu_trouble trouble;
} profile_row;

typedef struct profile_job {
    const cli_args *args;
    bool keep_caches;
    char device[64]; /* its name */
    char ncu[512];   /* path of ncu; empty: none */
    bool recorded;   /* the counters were read from a file */
    profile_row *rows;
    size_t count;
} profile_job;

static void judge(profile_row *row)
{
    row->known = true;
    row->verdict = lab_profile_judge(&row->profile, row->gates);
}

/* -------------------------------------------------------------------------- */
/* A recording                                                                */
/* -------------------------------------------------------------------------- */

static cli_exit read_recording(profile_job *job, const char *path)
{
    lab_error error;
    profile_row *row = &job->rows[0];
    char *text;
    size_t size;
    heed_status status = cli_read_text(path, RECORDING_MAX, &text, &size, &error);
    if (status != HEED_OK) {
        cli_error("--read: %s", error.text);
        return cli_exit_of(status);
    }
    const lab_profile_trouble *known = lab_profile_trouble_in(text);
    status = lab_profile_read(&row->profile, text, NULL, &error);
    free(text);
    job->count = 1;
    if (status == HEED_OK) {
        judge(row);
    } else if (known) {
        snprintf(row->trouble.reason, sizeof row->trouble.reason, "%s", known->reason);
        row->trouble.fix = known->fix;
    } else {
        cli_error("--read: '%s': %s", path, error.text);
        job->count = 0;
        return cli_exit_of(status);
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Problems                                                                   */
/* -------------------------------------------------------------------------- */

/* The device, as seen by a plan for it: it is not used while ncu runs on it. */
typedef struct target {
    bool host;
    int arch;
    char name[64];
} target;

/* Writes the planned kernels, and the facts of the device. */
static cli_exit plan_all(profile_job *job, const cli_args *args, const lab_problems *problems,
                         target *device)
{
    heed_context *context;
    cli_exit code = cli_context_open_read(&context, args);
    if (code != CLI_OK)
        return code;
    device->host = heed_device_is_host(context);
    device->arch = heed_device_arch(context);
    snprintf(device->name, sizeof device->name, "%s", heed_context_device(context));
    for (size_t i = 0; i < problems->count && code == CLI_OK; i++) {
        profile_row *row = &job->rows[i];
        heed_plan *plan;
        heed_problem_print(&problems->items[i], row->spec, sizeof row->spec);
        heed_status status = profile_plan(args, context, &problems->items[i], &plan);
        if (status != HEED_OK)
            code = cli_fail(status, row->spec);
        snprintf(row->kernel, sizeof row->kernel, "%s", heed_plan_name(plan));
        heed_plan_destroy(plan);
        job->count += code == CLI_OK;
    }
    heed_context_destroy(context);
    return code;
}

/* Adds the options of this verb to the advice of the laboratory. */
static void name_options(lab_ncu_trouble *trouble)
{
    static const char *const fixes[LAB_NCU_KINDS] = {
        [LAB_NCU_ABSENT] = "install Nsight Compute, a part of the CUDA toolkit, or name its file "
                           "with --ncu FILE",
        [LAB_NCU_LATE] = "check whether another ncu uses the device; --timeout gives more time",
    };
    if (fixes[trouble->kind])
        trouble->fix = fixes[trouble->kind];
}

static cli_exit count(profile_job *job, profile_row *row, const target *device)
{
    const lab_ncu_question question = {
        .ncu = job->ncu,
        .device = cli_device(job->args),
        .kernel = row->kernel,
        .source = cli_args_text(job->args, "source"),
        .spec = row->spec,
        .arch = device->arch,
        .keep_caches = job->keep_caches,
        .seconds = cli_args_real(job->args, "timeout"),
        .sink = &cli_sink,
    };
    if (lab_ncu_count(&question, &row->profile, &row->trouble))
        judge(row);
    else
        name_options(&row->trouble);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static cli_exit count_all(profile_job *job, const char *wish, const target *device)
{
    lab_ncu_trouble trouble = { .fix = NULL };
    cli_exit code = CLI_OK;
    bool able = lab_ncu_find(wish, job->ncu, sizeof job->ncu, &trouble);
    if (!able)
        name_options(&trouble);
    if (device->host) {
        able = false;
        trouble = (lab_ncu_trouble){ .reason = "a CPU has no such counters",
                                     .fix = "use --device cuda; --scaling and --timeline work "
                                            "on a CPU" };
    }
    lab_progress progress = lab_progress_start(&cli_sink, "profile", job->count);
    for (size_t i = 0; i < job->count && code == CLI_OK; i++) {
        lab_progress_step(&progress, i, job->rows[i].spec);
        if (able)
            code = count(job, &job->rows[i], device);
        else
            job->rows[i].trouble = trouble;
    }
    lab_progress_end(&progress);
    return code;
}

static cli_exit profile_problems(profile_job *job, const cli_args *args)
{
    lab_problems problems;
    target device = { .host = true };
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    job->rows = code == CLI_OK ? calloc(problems.count, sizeof *job->rows) : NULL;
    if (code == CLI_OK && !job->rows)
        code = CLI_ENVIRONMENT;
    if (code == CLI_OK)
        code = plan_all(job, args, &problems, &device);
    snprintf(job->device, sizeof job->device, "%s", device.name);
    if (code == CLI_OK)
        code = count_all(job, cli_args_text(args, "ncu"), &device);
    cli_problems_free(&problems);
    return code;
}

#define STALLS_SHOWN 5
#define VALUE_SIZE 48

/* -------------------------------------------------------------------------- */
/* Counters and gates, as text or JSON                                        */
/* -------------------------------------------------------------------------- */

static const lab_style styles[LAB_GATE_VERDICTS] = { LAB_WARN, LAB_GOOD, LAB_BAD, LAB_FAINT };

/* Metrics that are printed above the tables, or among the gates, and not in the table of
 * counters. */
static const lab_metric elsewhere[] = {
    LAB_METRIC_DURATION,     LAB_METRIC_BLOCKS,       LAB_METRIC_THREADS,
    LAB_METRIC_WAVES,        LAB_METRIC_REGISTERS,    LAB_METRIC_SMEM_STATIC,
    LAB_METRIC_SMEM_DYNAMIC, LAB_METRIC_LIMIT_SMEM,   LAB_METRIC_LIMIT_REGISTERS,
    LAB_METRIC_LIMIT_WARPS,  LAB_METRIC_LIMIT_BLOCKS, LAB_METRIC_LIMIT_BARRIERS,
    LAB_METRIC_BUSY,         LAB_METRIC_ISSUE,        LAB_METRIC_ELIGIBLE,
    LAB_METRIC_OCCUPANCY,    LAB_METRIC_LOCAL_LOADS,  LAB_METRIC_LOCAL_STORES,
};

static bool is_elsewhere(lab_metric id)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (elsewhere[i] == id)
            return true;
    return false;
}

static const char *print_value(double value, lab_unit unit, char text[VALUE_SIZE])
{
    if (isnan(value))
        snprintf(text, VALUE_SIZE, "UNKNOWN");
    else if (unit == LAB_UNIT_SECONDS)
        lab_format_seconds(value, text);
    else if (unit == LAB_UNIT_BYTES)
        lab_format_bytes((uint64_t)value, text);
    else
        snprintf(text, VALUE_SIZE,
                 unit == LAB_UNIT_PERCENT  ? "%.1f %%"
                 : unit == LAB_UNIT_NUMBER ? "%.2f"
                                           : "%.0f",
                 value);
    return text;
}

static const char *unit_name(lab_unit unit)
{
    static const char *const names[] = { "count", "number", "percent", "bytes", "seconds" };
    return names[unit];
}

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

static void add_gate(lab_listing *rows, const lab_gate_result *gate)
{
    char text[VALUE_SIZE];
    bool off = gate->verdict == LAB_GATE_OFF, passed = gate->verdict == LAB_GATE_PASS;
    const char *relation = gate->least ? ">=" : "<=",
               *verdict = lab_gate_verdict_name(gate->verdict);
    print_value(gate->value, gate->unit, text);
    lab_cell_text(rows, "gate", NULL, gate->key);
    lab_cell_left(rows, "gate", "%s", gate->title);
    lab_cell_json(rows, "value", cli_json_real(gate->value));
    lab_cell_right(rows, "value", "%s", off && isnan(gate->value) ? "-" : text);
    lab_cell_text(rows, "unit", NULL, unit_name(gate->unit));
    lab_cell_text(rows, "relation", NULL, relation);
    lab_cell_json(rows, "limit", cli_json_real(gate->limit));
    lab_cell_left(rows, "limit", "%s %g%s", relation, gate->limit,
                  gate->unit == LAB_UNIT_PERCENT ? " %" : "");
    lab_cell_text(rows, "verdict", NULL, off ? "OFF" : verdict);
    lab_cell_styled(rows, NULL, "verdict", styles[gate->verdict], verdict);
    lab_cell_json(rows, "applies", json_boolean(!off));
    lab_cell_text(rows, "why", NULL, passed ? NULL : gate->why);
    lab_row_end(rows);
}

static lab_listing list_gates(const profile_row *row, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < LAB_PROFILE_GATES; i++)
        add_gate(&rows, &row->gates[i]);
    return rows;
}

static lab_listing list_stalls(const lab_profile *profile, bool json)
{
    size_t order[LAB_STALLS], count = lab_profile_stalls(profile, order);
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < count && (json || i < STALLS_SHOWN); i++) {
        const lab_stall_row *stall = lab_stall_of(order[i]);
        double share = lab_profile_stall_share(profile, order[i]);
        lab_cell_text(&rows, "stall", "stall", stall->name);
        lab_cell_real(&rows, "share", "of a warp's time", share, "%.1f %%", 100 * share);
        lab_cell_json(&rows, "warps_per_issue", cli_json_real(profile->stall[order[i]]));
        lab_cell_left(&rows, "waiting for", "%s", stall->meaning);
        lab_row_end(&rows);
    }
    if (count == 0 && !json) {
        lab_cell_left(&rows, "stall", "UNKNOWN");
        lab_cell_right(&rows, "of a warp's time", "%s", "");
        lab_cell_left(&rows, "waiting for", "%s", "");
        lab_row_end(&rows);
    }
    return rows;
}

/* -------------------------------------------------------------------------- */
/* Text                                                                       */
/* -------------------------------------------------------------------------- */

static void print_launch(const profile_row *row)
{
    char time[VALUE_SIZE], count[4][VALUE_SIZE];
    const double *value = row->profile.value;
    int blocks;
    const char *limiter = lab_profile_limiter(&row->profile, &blocks);
    printf("%s, sm_%d, %s: %s blocks of %s threads, %s waves\n",
           *row->kernel ? row->kernel : row->profile.kernel, row->profile.arch,
           print_value(value[LAB_METRIC_DURATION], LAB_UNIT_SECONDS, time),
           print_value(value[LAB_METRIC_BLOCKS], LAB_UNIT_COUNT, count[0]),
           print_value(value[LAB_METRIC_THREADS], LAB_UNIT_COUNT, count[1]),
           print_value(value[LAB_METRIC_WAVES], LAB_UNIT_NUMBER, count[2]));
    printf("%s registers a thread, %s of shared memory a block",
           print_value(value[LAB_METRIC_REGISTERS], LAB_UNIT_COUNT, count[0]),
           print_value(value[LAB_METRIC_SMEM_STATIC] + value[LAB_METRIC_SMEM_DYNAMIC],
                       LAB_UNIT_BYTES, count[1]));
    if (limiter)
        printf("; a multiprocessor holds %d block%s, limited by %s", blocks, lab_plural(blocks),
               limiter);
    printf("\n\n");
}

static cli_exit print_table(lab_listing rows)
{
    cli_exit code = cli_table_print(rows);
    putchar('\n');
    return code;
}

/* Prints the reasons of verdicts, with one line for adjacent gates with the same reason. */
static void print_reasons(const profile_row *row)
{
    for (size_t i = 0, end; i < LAB_PROFILE_GATES; i = end) {
        const lab_gate_result *first = &row->gates[i];
        for (end = i + 1; end < LAB_PROFILE_GATES && row->gates[end].why == first->why; end++)
            ;
        if (first->verdict == LAB_GATE_PASS)
            continue;
        for (size_t k = i; k < end; k++)
            printf("%s%s", k > i ? ", " : "", row->gates[k].title);
        printf("%s: %s\n", first->verdict == LAB_GATE_OFF ? ", off" : "", first->why);
    }
    putchar('\n');
}

static cli_exit print_counters(const profile_row *row)
{
    char text[VALUE_SIZE];
    lab_listing rows = cli_rows_begin(false);
    for (int i = 0; i < LAB_METRICS; i++) {
        const lab_metric_row *metric = lab_metric_of((lab_metric)i);
        if (is_elsewhere(metric->id) || metric->arch > row->profile.arch)
            continue;
        lab_cell_text(&rows, NULL, "counter", metric->title);
        lab_cell_right(&rows, "value", "%s",
                       print_value(row->profile.value[i], metric->unit, text));
        lab_row_end(&rows);
    }
    return print_table(rows);
}

static cli_exit print_row(const profile_row *row)
{
    if (*row->spec)
        printf("%s%s%s\n", cli_style(stdout, LAB_BOLD), row->spec, cli_style(stdout, LAB_PLAIN));
    if (!row->known) {
        printf("%s%sUNKNOWN%s: %s\n", *row->kernel ? row->kernel : "", *row->kernel ? ": " : "",
               cli_style(stdout, LAB_PLAIN), row->trouble.reason);
        if (row->trouble.fix)
            printf("  fix: %s\n", row->trouble.fix);
        putchar('\n');
        return CLI_OK;
    }
    print_launch(row);
    cli_exit code = print_table(list_gates(row, false));
    if (code == CLI_OK) {
        print_reasons(row);
        code = print_counters(row);
    }
    return code == CLI_OK ? print_table(list_stalls(&row->profile, false)) : code;
}

static cli_exit report_text(const profile_job *job)
{
    bool counted = false;
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < job->count && code == CLI_OK; i++) {
        counted = counted || job->rows[i].known;
        code = print_row(&job->rows[i]);
    }
    if (code != CLI_OK)
        return code;
    if (job->recorded)
        printf("of a recording\n");
    else if (!counted)
        printf("on %s\n", job->device);
    else
        printf("on %s; %s\n", job->device,
               job->keep_caches ? "caches as left by the previous pass, clocks unchanged"
                                : "caches emptied before each pass, clocks unchanged");
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static json_t *json_metrics(const lab_profile *profile)
{
    json_t *object = json_object();
    for (int i = 0; i < LAB_METRICS; i++) {
        const lab_metric_row *metric = lab_metric_of((lab_metric)i);
        char name[LAB_METRIC_NAME_SIZE] = "";
        if (profile->name[i])
            strncat(name, profile->name[i], strcspn(profile->name[i], "|"));
        json_object_set_new(object, metric->key,
                            json_pack("{s:o, s:s, s:s?}", "value", cli_json_real(profile->value[i]),
                                      "unit", unit_name(metric->unit), "ncu", *name ? name : NULL));
    }
    return object;
}

static json_t *json_row(const void *item)
{
    const profile_row *row = item;
    int blocks;
    const char *spec = *row->spec ? row->spec : NULL, *kernel = *row->kernel ? row->kernel : NULL;
    if (!row->known)
        return json_pack("{s:s?, s:s?, s:s, s:o, s:s?}", "problem", spec, "kernel", kernel,
                         "verdict", "UNKNOWN", "reason", lab_json_text(row->trouble.reason), "fix",
                         row->trouble.fix);
    const char *limiter = lab_profile_limiter(&row->profile, &blocks);
    return json_pack("{s:s?, s:s?, s:o, s:i, s:s, s:b, s:s?, s:i, s:o, s:o, s:o}", "problem", spec,
                     "kernel", kernel, "entry", lab_json_text(row->profile.kernel), "arch",
                     row->profile.arch, "verdict", lab_gate_verdict_name(row->verdict),
                     "asynchronous", lab_profile_asynchronous(&row->profile) > 0, "limiter",
                     limiter, "resident_blocks", blocks, "metrics", json_metrics(&row->profile),
                     "gates", lab_listing_take(list_gates(row, true)), "stalls",
                     lab_listing_take(list_stalls(&row->profile, true)));
}

/* CLI_FINDING: --gate was given and one fails; CLI_ENVIRONMENT: one is unknown. */
static cli_exit exit_of(const profile_job *job)
{
    bool gate = cli_args_flag(job->args, "gate"), unknown = false;
    for (size_t i = 0; i < job->count; i++) {
        if (gate && job->rows[i].verdict == LAB_GATE_FAIL)
            return CLI_FINDING;
        unknown |= !job->rows[i].known || (gate && job->rows[i].verdict == LAB_GATE_UNKNOWN);
    }
    return unknown ? CLI_ENVIRONMENT : CLI_OK;
}

static cli_exit report_json(const profile_job *job)
{
    json_t *list = cli_json_list(job->rows, job->count, sizeof *job->rows, json_row);
    return cli_json_print(
        json_pack("{s:s?, s:o, s:i, s:o}", "device", *job->device ? job->device : NULL, "ncu",
                  cli_json_word(job->ncu), "exit", exit_of(job), "problems", list),
        "profile");
}

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

cli_exit profile_counters(const cli_args *args)
{
    profile_job job = { .args = args, .keep_caches = cli_args_choice(args, "caches") == 1 };
    const char *recording = cli_args_text(args, "read");
    cli_exit code = CLI_OK;
    if (recording && cli_args_operand_count(args) > 0) {
        cli_error("--read reads a recording, and takes no problem");
        return CLI_USAGE;
    }
    job.recorded = recording != NULL;
    if (recording) {
        job.rows = calloc(1, sizeof *job.rows);
        code = job.rows ? read_recording(&job, recording) : CLI_ENVIRONMENT;
    } else {
        code = profile_problems(&job, args);
    }
    if (code == CLI_OK)
        code = cli_args_json(args) ? report_json(&job) : report_text(&job);
    if (code == CLI_OK)
        code = exit_of(&job);
    free(job.rows);
    return code;
}
