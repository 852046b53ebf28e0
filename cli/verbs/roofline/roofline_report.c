/*
 * roofline_report.c - ceilings and floors, as tables or JSON
 */
#include <string.h>
#include <time.h>

#include "report/format.h"
#include "report/table.h"
#include "roofline.h"

/* The ceilings, in the order in which they are shown. */
static const struct {
    const char *name, *unit;
    double scale;
    size_t offset;
} rows[] = {
    { "matrix f32", "TFLOP/s", 1e-12, offsetof(lab_ceilings, matrix[HEED_F32]) },
    { "matrix f16", "TFLOP/s", 1e-12, offsetof(lab_ceilings, matrix[HEED_F16]) },
    { "matrix bf16", "TFLOP/s", 1e-12, offsetof(lab_ceilings, matrix[HEED_BF16]) },
    { "matrix f16, sustained", "TFLOP/s", 1e-12, offsetof(lab_ceilings, sustained[HEED_F16]) },
    { "matrix bf16, sustained", "TFLOP/s", 1e-12, offsetof(lab_ceilings, sustained[HEED_BF16]) },
    { "exp", "G/s", 1e-9, offsetof(lab_ceilings, exp) },
    { "fma f32", "G/s", 1e-9, offsetof(lab_ceilings, fma) },
    { "memory, read", "GB/s", 1e-9, offsetof(lab_ceilings, read) },
    { "memory, copied", "GB/s", 1e-9, offsetof(lab_ceilings, copy) },
    { "memory", "GB/s", 1e-9, offsetof(lab_ceilings, memory) },
    { "cache", "GB/s", 1e-9, offsetof(lab_ceilings, cache) },
    { "launch", "us", 1e6, offsetof(lab_ceilings, launch) },
};
#define ROWS (sizeof rows / sizeof *rows)

static double value_of(const lab_ceilings *ceilings, size_t row)
{
    return *(const double *)(const void *)((const char *)ceilings + rows[row].offset);
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

static json_t *positive(double value)
{
    return value > 0 ? cli_json_real(value) : json_null();
}

static json_t *json_types(const double values[HEED_TYPE_COUNT])
{
    json_t *types = json_object();
    for (int type = 0; type < HEED_TYPE_COUNT; type++)
        json_object_set_new(types, heed_type_name((heed_type)type), positive(values[type]));
    return types;
}

static json_t *json_ceilings(const lab_ceilings *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "matrix_flops",
                     json_types(c->matrix), "matrix_sustained_flops", json_types(c->sustained),
                     "exp_per_second", positive(c->exp), "fma_per_second", positive(c->fma),
                     "memory_bytes_per_second", positive(c->memory), "read_bytes_per_second",
                     positive(c->read), "copy_bytes_per_second", positive(c->copy),
                     "cache_bytes_per_second", positive(c->cache), "cache_bytes",
                     positive(c->cache_bytes), "launch_seconds", positive(c->launch));
}

static json_t *json_prediction(const roofline_run *run, const heed_problem *problem,
                               const lab_floor *floor)
{
    if (!run->machine)
        return json_null();
    const roofline_prediction found = roofline_machine_predict(&run->gpu, problem);
    if (!*found.kernel)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "kernel", cli_json_text(found.kernel), "seconds",
                     cli_json_real(found.seconds), "share",
                     cli_json_real(floor->cold / found.seconds));
}

static json_t *json_problem(const roofline_run *run, const heed_problem *problem)
{
    char spec[HEED_SPEC_SIZE];
    const lab_floor floor = lab_roofline_floor(problem, &run->ceilings);
    json_t *units = json_object();
    for (int i = 0; i < LAB_ROOFS; i++)
        json_object_set_new(units, lab_roof_name((lab_roof)i), positive(floor.units[i]));
    heed_problem_print(problem, spec, sizeof spec);
    return json_pack("{s:s, s:o, s:s, s:o, s:s, s:o, s:o}", "problem", spec, "cold_seconds",
                     cli_json_real(floor.cold), "cold_bound_by", lab_roof_name(floor.cold_binds),
                     "hot_seconds", cli_json_real(floor.hot), "hot_bound_by",
                     lab_roof_name(floor.hot_binds), "units", units, "predicted",
                     json_prediction(run, problem, &floor));
}

static cli_exit report_json(const roofline_run *run)
{
    const lab_ceilings *ceilings = &run->ceilings;
    json_t *problems = json_array();
    char moment[24];
    time_text(ceilings->time, moment);
    for (size_t i = 0; i < run->problems.count; i++)
        problems = cli_json_append(problems, json_problem(run, &run->problems.items[i]));
    return cli_json_print(
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "device",
                  cli_json_text(ceilings->device), "features", cli_json_text(ceilings->features),
                  "measured", ceilings->measured, "time",
                  ceilings->measured ? json_string(moment) : json_null(), "age_seconds",
                  ceilings->measured ? cli_json_real(roofline_age(ceilings)) : json_null(), "file",
                  *run->path ? cli_json_text(run->path) : json_null(), "ceilings",
                  json_ceilings(ceilings), "problems", problems),
        "roofline");
}

/* ---- Text ---- */

/* "3 minutes ago" */
static void age_text(double seconds, char *text, size_t size)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = { { 86400, "days" }, { 3600, "hours" }, { 60, "minutes" } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (seconds >= 2 * units[i].seconds) {
            snprintf(text, size, "%.0f %s ago", seconds / units[i].seconds, units[i].name);
            return;
        }
    snprintf(text, size, "%.0f seconds ago", seconds);
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
    for (size_t i = 0; i < ROWS; i++) {
        double value = rows[i].scale * value_of(ceilings, i);
        if (!(value > 0))
            continue;
        bool small = value < 1 && strcmp(rows[i].unit, "TFLOP/s") == 0; /* a CPU's */
        value *= small ? 1000 : 1;
        lab_table_cell(table, "%s", rows[i].name);
        lab_table_cell(table, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
        lab_table_cell(table, "%s", small ? "GFLOP/s" : rows[i].unit);
    }
    return cli_table_print(table);
}

static void add_time(lab_table *table, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    lab_table_cell(table, "%s", seconds > 0 ? lab_format_seconds(seconds, text) : "-");
}

static void add_problem(lab_table *table, const roofline_run *run, const heed_problem *problem)
{
    char spec[HEED_SPEC_SIZE];
    const lab_floor floor = lab_roofline_floor(problem, &run->ceilings);
    heed_problem_print(problem, spec, sizeof spec);
    lab_table_cell(table, "%s", spec);
    add_time(table, floor.cold);
    lab_table_cell(table, "%s", lab_roof_name(floor.cold_binds));
    if (run->machine) {
        const roofline_prediction found = roofline_machine_predict(&run->gpu, problem);
        add_time(table, found.seconds);
        if (*found.kernel)
            lab_table_cell(table, "%.0f %%", 100 * floor.cold / found.seconds);
        lab_table_cell(table, "%s", *found.kernel ? found.kernel : "no kernel can do it there");
        lab_table_row_end(table);
        return;
    }
    add_time(table, floor.hot);
    lab_table_cell(table, "%s", lab_roof_name(floor.hot_binds));
    for (int i = 0; i < LAB_ROOFS; i++)
        add_time(table, floor.units[i]);
}

static cli_exit print_floors(const roofline_run *run)
{
    lab_table *table = lab_table_create();
    lab_table_column(table, "problem", LAB_LEFT);
    lab_table_column(table, run->machine ? "floor" : "floor, cold", LAB_RIGHT);
    lab_table_column(table, "bound by", LAB_LEFT);
    if (run->machine) {
        lab_table_columns(table, "predicted>|share>|best config, predicted");
    } else {
        lab_table_columns(table, "hot>|bound by");
        for (int i = 0; i < LAB_ROOFS; i++)
            lab_table_column(table, lab_roof_name((lab_roof)i), LAB_RIGHT);
    }
    for (size_t i = 0; i < run->problems.count; i++)
        add_problem(table, run, &run->problems.items[i]);
    printf("\n");
    return cli_table_print(table);
}

cli_exit roofline_report(const roofline_run *run)
{
    if (cli_args_json(run->args))
        return report_json(run);
    cli_exit code = print_ceilings(run);
    return code == CLI_OK && run->problems.count > 0 ? print_floors(run) : code;
}
