/*
 * inspect_report.c - the result of `heed inspect`, as tables or JSON
 */
#include <string.h>

#include "inspect.h"

#define CELL_SIZE 64
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

/* The name of the entry, with the middle of a long one cut out: names of templates fill pages. */
static const char *entry_of(const lab_code_row *row, char text[CELL_SIZE])
{
    const char *name = row->code.name;
    size_t length = strlen(name);
    if (length < CELL_SIZE)
        return name;
    snprintf(text, CELL_SIZE, "%.*s...%s", CELL_SIZE - 4 - ENTRY_END, name,
             name + length - ENTRY_END);
    return text;
}

/* Adds the kernel, and the problem with its prediction if it is not from a file. */
static void add_name(cli_rows *rows, const lab_code_row *row)
{
    char text[CELL_SIZE];
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
    cli_row_cell(rows, "entry", "%s", entry_of(row, text));
    cli_row_count(rows, "arch", NULL, row->arch);
    cli_row_cell(rows, "arch", "sm_%d", row->arch);
    cli_row_text(rows, "compiler", NULL, *row->compiler ? row->compiler : NULL);
}

/* Adds the resources that the code uses. */
static void add_resources(cli_rows *rows, const lab_cubin_kernel *code, int64_t dynamic)
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
    add_resources(rows, &row->code, row->dynamic);
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

/* The kernels as rows; JSON has all facts. */
static cli_rows list_kernels(const inspect_job *job, bool json)
{
    cli_rows rows = cli_rows_begin(json);
    for (size_t i = 0; i < job->list.count; i++)
        add_row(&rows, &job->list.rows[i]);
    return rows;
}

static void add_entry(lab_table *table, const lab_code_row *row)
{
    char text[CELL_SIZE];
    lab_table_cell(table, "%s", entry_of(row, text));
}

/* Adds a number that is unknown if negative. */
static void add_number(lab_table *table, int64_t number)
{
    if (number < 0)
        lab_table_cell(table, "-");
    else
        lab_table_cell(table, "%lld", (long long)number);
}

/* -------------------------------------------------------------------------- */
/* Instructions                                                               */
/* -------------------------------------------------------------------------- */

/* The instruction classes that a column sums, from the first to the last. */
static const struct {
    const char *head;
    lab_sass_class first, last;
} sums[] = {
    { "tensor", LAB_SASS_TENSOR_WARP, LAB_SASS_TENSOR_BLOCK },
    { "shared ld", LAB_SASS_SHARED_LOAD, LAB_SASS_SHARED_LOAD_MATRIX },
    { "shared st", LAB_SASS_SHARED_STORE, LAB_SASS_SHARED_STORE_MATRIX },
    { "async", LAB_SASS_ASYNC_COPY, LAB_SASS_BULK_STORE },
    { "local", LAB_SASS_LOCAL_LOAD, LAB_SASS_LOCAL_STORE },
    { "barriers", LAB_SASS_BARRIER_BLOCK, LAB_SASS_BARRIER_WARP },
    { "convert", LAB_SASS_CONVERT, LAB_SASS_WIDEN },
    { "exp", LAB_SASS_EXP, LAB_SASS_EXP },
    { "ffma", LAB_SASS_FMA, LAB_SASS_FMA },
    { "shuffle", LAB_SASS_SHUFFLE, LAB_SASS_SHUFFLE },
};

/* Global accesses by bits per thread: "16:4 128:2". */
static const char *by_width(const lab_sass_counts *counts, lab_sass_class narrowest,
                            char text[CELL_SIZE])
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0, bits = 8; bits <= 256; i++, bits *= 2) {
        long long count = (long long)counts->of[(int)narrowest + i];
        if (count > 0 && length < CELL_SIZE)
            length += (size_t)snprintf(text + length, CELL_SIZE - length, "%s%d:%lld",
                                       length ? " " : "", bits, count);
    }
    return length ? text : "0";
}

static void add_counts(lab_table *table, const lab_sass_counts *counts)
{
    char text[CELL_SIZE];
    add_number(table, counts->total);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        int64_t sum = 0;
        for (int kind = (int)sums[i].first; kind <= (int)sums[i].last; kind++)
            sum += counts->of[kind];
        add_number(table, sum);
    }
    lab_table_cell(table, "%s", by_width(counts, LAB_SASS_GLOBAL_LOAD_8, text));
    lab_table_cell(table, "%s", by_width(counts, LAB_SASS_GLOBAL_STORE_8, text));
}

static void add_heads(lab_table *table)
{
    lab_table_column(table, "instructions", LAB_RIGHT);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        lab_table_column(table, sums[i].head, LAB_RIGHT);
    lab_table_columns(table, "global ld|global st");
}

/* Adds the place in the code, with the number of loops if there are several. */
static void add_place(lab_table *table, const lab_code_row *row, const char *place, int loops)
{
    lab_table_cell(table, "%s", row->name);
    add_entry(table, row);
    lab_table_cell(table, "sm_%d", row->arch);
    if (loops > 1)
        lab_table_cell(table, "%d %ss", loops, place);
    else
        lab_table_cell(table, "%s", place);
}

static void add_code(lab_table *table, const lab_code_row *row)
{
    const lab_sass *sass = &row->sass;
    add_place(table, row, row->has_sass ? "all" : "unknown", 1);
    if (row->has_sass)
        add_counts(table, &sass->all);
    lab_table_row_end(table);
    if (!row->has_sass)
        return;
    if (sass->main_count > 0) {
        add_place(table, row, "main loop", sass->main_count);
        add_counts(table, &sass->main);
    }
    if (sass->producer_count > 0) {
        add_place(table, row, "producer", sass->producer_count);
        add_counts(table, &sass->producer);
    }
}

static cli_exit print_code(const inspect_job *job)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "kernel|entry|arch|where");
    lab_table_keys(table, 4);
    add_heads(table);
    for (size_t i = 0; i < job->list.count; i++)
        add_code(table, &job->list.rows[i]);
    printf("\n");
    return cli_table_print(table);
}

/* -------------------------------------------------------------------------- */
/* Loops                                                                      */
/* -------------------------------------------------------------------------- */

static void add_loops(lab_table *table, const lab_code_row *row)
{
    for (size_t i = 0; row->has_sass && i < row->sass.loop_count; i++) {
        const lab_sass_loop *loop = &row->sass.loops[i];
        const char *role = lab_sass_role_name(loop->role);
        if (loop->role == LAB_SASS_WAIT) /* many, with two instructions each */
            continue;
        lab_table_cell(table, "%s", row->name);
        add_entry(table, row);
        lab_table_cell(table, "sm_%d", row->arch);
        lab_table_cell(table, "%*s0x%llx", 2 * (loop->depth - 1), "", (long long)loop->first);
        lab_table_cell(table, "0x%llx", (long long)loop->last);
        lab_table_cell(table, "%s", *role ? role : "-");
        add_counts(table, &loop->counts);
    }
}

static cli_exit print_loops(const inspect_job *job)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "kernel|entry|arch|loop|to|role");
    lab_table_keys(table, 5); /* all but the role */
    add_heads(table);
    for (size_t i = 0; i < job->list.count; i++)
        add_loops(table, &job->list.rows[i]);
    printf("\n");
    return cli_table_print(table);
}

/* -------------------------------------------------------------------------- */
/* Findings                                                                   */
/* -------------------------------------------------------------------------- */

static bool is_same(const lab_code_row *a, const lab_code_row *b)
{
    return a->arch == b->arch && strcmp(a->name, b->name) == 0 &&
           strcmp(a->code.name, b->code.name) == 0 && strcmp(a->spec, b->spec) == 0;
}

static void add_finding(lab_table *table, const lab_code_row *row, bool first,
                        const lab_code_finding *finding)
{
    static const cli_style_name styles[] = { [LAB_SEVERITY_NOTE] = CLI_FAINT,
                                             [LAB_SEVERITY_WARNING] = CLI_WARN,
                                             [LAB_SEVERITY_FAULT] = CLI_BAD };
    char text[CELL_SIZE];
    if (first)
        lab_table_cell(table, "%s %s sm_%d", row->name, entry_of(row, text), row->arch);
    else
        lab_table_cell(table, "%s", "");
    lab_table_cell(table, "%s%s%s", cli_style(stdout, styles[finding->severity]),
                   lab_severity_name(finding->severity), cli_style(stdout, CLI_PLAIN));
    lab_table_cell(table, "%s", finding->name);
    lab_table_cell(table, "%s", finding->fact);
    for (int i = 0; i < 3; i++)
        lab_table_cell(table, "%s", "");
    lab_table_cell(table, "-> %s", finding->advice);
}

static cli_exit print_findings(const inspect_job *job)
{
    lab_table *table = lab_table_create();
    size_t count = 0;
    lab_table_columns(table, "kernel|severity|finding|what");
    for (size_t i = 0; i < job->list.count; i++) {
        const lab_code_row *row = &job->list.rows[i];
        for (size_t f = 0; f < row->finding_count; f++)
            add_finding(table, row, f == 0 && (i == 0 || !is_same(row, row - 1)),
                        &row->findings[f]);
        count += row->finding_count;
    }
    if (count == 0) {
        lab_table_destroy(table);
        printf("\nNo findings%s.\n", *job->list.trouble.text ? " in what is known" : "");
        return CLI_OK;
    }
    printf("\n");
    return cli_table_print(table);
}

/* Prints the facts that need the shape of blocks. */
static void print_unjudged(const inspect_job *job)
{
    for (size_t i = 0; i < job->list.count; i++) {
        const lab_code_row *row = &job->list.rows[i];
        char text[CELL_SIZE];
        if (row->has_sass && row->sass.banks.shapeless)
            printf("\n%s %s sm_%d: bank conflicts of %d accesses depend on how the block's threads "
                   "are laid out; give it with --threads XxY.\n",
                   row->name, entry_of(row, text), row->arch, row->sass.banks.unknown);
    }
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

static cli_exit print_text(const inspect_job *job)
{
    bool code_wanted = !job->list.no_code;
    cli_exit code = cli_table_print(list_kernels(job, false).table);
    if (code == CLI_OK && code_wanted)
        code = print_code(job);
    if (code == CLI_OK && code_wanted && cli_args_flag(job->args, "loops"))
        code = print_loops(job);
    if (code == CLI_OK)
        code = print_findings(job);
    if (code == CLI_OK && code_wanted)
        print_unjudged(job);
    return code;
}

static cli_exit print_json(const inspect_job *job)
{
    cli_rows kernels = list_kernels(job, true);
    return cli_json_print(
        json_pack("{s:s?, s:s?, s:o}", "disassembler",
                  job->list.tool_state == LAB_CODE_TOOL_FOUND ? job->list.tool.path : NULL,
                  "instructions_unknown_because",
                  *job->list.trouble.text ? job->list.trouble.text : NULL, "kernels",
                  cli_rows_take(&kernels)),
        "inspect");
}

/* Launch bounds in the source override the compiler's option. */
static void warn_of_caps(const inspect_job *job)
{
    int64_t cap = cli_args_integer(job->args, "registers");
    for (size_t i = 0; i < job->list.count && cap > 0; i++)
        if (job->list.rows[i].code.registers > cap)
            cli_warning("--registers %lld: %.200s has %d nevertheless; launch bounds in the source "
                        "take precedence",
                        (long long)cap, job->list.rows[i].code.name,
                        job->list.rows[i].code.registers);
}

cli_exit inspect_report(const inspect_job *job)
{
    lab_severity least = cli_args_flag(job->args, "strict") ? LAB_SEVERITY_WARNING
                                                            : LAB_SEVERITY_FAULT;
    if (job->list.failed) {
        cli_error("not enough memory for the list of kernels");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = cli_args_json(job->args) ? print_json(job) : print_text(job);
    warn_of_caps(job);
    if (*job->list.trouble.text)
        cli_warning("some instructions, and facts that depend on them, are unknown: %s",
                    job->list.trouble.text);
    for (size_t i = 0; i < job->list.count && code == CLI_OK; i++)
        if (job->list.rows[i].finding_count > 0 && job->list.rows[i].findings[0].severity >= least)
            code = CLI_FINDING;
    return code;
}
