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
                     lab_severity_name(finding->severity), "fact", lab_json_text(finding->fact),
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
static void add_name(lab_listing *rows, const lab_code_row *row)
{
    char text[CELL_SIZE];
    bool planned = *row->spec != '\0';
    double share = row->roofline / row->predicted;
    lab_cell_text(rows, "problem", planned ? "problem" : NULL, planned ? row->spec : NULL);
    lab_cell_open(rows, "predicted");
    lab_cell_text(rows, "device", NULL, row->device);
    lab_cell_seconds(rows, "seconds", planned ? "predicted" : NULL, row->predicted);
    lab_cell_seconds(rows, "roofline_seconds", planned ? "roofline" : NULL, row->roofline);
    lab_cell_real(rows, "share", planned ? "predicted share" : NULL, share, "%.0f %%", 100 * share);
    lab_cell_close(rows, planned);
    lab_cell_text(rows, "kernel", "kernel", row->name);
    lab_cell_text(rows, "entry", NULL, row->code.name);
    lab_cell_left(rows, "entry", "%s", entry_of(row, text));
    lab_cell_count(rows, "arch", NULL, row->arch);
    lab_cell_left(rows, "arch", "sm_%d", row->arch);
    lab_cell_text(rows, "compiler", NULL, *row->compiler ? row->compiler : NULL);
}

/* Adds the resources that the code uses. */
static void add_resources(lab_listing *rows, const lab_cubin_kernel *code, int64_t dynamic)
{
    lab_cell_count(rows, "registers", "registers", code->registers);
    lab_cell_count(rows, "spill_store_bytes", NULL, code->spill_stores);
    lab_cell_count(rows, "spill_load_bytes", NULL, code->spill_loads);
    lab_cell_count(rows, NULL, "spills", spills_of(code));
    lab_cell_count(rows, "stack_bytes", "stack", code->stack);
    lab_cell_count(rows, "static_bytes", "static", code->smem);
    lab_cell_count(rows, "dynamic_bytes", "dynamic", dynamic);
    lab_cell_count(rows, "parameter_bytes", NULL, code->params);
    lab_cell_count(rows, "constant_bytes", NULL, code->constant);
    lab_cell_count(rows, "code_bytes", NULL, code->code);
    lab_cell_count(rows, "barriers", NULL, code->barriers);
}

static void add_row(lab_listing *rows, const lab_code_row *row)
{
    bool known = row->resident >= 0;
    char warps[32] = "-";
    if (known)
        snprintf(warps, sizeof warps, "%d of %d", row->warps, row->warps_max);
    add_name(rows, row);
    add_resources(rows, &row->code, row->dynamic);
    lab_cell_count(rows, "threads", "threads", row->threads > 0 ? row->threads : -1);
    lab_cell_count(rows, "blocks_per_sm", "blocks/SM", row->resident);
    lab_cell_count(rows, "warps_per_sm", NULL, known ? row->warps : -1);
    lab_cell_right(rows, "warps/SM", "%s", warps);
    lab_cell_text(rows, "limited_by", "limited by", known ? row->limit : NULL);
    lab_cell_json(rows, "instructions", json_code(row));
    lab_cell_json(
        rows, "findings",
        cli_json_list(row->findings, row->finding_count, sizeof *row->findings, json_finding));
    lab_row_end(rows);
}

/* The kernels as rows; JSON has all facts. */
static lab_listing list_kernels(const inspect_job *job, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < job->list.count; i++)
        add_row(&rows, &job->list.rows[i]);
    return rows;
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

static void add_counts(lab_listing *rows, const lab_sass_counts *counts)
{
    char text[CELL_SIZE];
    lab_cell_count(rows, NULL, "instructions", counts->total);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        int64_t sum = 0;
        for (int kind = (int)sums[i].first; kind <= (int)sums[i].last; kind++)
            sum += counts->of[kind];
        lab_cell_count(rows, NULL, sums[i].head, sum);
    }
    lab_cell_left(rows, "global ld", "%s", by_width(counts, LAB_SASS_GLOBAL_LOAD_8, text));
    lab_cell_left(rows, "global st", "%s", by_width(counts, LAB_SASS_GLOBAL_STORE_8, text));
}

static void add_code_name(lab_listing *rows, const lab_code_row *row)
{
    char text[CELL_SIZE];
    lab_cell_text(rows, NULL, "kernel", row->name);
    lab_cell_text(rows, NULL, "entry", entry_of(row, text));
    lab_cell_left(rows, "arch", "sm_%d", row->arch);
}

/* Adds the counts of a place in the code, with the number of loops if there are several. */
static void add_place(lab_listing *rows, const lab_code_row *row, const char *place, int loops,
                      const lab_sass_counts *counts)
{
    add_code_name(rows, row);
    if (loops > 1)
        lab_cell_left(rows, "where", "%d %ss", loops, place);
    else
        lab_cell_text(rows, NULL, "where", place);
    lab_cell_blank(rows, !row->has_sass);
    add_counts(rows, counts);
    lab_row_end(rows);
}

static cli_exit print_code(const inspect_job *job)
{
    lab_listing rows = cli_rows_begin(false);
    lab_listing_keys(&rows, 4);
    for (size_t i = 0; i < job->list.count; i++) {
        const lab_code_row *row = &job->list.rows[i];
        const lab_sass *sass = &row->sass;
        add_place(&rows, row, row->has_sass ? "all" : "unknown", 1, &sass->all);
        if (row->has_sass && sass->main_count > 0)
            add_place(&rows, row, "main loop", sass->main_count, &sass->main);
        if (row->has_sass && sass->producer_count > 0)
            add_place(&rows, row, "producer", sass->producer_count, &sass->producer);
    }
    printf("\n");
    return cli_table_print(rows);
}

/* -------------------------------------------------------------------------- */
/* Loops                                                                      */
/* -------------------------------------------------------------------------- */

static void add_loop(lab_listing *rows, const lab_code_row *row, const lab_sass_loop *loop)
{
    const char *role = lab_sass_role_name(loop->role);
    add_code_name(rows, row);
    lab_cell_left(rows, "loop", "%*s0x%llx", 2 * (loop->depth - 1), "", (long long)loop->first);
    lab_cell_left(rows, "to", "0x%llx", (long long)loop->last);
    lab_cell_text(rows, NULL, "role", *role ? role : NULL);
    add_counts(rows, &loop->counts);
}

static cli_exit print_loops(const inspect_job *job)
{
    lab_listing rows = cli_rows_begin(false);
    lab_listing_keys(&rows, 5); /* all but the role */
    add_loop(&rows, job->list.rows, &(lab_sass_loop){ .depth = 1 });
    lab_listing_heads(&rows); /* also without loops */
    for (size_t i = 0; i < job->list.count; i++) {
        const lab_code_row *row = &job->list.rows[i];
        for (size_t l = 0; row->has_sass && l < row->sass.loop_count; l++)
            if (row->sass.loops[l].role != LAB_SASS_WAIT) { /* many, with two instructions each */
                add_loop(&rows, row, &row->sass.loops[l]);
                lab_row_end(&rows);
            }
    }
    printf("\n");
    return cli_table_print(rows);
}

/* -------------------------------------------------------------------------- */
/* Findings                                                                   */
/* -------------------------------------------------------------------------- */

static bool is_same(const lab_code_row *a, const lab_code_row *b)
{
    return a->arch == b->arch && strcmp(a->name, b->name) == 0 &&
           strcmp(a->code.name, b->code.name) == 0 && strcmp(a->spec, b->spec) == 0;
}

static void add_finding(lab_listing *rows, const lab_code_row *row, bool first,
                        const lab_code_finding *finding)
{
    static const lab_style styles[] = { [LAB_SEVERITY_NOTE] = LAB_FAINT,
                                        [LAB_SEVERITY_WARNING] = LAB_WARN,
                                        [LAB_SEVERITY_FAULT] = LAB_BAD };
    char text[CELL_SIZE];
    if (first)
        lab_cell_left(rows, "kernel", "%s %s sm_%d", row->name, entry_of(row, text), row->arch);
    else
        lab_cell_left(rows, "kernel", "%s", "");
    lab_cell_styled(rows, NULL, "severity", styles[finding->severity],
                    lab_severity_name(finding->severity));
    lab_cell_text(rows, NULL, "finding", finding->name);
    lab_cell_text(rows, NULL, "what", finding->fact);
    lab_row_end(rows);
    for (int i = 0; i < 3; i++)
        lab_cell_left(rows, "", "%s", "");
    lab_cell_left(rows, "what", "-> %s", finding->advice);
    lab_row_end(rows);
}

static cli_exit print_findings(const inspect_job *job)
{
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < job->list.count; i++) {
        const lab_code_row *row = &job->list.rows[i];
        for (size_t f = 0; f < row->finding_count; f++)
            add_finding(&rows, row, f == 0 && (i == 0 || !is_same(row, row - 1)),
                        &row->findings[f]);
    }
    if (rows.some)
        printf("\n");
    else
        printf("\nNo findings%s.\n", *job->list.trouble.text ? " in what is known" : "");
    return cli_table_print(rows);
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
    cli_exit code = cli_table_print(list_kernels(job, false));
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
    return cli_json_print(
        json_pack("{s:s?, s:s?, s:o}", "disassembler",
                  job->list.tool_state == LAB_CODE_TOOL_FOUND ? job->list.tool.path : NULL,
                  "instructions_unknown_because",
                  *job->list.trouble.text ? job->list.trouble.text : NULL, "kernels",
                  lab_listing_take(list_kernels(job, true))),
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
