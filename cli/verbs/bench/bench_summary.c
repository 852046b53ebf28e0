/*
 * bench_summary.c - the short table: a line for each problem, a column for each opponent
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report/format.h"
#include "report/table.h"

const char bench_summary_key[] = "Opponents: how many times as long as heed they take; + heed is "
                                 "faster, - slower, = equivalent, "
                                 "? ambiguous.\n";

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

static void add_row(lab_table *table, const lab_bench *bench, const lab_bench_row *row)
{
    char spec[HEED_SPEC_SIZE], text[LAB_FORMAT_SIZE];
    bool good = row->outcome == LAB_BENCH_OK;
    double rate = good ? row->flops / row->summary.p50 * 1e-12 : 0;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", row->source->label, row->source->label[0] ? " " : "", spec);
    add_time(table, good ? row->summary.p50 : 0);
    lab_table_cell(table, "%s",
                   good ? lab_format_rate(rate, text) : lab_bench_outcome_name(row->outcome));
    if (bench->replay) {
        add_time(table, good ? row->eager.p50 : 0);
        add_time(table, good ? row->launch : 0);
    }
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
    for (int i = 0; i < (bench->replay ? 4 : 2); i++)
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

lab_table *bench_summary(const lab_bench *bench)
{
    lab_table *table = lab_table_create();
    double *ratios = calloc(bench->row_count + 1, sizeof *ratios);
    lab_table_columns(table, "problem|heed us>|TFLOP/s>");
    if (bench->replay) {
        lab_table_columns(table, "eager us>|launch us>");
    }
    for (size_t i = 0; opponent_name(bench, i); i++)
        lab_table_column(table, opponent_name(bench, i), LAB_RIGHT);
    for (size_t i = 0; i < bench->row_count; i++)
        add_row(table, bench, &bench->rows[i]);
    lab_table_rule(table);
    if (ratios && opponent_name(bench, 0)) {
        add_collected(table, bench, "geometric mean", lab_stats_geomean, ratios);
        add_collected(table, bench, "least", least, ratios);
    }
    free(ratios);
    return table;
}
