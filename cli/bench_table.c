/*
 * bench_table.c - the table of `heed bench`, with what is to be known above and below it
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report/format.h"
#include "report/table.h"

static const char *const effort_names[] = { "estimate", "measure", "patient", "wisdom" };

static void print_machine(const bench_run *bench)
{
    const lab_environment *e = &bench->environment;
    printf("heed %s (%s), %s, %s, %d threads, %s", e->heed, e->commit, e->cpu,
           heed_context_cpu(bench->context), heed_context_threads(bench->context), e->kernel);
    if (e->load >= 0)
        printf(", load %.2f", e->load);
    printf("\n%s %s; inputs %s\n", bench->kernel ? "kernel" : "effort",
           bench->kernel ? bench->kernel : effort_names[bench->effort],
           bench->cold ? "cold: rotated past the last-level cache"
                       : "hot: the same buffers in every call");
}

static void print_ceilings(const bench_run *bench)
{
    const char *separator = "ceiling: ";
    for (int type = 0; type < 3; type++) {
        if (bench->ceilings[type] == 0)
            continue;
        printf("%s%s %.0f GFLOP/s (%s)", separator, heed_type_name((heed_type)type),
               bench->ceilings[type] * 1e-9, bench->ceiling_loops[type]);
        separator = ", ";
    }
    if (bench->sgemm > 0)
        printf("%ssgemm %.0f GFLOP/s (%s)", separator, bench->sgemm * 1e-9, bench->sgemm_from);
    if (bench->copy > 0)
        printf("%scopy %.1f GB/s", separator, bench->copy * 1e-9);
    printf("\n\n");
}

/* A rate in GFLOP/s, or a ratio: with a decimal or two where that says something. */
static void add_number(lab_table *table, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 999.5 ? 1 : 0;
    lab_table_cell(table, "%.*f%s", decimals, value, unit);
}

static void add_heed(lab_table *table, const bench_row *row)
{
    char spec[HEED_SPEC_SIZE], p50[LAB_FORMAT_SIZE], p90[LAB_FORMAT_SIZE];
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", row->source->label, row->source->label[0] ? " " : "", spec);
    lab_table_cell(table, "%s", row->kernel[0] ? row->kernel : "heed");
    if (row->outcome != BENCH_OK) {
        lab_table_cell(table, "-");
        lab_table_row_end(table);
        return;
    }
    lab_table_cell(table, "%s", lab_format_seconds(row->summary.p50, p50));
    lab_table_cell(table, "%s", lab_format_seconds(row->summary.p90, p90));
    add_number(table, row->flops / row->summary.p50 * 1e-9, "");
    if (row->ceiling > 0)
        lab_table_cell(table, "%.0f %%", 100 * row->flops / row->summary.p50 / row->ceiling);
    lab_table_row_end(table);
}

static cli_style_name verdict_style(lab_compared verdict)
{
    return verdict == LAB_FASTER ? CLI_GOOD : verdict == LAB_SLOWER ? CLI_BAD : CLI_PLAIN;
}

static void add_match(lab_table *table, const bench_row *row, const bench_match *match)
{
    char time[LAB_FORMAT_SIZE];
    const lab_comparison *c = &match->comparison;
    int decimals = c->ratio.high < 9.9995 ? 3 : 1;
    lab_table_cell(table, "%s", "");
    lab_table_cell(table, "  %s", match->name);
    if (match->outcome != BENCH_OK) {
        lab_table_cell(table, "-");
        lab_table_row_end(table);
        return;
    }
    lab_table_cell(table, "%s", lab_format_seconds(match->seconds, time));
    lab_table_cell(table, "%s", "");
    add_number(table, row->flops / match->seconds * 1e-9, "");
    lab_table_cell(table, "%s", "");
    add_number(table, c->ratio.estimate, "x");
    if (c->pairs >= LAB_COMPARE_PAIRS_MIN) {
        lab_table_cell(table, "%.*f to %.*f", decimals, c->ratio.low, decimals, c->ratio.high);
        lab_table_cell(table, "%s%s%s", cli_style(stdout, verdict_style(c->verdict)),
                       lab_compared_name(c->verdict), cli_style(stdout, CLI_PLAIN));
    }
    lab_table_row_end(table);
}

/* Says of what a reason is the reason, unless the same has been said before. */
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
    printf("%s: %s\n", name, reason);
}

static size_t count_matches(const bench_run *bench)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->row_count; i++)
        count += bench->rows[i].match_count;
    return count;
}

/* Below the table: what the dashes mean, and how the rivals are set up. */
static bool print_notes(const bench_run *bench)
{
    size_t count = 0;
    note *notes = calloc(2 * bench->rival_count + bench->row_count + count_matches(bench) + 1,
                         sizeof *notes);
    if (!notes)
        return false;
    printf("\n");
    for (size_t i = 0; i < bench->rival_count; i++) {
        const bench_rival *rival = &bench->rivals[i];
        if (!rival->open)
            print_note(notes, &count, rival->rival.found.name, rival->reason);
        else if (rival->rival.detail[0])
            print_note(notes, &count, rival->rival.found.name, rival->rival.detail);
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const bench_row *row = &bench->rows[i];
        if (row->outcome != BENCH_OK)
            print_note(notes, &count, row->kernel[0] ? row->kernel : "heed", row->reason);
        for (size_t j = 0; j < row->match_count; j++)
            if (row->matches[j].outcome != BENCH_OK)
                print_note(notes, &count, row->matches[j].name, row->matches[j].reason);
    }
    free(notes);
    return true;
}

cli_exit bench_print_table(const bench_run *bench)
{
    static const struct {
        const char *head;
        lab_align align;
    } columns[] = {
        { "problem", LAB_LEFT },     { "kernel or rival", LAB_LEFT }, { "p50", LAB_RIGHT },
        { "p90", LAB_RIGHT },        { "GFLOP/s", LAB_RIGHT },        { "of ceiling", LAB_RIGHT },
        { "rival/heed", LAB_RIGHT }, { "95 % interval", LAB_LEFT },   { "heed is", LAB_LEFT },
    };
    lab_table *table = lab_table_create();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        lab_table_column(table, columns[i].head, columns[i].align);
    for (size_t i = 0; i < bench->row_count; i++) {
        add_heed(table, &bench->rows[i]);
        for (size_t j = 0; j < bench->rows[i].match_count; j++)
            add_match(table, &bench->rows[i], &bench->rows[i].matches[j]);
    }
    print_machine(bench);
    print_ceilings(bench);
    bool printed = bench->row_count == 0 || lab_table_print(table, stdout, LAB_TEXT);
    lab_table_destroy(table);
    if (printed && print_notes(bench))
        return CLI_OK;
    cli_error("not enough memory for the table");
    return CLI_ENVIRONMENT;
}
