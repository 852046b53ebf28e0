/*
 * bench_duels.c - `heed bench --calibrate --duels`: how often is a verdict on a kernel beside
 * itself right?
 */
#include <math.h>
#include <stdlib.h>

#include "base/plural.h"
#include "bench.h"
#include "bench/duels.h"
#include "measure/family.h"

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

static json_t *json_duel(const lab_bench_one_duel *one)
{
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

static json_t *json_counts(const lab_bench_duels *all, bool champion)
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

static cli_exit print(const lab_bench_duels *all, bool json)
{
    char spec[HEED_SPEC_SIZE];
    const lab_bench *bench = all->bench;
    json_t *list = json_array();
    print_line(all, json ? stderr : stdout);
    if (!json) {
        json_decref(list);
        return CLI_OK;
    }
    heed_problem_print(&all->source->problem, spec, sizeof spec);
    for (size_t i = 0; i < all->count; i++)
        list = cli_json_append(list, json_duel(&all->items[i]));
    return cli_json_print(
        json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "environment",
                  lab_environment_json(&bench->environment), "problem", spec, "kernel", all->kernel,
                  "source", cli_json_word(all->name), "planted", cli_json_real(all->planted),
                  "seconds", cli_json_real(bench->seconds), "margin", cli_json_real(bench->margin),
                  "ratio", json_interval(pooled_ratio(all)), "seed", (json_int_t)bench->seed,
                  "counts", json_counts(all, false), "titles", json_counts(all, true), "duels",
                  list),
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

static cli_exit check(const bench_sources *sources, const cli_args *args)
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
    cli_exit code = check(sources, args);
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
    cli_exit printed = all.count > 0 ? print(&all, cli_args_json(args)) : CLI_OK;
    lab_bench_duels_free(&all);
    free(text);
    return code == CLI_OK ? printed : code;
}
