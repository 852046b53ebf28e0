/*
 * evolve_record.c - kernels of `heed evolve` on the board
 */
#include <stdio.h>

#include "evolve.h"
#include "src/measure.h"

/* Attempts on the board. */
#define CONFIRMED_ATTEMPT 15
#define PLAN_ATTEMPT 40

heed_status evolve_add(evolve_run *run, lab_record_trial *trial, int64_t *id)
{
    return lab_session_add(&run->session, trial, id, &run->trouble);
}

/* ---- Kernels that nobody chose by the samples ---- */

/* Times a kernel for the board, if it is not there already. Of heed's @plan the gates are asked. */
static heed_status confirm(evolve_run *run, const lab_session_name *name, size_t number,
                           int attempt, bool plan)
{
    lab_evaluation result;
    lab_entry_parts parts;
    lab_record_found found;
    lab_record_trial trial = lab_sweep_trial(&run->sweep, name, number, attempt);
    heed_status status = lab_record_find(run->session.record, &trial, &found, &run->trouble);
    if (status != HEED_OK || found.trial)
        return status;
    status = lab_sweep_time_anew(&run->sweep, number, name->whole, &result);
    if (status != HEED_OK || result.state != LAB_STATE_TIMED ||
        (plan && !sweep_plan_passes(&run->sweep, number)))
        return status;
    trial.started = run->sweep.started;
    lab_entry_take_confirmed(&trial, &parts, &result, run->sweep.options.cold);
    return evolve_add(run, &trial, NULL);
}

heed_status evolve_confirm(evolve_run *run, const lab_individual *champion)
{
    lab_session_name name;
    heed_status status = lab_sweep_evolution_name(&run->bred, champion, &name);
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        status = confirm(run, &name, i, CONFIRMED_ATTEMPT, false);
    return status;
}

static heed_status rank_plan(evolve_run *run, size_t number)
{
    lab_session_name name;
    lab_session_name_set(&name, run->sweep.shapes[number].usual);
    snprintf(name.thought, sizeof name.thought, "what heed plans");
    return confirm(run, &name, number, PLAN_ATTEMPT, true);
}

heed_status evolve_rank_plans(evolve_run *run)
{
    int64_t start = heed_clock_ns();
    size_t count = run->sweep.problems.count;
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(&cli_sink, "what heed plans", count);
    for (size_t i = 0; i < count && status == HEED_OK && !cli_interrupted(); i++) {
        lab_progress_step(&progress, i, run->sweep.shapes[i].spec);
        if (*run->sweep.shapes[i].usual)
            status = rank_plan(run, i);
    }
    lab_progress_end(&progress);
    if (run->deadline_ns)
        run->deadline_ns += heed_clock_ns() - start;
    return cli_interrupted() ? HEED_ERR_SYSTEM : status;
}
