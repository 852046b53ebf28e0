/*
 * roofline.c - `heed roofline`: measures a device's limits, and judges the cost model
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/plural.h"
#include "base/suggest.h"
#include "cli/base/cli.h"
#include "report/format.h"
#include "roofline.h"
#include "session/plausible.h"
#include "src/cuda/facts.h"

/* Refuses options that exclude each other. */
static cli_exit check(const cli_args *args)
{
    static const cli_rule rules[] = {
        { "space", "judge", false, NULL, NULL },
        { "trials", "judge", false, NULL, NULL },
        { "fresh", "machine", true, NULL, NULL },
        { "device", "machine", true, NULL, NULL },
        { "threads", "machine", true, NULL, NULL },
        { "cpu", "machine", true, NULL, NULL },
        { .option = NULL },
    };
    cli_exit code = cli_rules_check(args, rules);
    if (code != CLI_OK)
        return code;
    if (cli_args_given(args, "machine") && cli_args_flag(args, "judge") &&
        !cli_args_given(args, "trials")) {
        cli_error("--judge with --machine needs --trials: a device that is not here cannot be "
                  "timed");
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* Finds the device @name of machines.def, or prints which there are. */
static cli_exit find_machine(heed_gpu *gpu, const char *name)
{
    char list[256] = "";
    size_t length = 0;
    const char *brief;
    lab_suggestion suggestion = lab_suggest(name);
    if (heed_gpu_find(gpu, name))
        return CLI_OK;
    for (size_t i = 0; length < sizeof list && heed_gpu_at(gpu, i, &brief); i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   brief);
        lab_suggest_consider(&suggestion, brief);
    }
    if (suggestion.best)
        cli_error("--machine: heed knows no GPU '%s'; did you mean %s? It knows %s", name,
                  suggestion.best, list);
    else
        cli_error("--machine: heed knows no GPU '%s'; it knows %s", name, list);
    return CLI_USAGE;
}

/* The cost model's prediction for a problem. */
typedef struct prediction {
    char kernel[HEED_NAME_SIZE]; /* kernel and config; "" if none supports it */
    double seconds;
} prediction;

/* Returns the best of heed's kernels and configs for @problem on @gpu. */
static prediction predict(const heed_gpu *gpu, const heed_problem *problem)
{
    prediction best = { .seconds = -1 };
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_cuda_facts facts;
        if (heed_cuda_facts_for(heed_kernel_name(i), problem, gpu, &facts) != HEED_OK ||
            (*best.kernel && facts.seconds >= best.seconds))
            continue;
        best.seconds = facts.seconds;
        snprintf(best.kernel, sizeof best.kernel, "%s", facts.name);
    }
    return best;
}

static cli_exit open_device(roofline_run *run)
{
    const char *machine = cli_args_text(run->args, "machine");
    run->machine = machine != NULL;
    if (!machine)
        return cli_context_open(&run->context, run->args);
    cli_exit code = find_machine(&run->gpu, machine);
    if (code == CLI_OK)
        run->ceilings = lab_ceilings_of_gpu(&run->gpu);
    return code;
}

/* -------------------------------------------------------------------------- */
/* Ceilings and floors, as tables or JSON                                     */
/* -------------------------------------------------------------------------- */

/* Ceilings other than those of products, in the order of output. */
static const struct {
    const char *name, *unit;
    double scale;
    size_t offset;
} shown[] = {
    { "exp", "G/s", 1e-9, offsetof(lab_ceilings, exp) },
    { "fma f32", "G/s", 1e-9, offsetof(lab_ceilings, fma) },
    { "memory, read", "GB/s", 1e-9, offsetof(lab_ceilings, read) },
    { "memory, copied", "GB/s", 1e-9, offsetof(lab_ceilings, copy) },
    { "memory", "GB/s", 1e-9, offsetof(lab_ceilings, memory) },
    { "cache", "GB/s", 1e-9, offsetof(lab_ceilings, cache) },
    { "launch", "us", 1e6, offsetof(lab_ceilings, launch) },
};

static void time_text(int64_t seconds, char text[24])
{
    time_t moment = (time_t)seconds;
    struct tm utc;
    *text = '\0';
    if (gmtime_r(&moment, &utc))
        strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* ---- JSON ---- */

static json_t *json_types(const double values[HEED_TYPE_COUNT])
{
    json_t *types = json_object();
    for (int type = 0; type < HEED_TYPE_COUNT; type++)
        json_object_set_new(types, heed_type_name((heed_type)type),
                            cli_json_positive(values[type]));
    return types;
}

static json_t *json_ceilings(const lab_ceilings *c)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "matrix_flops", json_types(c->matrix),
        "matrix_sustained_flops", json_types(c->sustained), "exp_per_second",
        cli_json_positive(c->exp), "fma_per_second", cli_json_positive(c->fma),
        "memory_bytes_per_second", cli_json_positive(c->memory), "read_bytes_per_second",
        cli_json_positive(c->read), "copy_bytes_per_second", cli_json_positive(c->copy),
        "cache_bytes_per_second", cli_json_positive(c->cache), "cache_bytes",
        cli_json_positive(c->cache_bytes), "launch_seconds", cli_json_positive(c->launch));
}

/* ---- Text ---- */

/* "3 minutes ago" */
static void age_text(double seconds, char *text, size_t size)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
    const size_t last = sizeof units / sizeof *units - 1;
    size_t i = 0;
    while (i < last && seconds < 2 * units[i].seconds)
        i++;
    const long long count = llround(seconds / units[i].seconds);
    snprintf(text, size, "%lld %s%s ago", count, units[i].name, lab_plural(count));
}

static void add_ceiling(lab_listing *rows, const char *name, double value, const char *unit)
{
    char text[LAB_FORMAT_SIZE];
    if (!(value > 0))
        return;
    bool small = value < 1 && strcmp(unit, "TFLOP/s") == 0; /* a CPU's */
    value *= small ? 1000 : 1;
    lab_cell_text(rows, NULL, "ceiling", name);
    lab_cell_right(rows, "at best", "%s", lab_format_rate(value, text));
    lab_cell_text(rows, NULL, "", small ? "GFLOP/s" : unit);
    lab_row_end(rows);
}

/* Adds the ceilings of products of the types from @type on. */
static void add_products(lab_listing *rows, const double flops[HEED_TYPE_COUNT], heed_type type,
                         const char *when)
{
    char name[40];
    for (; type < HEED_TYPE_COUNT; type++) {
        snprintf(name, sizeof name, "matrix %s%s", heed_type_name(type), when);
        add_ceiling(rows, name, 1e-12 * flops[type], "TFLOP/s");
    }
}

static cli_exit print_ceilings(const roofline_run *run)
{
    const lab_ceilings *ceilings = &run->ceilings;
    char moment[24], age[48];
    lab_listing rows = cli_rows_begin(false);
    time_text(ceilings->time, moment);
    age_text(roofline_age(ceilings), age, sizeof age);
    printf("%s, %s", ceilings->device, ceilings->features);
    if (ceilings->measured)
        printf("; measured %s, %s\n\n", moment, age);
    else
        printf("; predicted: nothing here was measured\n\n");
    add_products(&rows, ceilings->matrix, HEED_F32, "");
    add_products(&rows, ceilings->sustained, HEED_F16, ", sustained"); /* for f32 see fma */
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const double *value = (const void *)((const char *)ceilings + shown[i].offset);
        add_ceiling(&rows, shown[i].name, shown[i].scale * *value, shown[i].unit);
    }
    return cli_table_print(rows);
}

/* ---- Problems ---- */

static void add_units(lab_listing *rows, const lab_floor *floor, bool here)
{
    lab_cell_open(rows, "units");
    for (int i = 0; i < LAB_ROOFS; i++) {
        const char *name = lab_roof_name((lab_roof)i);
        lab_cell_seconds(rows, name, here ? name : NULL, floor->units[i]);
    }
    lab_cell_close(rows, true);
}

/* Adds the config that heed would plan on the device of --machine. */
static void add_prediction(lab_listing *rows, const roofline_run *run, const heed_problem *problem,
                           double floor)
{
    const prediction found = run->machine ? predict(&run->gpu, problem)
                                          : (prediction){ .seconds = -1 };
    bool known = *found.kernel != '\0', there = run->machine;
    lab_cell_open(rows, "predicted");
    lab_cell_text(rows, "kernel", NULL, found.kernel);
    lab_cell_seconds(rows, "seconds", there ? "predicted" : NULL, found.seconds);
    lab_cell_real(rows, "share", there ? "share" : NULL, known ? floor / found.seconds : -1,
                  "%.0f %%", 100 * floor / found.seconds);
    lab_cell_close(rows, known);
    lab_cell_left(rows, there ? "best config, predicted" : NULL, "%s",
                  known ? found.kernel : "no kernel can do it there");
}

static lab_listing list_problems(const roofline_run *run, bool json)
{
    char spec[HEED_SPEC_SIZE];
    lab_listing rows = cli_rows_begin(json);
    bool here = !run->machine;
    for (size_t i = 0; i < run->problems.count; i++) {
        const heed_problem *problem = &run->problems.items[i];
        const lab_floor floor = lab_roofline_floor(problem, &run->ceilings);
        heed_problem_print(problem, spec, sizeof spec);
        lab_cell_text(&rows, "problem", "problem", spec);
        lab_cell_seconds(&rows, "cold_seconds", here ? "floor, cold" : "floor", floor.cold);
        lab_cell_text(&rows, "cold_bound_by", "bound by", lab_roof_name(floor.cold_binds));
        lab_cell_seconds(&rows, "hot_seconds", here ? "hot" : NULL, floor.hot);
        lab_cell_text(&rows, "hot_bound_by", here ? "bound by" : NULL,
                      lab_roof_name(floor.hot_binds));
        add_units(&rows, &floor, here);
        add_prediction(&rows, run, problem, floor.cold);
        lab_row_end(&rows);
    }
    return rows;
}

/* ---- The whole ---- */

static cli_exit report_json(const roofline_run *run)
{
    const lab_ceilings *ceilings = &run->ceilings;
    char moment[24];
    time_text(ceilings->time, moment);
    return cli_json_print(
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "device",
                  lab_json_text(ceilings->device), "features", lab_json_text(ceilings->features),
                  "measured", ceilings->measured, "time",
                  ceilings->measured ? json_string(moment) : json_null(), "age_seconds",
                  ceilings->measured ? cli_json_real(roofline_age(ceilings)) : json_null(), "file",
                  cli_json_word(run->path), "ceilings", json_ceilings(ceilings), "problems",
                  lab_listing_take(list_problems(run, true))),
        "roofline");
}

static cli_exit report(const roofline_run *run)
{
    if (cli_args_json(run->args))
        return report_json(run);
    cli_exit code = print_ceilings(run);
    if (code != CLI_OK || run->problems.count == 0)
        return code;
    printf("\n");
    return cli_table_print(list_problems(run, false));
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit run_verb(const cli_args *args)
{
    roofline_run run = { .args = args };
    bool named = cli_args_operand_count(args) > 0 || cli_args_given(args, "shapes");
    cli_exit code = check(args);
    if (code == CLI_OK && named)
        code = cli_problems_read(&run.problems, args);
    if (code == CLI_OK)
        code = open_device(&run);
    if (code == CLI_OK && cli_args_flag(args, "judge"))
        code = roofline_judge(&run);
    else if (code == CLI_OK) {
        if (!run.machine)
            code = roofline_get(&run.ceilings, run.context, cli_args_flag(args, "fresh"), run.path);
        if (code == CLI_OK)
            code = report(&run);
    }
    heed_context_destroy(run.context);
    cli_problems_free(&run.problems);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_TEXT(
        "machine", 'm', "NAME",
        "A GPU given by its data sheet, which need not be present: A100, RTX 3090, L4, L40S, RTX "
        "4090, H100, H200, B200. The cost model chooses the config and predicts its time"),
    OPT_FLAG("fresh", 0, "Measure the ceilings again, even if they are in the cache"),
    OPT_FLAG("judge", 0,
             "Judge the cost model: time the points of --space on the problems [default: "
             "the canonical ones], and print the rank correlation of predictions and times"),
    OPT_PATH("space", 0, "SPACE",
             "With --judge, the configs, as for 'heed sweep' [default: sweep90, on a CPU "
             "cpu_tile]"),
    OPT_PATH("trials", 0, "FILE",
             "With --judge, run nothing and take the times from FILE, a record of 'heed "
             "sweep --record'"),
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_roofline = {
    .name = "roofline",
    .summary = "measure a device's limits, and judge the cost model",
    .operands = { "[SPEC...]", 0, CLI_ANY },
    .description =
        "Measures the limits of this device with kernels that do nothing else: matrix "
        "products, exponentials, multiply-adds, reads and copies of memory, reads of the "
        "cache, and launches. They determine each problem's floor, the least time of any "
        "exact kernel here, and the limiting unit. Cold: tensors come from memory; hot: "
        "from the cache if they fit. The results are cached (HEED_CACHE) for each device, "
        "driver and number of threads.\n"
        "\n"
        "With --machine the limits are those of a data sheet, and the config that heed "
        "would choose there is shown with its predicted time. With --judge the cost model "
        "is judged by Spearman's rank correlation of predicted and measured times of many "
        "configs: 1 is the right order.",
    .examples =
        "  heed roofline b2 h8 s512 d64 f16\n"
        "  heed roofline --machine L4 --shapes shapes/seed.txt\n"
        "  heed roofline --judge --machine H200 --trials tests/data/trials/sweep90-h200.txt",
    .status = "The exit status is 1 if the correlation is less than 0.7.",
    .options = options,
    .run = run_verb,
};
