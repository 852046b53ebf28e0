/*
 * sweep_report.c - the result of `heed sweep`, as tables or JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "sweep.h"

#define TOP 10     /* points in the table, in addition to those on the front */
#define EXAMPLES 5 /* for each kind of failure */

static const char *const ends[] = { [LAB_SEARCH_COMPLETE] = "complete",
                                    [LAB_SEARCH_TRIALS] = "trials used up",
                                    [LAB_SEARCH_TIME] = "time used up",
                                    [LAB_SEARCH_INTERRUPTED] = "interrupted",
                                    [LAB_SEARCH_FAILED] = "failed" };

/* All points that ran, the fastest first, with their facts. */
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
    return lab_try_order(a, b);
}

/* Puts the search's choice first: it was timed longer than the others. */
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

/* ---- Rows ---- */

/* Adds the knobs of a point: an object, or a column for each. */
static void add_point(lab_listing *rows, const sweep_run *run, int64_t index)
{
    const lab_space *space = &run->sweep.space;
    const lab_point point = lab_space_at(space, index);
    lab_cell_open(rows, "point");
    for (int i = 0; i < space->knob_count; i++)
        lab_cell_count(rows, space->knobs[i].name, space->knobs[i].name,
                       lab_space_value(space, &point, i));
    lab_cell_close(rows, true);
}

/* The same for facts; NULL: none. */
static void add_facts(lab_listing *rows, const lab_point_facts *facts, bool shown)
{
    lab_cell_open(rows, "facts");
    for (int i = 0; i < LAB_FACTS; i++) {
        const char *name = lab_fact_name((lab_fact)i);
        lab_cell_count(rows, name, shown ? name : NULL, facts ? facts->value[i] : -1);
    }
    lab_cell_close(rows, facts);
}

static void add_try(lab_listing *rows, const sweep_run *run, const lab_try *one,
                    const lab_point_facts *facts, bool front)
{
    const lab_try *best = lab_search_get(run->sweep.search).best;
    const lab_point point = lab_space_at(&run->sweep.space, one->index);
    const char *gates = sweep_gates_word(&run->gates, one->index);
    bool compiled = run->sweep.pool != NULL, many = run->sweep.problems.count > 1;
    double seconds = exp(one->score), times = best ? exp(one->score - best->score) : NAN;
    char name[HEED_NAME_SIZE] = "";
    lab_space_name(&run->sweep.space, &point, run->sweep.kernel, name, NULL);
    lab_cell_left(rows, "", "%s", compiled && front ? "*" : "");
    add_point(rows, run, one->index);
    lab_cell_text(rows, "kernel", NULL, name);
    lab_cell_text(rows, "gates", NULL, gates);
    lab_cell_text(rows, "fate", NULL, lab_state_name(one->state));
    lab_cell_text(rows, "why", NULL, one->why);
    lab_cell_json(rows, "seconds", cli_json_reals(one->seconds, (size_t)one->shapes));
    lab_cell_seconds(rows, "mean_seconds", many ? "mean time" : "time", seconds);
    lab_cell_real(rows, NULL, "to best", times, "%.2f", times);
    lab_cell_left(rows, "gates", "%s", gates);
    lab_cell_json(rows, "front", json_boolean(front));
    add_facts(rows, facts, compiled);
    lab_row_end(rows);
}

/* Lists the problems, with the time of the best point. @found is its key in JSON, or the head of
 * its column; @is is that of the verdict on it. */
static lab_listing list_shapes(const lab_sweep *run, const double *seconds, const char *found,
                               const char *is)
{
    lab_listing rows = cli_rows_begin(!seconds);
    for (size_t i = 0; i < run->problems.count; i++) {
        const lab_sweep_shape *shape = &run->shapes[i];
        bool compared = shape->verdict != NULL;
        double then = compared ? shape->usual_seconds : -1;
        double now = compared || !seconds ? shape->found_seconds : seconds[i];
        lab_cell_text(&rows, "problem", "problem", shape->spec);
        lab_cell_seconds(&rows, NULL, found, now);
        lab_cell_text(&rows, "planned", NULL, shape->usual);
        lab_cell_left(&rows, "heed plans", "%s", *shape->usual ? shape->usual : "-");
        lab_cell_json(&rows, "same", json_boolean(shape->same));
        lab_cell_seconds(&rows, "planned_seconds", "time", then);
        lab_cell_seconds(&rows, found, NULL, compared ? now : -1);
        lab_cell_json(&rows, "ratio", cli_json_real(compared ? shape->ratio : NAN));
        lab_cell_json(&rows, "low", cli_json_real(compared ? shape->low : NAN));
        lab_cell_json(&rows, "high", cli_json_real(compared ? shape->high : NAN));
        lab_cell_text(&rows, "verdict", NULL, shape->verdict);
        if (compared)
            lab_cell_left(&rows, is, "%s  %.3f (%.3f to %.3f)", shape->verdict, shape->ratio,
                          shape->low, shape->high);
        else
            lab_cell_left(&rows, is, "%s", shape->same ? "the same" : "-");
        lab_row_end(&rows);
    }
    return rows;
}

cli_exit sweep_print_shapes(const lab_sweep *run, const double *seconds, const char *found,
                            const char *is)
{
    return cli_table_print(list_shapes(run, seconds, found, is));
}

json_t *sweep_json_shapes(const lab_sweep *run, const char *found)
{
    return lab_listing_take(list_shapes(run, NULL, found, NULL));
}

/* ---- Text ---- */

static cli_exit print_ranking(const sweep_run *run, const ranking *all)
{
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < all->count; i++) {
        bool whole = all->tries[i]->shapes == (int)run->sweep.problems.count;
        if (whole && (i < TOP || (run->sweep.pool && all->front[i])))
            add_try(&rows, run, all->tries[i], &all->standings[i].point_facts, all->front[i]);
    }
    return cli_table_print(rows);
}

/* Prints the states of points that are not in the tables, with some examples of each. */
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
    cli_message("%s on %s: %lld point%s; %lld are invalid or refused, %lld pruned, %lld "
                "launched (%lld time%s in all, %lld of them known from before); %s",
                run->sweep.kernel, heed_context_device(run->sweep.context),
                (long long)result.points, lab_plural(result.points), (long long)result.refused,
                (long long)result.pruned, (long long)result.launched, (long long)result.evaluations,
                lab_plural(result.evaluations), (long long)run->sweep.reused, ends[result.end]);
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

static json_t *json_tries(const sweep_run *run, const ranking *all)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    lab_listing rows = cli_rows_begin(true);
    for (size_t i = 0; i < all->count; i++)
        add_try(&rows, run, all->tries[i], &all->standings[i].point_facts, all->front[i]);
    for (size_t i = 0; i < result.count; i++)
        if (!isfinite(result.tries[i].score))
            add_try(&rows, run, &result.tries[i], NULL, false);
    return lab_listing_take(rows);
}

static cli_exit report_json(const sweep_run *run, const ranking *all)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    return cli_json_print(
        json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:i, s:o, s:o}", "space",
                  run->sweep.space.name, "kernel", run->sweep.kernel, "device",
                  lab_json_text(heed_context_device(run->sweep.context)), "end", ends[result.end],
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
        code = cli_args_json(run->args) ? report_json(run, &all) : report_text(run, &all);
    free_ranking(&all);
    return code;
}

/* ---- Without a device ---- */

/* A reason without its prefix of names. */
static const char *short_reason(const char *why)
{
    const char *last = why;
    for (const char *at; (at = strstr(last, ": "));)
        last = at + 2;
    return last;
}

/* Adds the facts about a point as one row, if the point is valid. */
static void add_static_row(lab_listing *rows, sweep_run *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->sweep.space, index);
    lab_sweep_facts facts = { .point_facts = lab_point_facts_unknown() };
    lab_error why = { "" };
    bool sense = lab_space_allows(&run->sweep.space, &point, &why);
    if (sense) {
        facts = lab_sweep_pool_get(run->sweep.pool, index);
        if (facts.failed)
            snprintf(why.text, sizeof why.text, "%s", facts.why);
        else
            lab_point_facts_within(&facts.point_facts, &run->sweep.limits, &why);
    }
    bool compiled = sense && !facts.failed;
    add_point(rows, run, index);
    lab_cell_seconds(rows, "predicted_seconds", "predicted", compiled ? exp(facts.predicted) : -1);
    add_facts(rows, &facts.point_facts, true);
    lab_cell_json(rows, "pruned", cli_json_word(why.text));
    lab_cell_left(rows, "pruned", "%s", short_reason(why.text));
    lab_row_end(rows);
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
    lab_listing rows = cli_rows_begin(cli_args_json(run->args));
    lab_progress progress = lab_progress_start(&cli_sink, "compiling", (size_t)points);
    for (int64_t i = 0; i < points && !cli_interrupted(); i++) {
        lab_progress_step(&progress, (size_t)i, NULL);
        if (i % 8 == 0)
            announce_from(run, i);
        add_static_row(&rows, run, i);
    }
    lab_progress_end(&progress);
    cli_exit code = rows.json ? cli_json_print(json_pack("{s:s, s:s, s:i, s:o}", "space",
                                                         run->sweep.space.name, "kernel",
                                                         run->sweep.kernel, "arch", run->sweep.arch,
                                                         "points", lab_listing_take(rows)),
                                               "sweep-static")
                              : cli_table_print(rows);
    return code == CLI_OK && cli_interrupted() ? CLI_INTERRUPTED : code;
}
