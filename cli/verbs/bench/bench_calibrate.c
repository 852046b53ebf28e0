/*
 * bench_calibrate.c - `heed bench --calibrate`: the differences that this machine can resolve
 */
#include <math.h>
#include <stdlib.h>

#include "base/plural.h"
#include "bench.h"
#include "measure/power.h"
#include "report/format.h"

static const char *percent(double share, char text[LAB_FORMAT_SIZE])
{
    if (isfinite(share))
        snprintf(text, LAB_FORMAT_SIZE, "%.*f %%", share < 0.0995 ? 2 : 1, 100 * share);
    else
        snprintf(text, LAB_FORMAT_SIZE, "none");
    return text;
}

static void add_row(lab_table *table, const lab_bench_calibration *row)
{
    char text[LAB_FORMAT_SIZE], spec[HEED_SPEC_SIZE];
    const lab_comparison *c = &row->duel.comparison;
    const char *label = row->source->label;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    lab_table_cell(table, "%s%s%s", label, *label ? " " : "", spec);
    lab_table_cell(table, "%s", row->kernel[0] ? row->kernel : "heed");
    if (row->outcome != LAB_BENCH_OK) {
        lab_table_cell(table, "-");
        lab_table_row_end(table);
        return;
    }
    lab_table_cell(table, "%s", lab_format_seconds(row->seconds, text));
    lab_table_cell(table, "%zu", row->duel.pairs);
    lab_table_cell(table, "%s", percent(c->noise, text));
    if (isfinite(c->ratio.high))
        lab_table_cell(table, "%.3f to %.3f", c->ratio.low, c->ratio.high);
    else
        lab_table_cell(table, "-");
    lab_table_cell(table, "%s", percent(row->detectable, text));
    lab_table_row_end(table);
}

/* Prints a sentence for each problem on which a difference of @detect cannot be detected. */
static void print_limits(const lab_bench *bench, double detect, const lab_bench_calibration *rows,
                         size_t count)
{
    char spec[HEED_SPEC_SIZE], noise[LAB_FORMAT_SIZE], least[LAB_FORMAT_SIZE];
    for (size_t i = 0; i < count; i++) {
        const lab_bench_calibration *row = &rows[i];
        heed_problem_print(&row->source->problem, spec, sizeof spec);
        if (row->outcome != LAB_BENCH_OK)
            printf("%s: %s\n", spec, row->reason);
        else if (!isfinite(row->detectable))
            printf("%s: AMBIGUOUS whatever the difference: %zu pair%s in %.3g s are too few\n",
                   spec, row->duel.pairs, lab_plural(row->duel.pairs), bench->seconds);
        else if (row->detectable > detect)
            printf("%s: %.3g %% cannot be detected here in %.3g s and is AMBIGUOUS: a pair varies "
                   "by %s, and %s is the least\n",
                   spec, 100 * detect, bench->seconds, percent(row->duel.comparison.noise, noise),
                   percent(row->detectable, least));
    }
}

static cli_exit print_table(const lab_bench *bench, double detect,
                            const lab_bench_calibration *rows, size_t count)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "problem|kernel|p50>|pairs>|noise>|beside itself|detectable>");
    for (size_t i = 0; i < count; i++)
        add_row(table, &rows[i]);
    bench_print_machine(bench);
    printf("each kernel beside itself for %.3g s; margin %.3g %%\n\n", bench->seconds,
           100 * bench->margin);
    cli_exit code = cli_table_print(table);
    printf("\n");
    print_limits(bench, detect, rows, count);
    return code;
}

static json_t *row_json(double detect, const lab_bench_calibration *row)
{
    char spec[HEED_SPEC_SIZE];
    const lab_duel *duel = &row->duel;
    const lab_comparison *c = &duel->comparison;
    size_t pairs = row->outcome == LAB_BENCH_OK ? duel->pairs : 0;
    bool found = row->outcome == LAB_BENCH_OK && row->detectable <= detect;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    json_t *figures = row->outcome == LAB_BENCH_OK
                          ? json_pack("{s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:s, s:b}",
                                      "seconds", cli_json_real(row->seconds), "pairs",
                                      (json_int_t)pairs, "planned", (json_int_t)duel->planned,
                                      "ended", duel->ended, "noise", cli_json_real(c->noise),
                                      "ratio", cli_json_real(c->ratio.estimate), "low",
                                      cli_json_real(c->ratio.low), "high",
                                      cli_json_real(c->ratio.high), "detectable",
                                      cli_json_real(row->detectable), "verdict",
                                      lab_compared_name(c->verdict), "detects", found)
                          : json_null();
    return json_pack("{s:s, s:o, s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "problem", spec, "label",
                     cli_json_word(row->source->label), "kernel", row->kernel, "outcome",
                     lab_bench_outcome_name(row->outcome), "reason", cli_json_word(row->reason),
                     "copies", (json_int_t)row->copies, "replay_calls", (json_int_t)row->calls,
                     "figures", figures, "a_blocks", cli_json_reals(duel->a, pairs), "b_blocks",
                     cli_json_reals(duel->b, pairs));
}

static cli_exit print_json(const lab_bench *bench, double detect, const lab_bench_calibration *rows,
                           size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = cli_json_append(array, row_json(detect, &rows[i]));
    return cli_json_print(
        json_pack("{s:o, s:s, s:o, s:s, s:i, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:I, s:o}",
                  "environment", lab_environment_json(&bench->environment), "device",
                  heed_context_device(bench->context), "device_facts", bench_json_device(bench),
                  "cpu", heed_context_cpu(bench->context), "threads",
                  heed_context_threads(bench->context), "cold", bench->cold, "replay",
                  bench->replay, "behind", bench->behind != NULL, "seconds",
                  cli_json_real(bench->seconds), "margin", cli_json_real(bench->margin), "detect",
                  cli_json_real(detect), "power", cli_json_real(LAB_POWER), "seed",
                  (json_int_t)bench->seed, "rows", array),
        "calibration");
}

/* The worst that happened. A difference that cannot be detected is an answer, not a failure. */
static cli_exit verdict(const lab_bench_calibration *rows, size_t count)
{
    lab_bench_outcome worst = LAB_BENCH_OK;
    for (size_t i = 0; i < count; i++)
        if (rows[i].outcome > worst)
            worst = rows[i].outcome;
    return bench_exit_of(worst);
}

cli_exit bench_calibrate(lab_bench *bench, const bench_sources *sources, const cli_args *args)
{
    char spec[HEED_SPEC_SIZE];
    lab_progress progress = lab_progress_start(&cli_sink, "calibrating", sources->count);
    lab_bench_calibration *rows = calloc(sources->count, sizeof *rows);
    cli_exit code = CLI_OK;
    size_t count = 0;
    if (!rows) {
        cli_error("not enough memory for %zu problems", sources->count);
        return CLI_ENVIRONMENT;
    }
    for (; count < sources->count && code == CLI_OK; count += code == CLI_OK) {
        heed_problem_print(&sources->items[count].problem, spec, sizeof spec);
        lab_progress_step(&progress, count, spec);
        code = bench_exit_of_work(
            lab_bench_calibrate_problem(bench, &sources->items[count], &rows[count]));
    }
    lab_progress_end(&progress);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: %zu of %zu problem%s finished", count, sources->count,
                    lab_plural(sources->count));
    double detect = cli_args_real(args, "detect") / 100;
    cli_exit printed = cli_args_json(args) ? print_json(bench, detect, rows, count)
                                           : print_table(bench, detect, rows, count);
    if (code == CLI_OK)
        code = printed == CLI_OK ? verdict(rows, count) : printed;
    for (size_t i = 0; i < sources->count; i++)
        lab_duel_free(&rows[i].duel);
    free(rows);
    return code;
}
