/*
 * evolve_insight.c - what is found out about the champions of `heed evolve`, and told to the guide
 *
 * A champion is measured when it has become one, on one problem after the other while there is
 * time. A finding holds for it alone where its code decides it, and else is the best guess
 * there is for what is bred next.
 */
#include "evolve.h"

void evolve_insight_open(evolve_run *run)
{
    run->course = (insight_course){ .mode = (insight_mode)cli_args_choice(run->args, "insights"),
                                    .budget = insight_budget(cli_args_real(run->args, "seconds")) };
    for (size_t i = 0; i < LAB_SEARCH_SHAPES; i++)
        run->insights[i] = insight_unknown();
}

/* One problem. Facts about an earlier champion stay until there are newer ones. */
static heed_status measure(evolve_run *run, const lab_individual *champion,
                           const lab_session_name *name, size_t shape, unsigned *findings)
{
    insight it;
    lab_record_trial trial = sweep_trial(&run->sweep, name, shape, INSIGHT_ATTEMPT);
    insight_question question = { .args = run->args,
                                  .context = run->sweep.context,
                                  .problem = &run->sweep.shapes[shape].source.problem,
                                  .kernel = name->whole,
                                  .seconds = champion->seconds[shape],
                                  .cold = run->sweep.cold,
                                  .threads = run->sweep.threads,
                                  .seed = run->seed };
    cli_progress_step(&run->progress, (size_t)run->launched, "measuring what binds the best");
    heed_status status = insight_follow(&run->course, &question, run->session.record, &trial, &it,
                                        &run->trouble);
    if (status != HEED_OK)
        return status;
    if (insight_known(&it) || !insight_known(&run->insights[shape]))
        run->insights[shape] = it;
    *findings |= insight_findings(&it);
    return HEED_OK;
}

heed_status evolve_insight(evolve_run *run)
{
    const lab_individual *champion = lab_evolution_champion(run->evolution);
    lab_session_name name;
    unsigned findings = 0;
    if (run->course.mode != INSIGHT_MEASURED || !champion || champion->id == run->course.of)
        return HEED_OK;
    heed_status status = evolve_name_of(run, champion, &name);
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        status = measure(run, champion, &name, i, &findings);
    if (status != HEED_OK)
        return status;
    insight_tell(&run->course, run->evolution, champion->id, findings);
    return HEED_OK;
}

unsigned evolve_findings(const evolve_run *run, const lab_point *point)
{
    if (run->course.mode == INSIGHT_NONE)
        return 0;
    return sweep_findings(&run->sweep, point) | run->course.shared;
}

cli_exit evolve_insight_print(const evolve_run *run)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < run->sweep.problems.count && code == CLI_OK; i++)
        if (run->course.mode == INSIGHT_MEASURED && *run->insights[i].kernel)
            code = insight_print(&run->insights[i]);
    return code;
}

json_t *evolve_insight_json(const evolve_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        if (run->course.mode == INSIGHT_MEASURED && *run->insights[i].kernel)
            list = cli_json_append(list, insight_json(&run->insights[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "mode", insight_modes[run->course.mode], "seconds",
                     cli_json_real(run->course.spent), "shared",
                     insight_words_json(run->course.shared), "measured", list);
}
