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

/* Adds a rate in GFLOP/s, or a ratio, with the decimals that are significant. */
static void add_number(lab_listing *rows, const char *head, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 999.5 ? 1 : 0;
    lab_cell_right(rows, head, "%.*f%s", decimals, value, unit);
}

/* Adds columns of single calls, next to replays, with heed's launch. */
static void add_eager(lab_listing *rows, const lab_summary *eager, const double *launch)
{
    char text[LAB_FORMAT_SIZE];
    lab_cell_right(rows, "eager p50", "%s", eager->n ? lab_format_seconds(eager->p50, text) : "");
    lab_cell_right(rows, "eager p90", "%s", eager->n ? lab_format_seconds(eager->p90, text) : "");
    lab_cell_right(rows, "launch", "%s", launch ? lab_format_seconds(*launch, text) : "");
}

/* Adds the share of the roofline, with the limiting unit, or of the ceiling, if either is known. */
static void add_share(lab_listing *rows, const lab_bench_row *row, double seconds, bool replay)
{
    char text[64] = "-";
    if (replay && row->floor > 0)
        snprintf(text, sizeof text, "%.0f %% %s", 100 * row->floor / seconds,
                 lab_roof_name(row->binds));
    else if (!replay && row->ceiling > 0)
        snprintf(text, sizeof text, "%.0f %%", 100 * row->flops / seconds / row->ceiling);
    lab_cell_right(rows, replay ? "of roofline" : "of ceiling", "%s", text);
}

/* Adds the comparison with a rival; of heed's own line, with @match NULL, nothing. */
static void add_comparison(lab_listing *rows, const lab_bench_match *match)
{
    static const lab_style styles[] = { [LAB_AMBIGUOUS] = LAB_PLAIN,
                                        [LAB_FASTER] = LAB_GOOD,
                                        [LAB_SLOWER] = LAB_BAD,
                                        [LAB_EQUIVALENT] = LAB_PLAIN };
    static const lab_comparison none = { .verdict = LAB_AMBIGUOUS };
    const lab_comparison *c = match ? &match->comparison : &none;
    int decimals = c->ratio.high < 9.9995 ? 3 : 1;
    lab_cell_blank(rows, !match);
    add_number(rows, "rival/heed", c->ratio.estimate, "x");
    lab_cell_blank(rows, !isfinite(c->ratio.high));
    lab_cell_left(rows, "99 % interval", "%.*f to %.*f", decimals, c->ratio.low, decimals,
                  c->ratio.high);
    lab_cell_styled(rows, NULL, "heed is", styles[c->verdict], lab_compared_name(c->verdict));
}

/* Adds a line for heed's kernel or, unless @match is NULL, for a rival. */
static void add_line(lab_listing *rows, const lab_bench *bench, const lab_bench_row *row,
                     const lab_bench_match *match)
{
    char text[LAB_FORMAT_SIZE];
    bool good = (match ? match->outcome : row->outcome) == LAB_BENCH_OK;
    bool own = match && bench->own && match->name == bench->own->name;
    double seconds = match ? match->seconds : row->summary.p50;
    lab_cell_left(rows, "problem, kernel, rival", "  %s",
                  match            ? match->name
                  : row->kernel[0] ? row->kernel
                                   : "heed");
    lab_cell_style(rows, own && !good ? LAB_BAD : LAB_PLAIN);
    lab_cell_right(rows, "p50", "%s",
                   good  ? lab_format_seconds(seconds, text)
                   : own ? lab_bench_outcome_name(match->outcome)
                         : "-");
    lab_cell_blank(rows, !good);
    lab_cell_right(rows, "p90", "%s", match ? "" : lab_format_seconds(row->summary.p90, text));
    add_number(rows, "GFLOP/s", row->flops / seconds * 1e-9, "");
    add_share(rows, row, seconds, bench->replay);
    if (bench->replay)
        add_eager(rows, match ? &match->eager : &row->eager, match ? NULL : &row->launch);
    add_comparison(rows, match);
    lab_row_end(rows);
}

const char *bench_label(const lab_bench_source *source, char text[BENCH_LABEL_SIZE])
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(&source->problem, spec, sizeof spec);
    snprintf(text, BENCH_LABEL_SIZE, "%s%s%s", source->label, source->label[0] ? " " : "", spec);
    return text;
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

static void add_opponent(lab_listing *rows, const char *name, const lab_bench_match *match)
{
    static const char signs[] = {
        [LAB_AMBIGUOUS] = '?', [LAB_FASTER] = '+', [LAB_SLOWER] = '-', [LAB_EQUIVALENT] = '='
    };
    if (!match || match->outcome != LAB_BENCH_OK)
        lab_cell_right(rows, name, "%s", match ? lab_bench_outcome_name(match->outcome) : "-");
    else
        lab_cell_right(rows, name, "%.2fx %c", match->comparison.ratio.estimate,
                       signs[match->comparison.verdict]);
}

/* Seconds as microseconds, so that a column can be compared at a glance. */
static void add_time(lab_listing *rows, const char *head, double seconds)
{
    lab_cell_real(rows, NULL, head, seconds > 0 ? seconds : -1, "%.*f", seconds < 99.95e-6 ? 1 : 0,
                  seconds * 1e6);
}

static void add_short_row(lab_listing *rows, const lab_bench *bench, const lab_bench_row *row)
{
    char label[BENCH_LABEL_SIZE], text[LAB_FORMAT_SIZE];
    bool good = row->outcome == LAB_BENCH_OK;
    double rate = good ? row->flops / row->summary.p50 * 1e-12 : 0;
    lab_cell_text(rows, NULL, "problem", bench_label(row->source, label));
    add_time(rows, "heed us", good ? row->summary.p50 : 0);
    lab_cell_right(rows, "TFLOP/s", "%s",
                   good ? lab_format_rate(rate, text) : lab_bench_outcome_name(row->outcome));
    add_time(rows, "eager us", good ? row->eager.p50 : 0);
    add_time(rows, "launch us", good ? row->launch : 0);
    for (size_t i = 0; opponent_name(bench, i); i++)
        add_opponent(rows, opponent_name(bench, i), find_match(bench, row, i));
    lab_row_end(rows);
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

static void add_collected(lab_listing *rows, const lab_bench *bench, const char *head,
                          collect_fn *collect, double *ratios)
{
    lab_cell_text(rows, NULL, "problem", head);
    for (int i = 0; i < 4; i++)
        lab_cell_left(rows, "", "%s", "");
    for (size_t i = 0; opponent_name(bench, i); i++) {
        size_t count = find_ratios(bench, i, ratios);
        double value = count > 0 ? collect(ratios, count) : -1;
        lab_cell_real(rows, NULL, opponent_name(bench, i), value, "%.2fx", value);
    }
    lab_row_end(rows);
}

/* Prints a short form of a long table: a line for each problem and a column for each opponent, and
 * their means. */
static cli_exit print_summary(const lab_bench *bench)
{
    if (!bench->replay || bench->row_count == 0)
        return CLI_OK;
    lab_listing rows = cli_rows_begin(false);
    double *ratios = calloc(bench->row_count + 1, sizeof *ratios);
    for (size_t i = 0; i < bench->row_count; i++)
        add_short_row(&rows, bench, &bench->rows[i]);
    lab_listing_rule(&rows, NULL);
    if (ratios && opponent_name(bench, 0)) {
        add_collected(&rows, bench, "geometric mean", lab_stats_geomean, ratios);
        add_collected(&rows, bench, "least", least, ratios);
    }
    free(ratios);
    printf("\n");
    cli_exit code = cli_table_print(rows);
    printf("\nOpponents: how many times as long as heed they take; + heed is faster, - slower, = "
           "equivalent, ? ambiguous.\n");
    return code;
}

cli_exit bench_print_table(const lab_bench *bench)
{
    char label[BENCH_LABEL_SIZE];
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        lab_cell_text(&rows, NULL, "problem, kernel, rival", bench_label(row->source, label));
        lab_row_end(&rows); /* kernels and rivals follow, indented */
        add_line(&rows, bench, row, NULL);
        for (size_t j = 0; j < row->match_count; j++)
            add_line(&rows, bench, row, &row->matches[j]);
    }
    bench_print_machine(bench);
    print_ceilings(bench);
    cli_exit code = cli_table_print(rows);
    if (code == CLI_OK)
        code = print_notes(bench);
    return code == CLI_OK ? print_summary(bench) : code;
}
