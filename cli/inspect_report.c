/*
 * inspect_report.c - what `heed inspect` found, as a table or JSON
 */
#include "inspect.h"
#include "report/format.h"
#include "report/table.h"

#define PROBLEM_COLUMNS 4 /* the first ones, which files do not have */

static const struct {
    const char *head;
    lab_align align;
} columns[] = {
    { "problem", LAB_LEFT },   { "predicted", LAB_RIGHT },
    { "roofline", LAB_RIGHT }, { "predicted share", LAB_RIGHT },
    { "kernel", LAB_LEFT },    { "entry", LAB_LEFT },
    { "arch", LAB_LEFT },      { "registers", LAB_RIGHT },
    { "spills", LAB_RIGHT },   { "stack", LAB_RIGHT },
    { "static", LAB_RIGHT },   { "dynamic", LAB_RIGHT },
    { "threads", LAB_RIGHT },  { "blocks/SM", LAB_RIGHT },
    { "warps/SM", LAB_RIGHT }, { "limited by", LAB_LEFT },
    { "finding", LAB_LEFT },
};

/* A number that is unknown if negative. */
static void add_number(lab_table *table, int64_t number)
{
    if (number < 0)
        lab_table_cell(table, "-");
    else
        lab_table_cell(table, "%lld", (long long)number);
}

/* Bytes stored and loaded; what matters is whether there are any. */
static int64_t spills_of(const inspect_row *row)
{
    bool known = row->code.spill_stores >= 0 && row->code.spill_loads >= 0;
    return known ? row->code.spill_stores + row->code.spill_loads : -1;
}

static void add_row(lab_table *table, const inspect_row *row)
{
    bool known = row->resident >= 0;
    char text[LAB_FORMAT_SIZE];
    if (*row->spec) {
        lab_table_cell(table, "%s", row->spec);
        lab_table_cell(table, "%s", lab_format_seconds(row->predicted, text));
        lab_table_cell(table, "%s", lab_format_seconds(row->roofline, text));
        lab_table_cell(table, "%.0f %%", 100 * row->roofline / row->predicted);
    }
    lab_table_cell(table, "%s", row->name);
    lab_table_cell(table, "%s", row->code.name);
    lab_table_cell(table, "sm_%d", row->arch);
    add_number(table, row->code.registers);
    add_number(table, spills_of(row));
    add_number(table, row->code.stack);
    add_number(table, row->code.smem);
    add_number(table, row->dynamic);
    add_number(table, row->threads > 0 ? row->threads : -1);
    add_number(table, row->resident);
    if (known)
        lab_table_cell(table, "%d of %d", row->warps, row->warps_max);
    else
        lab_table_cell(table, "-");
    lab_table_cell(table, "%s", known ? row->limit : "-");
    lab_table_cell(table, "%s", row->finding ? row->finding : "");
}

static json_t *json_number(int64_t number)
{
    return number < 0 ? json_null() : json_integer((json_int_t)number);
}

/* What is predicted and not measured, with the device that it is for; null for a file. */
static json_t *json_prediction(const inspect_row *row)
{
    if (!*row->spec)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "device", cli_json_text(row->device), "seconds",
                     cli_json_real(row->predicted), "roofline_seconds",
                     cli_json_real(row->roofline), "share",
                     cli_json_real(row->roofline / row->predicted));
}

static json_t *json_row(const inspect_row *row)
{
    const lab_cubin_kernel *code = &row->code;
    bool known = row->resident >= 0;
    return json_pack(
        "{s:s?, s:o, s:o, s:o, s:i, s:s?, s:i, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, "
        "s:o, "
        "s:o, s:s?, s:s?}",
        "problem", *row->spec ? row->spec : NULL, "predicted", json_prediction(row), "kernel",
        cli_json_text(row->name), "entry", cli_json_text(code->name), "arch", row->arch, "compiler",
        *row->compiler ? row->compiler : NULL, "registers", code->registers, "spill_store_bytes",
        json_number(code->spill_stores), "spill_load_bytes", json_number(code->spill_loads),
        "stack_bytes", (json_int_t)code->stack, "static_bytes", (json_int_t)code->smem,
        "dynamic_bytes", (json_int_t)row->dynamic, "parameter_bytes", (json_int_t)code->params,
        "constant_bytes", (json_int_t)code->constant, "code_bytes", (json_int_t)code->code,
        "barriers", code->barriers, "threads", json_number(row->threads > 0 ? row->threads : -1),
        "blocks_per_sm", json_number(row->resident), "warps_per_sm",
        json_number(known ? row->warps : -1), "limited_by", known ? row->limit : NULL, "finding",
        row->finding);
}

static cli_exit report_json(const inspect_job *job)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < job->count; i++)
        kernels = cli_json_append(kernels, json_row(&job->rows[i]));
    return cli_json_print(json_pack("{s:o}", "kernels", kernels), "inspect");
}

static cli_exit report_text(const inspect_job *job)
{
    lab_table *table = lab_table_create();
    bool problems = job->count > 0 && *job->rows[0].spec;
    for (size_t i = problems ? 0 : PROBLEM_COLUMNS; i < sizeof columns / sizeof *columns; i++)
        lab_table_column(table, columns[i].head, columns[i].align);
    for (size_t i = 0; i < job->count; i++)
        add_row(table, &job->rows[i]);
    return cli_table_print(table);
}

cli_exit inspect_report(const inspect_job *job)
{
    if (job->failed) {
        cli_error("not enough memory for the list of kernels");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = cli_args_json(job->args) ? report_json(job) : report_text(job);
    for (size_t i = 0; i < job->count && code == CLI_OK; i++)
        if (job->rows[i].finding)
            code = CLI_FINDING;
    return code;
}
