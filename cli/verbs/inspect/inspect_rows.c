/*
 * inspect_rows.c - the kernels of `heed inspect`: rows of a table, or JSON with all facts
 */
#include <string.h>

#include "inspect.h"

#define ENTRY_END 20 /* characters shown of the end of a long name */

static json_t *json_number(int64_t number)
{
    return number < 0 ? json_null() : json_integer((json_int_t)number);
}

/* The prediction, with its device; null for a file. */
static json_t *json_prediction(const lab_code_row *row)
{
    if (!*row->spec)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "device", cli_json_text(row->device), "seconds",
                     cli_json_real(row->predicted), "roofline_seconds",
                     cli_json_real(row->roofline), "share",
                     cli_json_real(row->roofline / row->predicted));
}

/* Every class, also those without instructions. */
static json_t *json_counts(const lab_sass_counts *counts)
{
    json_t *all = json_pack("{s:I}", "total", (json_int_t)counts->total);
    for (int i = 0; all && i < LAB_SASS_CLASSES; i++)
        if (json_object_set_new(all, lab_sass_class_name((lab_sass_class)i),
                                json_integer((json_int_t)counts->of[i])) != 0) {
            json_decref(all);
            all = NULL;
        }
    return all;
}

static json_t *json_loop(const void *item)
{
    const lab_sass_loop *loop = item;
    const char *role = lab_sass_role_name(loop->role);
    return json_pack("{s:I, s:I, s:i, s:o, s:s?, s:o}", "first", (json_int_t)loop->first, "last",
                     (json_int_t)loop->last, "depth", loop->depth, "parent",
                     json_number(loop->parent), "role", *role ? role : NULL, "instructions",
                     json_counts(&loop->counts));
}

static json_t *json_banks(const lab_sass_banks *banks)
{
    bool known = banks->ways > 0;
    return json_pack("{s:i, s:i, s:b, s:i, s:o, s:o, s:s?}", "accesses_judged", banks->known,
                     "accesses_unknown", banks->unknown, "block_shape_unknown", banks->shapeless,
                     "accesses_conflicting", banks->conflicting, "worst_ways",
                     json_number(known ? banks->ways : -1), "worst_address",
                     json_number(known ? banks->address : -1), "worst_instruction",
                     known ? banks->instruction : NULL);
}

/* Null if the instructions are unknown. */
static json_t *json_code(const lab_code_row *row)
{
    const lab_sass *sass = &row->sass;
    if (!row->has_sass)
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:i, s:i, s:o, s:b, s:b, s:o}", "all", json_counts(&sass->all),
        "main_loops", sass->main_count ? json_counts(&sass->main) : json_null(), "producer_loops",
        sass->producer_count ? json_counts(&sass->producer) : json_null(), "main_loop_count",
        sass->main_count, "producer_loop_count", sass->producer_count, "loops",
        cli_json_list(sass->loops, sass->loop_count, sizeof *sass->loops, json_loop),
        "loops_may_be_missing", sass->indirect, "reads_block_index", sass->reads_block,
        "bank_conflicts", json_banks(&sass->banks));
}

static json_t *json_finding(const void *item)
{
    const lab_code_finding *finding = item;
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:s}", "name", finding->name, "severity",
                     lab_severity_name(finding->severity), "fact", cli_json_text(finding->fact),
                     "figure", cli_json_real(finding->figure), "unit", finding->unit, "limit",
                     cli_json_positive(finding->limit), "advice", finding->advice);
}

/* Bytes stored and loaded by spills. */
static int64_t spills_of(const lab_cubin_kernel *code)
{
    bool known = code->spill_stores >= 0 && code->spill_loads >= 0;
    return known ? code->spill_stores + code->spill_loads : -1;
}

const char *inspect_entry(const lab_code_row *row, char text[INSPECT_CELL_SIZE])
{
    const char *name = row->code.name;
    size_t length = strlen(name);
    if (length < INSPECT_CELL_SIZE)
        return name;
    snprintf(text, INSPECT_CELL_SIZE, "%.*s...%s", INSPECT_CELL_SIZE - 4 - ENTRY_END, name,
             name + length - ENTRY_END);
    return text;
}

/* Adds the kernel, and the problem with its prediction if it is not from a file. */
static void add_name(cli_rows *rows, const lab_code_row *row)
{
    char text[INSPECT_CELL_SIZE];
    bool planned = *row->spec != '\0';
    double share = row->roofline / row->predicted;
    cli_row_text(rows, "problem", planned ? "problem" : NULL, planned ? row->spec : NULL);
    cli_row_member(rows, "predicted", json_prediction(row));
    if (planned) {
        cli_row_seconds(rows, NULL, "predicted", row->predicted);
        cli_row_seconds(rows, NULL, "roofline", row->roofline);
        cli_row_cell(rows, "predicted share>", "%.0f %%", 100 * share);
    }
    cli_row_text(rows, "kernel", "kernel", row->name);
    cli_row_text(rows, "entry", NULL, row->code.name);
    cli_row_cell(rows, "entry", "%s", inspect_entry(row, text));
    cli_row_count(rows, "arch", NULL, row->arch);
    cli_row_cell(rows, "arch", "sm_%d", row->arch);
    cli_row_text(rows, "compiler", NULL, *row->compiler ? row->compiler : NULL);
}

/* Adds the resources that the code uses. */
static void add_code(cli_rows *rows, const lab_cubin_kernel *code, int64_t dynamic)
{
    cli_row_count(rows, "registers", "registers", code->registers);
    cli_row_count(rows, "spill_store_bytes", NULL, code->spill_stores);
    cli_row_count(rows, "spill_load_bytes", NULL, code->spill_loads);
    cli_row_count(rows, NULL, "spills", spills_of(code));
    cli_row_count(rows, "stack_bytes", "stack", code->stack);
    cli_row_count(rows, "static_bytes", "static", code->smem);
    cli_row_count(rows, "dynamic_bytes", "dynamic", dynamic);
    cli_row_count(rows, "parameter_bytes", NULL, code->params);
    cli_row_count(rows, "constant_bytes", NULL, code->constant);
    cli_row_count(rows, "code_bytes", NULL, code->code);
    cli_row_count(rows, "barriers", NULL, code->barriers);
}

static void add_row(cli_rows *rows, const lab_code_row *row)
{
    bool known = row->resident >= 0;
    char warps[32] = "-";
    if (known)
        snprintf(warps, sizeof warps, "%d of %d", row->warps, row->warps_max);
    add_name(rows, row);
    add_code(rows, &row->code, row->dynamic);
    cli_row_count(rows, "threads", "threads", row->threads > 0 ? row->threads : -1);
    cli_row_count(rows, "blocks_per_sm", "blocks/SM", row->resident);
    cli_row_count(rows, "warps_per_sm", NULL, known ? row->warps : -1);
    cli_row_cell(rows, "warps/SM>", "%s", warps);
    cli_row_text(rows, "limited_by", "limited by", known ? row->limit : NULL);
    cli_row_member(rows, "instructions", json_code(row));
    cli_row_member(
        rows, "findings",
        cli_json_list(row->findings, row->finding_count, sizeof *row->findings, json_finding));
    cli_row_end(rows);
}

cli_rows inspect_rows(const inspect_job *job, bool json)
{
    cli_rows rows = cli_rows_begin(json);
    for (size_t i = 0; i < job->list.count; i++)
        add_row(&rows, &job->list.rows[i]);
    return rows;
}
