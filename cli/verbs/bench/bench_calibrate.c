/*
 * bench_calibrate.c - `heed bench --calibrate`: the differences that this machine can resolve
 */
#include <math.h>
#include <stdlib.h>

#include "base/plural.h"
#include "bench.h"
#include "bench/duels.h"
#include "bench/pair.h"
#include "measure/family.h"
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

/* Adds the figures of the comparison, or "-" if it failed. */
static void add_figures(lab_listing *rows, double detect, const lab_bench_calibration *row)
{
    char text[LAB_FORMAT_SIZE], interval[64] = "-";
    bool good = row->pair.outcome == LAB_BENCH_OK;
    const lab_duel *duel = &row->pair.duel;
    const lab_comparison *c = &duel->comparison;
    if (isfinite(c->ratio.high))
        snprintf(interval, sizeof interval, "%.3f to %.3f", c->ratio.low, c->ratio.high);
    lab_cell_open(rows, "figures");
    lab_cell_seconds(rows, "seconds", "p50", good ? row->seconds : -1);
    lab_cell_blank(rows, !good);
    lab_cell_count(rows, "pairs", "pairs", (int64_t)duel->pairs);
    lab_cell_count(rows, "planned", NULL, (int64_t)duel->planned);
    lab_cell_json(rows, "ended", json_boolean(duel->ended));
    lab_cell_json(rows, "noise", cli_json_real(c->noise));
    lab_cell_right(rows, "noise", "%s", percent(c->noise, text));
    lab_cell_json(rows, "ratio", cli_json_real(c->ratio.estimate));
    lab_cell_json(rows, "low", cli_json_real(c->ratio.low));
    lab_cell_json(rows, "high", cli_json_real(c->ratio.high));
    lab_cell_left(rows, "beside itself", "%s", interval);
    lab_cell_json(rows, "detectable", cli_json_real(row->detectable));
    lab_cell_right(rows, "detectable", "%s", percent(row->detectable, text));
    lab_cell_text(rows, "verdict", NULL, lab_compared_name(c->verdict));
    lab_cell_json(rows, "detects", json_boolean(row->detectable <= detect));
    lab_cell_close(rows, good);
}

static lab_listing list_rows(double detect, const lab_bench_calibration *all, size_t count,
                             bool json)
{
    char label[BENCH_LABEL_SIZE], spec[HEED_SPEC_SIZE];
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < count; i++) {
        const lab_bench_calibration *row = &all[i];
        const lab_bench_pair *pair = &row->pair;
        const char *kernel = pair->planned[0];
        size_t pairs = pair->outcome == LAB_BENCH_OK ? pair->duel.pairs : 0;
        heed_problem_print(&row->source->problem, spec, sizeof spec);
        lab_cell_text(&rows, "problem", NULL, spec);
        lab_cell_text(&rows, NULL, "problem", bench_label(row->source, label));
        lab_cell_json(&rows, "label", cli_json_word(row->source->label));
        lab_cell_text(&rows, "kernel", NULL, kernel);
        lab_cell_text(&rows, NULL, "kernel", *kernel ? kernel : "heed");
        lab_cell_text(&rows, "outcome", NULL, lab_bench_outcome_name(pair->outcome));
        lab_cell_json(&rows, "reason", cli_json_word(pair->reason));
        lab_cell_json(&rows, "copies", json_integer((json_int_t)pair->copies));
        lab_cell_json(&rows, "replay_calls", json_integer((json_int_t)pair->calls));
        add_figures(&rows, detect, row);
        lab_cell_json(&rows, "a_blocks", cli_json_reals(pair->duel.a, pairs));
        lab_cell_json(&rows, "b_blocks", cli_json_reals(pair->duel.b, pairs));
        lab_row_end(&rows);
    }
    return rows;
}

/* Prints a sentence for each problem on which a difference of @detect cannot be detected. */
static void print_limits(const lab_bench *bench, double detect, const lab_bench_calibration *rows,
                         size_t count)
{
    char spec[HEED_SPEC_SIZE], noise[LAB_FORMAT_SIZE], least[LAB_FORMAT_SIZE];
    for (size_t i = 0; i < count; i++) {
        const lab_bench_calibration *row = &rows[i];
        heed_problem_print(&row->source->problem, spec, sizeof spec);
        if (row->pair.outcome != LAB_BENCH_OK)
            printf("%s: %s\n", spec, row->pair.reason);
        else if (!isfinite(row->detectable))
            printf("%s: AMBIGUOUS whatever the difference: %zu pair%s in %.3g s are too few\n",
                   spec, row->pair.duel.pairs, lab_plural(row->pair.duel.pairs), bench->seconds);
        else if (row->detectable > detect)
            printf("%s: %.3g %% cannot be detected here in %.3g s and is AMBIGUOUS: a pair varies "
                   "by %s, and %s is the least\n",
                   spec, 100 * detect, bench->seconds,
                   percent(row->pair.duel.comparison.noise, noise),
                   percent(row->detectable, least));
    }
}

static cli_exit print_table(const lab_bench *bench, double detect,
                            const lab_bench_calibration *rows, size_t count)
{
    lab_listing list = list_rows(detect, rows, count, false);
    bench_print_machine(bench);
    printf("each kernel beside itself for %.3g s; margin %.3g %%\n\n", bench->seconds,
           100 * bench->margin);
    cli_exit code = cli_table_print(list);
    printf("\n");
    print_limits(bench, detect, rows, count);
    return code;
}

static cli_exit print_json(const lab_bench *bench, double detect, const lab_bench_calibration *rows,
                           size_t count)
{
    return cli_json_print(
        json_pack("{s:o, s:s, s:o, s:s, s:i, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:I, s:o}",
                  "environment", lab_environment_json(&bench->environment), "device",
                  heed_context_device(bench->context), "device_facts", bench_json_device(bench),
                  "cpu", heed_context_cpu(bench->context), "threads",
                  heed_context_threads(bench->context), "cold", bench->cold, "replay",
                  bench->replay, "behind", bench->behind != NULL, "seconds",
                  cli_json_real(bench->seconds), "margin", cli_json_real(bench->margin), "detect",
                  cli_json_real(detect), "power", cli_json_real(LAB_POWER), "seed",
                  (json_int_t)bench->seed, "rows",
                  lab_listing_take(list_rows(detect, rows, count, true))),
        "calibration");
}

/* The worst that happened. A difference that cannot be detected is an answer, not a failure. */
static cli_exit verdict(const lab_bench_calibration *rows, size_t count)
{
    lab_bench_outcome worst = LAB_BENCH_OK;
    for (size_t i = 0; i < count; i++)
        if (rows[i].pair.outcome > worst)
            worst = rows[i].pair.outcome;
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
        lab_duel_free(&rows[i].pair.duel);
    free(rows);
    return code;
}

/* -------------------------------------------------------------------------- */
/* --duels: how often is a verdict on a kernel beside itself right?           */
/* -------------------------------------------------------------------------- */

#define SOURCE_MAX (INT64_C(1) << 20)

/* The number of duels with the verdict, by the rule for champions or the usual one. */
static size_t count_of(const lab_bench_duels *all, lab_compared verdict, bool champion)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += (champion ? all->items[i].champion : all->items[i].usual).verdict == verdict;
    return count;
}

/* B's time over A's, from all pairs. */
static lab_interval pooled_ratio(const lab_bench_duels *all)
{
    lab_interval ratio = { 1, 0, INFINITY };
    lab_series *series = calloc(all->count, sizeof *series);
    for (size_t i = 0; series && i < all->count; i++)
        series[i] = lab_duel_series(&all->items[i].duel);
    if (series)
        lab_pooled_ratio(series, all->count, LAB_COMPARE_CONFIDENCE, &ratio);
    free(series);
    return ratio;
}

static void print_line(const lab_bench_duels *all, FILE *out)
{
    double low = INFINITY, high = 0;
    int running = 0;
    size_t merged = 0;
    for (size_t i = 0; i < all->count; i++) {
        merged += all->items[i].usual.merged > 1;
        low = fmin(low, all->items[i].load);
        high = fmax(high, all->items[i].load);
        running += all->items[i].running;
    }
    char extra[64] = "";
    const lab_interval ratio = pooled_ratio(all);
    if (all->planted > 0)
        snprintf(extra, sizeof extra, " with %.3g %% planted", 100 * all->planted);
    fprintf(out,
            "%zu duel%s of %.3g s, %s beside itself%s: FASTER %zu, SLOWER %zu, EQUIVALENT %zu, "
            "AMBIGUOUS %zu; as for a champion: FASTER %zu, SLOWER %zu; all pairs together %.4f "
            "[%.4f, %.4f]; neighbours alike in %zu; load %.1f to %.1f, %.1f threads running\n",
            all->count, lab_plural(all->count), all->bench->seconds, all->kernel, extra,
            count_of(all, LAB_FASTER, false), count_of(all, LAB_SLOWER, false),
            count_of(all, LAB_EQUIVALENT, false), count_of(all, LAB_AMBIGUOUS, false),
            count_of(all, LAB_FASTER, true), count_of(all, LAB_SLOWER, true), ratio.estimate,
            ratio.low, ratio.high, merged, low, high, (double)running / (double)all->count);
}

static json_t *json_duel(const void *item)
{
    const lab_bench_one_duel *one = item;
    const lab_duel *duel = &one->duel;
    const lab_comparison *c = &one->usual;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:i, s:o, s:o}", "verdict",
                     lab_compared_name(c->verdict), "title",
                     lab_compared_name(one->champion.verdict), "ratio",
                     cli_json_real(c->ratio.estimate), "low", cli_json_real(c->ratio.low), "high",
                     cli_json_real(c->ratio.high), "pairs", (json_int_t)duel->pairs, "stretch",
                     (json_int_t)lab_stretch_pairs(duel->planned), "merged", (json_int_t)c->merged,
                     "seconds", cli_json_real(duel->seconds), "load", cli_json_real(one->load),
                     "running", one->running, "a_blocks", cli_json_reals(duel->a, duel->pairs),
                     "b_blocks", cli_json_reals(duel->b, duel->pairs));
}

static json_t *count_json(const lab_bench_duels *all, bool champion)
{
    json_t *counts = json_object();
    for (int verdict = LAB_AMBIGUOUS; verdict <= LAB_EQUIVALENT; verdict++)
        json_object_set_new(
            counts, lab_compared_name((lab_compared)verdict),
            json_integer((json_int_t)count_of(all, (lab_compared)verdict, champion)));
    return counts;
}

static json_t *json_interval(lab_interval interval)
{
    return json_pack("{s:o, s:o, s:o}", "estimate", cli_json_real(interval.estimate), "low",
                     cli_json_real(interval.low), "high", cli_json_real(interval.high));
}

static cli_exit print_duels(const lab_bench_duels *all, bool json)
{
    char spec[HEED_SPEC_SIZE];
    const lab_bench *bench = all->bench;
    print_line(all, json ? stderr : stdout);
    if (!json)
        return CLI_OK;
    heed_problem_print(&all->source->problem, spec, sizeof spec);
    json_t *list = cli_json_list(all->items, all->count, sizeof *all->items, json_duel);
    return cli_json_print(
        json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "environment",
                  lab_environment_json(&bench->environment), "problem", spec, "kernel", all->kernel,
                  "source", cli_json_word(all->name), "planted", cli_json_real(all->planted),
                  "seconds", cli_json_real(bench->seconds), "margin", cli_json_real(bench->margin),
                  "ratio", json_interval(pooled_ratio(all)), "seed", (json_int_t)bench->seed,
                  "counts", count_json(all, false), "titles", count_json(all, true), "duels", list),
        "duels");
}

/* The exit code of a run with @status. */
static cli_exit exit_of(const lab_bench_duels *all, heed_status status, const lab_error *error)
{
    if (status == HEED_OK)
        return CLI_OK;
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    cli_error("%s", error->text);
    if (all->outcome != LAB_BENCH_OK)
        return all->outcome == LAB_BENCH_WRONG ? CLI_VERIFY_FAILED : CLI_FINDING;
    return cli_exit_of(status);
}

static cli_exit check_duels(const bench_sources *sources, const cli_args *args)
{
    const char *why = NULL;
    if (sources->count != 1)
        why = "--duels takes one problem";
    else if (cli_args_real(args, "planted") > 0 && !cli_args_given(args, "source"))
        why = "--planted is for the kernel of a --source";
    if (why)
        cli_error("%s", why);
    return why ? CLI_USAGE : CLI_OK;
}

cli_exit bench_duel_itself(const lab_bench *bench, const bench_sources *sources,
                           const cli_args *args)
{
    const char *source = cli_args_text(args, "source");
    char *text = NULL;
    size_t size;
    lab_error error;
    cli_exit code = check_duels(sources, args);
    if (code == CLI_OK && source)
        code = cli_read_file(source, SOURCE_MAX, &text, &size);
    if (code != CLI_OK)
        return code;
    lab_bench_duels all = { .bench = bench,
                            .source = sources->items,
                            .name = source,
                            .text = text,
                            .planted = cli_args_real(args, "planted") / 100,
                            .time_limit = cli_args_real(args, "time-limit"),
                            .wanted = (size_t)cli_args_integer(args, "duels") };
    code = exit_of(&all, lab_bench_duels_run(&all, &error), &error);
    cli_exit printed = all.count > 0 ? print_duels(&all, cli_args_json(args)) : CLI_OK;
    lab_bench_duels_free(&all);
    free(text);
    return code == CLI_OK ? printed : code;
}
