/*
 * profile_scaling_report.c - the growth of times, as text or JSON
 */
#include <math.h>

#include "cli/base/rows.h"
#include "profile.h"

static void add_ratio(cli_rows *rows, const char *head, double ratio)
{
    cli_row_real(rows, NULL, head, ratio > 0 ? ratio : -1, "%.2fx", ratio);
}

static void add_point(cli_rows *rows, const scaling_axis *axis, size_t index)
{
    const lab_scale_point *first = &axis->figures[0], *figure = &axis->figures[index];
    const scaling_point *point = &axis->points[index];
    bool timed = figure->seconds > 0;
    cli_row_text(rows, "problem", NULL, point->spec);
    cli_row_cell(rows, "axis", "%s", index ? "" : lab_axis_name(axis->axis));
    cli_row_count(rows, "size", "size", figure->size);
    cli_row_seconds(rows, "seconds", "time", figure->seconds);
    cli_row_member(rows, "spread", cli_json_real(timed ? figure->spread : NAN));
    cli_row_member(rows, "flops", cli_json_real(figure->flops));
    cli_row_member(rows, "bytes", cli_json_real(figure->bytes));
    cli_row_member(rows, "blocks", json_integer((json_int_t)figure->blocks));
    cli_row_member(rows, "capacity", json_integer((json_int_t)figure->capacity));
    add_ratio(rows, "growth", figure->seconds / first->seconds);
    add_ratio(rows, "work", lab_scale_work(first, figure));
    add_ratio(rows, "waves", timed ? lab_scale_waves(first, figure) : 0);
    cli_row_text(rows, "kernel", NULL, *point->kernel ? point->kernel : NULL);
    cli_row_text(rows, "reason", NULL, *point->reason ? point->reason : NULL);
    cli_row_cell(rows, "kernel", "%s", timed ? point->kernel : point->reason);
    cli_row_end(rows);
}

static void add_axis(cli_rows *rows, const scaling_axis *axis)
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
               cli_style(stdout, it->cause == LAB_SCALE_NOISE ? CLI_WARN : CLI_BAD),
               lab_scale_cause_name(it->cause), cli_style(stdout, CLI_PLAIN), why);
}

static cli_exit print_axes(const char *spec, const scaling_axis *axes, size_t count)
{
    cli_rows rows = cli_rows_begin(false);
    for (size_t i = 0; i < count; i++)
        add_axis(&rows, &axes[i]);
    printf("%s%s%s\n\n", cli_style(stdout, CLI_BOLD), spec, cli_style(stdout, CLI_PLAIN));
    cli_exit code = cli_table_print(rows.table);
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
    cli_rows points = cli_rows_begin(true);
    add_axis(&points, axis);
    lab_scale_explain(it, axis->figures, why, sizeof why);
    return json_pack(
        "{s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "axis", lab_axis_name(axis->axis),
        "points", cli_rows_take(&points), "cause", lab_scale_cause_name(it->cause), "from",
        (json_int_t)axis->figures[it->from].size, "to", (json_int_t)axis->figures[it->to].size,
        "time_ratio", cli_json_real(it->time), "work_ratio", cli_json_real(it->work), "room_ratio",
        cli_json_real(it->room), "waves_ratio", cli_json_real(it->waves), "why", why);
}

cli_exit scaling_report_problem(scaling_job *job, const char *spec, const scaling_axis *axes,
                                size_t count)
{
    if (!job->json)
        return print_axes(spec, axes, count);
    json_t *list = cli_json_list(axes, count, sizeof *axes, json_axis);
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
