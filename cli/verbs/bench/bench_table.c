/*
 * bench_table.c - the table of `heed bench`, with a head and notes
 */
#include <float.h>
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

static void add_heed(lab_table *table, const lab_bench_row *row, bool replay)
{
    char text[LAB_FORMAT_SIZE], spec[HEED_SPEC_SIZE];
    const char *label = row->source->label;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", label, *label ? " " : "", spec);
    lab_table_row_end(table); /* kernels and rivals follow, indented */
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

static void add_match(lab_table *table, const lab_bench *bench, const lab_bench_row *row,
                      const lab_bench_match *match)
{
    static const cli_style_name styles[] = { [LAB_AMBIGUOUS] = CLI_PLAIN,
                                             [LAB_FASTER] = CLI_GOOD,
                                             [LAB_SLOWER] = CLI_BAD,
                                             [LAB_EQUIVALENT] = CLI_PLAIN };
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
        lab_table_cell(table, "%s%s%s", cli_style(stdout, styles[c->verdict]),
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
static cli_exit print_notes(const lab_bench *bench)
{
    size_t count = 0;
    note *notes = calloc(2 * bench->rival_count + bench->row_count + count_matches(bench) + 1,
                         sizeof *notes);
    if (!notes) {
        cli_error("not enough memory for the table");
        return CLI_ENVIRONMENT;
    }
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
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The short table                                                            */
/* -------------------------------------------------------------------------- */

/* The columns of opponents: the available rivals, and another kernel of heed's. Returns the name of
 * the @index-th, or NULL past the last one. */
static const char *opponent_name(const lab_bench *bench, size_t index)
{
    for (size_t i = 0; i < bench->rival_count; i++)
        if (bench->rivals[i].open && index-- == 0)
            return bench->rivals[i].name;
    return index == 0 ? bench->against : NULL;
}

static const lab_bench_match *find_match(const lab_bench *bench, const lab_bench_row *row,
                                         size_t index)
{
    const char *name = opponent_name(bench, index);
    for (size_t i = 0; i < row->match_count; i++) {
        const lab_bench_match *match = &row->matches[i];
        /* the name of heed's kernel ends with its config */
        if (name == bench->against ? i + 1 == row->match_count : strcmp(match->name, name) == 0)
            return match;
    }
    return NULL;
}

static void add_opponent(lab_table *table, const lab_bench_match *match)
{
    static const char signs[] = {
        [LAB_AMBIGUOUS] = '?', [LAB_FASTER] = '+', [LAB_SLOWER] = '-', [LAB_EQUIVALENT] = '='
    };
    if (!match || match->outcome != LAB_BENCH_OK)
        lab_table_cell(table, "%s", match ? lab_bench_outcome_name(match->outcome) : "-");
    else
        lab_table_cell(table, "%.2fx %c", match->comparison.ratio.estimate,
                       signs[match->comparison.verdict]);
}

/* Seconds as microseconds, so that a column can be compared at a glance. */
static void add_time(lab_table *table, double seconds)
{
    if (seconds > 0)
        lab_table_cell(table, "%.*f", seconds < 99.95e-6 ? 1 : 0, seconds * 1e6);
    else
        lab_table_cell(table, "-");
}

static void add_short_row(lab_table *table, const lab_bench *bench, const lab_bench_row *row)
{
    char spec[HEED_SPEC_SIZE], text[LAB_FORMAT_SIZE];
    bool good = row->outcome == LAB_BENCH_OK;
    double rate = good ? row->flops / row->summary.p50 * 1e-12 : 0;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", row->source->label, row->source->label[0] ? " " : "", spec);
    add_time(table, good ? row->summary.p50 : 0);
    lab_table_cell(table, "%s",
                   good ? lab_format_rate(rate, text) : lab_bench_outcome_name(row->outcome));
    add_time(table, good ? row->eager.p50 : 0);
    add_time(table, good ? row->launch : 0);
    for (size_t i = 0; opponent_name(bench, i); i++)
        add_opponent(table, find_match(bench, row, i));
    lab_table_row_end(table);
}

/* The ratios of one opponent as one number. */
typedef double collect_fn(const double *ratios, size_t count);

static double least(const double *ratios, size_t count)
{
    double value = DBL_MAX;
    for (size_t i = 0; i < count; i++)
        value = fmin(value, ratios[i]);
    return value;
}

static size_t find_ratios(const lab_bench *bench, size_t opponent, double *ratios)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_match *match = find_match(bench, &bench->rows[i], opponent);
        if (bench->rows[i].outcome == LAB_BENCH_OK && match && match->outcome == LAB_BENCH_OK)
            ratios[count++] = match->comparison.ratio.estimate;
    }
    return count;
}

static void add_collected(lab_table *table, const lab_bench *bench, const char *head,
                          collect_fn *collect, double *ratios)
{
    lab_table_cell(table, "%s", head);
    for (int i = 0; i < 4; i++)
        lab_table_cell(table, "%s", "");
    for (size_t i = 0; opponent_name(bench, i); i++) {
        size_t count = find_ratios(bench, i, ratios);
        if (count > 0)
            lab_table_cell(table, "%.2fx", collect(ratios, count));
        else
            lab_table_cell(table, "-");
    }
    lab_table_row_end(table);
}

/* Prints a short form of a long table: a line for each problem and a column for each opponent, and
 * their means. */
static cli_exit print_summary(const lab_bench *bench)
{
    if (!bench->replay || bench->row_count == 0)
        return CLI_OK;
    lab_table *table = lab_table_create();
    double *ratios = calloc(bench->row_count + 1, sizeof *ratios);
    lab_table_columns(table, "problem|heed us>|TFLOP/s>");
    lab_table_columns(table, "eager us>|launch us>");
    for (size_t i = 0; opponent_name(bench, i); i++)
        lab_table_column(table, opponent_name(bench, i), LAB_RIGHT);
    for (size_t i = 0; i < bench->row_count; i++)
        add_short_row(table, bench, &bench->rows[i]);
    lab_table_rule(table);
    if (ratios && opponent_name(bench, 0)) {
        add_collected(table, bench, "geometric mean", lab_stats_geomean, ratios);
        add_collected(table, bench, "least", least, ratios);
    }
    free(ratios);
    printf("\n");
    cli_exit code = cli_table_print(table);
    printf("\nOpponents: how many times as long as heed they take; + heed is faster, - slower, = "
           "equivalent, ? ambiguous.\n");
    return code;
}

cli_exit bench_print_table(const lab_bench *bench)
{
    lab_table *table = lab_table_create();
    if (bench->row_count > 0) { /* else not even the heads are printed */
        lab_table_columns(table, "problem, kernel, rival|p50>|p90>|GFLOP/s>");
        lab_table_columns(table, bench->replay ? "of roofline>|eager p50>|eager p90>|launch>"
                                               : "of ceiling>");
        lab_table_columns(table, "rival/heed>|99 % interval|heed is");
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        add_heed(table, &bench->rows[i], bench->replay);
        for (size_t j = 0; j < bench->rows[i].match_count; j++)
            add_match(table, bench, &bench->rows[i], &bench->rows[i].matches[j]);
    }
    bench_print_machine(bench);
    print_ceilings(bench);
    cli_exit code = cli_table_print(table);
    if (code == CLI_OK)
        code = print_notes(bench);
    return code == CLI_OK ? print_summary(bench) : code;
}
