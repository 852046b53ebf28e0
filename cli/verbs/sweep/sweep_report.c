/*
 * sweep_report.c - what `heed sweep` found, as tables or JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "sweep.h"

#define TOP 10     /* points in the table, and those of the front */
#define EXAMPLES 5 /* of each way to fail */

static const char *const ends[] = { [LAB_SEARCH_COMPLETE] = "complete",
                                    [LAB_SEARCH_TRIALS] = "trials used up",
                                    [LAB_SEARCH_TIME] = "time used up",
                                    [LAB_SEARCH_INTERRUPTED] = "interrupted",
                                    [LAB_SEARCH_FAILED] = "failed" };

/* Everything that ran, the fastest first, with its facts. */
typedef struct ranking {
    const lab_try **tries;
    lab_standing *standings;
    bool *front;
    size_t count;
} ranking;

static int by_score(const void *a, const void *b)
{
    const lab_try *one = *(const lab_try *const *)a, *other = *(const lab_try *const *)b;
    if (one->shapes != other->shapes)
        return one->shapes > other->shapes ? -1 : 1;
    if (one->score != other->score)
        return one->score < other->score ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* The search's choice comes first: it was timed longer than the others. */
static void put_first(ranking *all, const lab_try *best)
{
    for (size_t i = 0; best && i < all->count; i++)
        if (all->tries[i] == best) {
            memmove(&all->tries[1], &all->tries[0], i * sizeof *all->tries);
            all->tries[0] = best;
            return;
        }
}

static bool rank(const sweep_run *run, ranking *all)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    all->tries = calloc(result.count + 1, sizeof *all->tries);
    all->standings = calloc(result.count + 1, sizeof *all->standings);
    all->front = calloc(result.count + 1, sizeof *all->front);
    all->count = 0;
    if (!all->tries || !all->standings || !all->front)
        return false;
    for (size_t i = 0; i < result.count; i++)
        if (isfinite(result.tries[i].score))
            all->tries[all->count++] = &result.tries[i];
    qsort(all->tries, all->count, sizeof *all->tries, by_score);
    put_first(all, result.best);
    for (size_t i = 0; i < all->count; i++)
        all->standings[i] = (lab_standing){
            .time = all->tries[i]->score,
            .point_facts =
                run->sweep.pool
                    ? lab_sweep_pool_get(run->sweep.pool, all->tries[i]->index).point_facts
                    : lab_point_facts_unknown()
        };
    lab_point_facts_front(all->standings, all->count, all->front);
    return true;
}

static void free_ranking(ranking *all)
{
    free(all->tries);
    free(all->standings);
    free(all->front);
}

const char *sweep_gates_word(const lab_sweep_gates *gates, int64_t point)
{
    lab_proven proven = lab_sweep_proven(gates, point);
    return proven == LAB_PROVEN ? "all" : proven == LAB_REFUTED ? "refused" : "unknown";
}

/* ---- Text ---- */

static void add_facts_heads(lab_table *table)
{
    for (int i = 0; i < LAB_FACTS; i++)
        lab_table_column(table, lab_fact_name((lab_fact)i), LAB_RIGHT);
}

static void add_facts(lab_table *table, const lab_point_facts *point_facts)
{
    for (int i = 0; i < LAB_FACTS; i++)
        if (point_facts->value[i] < 0)
            lab_table_cell(table, "-");
        else
            lab_table_cell(table, "%lld", (long long)point_facts->value[i]);
}

static void add_point(lab_table *table, const sweep_run *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->sweep.space, index);
    for (int i = 0; i < run->sweep.space.knob_count; i++)
        lab_table_cell(table, "%lld", (long long)lab_space_value(&run->sweep.space, &point, i));
}

static void add_point_heads(lab_table *table, const sweep_run *run)
{
    for (int i = 0; i < run->sweep.space.knob_count; i++)
        lab_table_column(table, run->sweep.space.knobs[i].name, LAB_RIGHT);
}

static cli_exit print_ranking(const sweep_run *run, const ranking *all)
{
    char text[LAB_FORMAT_SIZE];
    lab_table *table = lab_table_create();
    lab_table_column(table, "", LAB_LEFT);
    add_point_heads(table, run);
    lab_table_column(table, run->sweep.problems.count > 1 ? "mean time" : "time", LAB_RIGHT);
    lab_table_columns(table, "to best>|gates");
    if (run->sweep.pool)
        add_facts_heads(table);
    for (size_t i = 0; i < all->count; i++) {
        bool whole = all->tries[i]->shapes == (int)run->sweep.problems.count;
        if (!whole || (i >= TOP && !(run->sweep.pool && all->front[i])))
            continue;
        lab_table_cell(table, "%s", run->sweep.pool && all->front[i] ? "*" : "");
        add_point(table, run, all->tries[i]->index);
        lab_table_cell(table, "%s", lab_format_seconds(exp(all->tries[i]->score), text));
        lab_table_cell(table, "%.2f", exp(all->tries[i]->score - all->tries[0]->score));
        lab_table_cell(table, "%s", sweep_gates_word(&run->gates, all->tries[i]->index));
        if (run->sweep.pool)
            add_facts(table, &all->standings[i].point_facts);
        lab_table_row_end(table);
    }
    return cli_table_print(table);
}

cli_exit sweep_print_shapes(const lab_sweep *run, const double *seconds, const char *found,
                            const char *is)
{
    char text[LAB_FORMAT_SIZE];
    lab_table *table = lab_table_create();
    lab_table_column(table, "problem", LAB_LEFT);
    lab_table_column(table, found, LAB_RIGHT);
    lab_table_columns(table, "heed plans|time>");
    lab_table_column(table, is, LAB_LEFT);
    for (size_t i = 0; i < run->problems.count; i++) {
        const lab_sweep_shape *shape = &run->shapes[i];
        bool compared = shape->verdict != NULL;
        lab_table_cell(table, "%s", shape->spec);
        lab_table_cell(table, "%s",
                       lab_format_seconds(compared ? shape->found_seconds : seconds[i], text));
        lab_table_cell(table, "%s", *shape->usual ? shape->usual : "-");
        lab_table_cell(table, "%s", lab_format_seconds(compared ? shape->usual_seconds : -1, text));
        if (compared)
            lab_table_cell(table, "%s  %.3f (%.3f to %.3f)", shape->verdict, shape->ratio,
                           shape->low, shape->high);
        else
            lab_table_cell(table, "%s", shape->same ? "the same" : "-");
    }
    return cli_table_print(table);
}

/* The states of points that do not stand in the tables, with some examples of each. */
static void print_reasons(const sweep_run *run)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    int shown[LAB_STATES] = { 0 };
    for (size_t i = 0; i < result.count; i++) {
        const lab_try *one = &result.tries[i];
        char text[LAB_POINT_TEXT];
        if (one->state == LAB_STATE_TIMED || shown[one->state]++ >= EXAMPLES)
            continue;
        const lab_point point = lab_space_at(&run->sweep.space, one->index);
        lab_point_print(&run->sweep.space, &point, text);
        cli_message("%s: %s: %s", lab_state_name(one->state), text, one->why);
    }
    for (int state = 0; state < LAB_STATES; state++)
        if (shown[state] > EXAMPLES)
            cli_message("%s: %d more", lab_state_name((lab_state)state), shown[state] - EXAMPLES);
}

static void print_counts(const sweep_run *run)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    cli_message("%s on %s: %lld points; %lld are invalid or refused, %lld pruned, %lld "
                "launched (%lld times in all, %lld of them known from before); %s",
                run->sweep.kernel, heed_context_device(run->sweep.context),
                (long long)result.points, (long long)result.refused, (long long)result.pruned,
                (long long)result.launched, (long long)result.evaluations,
                (long long)run->sweep.reused, ends[result.end]);
}

static cli_exit report_text(const sweep_run *run, const ranking *all)
{
    const lab_try *best = lab_search_get(run->sweep.search).best;
    print_counts(run);
    print_reasons(run);
    if (!best)
        return CLI_OK;
    if (run->sweep.pool)
        cli_message("* no other point is better in time, registers, shared memory and warps");
    cli_exit code = print_ranking(run, all);
    if (code != CLI_OK || best->shapes < (int)run->sweep.problems.count)
        return code;
    printf("\n");
    code = sweep_print_shapes(&run->sweep, best->seconds, "best point", "best is");
    if (run->verified)
        cli_message("the best point passes all gates");
    return code;
}

/* ---- JSON ---- */

static json_t *json_facts(const lab_point_facts *point_facts)
{
    json_t *facts = json_object();
    for (int i = 0; i < LAB_FACTS; i++)
        json_object_set_new(facts, lab_fact_name((lab_fact)i),
                            point_facts->value[i] < 0 ? json_null()
                                                      : json_integer(point_facts->value[i]));
    return facts;
}

static json_t *json_point(const sweep_run *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->sweep.space, index);
    json_t *knobs = json_object();
    for (int i = 0; i < run->sweep.space.knob_count; i++)
        json_object_set_new(knobs, run->sweep.space.knobs[i].name,
                            json_integer(lab_space_value(&run->sweep.space, &point, i)));
    return knobs;
}

static json_t *json_try(const sweep_run *run, const lab_try *one,
                        const lab_point_facts *point_facts, bool front)
{
    const lab_point point = lab_space_at(&run->sweep.space, one->index);
    char name[HEED_NAME_SIZE] = "";
    json_t *seconds = json_array();
    lab_space_name(&run->sweep.space, &point, run->sweep.kernel, name, NULL);
    for (int i = 0; i < one->shapes; i++)
        seconds = cli_json_append(seconds, cli_json_real(one->seconds[i]));
    return json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:b, s:o}", "point",
                     json_point(run, one->index), "kernel", name, "gates",
                     sweep_gates_word(&run->gates, one->index), "fate", lab_state_name(one->state),
                     "why", cli_json_text(one->why), "seconds", seconds, "mean_seconds",
                     cli_json_real(exp(one->score)), "front", front, "facts",
                     point_facts ? json_facts(point_facts) : json_null());
}

static json_t *json_tries(const sweep_run *run, const ranking *all)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    json_t *list = json_array();
    for (size_t i = 0; i < all->count; i++)
        list = cli_json_append(
            list, json_try(run, all->tries[i], &all->standings[i].point_facts, all->front[i]));
    for (size_t i = 0; i < result.count; i++)
        if (!isfinite(result.tries[i].score))
            list = cli_json_append(list, json_try(run, &result.tries[i], NULL, false));
    return list;
}

json_t *sweep_json_shapes(const lab_sweep *run, const char *found)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->problems.count; i++) {
        const lab_sweep_shape *shape = &run->shapes[i];
        bool compared = shape->verdict != NULL;
        list = cli_json_append(
            list,
            json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:s?}", "problem", shape->spec,
                      "planned", shape->usual, "same", shape->same, "planned_seconds",
                      cli_json_real(compared ? shape->usual_seconds : NAN), found,
                      cli_json_real(compared ? shape->found_seconds : NAN), "ratio",
                      cli_json_real(compared ? shape->ratio : NAN), "low",
                      cli_json_real(compared ? shape->low : NAN), "high",
                      cli_json_real(compared ? shape->high : NAN), "verdict", shape->verdict));
    }
    return list;
}

static cli_exit report_json(const sweep_run *run, const ranking *all)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    return cli_json_print(
        json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:i, s:o, s:o}", "space",
                  run->sweep.space.name, "kernel", run->sweep.kernel, "device",
                  cli_json_text(heed_context_device(run->sweep.context)), "end", ends[result.end],
                  "points", (json_int_t)result.points, "refused", (json_int_t)result.refused,
                  "pruned", (json_int_t)result.pruned, "launched", (json_int_t)result.launched,
                  "evaluations", (json_int_t)result.evaluations, "reused",
                  (json_int_t)run->sweep.reused, "verified", run->verified, "wrong", run->wrong,
                  "shapes", sweep_json_shapes(&run->sweep, "best_seconds"), "trials",
                  json_tries(run, all)),
        "sweep");
}

cli_exit sweep_report(const sweep_run *run)
{
    ranking all;
    cli_exit code = CLI_ENVIRONMENT;
    if (!rank(run, &all))
        cli_error("not enough memory for the list of points");
    else
        code = run->options.json ? report_json(run, &all) : report_text(run, &all);
    free_ranking(&all);
    return code;
}

/* ---- Without a device ---- */

/* A reason without the names that come before it. */
static const char *short_reason(const char *why)
{
    const char *last = why;
    for (const char *at; (at = strstr(last, ": "));)
        last = at + 2;
    return last;
}

/* One row of what is known: of every point that has a meaning. */
static void add_static_row(sweep_run *run, lab_table *table, json_t **list, int64_t index)
{
    const lab_point point = lab_space_at(&run->sweep.space, index);
    lab_sweep_facts facts = { .point_facts = lab_point_facts_unknown() };
    lab_error why = { "" };
    char text[LAB_FORMAT_SIZE];
    bool sense = lab_space_allows(&run->sweep.space, &point, &why);
    if (sense) {
        facts = lab_sweep_pool_get(run->sweep.pool, index);
        if (facts.failed)
            snprintf(why.text, sizeof why.text, "%s", facts.why);
        else
            lab_point_facts_within(&facts.point_facts, &run->sweep.limits, &why);
    }
    bool compiled = sense && !facts.failed;
    double seconds = compiled ? exp(facts.predicted) : -1;
    add_point(table, run, index);
    lab_table_cell(table, "%s", lab_format_seconds(seconds, text));
    add_facts(table, &facts.point_facts);
    lab_table_cell(table, "%s", short_reason(why.text));
    *list = cli_json_append(*list,
                            json_pack("{s:o, s:o, s:o, s:o}", "point", json_point(run, index),
                                      "predicted_seconds", cli_json_real(compiled ? seconds : NAN),
                                      "facts", json_facts(&facts.point_facts), "pruned",
                                      *why.text ? cli_json_text(why.text) : json_null()));
}

static void announce_from(sweep_run *run, int64_t from)
{
    lab_point next[64];
    size_t count = 0;
    for (int64_t i = from; i < lab_space_count(&run->sweep.space) && count < 64; i++) {
        const lab_point point = lab_space_at(&run->sweep.space, i);
        if (lab_space_allows(&run->sweep.space, &point, NULL))
            next[count++] = point;
    }
    lab_sweep_pool_want(run->sweep.pool, next, count);
}

cli_exit sweep_report_static(sweep_run *run)
{
    int64_t points = lab_space_count(&run->sweep.space);
    lab_table *table = lab_table_create();
    json_t *list = json_array();
    add_point_heads(table, run);
    lab_table_column(table, "predicted", LAB_RIGHT);
    add_facts_heads(table);
    lab_table_column(table, "pruned", LAB_LEFT);
    lab_progress progress = lab_progress_start(&cli_sink, "compiling", (size_t)points);
    for (int64_t i = 0; i < points && !cli_interrupted(); i++) {
        lab_progress_step(&progress, (size_t)i, NULL);
        if (i % 8 == 0)
            announce_from(run, i);
        add_static_row(run, table, &list, i);
    }
    lab_progress_end(&progress);
    bool json = run->options.json;
    cli_exit code;
    if (json) {
        lab_table_destroy(table);
        code = cli_json_print(json_pack("{s:s, s:s, s:i, s:o}", "space", run->sweep.space.name,
                                        "kernel", run->sweep.kernel, "arch", run->sweep.arch,
                                        "points", list),
                              "sweep-static");
    } else {
        json_decref(list);
        code = cli_table_print(table);
    }
    return code == CLI_OK && cli_interrupted() ? CLI_INTERRUPTED : code;
}
