/*
 * evolve_report.c - the result of `heed evolve`, as a table or JSON
 */
#include <math.h>
#include <stdlib.h>

#include "base/plural.h"
#include "evolve.h"
#include "report/format.h"
#include "src/measure.h"

#define TOP 5 /* kernels of the islands in the list */

/* The search, or an empty one if it never began. */
static lab_search_result result_of(const lab_evolve *it)
{
    return it->sweep.search ? lab_search_get(it->sweep.search) : (lab_search_result){ .count = 0 };
}

static int64_t count_timed(const lab_evolve *it)
{
    const lab_search_result result = result_of(it);
    int64_t count = 0;
    for (size_t i = 0; i < result.count; i++)
        count += isfinite(result.tries[i].score);
    return count;
}

static void print_counts(const lab_evolve *it)
{
    cli_message("%s on %s, run %lld of the board: %lld kernel%s bred, %lld launched, %lld of "
                "them right (%lld answer%s were "
                "known), %lld challenge%s of a champion%s%s",
                it->sweep.kernel, heed_context_device(it->sweep.context),
                (long long)it->session.run, (long long)lab_evolution_children(it->bred.evolution),
                lab_plural(lab_evolution_children(it->bred.evolution)),
                (long long)result_of(it).launched, (long long)count_timed(it),
                (long long)it->sweep.reused, lab_plural(it->sweep.reused),
                (long long)it->challenges, lab_plural(it->challenges),
                *it->last ? "; the last: " : "", it->last);
    if (it->refuted > 0)
        cli_warning("%lld challenger%s won and did not pass all gates", (long long)it->refuted,
                    lab_plural(it->refuted));
}

/* True if the champion is FASTER than heed's plan on some problem. */
static bool is_better(const lab_evolve *it)
{
    for (size_t i = 0; i < it->sweep.problems.count; i++)
        if (it->sweep.shapes[i].verdict && it->sweep.shapes[i].low > 1)
            return true;
    return false;
}

static cli_exit print_insights(const lab_evolve *it)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < it->sweep.problems.count && code == CLI_OK; i++)
        if (it->bred.course.mode == LAB_INSIGHT_MEASURED && *it->bred.insights[i].kernel)
            code = insight_print(&it->bred.insights[i]);
    return code;
}

double evolve_planned_score(const lab_sweep *sweep)
{
    double sum = 0;
    for (size_t i = 0; i < sweep->problems.count; i++)
        sum += sweep->shapes[i].usual_seconds > 0 ? log(sweep->shapes[i].usual_seconds)
                                                  : (double)NAN;
    return sum / (double)sweep->problems.count;
}

/* Configs begin with heed's plan; there is no other rival here. */
static lab_figures figures_of(const lab_evolve *it)
{
    const lab_search_result result = result_of(it);
    const double from = evolve_planned_score(&it->sweep);
    double *values = calloc(result.count + 1, sizeof *values);
    size_t count = 0;
    lab_figures figures = { .seconds = (double)(heed_clock_ns() - it->start_ns) * 1e-9,
                            .tokens_in = -1,
                            .tokens_out = -1,
                            .confirmed = it->proven == LAB_PROVEN && is_better(it) };
    lab_figures_count(&figures, &result);
    for (size_t i = 0; i < result.count && values && isfinite(from); i++)
        if (isfinite(result.tries[i].score))
            values[count++] = exp(from - result.tries[i].score);
    figures.origin = lab_speedups_of(values, count);
    free(values);
    return figures;
}

static cli_exit report_text(const lab_evolve *it, const lab_individual *champion)
{
    char point[LAB_POINT_TEXT], text[LAB_FORMAT_SIZE];
    print_counts(it);
    if (!champion)
        return CLI_OK;
    const lab_point knobs = lab_space_at(&it->sweep.space, champion->point);
    const lab_try *one = lab_search_tried(it->sweep.search, champion->point);
    lab_point_print(&it->sweep.space, &knobs, point);
    printf("champion %s: number %lld, %s on average\n\n", point, (long long)champion->id,
           lab_format_seconds(exp(champion->score), text));
    cli_exit code = sweep_print_shapes(&it->sweep, one->seconds, "champion", "champion is");
    if (code == CLI_OK)
        code = print_insights(it);
    if (it->proven == LAB_PROVEN)
        cli_message("the champion passes all gates");
    if (it->leads > 0)
        cli_message("it leads the board on %lld problem%s from now on", (long long)it->leads,
                    lab_plural(it->leads));
    if (!it->no_compare && !is_better(it))
        cli_message("nothing was found that is faster than heed's own plan");
    const lab_figures figures = figures_of(it);
    figures_print(&figures, "heed's plan");
    return code;
}

/* ---- JSON ---- */

static json_t *json_individual(const lab_evolve *it, const lab_individual *one)
{
    char name[HEED_NAME_SIZE] = "", text[LAB_POINT_TEXT];
    const lab_sweep *sweep = &it->sweep;
    if (!one)
        return json_null();
    const lab_point point = lab_space_at(&sweep->space, one->point);
    json_t *seconds = json_array();
    lab_space_name(&sweep->space, &point, sweep->kernel, name, NULL);
    lab_point_print(&sweep->space, &point, text);
    for (size_t i = 0; i < sweep->problems.count; i++)
        seconds = cli_json_append(
            seconds, cli_json_real(lab_search_tried(sweep->search, one->point)->seconds[i]));
    return json_pack("{s:I, s:s, s:s, s:[I,I], s:o, s:o}", "number", (json_int_t)one->id, "kernel",
                     name, "point", text, "parents", (json_int_t)one->parents[0],
                     (json_int_t)one->parents[1], "seconds", seconds, "mean_seconds",
                     cli_json_real(exp(one->score)));
}

static json_t *json_best(const lab_evolve *it)
{
    json_t *list = json_array();
    const lab_individual *one;
    for (int island = 0; island < LAB_SWEEP_ISLANDS; island++)
        for (int i = 0; i < TOP && (one = lab_evolution_member(it->bred.evolution, island, i));
             i++) {
            json_t *json = json_individual(it, one);
            json_object_set_new(json, "island", json_integer(island));
            json_object_set_new(json, "gates",
                                json_string(sweep_gates_word(&it->gates, one->point)));
            list = cli_json_append(list, json);
        }
    return list;
}

static json_t *json_insights(const lab_evolve *it)
{
    json_t *list = json_array();
    for (size_t i = 0; i < it->sweep.problems.count; i++)
        if (it->bred.course.mode == LAB_INSIGHT_MEASURED && *it->bred.insights[i].kernel)
            list = cli_json_append(list, insight_json(&it->bred.insights[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "mode", insight_modes[it->bred.course.mode], "seconds",
                     cli_json_real(it->bred.course.spent), "shared",
                     insight_words_json(it->bred.course.shared), "measured", list);
}

static cli_exit report_json(const lab_evolve *it, const lab_individual *champion)
{
    const lab_figures figures = figures_of(it);
    return cli_json_print(
        json_pack(
            "{s:s, s:s, s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o, "
            "s:o}",
            "space", it->sweep.space.name, "kernel", it->sweep.kernel, "device",
            cli_json_text(heed_context_device(it->sweep.context)), "run",
            (json_int_t)it->session.run, "resumed", it->session.resumed, "bred",
            (json_int_t)lab_evolution_children(it->bred.evolution), "launched",
            (json_int_t)result_of(it).launched, "timed", (json_int_t)count_timed(it), "reused",
            (json_int_t)it->sweep.reused, "challenges", (json_int_t)it->challenges, "refuted",
            (json_int_t)it->refuted, "titles", (json_int_t)it->leads, "verified",
            it->proven == LAB_PROVEN, "champion", json_individual(it, champion), "shapes",
            sweep_json_shapes(&it->sweep, "champion_seconds"), "best", json_best(it), "insights",
            json_insights(it), "figures", figures_json(&figures)),
        "evolve");
}

cli_exit evolve_report(const evolve_run *run)
{
    const lab_individual *champion = lab_evolution_champion(run->evolve.bred.evolution);
    return cli_args_json(run->args) ? report_json(&run->evolve, champion)
                                    : report_text(&run->evolve, champion);
}
