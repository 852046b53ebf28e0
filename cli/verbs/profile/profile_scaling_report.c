/*
 * profile_scaling_report.c - how the times grew, as text or JSON
 */
#include <math.h>

#include "profile_scaling.h"
#include "report/format.h"
#include "report/table.h"

static void add_ratio(lab_table *table, double ratio)
{
    if (ratio > 0 && isfinite(ratio))
        lab_table_cell(table, "%.2fx", ratio);
    else
        lab_table_cell(table, "-");
}

static void add_point(lab_table *table, const scaling_axis *axis, size_t index)
{
    char text[LAB_FORMAT_SIZE];
    const lab_scale_point *first = &axis->figures[0], *figure = &axis->figures[index];
    const scaling_point *point = &axis->points[index];
    bool timed = figure->seconds > 0;
    lab_table_cell(table, "%s", index ? "" : lab_axis_name(axis->axis));
    lab_table_cell(table, "%lld", (long long)figure->size);
    lab_table_cell(table, "%s", lab_format_seconds(timed ? figure->seconds : -1, text));
    add_ratio(table, figure->seconds / first->seconds);
    add_ratio(table, lab_scale_work(first, figure));
    add_ratio(table, timed ? lab_scale_waves(first, figure) : 0);
    lab_table_cell(table, "%s", timed ? point->kernel : point->reason);
}

static void print_finding(const scaling_axis *axis)
{
    char why[512];
    const lab_scale_finding *it = &axis->finding;
    const char *name = lab_axis_name(axis->axis);
    if (it->to == 0) {
        printf("%s: one size alone was timed\n", name);
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
               cli_style(stdout, it->cause == LAB_SCALE_NOISE ? CLI_WARN : CLI_BAD),
               lab_scale_cause_name(it->cause), cli_style(stdout, CLI_PLAIN), why);
}

static bool print_axes(const char *spec, const scaling_axis *axes, size_t count)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "axis|size>|time>|growth>|work>|waves>|kernel");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < axes[i].count; k++)
            add_point(table, &axes[i], k);
    printf("%s%s%s\n\n", cli_style(stdout, CLI_BOLD), spec, cli_style(stdout, CLI_PLAIN));
    bool printed = lab_table_print(table, stdout, LAB_TEXT);
    lab_table_destroy(table);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        print_finding(&axes[i]);
    putchar('\n');
    return printed;
}

static json_t *json_points(const scaling_axis *axis)
{
    json_t *list = json_array();
    for (size_t i = 0; i < axis->count; i++) {
        const lab_scale_point *figure = &axis->figures[i];
        const scaling_point *point = &axis->points[i];
        bool timed = figure->seconds > 0;
        list = cli_json_append(
            list,
            json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:s?, s:o}", "problem", point->spec,
                      "size", (json_int_t)figure->size, "seconds",
                      timed ? cli_json_real(figure->seconds) : json_null(), "spread",
                      timed ? cli_json_real(figure->spread) : json_null(), "flops",
                      cli_json_real(figure->flops), "bytes", cli_json_real(figure->bytes), "blocks",
                      (json_int_t)figure->blocks, "capacity", (json_int_t)figure->capacity,
                      "kernel", *point->kernel ? point->kernel : NULL, "reason",
                      *point->reason ? cli_json_text(point->reason) : json_null()));
    }
    return list;
}

static json_t *json_axis(const scaling_axis *axis)
{
    char why[512];
    const lab_scale_finding *it = &axis->finding;
    lab_scale_explain(it, axis->figures, why, sizeof why);
    return json_pack(
        "{s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "axis", lab_axis_name(axis->axis),
        "points", json_points(axis), "cause", lab_scale_cause_name(it->cause), "from",
        (json_int_t)axis->figures[it->from].size, "to", (json_int_t)axis->figures[it->to].size,
        "time_ratio", cli_json_real(it->time), "work_ratio", cli_json_real(it->work), "room_ratio",
        cli_json_real(it->room), "waves_ratio", cli_json_real(it->waves), "why", why);
}

cli_exit scaling_report_problem(scaling_job *job, const char *spec, const scaling_axis *axes,
                                size_t count)
{
    json_t *list = json_array();
    if (!job->json) {
        json_decref(list);
        return print_axes(spec, axes, count) ? CLI_OK : CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < count; i++)
        list = cli_json_append(list, json_axis(&axes[i]));
    job->problems = cli_json_append(job->problems,
                                    json_pack("{s:s, s:o}", "problem", spec, "axes", list));
    return CLI_OK;
}

cli_exit scaling_report_end(const scaling_job *job)
{
    if (job->json)
        return cli_json_print(
            json_pack("{s:s, s:i, s:O}", "device", heed_context_device(job->context), "exit",
                      job->found ? CLI_FINDING : CLI_OK, "problems", job->problems),
            "profile-scaling");
    printf("on %s; times are the least of %g s each\n", heed_context_device(job->context),
           job->seconds);
    return CLI_OK;
}
