/*
 * evolve_report.c - what `heed evolve` found, as a table or JSON
 */
#include <math.h>

#include "evolve.h"
#include "report/format.h"

#define TOP 5 /* kernels of the islands that are listed */

static void print_counts(const evolve_run *run)
{
    cli_message("%s on %s, run %lld of the board: %lld kernels bred, %lld launched, %lld of "
                "them right (%lld answers were "
                "known), %lld challenges of a champion%s%s",
                run->sweep.kernel, run->sweep.device, (long long)run->session.run,
                (long long)lab_evolution_evaluations(run->bred.evolution),
                (long long)run->bred.launched, (long long)run->bred.timed,
                (long long)run->sweep.reused, (long long)run->challenges,
                *run->last ? "; the last: " : "", run->last);
    if (run->refuted > 0)
        cli_warning("%lld challengers won and did not pass all gates", (long long)run->refuted);
}

/* Is there a problem on which the champion is FASTER than what heed plans? */
static bool is_better(const evolve_run *run)
{
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        if (run->sweep.shapes[i].verdict && run->sweep.shapes[i].low > 1)
            return true;
    return false;
}

static cli_exit print_insights(const evolve_run *run)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < run->sweep.problems.count && code == CLI_OK; i++)
        if (run->bred.course.mode == LAB_INSIGHT_MEASURED && *run->bred.insights[i].kernel)
            code = insight_print(&run->bred.insights[i]);
    return code;
}

static cli_exit report_text(const evolve_run *run, const lab_individual *champion)
{
    char point[LAB_POINT_TEXT], text[LAB_FORMAT_SIZE];
    print_counts(run);
    if (!champion)
        return CLI_OK;
    lab_point_print(&run->sweep.space, &champion->genome.point, point);
    printf("champion %s: number %lld, %s on average\n\n", point, (long long)champion->id,
           lab_format_seconds(exp(champion->score), text));
    cli_exit code = sweep_print_shapes(&run->sweep, champion->seconds, "champion", "champion is");
    if (code == CLI_OK)
        code = print_insights(run);
    if (run->sweep.verified)
        cli_message("the champion passes all gates");
    if (run->leads > 0)
        cli_message("it leads the board on %lld problems from now on", (long long)run->leads);
    if (!run->sweep.options.no_compare && !is_better(run))
        cli_message("nothing was found that is faster than what heed plans by itself");
    return code;
}

/* ---- JSON ---- */

static json_t *json_individual(const evolve_run *run, const lab_individual *it)
{
    char name[HEED_NAME_SIZE] = "", point[LAB_POINT_TEXT];
    json_t *seconds = json_array();
    if (!it)
        return json_null();
    lab_space_name(&run->sweep.space, &it->genome.point, run->sweep.kernel, name, NULL);
    lab_point_print(&run->sweep.space, &it->genome.point, point);
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        seconds = cli_json_append(seconds, cli_json_real(it->seconds[i]));
    return json_pack("{s:I, s:s, s:s, s:[I,I], s:o, s:o}", "number", (json_int_t)it->id, "kernel",
                     name, "point", point, "parents", (json_int_t)it->parents[0],
                     (json_int_t)it->parents[1], "seconds", seconds, "mean_seconds",
                     cli_json_real(exp(it->score)));
}

static json_t *json_best(const evolve_run *run)
{
    json_t *list = json_array();
    for (int island = 0; island < LAB_SWEEP_ISLANDS; island++)
        for (int i = 0; i < TOP; i++) {
            const lab_individual *it = lab_evolution_member(run->bred.evolution, island, i);
            json_t *one = it ? json_individual(run, it) : NULL;
            if (!one)
                break;
            int64_t index = lab_space_index(&run->sweep.space, &it->genome.point);
            json_object_set_new(one, "island", json_integer(island));
            json_object_set_new(one, "gates", json_string(sweep_proof_word(&run->sweep, index)));
            list = cli_json_append(list, one);
        }
    return list;
}

static json_t *json_insights(const evolve_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        if (run->bred.course.mode == LAB_INSIGHT_MEASURED && *run->bred.insights[i].kernel)
            list = cli_json_append(list, insight_json(&run->bred.insights[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "mode", insight_modes[run->bred.course.mode],
                     "seconds", cli_json_real(run->bred.course.spent), "shared",
                     insight_words_json(run->bred.course.shared), "measured", list);
}

static cli_exit report_json(const evolve_run *run, const lab_individual *champion)
{
    return cli_json_print(
        json_pack(
            "{s:s, s:s, s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o}",
            "space", run->sweep.space.name, "kernel", run->sweep.kernel, "device",
            cli_json_text(run->sweep.device), "run", (json_int_t)run->session.run, "resumed",
            run->session.resumed, "bred",
            (json_int_t)lab_evolution_evaluations(run->bred.evolution), "launched",
            (json_int_t)run->bred.launched, "timed", (json_int_t)run->bred.timed, "reused",
            (json_int_t)run->sweep.reused, "challenges", (json_int_t)run->challenges, "refuted",
            (json_int_t)run->refuted, "titles", (json_int_t)run->leads, "verified",
            run->sweep.verified, "champion", json_individual(run, champion), "shapes",
            sweep_json_shapes(&run->sweep, "champion_seconds"), "best", json_best(run), "insights",
            json_insights(run)),
        "evolve");
}

cli_exit evolve_report(evolve_run *run)
{
    const lab_individual *champion = lab_evolution_champion(run->bred.evolution);
    return run->sweep.options.json ? report_json(run, champion) : report_text(run, champion);
}
