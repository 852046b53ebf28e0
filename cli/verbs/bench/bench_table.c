/*
 * bench_table.c - the table of `heed bench`, with a head and notes
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "bench.h"
#include "report/format.h"
#include "report/table.h"
#include "report/wrap.h"

static const char *const effort_names[] = { "estimate", "measure", "patient", "wisdom" };

/* -------------------------------------------------------------------------- */
/* Above the table                                                            */
/* -------------------------------------------------------------------------- */

static void write_device(FILE *stream, const lab_bench *bench)
{
    char features[32];
    heed_device_state state = { 0 };
    heed_device_features(bench->context, features);
    fprintf(stream, "%s, %s", heed_context_device(bench->context), features);
    if (!heed_device_read_state(bench->context, &state))
        return;
    if (state.sm_clock_hz > 0)
        fprintf(stream, ", %.0f MHz", state.sm_clock_hz * 1e-6);
    if (state.throttle[0])
        fprintf(stream, ", throttled by: %s", state.throttle);
}

static void write_machine(FILE *stream, const void *data)
{
    const lab_bench *bench = data;
    const lab_environment *e = &bench->environment;
    fprintf(stream, "heed %s (%s), ", e->heed, e->commit);
    if (heed_device_is_host(bench->context))
        fprintf(stream, "%s, %s, %d thread%s", e->cpu, heed_context_cpu(bench->context),
                heed_context_threads(bench->context),
                lab_plural(heed_context_threads(bench->context)));
    else
        write_device(stream, bench);
    fprintf(stream, ", %s", e->kernel);
    if (e->load >= 0)
        fprintf(stream, ", load %.2f", e->load);
}

static void write_way(FILE *stream, const void *data)
{
    const lab_bench *bench = data;
    fprintf(stream, "%s %s; inputs %s%s", bench->kernel ? "kernel" : "effort",
            bench->kernel ? bench->kernel : effort_names[bench->effort],
            bench->cold ? "cold: rotated past the last-level cache"
                        : "hot: the same buffers in every call",
            bench->replay ? "; p50 and p90 of replays, eager ones of single calls" : "");
    if (bench->behind)
        fprintf(stream, "; replays behind a kernel of another module, which is in the figures of "
                        "all sides");
}

void bench_print_machine(const lab_bench *bench)
{
    lab_wrap_paragraph(stdout, 4, write_machine, bench);
    lab_wrap_paragraph(stdout, 4, write_way, bench);
}

static void write_ceilings(FILE *stream, const void *data)
{
    const lab_bench *bench = data;
    const char *separator = "ceiling: ";
    for (int type = 0; type < HEED_TYPE_COUNT; type++) {
        if (bench->ceilings[type] == 0)
            continue;
        fprintf(stream, "%s%s %.0f GFLOP/s (%s)", separator, heed_type_name((heed_type)type),
                bench->ceilings[type] * 1e-9, bench->ceiling_loops[type]);
        separator = ", ";
    }
    if (bench->sgemm > 0)
        fprintf(stream, "%ssgemm %.0f GFLOP/s (%s)", separator, bench->sgemm * 1e-9,
                bench->sgemm_from);
    if (bench->copy > 0)
        fprintf(stream, "%scopy %.1f GB/s", separator, bench->copy * 1e-9);
}

static void print_ceilings(const lab_bench *bench)
{
    bool some = bench->copy > 0 || bench->sgemm > 0;
    for (int type = 0; type < HEED_TYPE_COUNT; type++)
        some |= bench->ceilings[type] > 0;
    if (some)
        lab_wrap_paragraph(stdout, 4, write_ceilings, bench);
    printf("\n");
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

/* A rate in GFLOP/s, or a ratio, with the decimals that are significant. */
static void add_number(lab_table *table, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 999.5 ? 1 : 0;
    lab_table_cell(table, "%.*f%s", decimals, value, unit);
}

/* Adds columns of single calls, next to replays. */
static void add_eager(lab_table *table, const lab_summary *eager)
{
    char p50[LAB_FORMAT_SIZE], p90[LAB_FORMAT_SIZE];
    lab_table_cell(table, "%s", eager->n ? lab_format_seconds(eager->p50, p50) : "");
    lab_table_cell(table, "%s", eager->n ? lab_format_seconds(eager->p90, p90) : "");
}

/* Adds the share of the roofline, with the limiting unit, or of the ceiling, if either is known. */
static void add_share(lab_table *table, const lab_bench_row *row, double seconds, bool replay)
{
    if (replay && row->floor > 0)
        lab_table_cell(table, "%.0f %% %s", 100 * row->floor / seconds, lab_roof_name(row->binds));
    else if (!replay && row->ceiling > 0)
        lab_table_cell(table, "%.0f %%", 100 * row->flops / seconds / row->ceiling);
    else
        lab_table_cell(table, "-");
}

/* The problem has a separate line; kernels and rivals follow, indented. */
static void add_problem(lab_table *table, const lab_bench_source *source)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(&source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", source->label, source->label[0] ? " " : "", spec);
    lab_table_row_end(table);
}

static void add_heed(lab_table *table, const lab_bench_row *row, bool replay)
{
    char text[LAB_FORMAT_SIZE];
    add_problem(table, row->source);
    lab_table_cell(table, "  %s", row->kernel[0] ? row->kernel : "heed");
    if (row->outcome != LAB_BENCH_OK) {
        lab_table_cell(table, "-");
        lab_table_row_end(table);
        return;
    }
    lab_table_cell(table, "%s", lab_format_seconds(row->summary.p50, text));
    lab_table_cell(table, "%s", lab_format_seconds(row->summary.p90, text));
    add_number(table, row->flops / row->summary.p50 * 1e-9, "");
    add_share(table, row, row->summary.p50, replay);
    if (replay) {
        add_eager(table, &row->eager);
        lab_table_cell(table, "%s", lab_format_seconds(row->launch, text));
    }
    lab_table_row_end(table);
}

static cli_style_name verdict_style(lab_compared verdict)
{
    return verdict == LAB_FASTER ? CLI_GOOD : verdict == LAB_SLOWER ? CLI_BAD : CLI_PLAIN;
}

static void add_match(lab_table *table, const lab_bench *bench, const lab_bench_row *row,
                      const lab_bench_match *match)
{
    bool replay = bench->replay;
    char time[LAB_FORMAT_SIZE];
    const lab_comparison *c = &match->comparison;
    int decimals = c->ratio.high < 9.9995 ? 3 : 1;
    lab_table_cell(table, "  %s", match->name);
    if (match->outcome != LAB_BENCH_OK) {
        bool own = bench->own && match->name == bench->own->name;
        lab_table_cell(table, "%s%s%s", own ? cli_style(stdout, CLI_BAD) : "",
                       own ? lab_bench_outcome_name(match->outcome) : "-",
                       own ? cli_style(stdout, CLI_PLAIN) : "");
        lab_table_row_end(table);
        return;
    }
    lab_table_cell(table, "%s", lab_format_seconds(match->seconds, time));
    lab_table_cell(table, "%s", "");
    add_number(table, row->flops / match->seconds * 1e-9, "");
    add_share(table, row, match->seconds, replay);
    if (replay) {
        add_eager(table, &match->eager);
        lab_table_cell(table, "%s", "");
    }
    add_number(table, c->ratio.estimate, "x");
    if (isfinite(c->ratio.high)) {
        lab_table_cell(table, "%.*f to %.*f", decimals, c->ratio.low, decimals, c->ratio.high);
        lab_table_cell(table, "%s%s%s", cli_style(stdout, verdict_style(c->verdict)),
                       lab_compared_name(c->verdict), cli_style(stdout, CLI_PLAIN));
    }
    lab_table_row_end(table);
}

/* A reason and its subject, which is printed once. */
typedef struct note {
    const char *name;
    const char *reason;
} note;

static void print_note(note *notes, size_t *count, const char *name, const char *reason)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(notes[i].name, name) == 0 && strcmp(notes[i].reason, reason) == 0)
            return;
    notes[(*count)++] = (note){ name, reason };
    lab_wrap_format(stdout, 4, "%s: %s", name, reason);
}

static size_t count_matches(const lab_bench *bench)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->row_count; i++)
        count += bench->rows[i].match_count;
    return count;
}

/* Notes on the figures of a user's source. */
static void print_own(const lab_bench *bench)
{
    double asking = 0;
    if (!bench->own || lab_bench_own_outcome(bench) != LAB_BENCH_OK)
        return;
    for (size_t i = 0; i < bench->row_count; i++)
        for (size_t j = 0; j < bench->rows[i].match_count; j++)
            asking = fmax(asking, bench->rows[i].matches[j].asking);
    bool host = heed_device_is_host(bench->context);
    lab_wrap_format(
        stdout, 4,
        "%s: passes all gates; in a sandbox%s, and every call finds values of Q, K "
        "and V that no other had; up to %.2g %% of its time may be the overhead of calling it",
        bench->own->name, host ? ", on one thread" : "", 100 * asking);
    if (host && heed_context_threads(bench->context) > 1)
        lab_wrap_format(stdout, 4, "heed has %d threads; with --threads 1 it also has one",
                        heed_context_threads(bench->context));
}

/* Prints the notes below the table: the meaning of dashes, and the settings of the rivals. */
static bool print_notes(const lab_bench *bench)
{
    size_t count = 0;
    note *notes = calloc(2 * bench->rival_count + bench->row_count + count_matches(bench) + 1,
                         sizeof *notes);
    if (!notes)
        return false;
    printf("\n");
    for (size_t i = 0; i < bench->rival_count; i++) {
        const lab_bench_rival *rival = &bench->rivals[i];
        if (!rival->open)
            print_note(notes, &count, rival->name, rival->reason);
        else if (rival->peer->detail[0])
            print_note(notes, &count, rival->peer->found.name, rival->peer->detail);
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        if (row->outcome != LAB_BENCH_OK)
            print_note(notes, &count, row->kernel[0] ? row->kernel : "heed", row->reason);
        for (size_t j = 0; j < row->match_count; j++)
            if (row->matches[j].outcome != LAB_BENCH_OK)
                print_note(notes, &count, row->matches[j].name, row->matches[j].reason);
    }
    free(notes);
    print_own(bench);
    return true;
}

/* Adds the columns, some of which are only for replays or only for timing by the clock. */
static void add_columns(lab_table *table, bool replay)
{
    lab_table_columns(table, "problem, kernel, rival|p50>|p90>|GFLOP/s>");
    lab_table_columns(table, replay ? "of roofline>|eager p50>|eager p90>|launch>" : "of ceiling>");
    lab_table_columns(table, "rival/heed>|99 % interval|heed is");
}

/* Prints a short form of a long table. */
static bool print_summary(const lab_bench *bench)
{
    if (!bench->replay || bench->row_count == 0)
        return true;
    lab_table *table = bench_summary(bench);
    printf("\n");
    bool printed = lab_table_print(table, stdout, LAB_TEXT);
    printf("\n%s", bench_summary_key);
    lab_table_destroy(table);
    return printed;
}

cli_exit bench_print_table(const lab_bench *bench)
{
    lab_table *table = lab_table_create();
    add_columns(table, bench->replay);
    for (size_t i = 0; i < bench->row_count; i++) {
        add_heed(table, &bench->rows[i], bench->replay);
        for (size_t j = 0; j < bench->rows[i].match_count; j++)
            add_match(table, bench, &bench->rows[i], &bench->rows[i].matches[j]);
    }
    bench_print_machine(bench);
    print_ceilings(bench);
    bool printed = bench->row_count == 0 || lab_table_print(table, stdout, LAB_TEXT);
    lab_table_destroy(table);
    if (printed && print_notes(bench) && print_summary(bench))
        return CLI_OK;
    cli_error("not enough memory for the table");
    return CLI_ENVIRONMENT;
}
