/*
 * evolve_source_report.c - the result of `heed evolve --proposer`, as a table or JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/figures.h"
#include "evolve.h"
#include "report/format.h"
#include "src/measure.h"

static void print_counts(const lab_sources *all)
{
    const lab_evolve *run = all->run;
    cli_message(
        "run %lld of the board, proposer %s, strategy %s: %zu source%s tried, %lld right on "
        "all problems, %lld answer%s rejected, %lld challenge%s of a champion%s%s%s%s",
        (long long)run->session.run, all->proposer_name, lab_way_name(all->way),
        all->count > 0 ? all->count - 1 : 0, lab_plural(all->count > 0 ? all->count - 1 : 0),
        (long long)all->right, (long long)all->refused, lab_plural(all->refused),
        (long long)run->challenges, lab_plural(run->challenges), *run->last ? "; the last: " : "",
        run->last, *all->end ? "; " : "", all->end);
    for (size_t i = all->count > 5 ? all->count - 5 : 0; i < all->count; i++) {
        const lab_sources_kernel *it = &all->kernels[i];
        if (it->verdict != LAB_RECORD_OK)
            cli_message("%s: %s: %.*s", it->name, lab_record_verdict_name(it->verdict),
                        it->log ? (int)strcspn(it->log, "\n") : 0, it->log ? it->log : "");
    }
}

/* False if the compiler, or the laboratory before it, refused the source. */
static bool was_compiled(const lab_sources_kernel *it)
{
    return it->verdict != LAB_RECORD_REFUSED && it->verdict != LAB_RECORD_COMPILE &&
           it->verdict != LAB_RECORD_PRUNED && it->verdict != LAB_RECORD_SKIPPED &&
           it->verdict != LAB_RECORD_UNPROTECTED;
}

/* Speed-ups of the sources that passed, over a kernel with the score @from. */
static lab_speedups speedups(const lab_sources *all, double from)
{
    double *values = calloc(all->count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 1; i < all->count && values && isfinite(from); i++)
        if (isfinite(all->kernels[i].score))
            values[count++] = exp(from - all->kernels[i].score);
    const lab_speedups made = lab_speedups_of(values, count);
    free(values);
    return made;
}

static lab_figures figures_of(const lab_sources *all)
{
    lab_figures figures = { .candidates = all->refused,
                            .seconds = (double)(heed_clock_ns() - all->run->start_ns) * 1e-9,
                            .tokens_in = all->tokens_in,
                            .tokens_out = all->tokens_out,
                            .confirmed = all->has_champion && all->champion > 0 &&
                                         !all->run->no_verify };
    for (size_t i = 1; i < all->count; i++) {
        figures.candidates++;
        figures.compiled += was_compiled(&all->kernels[i]);
        figures.passed += isfinite(all->kernels[i].score);
    }
    figures.origin = speedups(all, all->count > 0 ? all->kernels[0].score : (double)NAN);
    figures.rival = speedups(all, evolve_planned_score(&all->run->sweep));
    return figures;
}

static cli_exit report_text(const lab_sources *all)
{
    char text[LAB_FORMAT_SIZE];
    print_counts(all);
    if (!all->has_champion)
        return CLI_OK;
    const lab_sources_kernel *champion = &all->kernels[all->champion], *first = &all->kernels[0];
    printf("champion %s%s%s\n\n", champion->name, *champion->thought ? ": " : "",
           champion->thought);
    lab_table *table = lab_table_create();
    lab_table_columns(table, "problem|first source>|champion>|times as fast>");
    for (size_t i = 0; i < all->run->sweep.problems.count; i++) {
        lab_table_cell(table, "%s", all->run->sweep.shapes[i].spec);
        lab_table_cell(table, "%s", lab_format_seconds(first->seconds[i], text));
        lab_table_cell(table, "%s", lab_format_seconds(champion->seconds[i], text));
        lab_table_cell(table, "%.2f", first->seconds[i] / champion->seconds[i]);
        lab_table_row_end(table);
    }
    cli_exit code = cli_table_print(table);
    putchar('\n');
    if (code == CLI_OK)
        code = sweep_print_shapes(&all->run->sweep, champion->seconds, "champion", "champion is");
    if (code == CLI_OK && all->measured > 0)
        code = insight_print(&all->insight);
    if (all->run->leads > 0)
        cli_message("it leads the board on %lld problem%s from now on", (long long)all->run->leads,
                    lab_plural(all->run->leads));
    if (all->champion == 0)
        cli_message("nothing was found that is faster than the first source");
    const lab_figures figures = figures_of(all);
    cli_figures_print(&figures, "the first source");
    return code;
}

static json_t *json_kernel(const lab_sources *all, const lab_sources_kernel *it, bool source)
{
    json_t *seconds = json_array();
    for (size_t i = 0; i < all->run->sweep.problems.count; i++)
        seconds = cli_json_append(seconds,
                                  cli_json_real(it->seconds[i] > 0 ? it->seconds[i] : NAN));
    json_t *json = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", it->name, "hash",
                             it->hash, "verdict", lab_record_verdict_name(it->verdict), "reason",
                             it->log ? cli_json_text(it->log) : json_null(), "thought",
                             cli_json_text(it->thought), "seconds", seconds, "mean_seconds",
                             cli_json_real(exp(it->score)));
    if (json && source)
        json_object_set_new(json, "source", cli_json_text(it->source));
    return json;
}

static json_t *json_insight(const lab_sources *all)
{
    json_t *list = json_array();
    if (all->measured > 0)
        list = cli_json_append(list, insight_json(&all->insight));
    return json_pack(
        "{s:s, s:o, s:o, s:o}", "mode", insight_modes[all->course.mode], "seconds",
        cli_json_real(all->course.spent), "findings",
        insight_words_json(all->has_champion ? all->kernels[all->champion].findings : 0),
        "measured", list);
}

static cli_exit report_json(const lab_sources *all)
{
    const lab_evolve *run = all->run;
    json_t *list = json_array(), *problems = json_array();
    const lab_figures figures = figures_of(all);
    for (size_t i = 0; i < all->count; i++)
        list = cli_json_append(list, json_kernel(all, &all->kernels[i], false));
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        problems = cli_json_append(problems, json_string(run->sweep.shapes[i].spec));
    json_t *champion = all->has_champion ? json_kernel(all, &all->kernels[all->champion], true)
                                         : json_null();
    return cli_json_print(
        json_pack(
            "{s:s, s:s, s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, "
            "s:o}",
            "proposer", all->proposer_name, "way", lab_way_name(all->way), "device",
            cli_json_text(heed_context_device(run->sweep.context)), "run",
            (json_int_t)run->session.run, "resumed", run->session.resumed, "tried",
            (json_int_t)(all->count > 0 ? all->count - 1 : 0), "right", (json_int_t)all->right,
            "reused", (json_int_t)run->sweep.reused, "refused", (json_int_t)all->refused,
            "challenges", (json_int_t)run->challenges, "titles", (json_int_t)run->leads, "end",
            all->end, "problems", problems, "champion", champion, "shapes",
            sweep_json_shapes(&run->sweep, "champion_seconds"), "kernels", list, "insights",
            json_insight(all), "figures", cli_figures_json(&figures)),
        "evolve-sources");
}

cli_exit evolve_sources_report(const lab_sources *all, bool json)
{
    return json ? report_json(all) : report_text(all);
}
