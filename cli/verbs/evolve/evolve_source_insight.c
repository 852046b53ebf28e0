/*
 * evolve_source_insight.c - what hardware counts of the best source of a run
 *
 * Only who passed the gates is run beside ncu, outside of the sandbox: as machine code, which was
 * compiled inside of it.
 */
#include <stdlib.h>

#include "evolve_sources.h"

static heed_status take(evolve_sources *all, source_kernel *kernel, source_desk *desk)
{
    evolve_run *run = all->run;
    const heed_problem *problem = &run->sweep.shapes[0].source.problem;
    source_words words;
    lab_record_trial trial = source_trial(all, kernel, 0, LAB_INSIGHT_ATTEMPT, &words);
    bool cuda = all->language == LAB_LANGUAGE_CUDA;
    const lab_code *code = cuda && source_desk_open(desk, problem)
                               ? lab_trial_code(desk->worker.process.trial)
                               : NULL;
    const heed_cubin cubin = { .data = code ? code->data : NULL,
                               .size = code ? code->size : 0,
                               .ptx = code && code->ptx };
    lab_insight_question question = { .sink = &cli_sink,
                                      .device = run->sweep.options.machine.device,
                                      .context = run->sweep.context,
                                      .problem = problem,
                                      .kernel = kernel->name,
                                      .code = code ? &cubin : NULL,
                                      .launch = trial.launch,
                                      .foreign = true,
                                      .seconds = kernel->seconds[0],
                                      .cold = run->sweep.options.cold,
                                      .threads = run->sweep.threads,
                                      .seed = run->seed };
    if (!cuda) /* why it cannot be known is no news for the board */
        return lab_insight_take(&question, &all->insight);
    return lab_insight_follow(&run->bred.course, &question, run->session.record, &trial,
                              &all->insight, &run->trouble);
}

heed_status source_measure(evolve_sources *all)
{
    evolve_run *run = all->run;
    if (run->bred.course.mode != LAB_INSIGHT_MEASURED || !all->has_champion ||
        all->measured == all->champion + 1)
        return HEED_OK;
    source_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    source_kernel *kernel = &all->kernels[all->champion];
    desk->all = all;
    desk->kernel = kernel;
    lab_progress_step(&run->progress, all->count > 0 ? all->count - 1 : 0,
                      "measuring what binds the best");
    heed_status status = take(all, kernel, desk);
    source_desk_close(desk);
    free(desk);
    if (status != HEED_OK)
        return status;
    kernel->findings |= lab_insight_findings(&all->insight);
    all->measured = all->champion + 1;
    return HEED_OK;
}

json_t *source_insight_json(const evolve_sources *all)
{
    json_t *list = json_array();
    if (all->measured > 0)
        list = cli_json_append(list, insight_json(&all->insight));
    return json_pack(
        "{s:s, s:o, s:o, s:o}", "mode", insight_modes[all->run->bred.course.mode], "seconds",
        cli_json_real(all->run->bred.course.spent), "findings",
        insight_words_json(all->has_champion ? all->kernels[all->champion].findings : 0),
        "measured", list);
}
