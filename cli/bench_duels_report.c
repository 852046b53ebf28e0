/*
 * bench_duels_report.c - what came of duels of a kernel with itself
 */
#include <math.h>
#include <stdlib.h>

#include "bench_duels.h"
#include "measure/pooled.h"

/* How many duels have the verdict, by the rule of champions or the usual one. */
static size_t count_of(const bench_duels *all, lab_compared verdict, bool title)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += (title ? all->items[i].title : all->items[i].usual).verdict == verdict;
    return count;
}

/* B's time over A's by all pairs. */
static lab_interval pooled_ratio(const bench_duels *all)
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

static size_t count_merged(const bench_duels *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += all->items[i].usual.merged > 1;
    return count;
}

static void print_line(const bench_duels *all, FILE *out)
{
    double low = INFINITY, high = 0;
    int running = 0;
    for (size_t i = 0; i < all->count; i++) {
        low = fmin(low, all->items[i].load);
        high = fmax(high, all->items[i].load);
        running += all->items[i].running;
    }
    char extra[64] = "";
    const lab_interval ratio = pooled_ratio(all);
    if (all->planted > 0)
        snprintf(extra, sizeof extra, " with %.3g %% planted", 100 * all->planted);
    fprintf(out,
            "%zu duels of %.3g s, %s beside itself%s: FASTER %zu, SLOWER %zu, EQUIVALENT %zu, "
            "AMBIGUOUS %zu; as for a title: FASTER %zu, SLOWER %zu; all pairs together %.4f "
            "[%.4f, %.4f]; neighbours alike in %zu; load %.1f to %.1f, %.1f threads running\n",
            all->count, all->bench->seconds, all->kernel, extra, count_of(all, LAB_FASTER, false),
            count_of(all, LAB_SLOWER, false), count_of(all, LAB_EQUIVALENT, false),
            count_of(all, LAB_AMBIGUOUS, false), count_of(all, LAB_FASTER, true),
            count_of(all, LAB_SLOWER, true), ratio.estimate, ratio.low, ratio.high,
            count_merged(all), low, high, (double)running / (double)all->count);
}

static json_t *json_blocks(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = cli_json_append(array, cli_json_real(values[i]));
    return array;
}

static json_t *json_duel(const bench_one_duel *one)
{
    const lab_duel *duel = &one->duel;
    const lab_comparison *c = &one->usual;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:i, s:o, s:o}", "verdict",
                     lab_compared_name(c->verdict), "title", lab_compared_name(one->title.verdict),
                     "ratio", cli_json_real(c->ratio.estimate), "low", cli_json_real(c->ratio.low),
                     "high", cli_json_real(c->ratio.high), "pairs", (json_int_t)duel->pairs,
                     "stretch", (json_int_t)lab_stretch_pairs(duel->planned), "merged",
                     (json_int_t)c->merged, "seconds", cli_json_real(duel->seconds), "load",
                     cli_json_real(one->load), "running", one->running, "a_blocks",
                     json_blocks(duel->a, duel->pairs), "b_blocks",
                     json_blocks(duel->b, duel->pairs));
}

static json_t *json_counts(const bench_duels *all, bool title)
{
    json_t *counts = json_object();
    for (int verdict = LAB_AMBIGUOUS; verdict <= LAB_EQUIVALENT; verdict++)
        json_object_set_new(counts, lab_compared_name((lab_compared)verdict),
                            json_integer((json_int_t)count_of(all, (lab_compared)verdict, title)));
    return counts;
}

static json_t *json_interval(lab_interval interval)
{
    return json_pack("{s:o, s:o, s:o}", "estimate", cli_json_real(interval.estimate), "low",
                     cli_json_real(interval.low), "high", cli_json_real(interval.high));
}

cli_exit bench_duels_print(const bench_duels *all)
{
    char spec[HEED_SPEC_SIZE];
    const lab_bench *bench = all->bench;
    json_t *list = json_array();
    print_line(all, all->json ? stderr : stdout);
    if (!all->json) {
        json_decref(list);
        return CLI_OK;
    }
    heed_problem_print(&all->source->problem, spec, sizeof spec);
    for (size_t i = 0; i < all->count; i++)
        list = cli_json_append(list, json_duel(&all->items[i]));
    return cli_json_print(
        json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "environment",
                  lab_environment_json(&bench->environment), "problem", spec, "kernel", all->kernel,
                  "source", all->file ? cli_json_text(all->file) : json_null(), "planted",
                  cli_json_real(all->planted), "seconds", cli_json_real(bench->seconds), "margin",
                  cli_json_real(bench->margin), "ratio", json_interval(pooled_ratio(all)), "seed",
                  (json_int_t)bench->seed, "counts", json_counts(all, false), "titles",
                  json_counts(all, true), "duels", list),
        "duels");
}
