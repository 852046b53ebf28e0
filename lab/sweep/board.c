/*
 * board.c - trials of a sweep on the board
 */
#include <stdio.h>

#include "lab/sweep/sweep.h"

lab_record_trial lab_sweep_trial(const lab_sweep *run, const lab_session_name *name, size_t shape,
                                 int attempt)
{
    return lab_session_trial(run->session, name, &run->problems.items[shape], attempt);
}

void lab_sweep_name_point(const lab_sweep *run, const lab_point *point, lab_session_name *name)
{
    char whole[HEED_NAME_SIZE];
    lab_space_name(&run->space, point, run->kernel, whole, NULL);
    lab_session_name_set(name, whole);
    lab_point_print(&run->space, point, name->thought);
    for (size_t i = 0; i < run->parent_count; i++)
        name->parents[name->parent_count++] = run->parents[i];
}

static lab_record_trial trial_of(const lab_sweep *run, const lab_point *point, size_t shape,
                                 int attempt, lab_session_name *name)
{
    lab_sweep_name_point(run, point, name);
    return lab_sweep_trial(run, name, shape, attempt);
}

heed_status lab_sweep_add(lab_sweep *run, lab_record_trial *trial, int64_t *id)
{
    lab_error error;
    heed_status status = lab_session_add(run->session, trial, id, &error);
    if (status != HEED_OK)
        snprintf(run->trouble, sizeof run->trouble, "%s", error.text);
    return status;
}

heed_status lab_sweep_board_add_refused(lab_sweep *run, const lab_point *point)
{
    static const char why[] = "it does not pass 'heed verify --once' on the problems of the sweep";
    heed_status status = HEED_OK;
    for (size_t i = 0; run->ranks && i < run->problems.count && status == HEED_OK; i++) {
        lab_session_name name;
        const lab_record_gate gate = { .name = "verify", .passed = false };
        lab_record_trial trial = trial_of(run, point, i, LAB_SWEEP_REFUSED, &name);
        trial.verdict = LAB_RECORD_WRONG;
        trial.reason = why;
        trial.gates = &gate;
        trial.gate_count = 1;
        status = lab_sweep_add(run, &trial, NULL);
    }
    return status;
}

heed_status lab_sweep_board_add_alone(lab_sweep *run, const lab_point *point, size_t number,
                                      const lab_evaluation *result)
{
    lab_session_name name;
    lab_entry_parts parts;
    lab_record_trial trial = trial_of(run, point, number, LAB_SWEEP_COMPARED, &name);
    trial.started = run->started;
    lab_entry_take_confirmed(&trial, &parts, result, run->options.cold);
    return lab_sweep_add(run, &trial, NULL);
}

heed_status lab_sweep_board_add_plan(lab_sweep *run, size_t number, const lab_duel *duel)
{
    const lab_evaluation result = { .samples = duel->b, .sample_count = duel->pairs };
    lab_session_name name;
    lab_entry_parts parts;
    lab_session_name_set(&name, run->shapes[number].usual);
    snprintf(name.thought, sizeof name.thought, "what heed plans");
    lab_record_trial trial = lab_sweep_trial(run, &name, number, LAB_SWEEP_COMPARED);
    lab_entry_take_confirmed(&trial, &parts, &result, run->options.cold);
    return lab_sweep_add(run, &trial, NULL);
}

heed_status lab_sweep_board_add_duel(lab_sweep *run, const lab_point *point, size_t number,
                                     const lab_duel *duel)
{
    lab_session_name name;
    lab_entry_parts parts;
    if (!run->ranks)
        return HEED_OK;
    lab_record_trial trial = trial_of(run, point, number, LAB_SWEEP_COMPARED, &name);
    const lab_record_gate gate = { .name = "verify", .passed = true };
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = run->verified; /* nobody chose it by these samples */
    trial.gates = &gate;
    trial.gate_count = run->verified;
    heed_status status = lab_entry_take_turns(&trial, &parts, duel, &duel->comparison,
                                              run->shapes[number].usual, run->options.cold);
    return status == HEED_OK ? lab_sweep_add(run, &trial, NULL) : status;
}
