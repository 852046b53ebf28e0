/*
 * roofline_report.c - ceilings and floors, as tables or JSON
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/plural.h"
#include "cli/base/rows.h"
#include "report/format.h"
#include "roofline.h"

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
#define SHOWN (sizeof shown / sizeof *shown)

static double value_of(const lab_ceilings *ceilings, size_t row)
{
    return *(const double *)(const void *)((const char *)ceilings + shown[row].offset);
}

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

static void add_ceiling(lab_table *table, const char *name, double value, const char *unit)
{
    char text[LAB_FORMAT_SIZE];
    if (!(value > 0))
        return;
    bool small = value < 1 && strcmp(unit, "TFLOP/s") == 0; /* a CPU's */
    value *= small ? 1000 : 1;
    lab_table_cell(table, "%s", name);
    lab_table_cell(table, "%s", lab_format_rate(value, text));
    lab_table_cell(table, "%s", small ? "GFLOP/s" : unit);
}

/* Adds the ceilings of products of the types from @type on. */
static void add_products(lab_table *table, const double flops[HEED_TYPE_COUNT], heed_type type,
                         const char *when)
{
    char name[40];
    for (; type < HEED_TYPE_COUNT; type++) {
        snprintf(name, sizeof name, "matrix %s%s", heed_type_name(type), when);
        add_ceiling(table, name, 1e-12 * flops[type], "TFLOP/s");
    }
}

static cli_exit print_ceilings(const roofline_run *run)
{
    const lab_ceilings *ceilings = &run->ceilings;
    char moment[24], age[48];
    lab_table *table = lab_table_create();
    time_text(ceilings->time, moment);
    age_text(roofline_age(ceilings), age, sizeof age);
    printf("%s, %s", ceilings->device, ceilings->features);
    if (ceilings->measured)
        printf("; measured %s, %s\n\n", moment, age);
    else
        printf("; predicted: nothing here was measured\n\n");
    lab_table_columns(table, "ceiling|at best>|");
    add_products(table, ceilings->matrix, HEED_F32, "");
    add_products(table, ceilings->sustained, HEED_F16, ", sustained"); /* for f32 see fma */
    for (size_t i = 0; i < SHOWN; i++)
        add_ceiling(table, shown[i].name, shown[i].scale * value_of(ceilings, i), shown[i].unit);
    return cli_table_print(table);
}

/* ---- Problems ---- */

static void add_units(cli_rows *rows, const lab_floor *floor, bool here)
{
    json_t *units = json_object();
    for (int i = 0; i < LAB_ROOFS; i++) {
        const char *name = lab_roof_name((lab_roof)i);
        json_object_set_new(units, name, cli_json_positive(floor->units[i]));
        cli_row_seconds(rows, NULL, here ? name : NULL, floor->units[i]);
    }
    cli_row_member(rows, "units", units);
}

/* Adds the config that heed would plan on the device of --machine. */
static void add_prediction(cli_rows *rows, const roofline_run *run, const heed_problem *problem,
                           double floor)
{
    const roofline_prediction found = run->machine ? roofline_machine_predict(&run->gpu, problem)
                                                   : (roofline_prediction){ .seconds = -1 };
    bool known = *found.kernel != '\0';
    json_t *prediction = known ? json_pack("{s:o, s:o, s:o}", "kernel", cli_json_text(found.kernel),
                                           "seconds", cli_json_real(found.seconds), "share",
                                           cli_json_real(floor / found.seconds))
                               : json_null();
    cli_row_member(rows, "predicted", prediction);
    if (!run->machine)
        return;
    cli_row_seconds(rows, NULL, "predicted", found.seconds);
    cli_row_real(rows, NULL, "share", known ? floor / found.seconds : -1, "%.0f %%",
                 100 * floor / found.seconds);
    cli_row_cell(rows, "best config, predicted", "%s",
                 known ? found.kernel : "no kernel can do it there");
}

static cli_rows list_problems(const roofline_run *run, bool json)
{
    char spec[HEED_SPEC_SIZE];
    cli_rows rows = cli_rows_begin(json);
    bool here = !run->machine;
    for (size_t i = 0; i < run->problems.count; i++) {
        const heed_problem *problem = &run->problems.items[i];
        const lab_floor floor = lab_roofline_floor(problem, &run->ceilings);
        heed_problem_print(problem, spec, sizeof spec);
        cli_row_text(&rows, "problem", "problem", spec);
        cli_row_seconds(&rows, "cold_seconds", here ? "floor, cold" : "floor", floor.cold);
        cli_row_text(&rows, "cold_bound_by", "bound by", lab_roof_name(floor.cold_binds));
        cli_row_seconds(&rows, "hot_seconds", here ? "hot" : NULL, floor.hot);
        cli_row_text(&rows, "hot_bound_by", here ? "bound by" : NULL,
                     lab_roof_name(floor.hot_binds));
        add_units(&rows, &floor, here);
        add_prediction(&rows, run, problem, floor.cold);
        cli_row_end(&rows);
    }
    return rows;
}

/* ---- The whole ---- */

static cli_exit report_json(const roofline_run *run)
{
    const lab_ceilings *ceilings = &run->ceilings;
    cli_rows problems = list_problems(run, true);
    char moment[24];
    time_text(ceilings->time, moment);
    return cli_json_print(
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "device",
                  cli_json_text(ceilings->device), "features", cli_json_text(ceilings->features),
                  "measured", ceilings->measured, "time",
                  ceilings->measured ? json_string(moment) : json_null(), "age_seconds",
                  ceilings->measured ? cli_json_real(roofline_age(ceilings)) : json_null(), "file",
                  cli_json_word(run->path), "ceilings", json_ceilings(ceilings), "problems",
                  cli_rows_take(&problems)),
        "roofline");
}

cli_exit roofline_report(const roofline_run *run)
{
    if (cli_args_json(run->args))
        return report_json(run);
    cli_exit code = print_ceilings(run);
    if (code != CLI_OK || run->problems.count == 0)
        return code;
    printf("\n");
    return cli_table_print(list_problems(run, false).table);
}
