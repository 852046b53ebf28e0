/*
 * inspect_json.c - what `heed inspect` found, as JSON
 */
#include "inspect.h"

static json_t *json_number(int64_t number)
{
    return number < 0 ? json_null() : json_integer((json_int_t)number);
}

/* The prediction, with the device that it is for; null for a file. */
static json_t *json_prediction(const inspect_row *row)
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

static json_t *json_loop(const lab_sass_loop *loop)
{
    const char *role = lab_sass_role_name(loop->role);
    return json_pack("{s:I, s:I, s:i, s:o, s:s?, s:o}", "first", (json_int_t)loop->first, "last",
                     (json_int_t)loop->last, "depth", loop->depth, "parent",
                     json_number(loop->parent), "role", *role ? role : NULL, "instructions",
                     json_counts(&loop->counts));
}

static json_t *json_loops(const lab_sass *sass)
{
    json_t *loops = json_array();
    for (size_t i = 0; i < sass->loop_count; i++)
        loops = cli_json_append(loops, json_loop(&sass->loops[i]));
    return loops;
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

/* Null where nothing is known of the instructions. */
static json_t *json_code(const inspect_row *row)
{
    const lab_sass *sass = &row->sass;
    if (!row->has_sass)
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:i, s:i, s:o, s:b, s:b, s:o}", "all", json_counts(&sass->all),
        "main_loops", sass->main_count ? json_counts(&sass->main) : json_null(), "producer_loops",
        sass->producer_count ? json_counts(&sass->producer) : json_null(), "main_loop_count",
        sass->main_count, "producer_loop_count", sass->producer_count, "loops", json_loops(sass),
        "loops_may_be_missing", sass->indirect, "reads_block_index", sass->reads_block,
        "bank_conflicts", json_banks(&sass->banks));
}

static json_t *json_finding(const lab_code_finding *finding)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:s}", "name", finding->name, "severity",
                     lab_severity_name(finding->severity), "fact", cli_json_text(finding->fact),
                     "figure", cli_json_real(finding->figure), "unit", finding->unit, "limit",
                     finding->limit > 0 ? cli_json_real(finding->limit) : json_null(), "advice",
                     finding->advice);
}

static json_t *json_findings(const inspect_row *row)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < row->finding_count; i++)
        findings = cli_json_append(findings, json_finding(&row->findings[i]));
    return findings;
}

static json_t *json_row(const inspect_row *row)
{
    const lab_cubin_kernel *code = &row->code;
    bool known = row->resident >= 0;
    return json_pack(
        "{s:s?, s:o, s:o, s:o, s:i, s:s?, s:i, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, "
        "s:o, s:o, s:s?, s:o, s:o}",
        "problem", *row->spec ? row->spec : NULL, "predicted", json_prediction(row), "kernel",
        cli_json_text(row->name), "entry", cli_json_text(code->name), "arch", row->arch, "compiler",
        *row->compiler ? row->compiler : NULL, "registers", code->registers, "spill_store_bytes",
        json_number(code->spill_stores), "spill_load_bytes", json_number(code->spill_loads),
        "stack_bytes", (json_int_t)code->stack, "static_bytes", (json_int_t)code->smem,
        "dynamic_bytes", (json_int_t)row->dynamic, "parameter_bytes", (json_int_t)code->params,
        "constant_bytes", (json_int_t)code->constant, "code_bytes", (json_int_t)code->code,
        "barriers", code->barriers, "threads", json_number(row->threads > 0 ? row->threads : -1),
        "blocks_per_sm", json_number(row->resident), "warps_per_sm",
        json_number(known ? row->warps : -1), "limited_by", known ? row->limit : NULL,
        "instructions", json_code(row), "findings", json_findings(row));
}

cli_exit inspect_json(const inspect_job *job)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < job->count; i++)
        kernels = cli_json_append(kernels, json_row(&job->rows[i]));
    return cli_json_print(json_pack("{s:s?, s:s?, s:o}", "disassembler",
                                    job->tool_state == INSPECT_TOOL_FOUND ? job->tool.path : NULL,
                                    "instructions_unknown_because",
                                    *job->trouble.text ? job->trouble.text : NULL, "kernels",
                                    kernels),
                          "inspect");
}
