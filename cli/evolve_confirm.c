/*
 * evolve_confirm.c - a champion that nobody beat, timed again for the board
 *
 * The winner of a challenge has a time on fresh samples, by which it is ranked. A first kernel that
 * stayed champion has only the times that all were compared with.
 */
#include "evolve.h"

heed_status evolve_confirm(evolve_run *run, const lab_individual *champion)
{
    evolve_name name;
    heed_status status = evolve_name_of(run, champion, &name);
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++) {
        lab_evaluation result;
        lab_entry_parts parts;
        lab_record_trial trial = evolve_trial(run, &name, i, EVOLVE_CONFIRMED);
        status = sweep_time_anew(&run->sweep, i, name.whole, &result);
        if (status != HEED_OK || result.fate != LAB_FATE_TIMED)
            continue;
        trial.started = run->sweep.started;
        lab_entry_take_confirmed(&trial, &parts, &result, run->sweep.cold);
        status = evolve_add(run, &trial, NULL);
    }
    return status;
}
