/*
 * evolve_nature.c - how evolution gets its answers: from the board, else from the device
 */
#include <math.h>
#include <string.h>

#include "evolve.h"
#include "report/format.h"

static heed_status evaluate(void *data, lab_individual *individual)
{
    evolve_run *run = data;
    lab_session_name name;
    lab_evaluation result = { .fate = LAB_FATE_TIMED };
    /* A point that the kernel itself refuses is no trial, and soon refused again. */
    if (run->evaluator.refuse(run->evaluator.data, &individual->genome.point, individual->why)) {
        individual->fate = LAB_FATE_PRUNED;
        return HEED_OK;
    }
    heed_status status = evolve_name_of(run, individual, &name);
    if (status != HEED_OK)
        return status;
    run->sweep.parent_count = name.parent_count;
    memcpy(run->sweep.parents, name.parents, sizeof name.parents);
    for (size_t i = 0; i < run->sweep.problems.count && result.fate == LAB_FATE_TIMED; i++) {
        status = run->evaluator.evaluate(run->evaluator.data, &individual->genome.point, (int)i, 0,
                                         &result);
        if (status != HEED_OK && !cli_interrupted())
            snprintf(run->trouble.text, sizeof run->trouble.text, "%s", run->sweep.trouble);
        if (status != HEED_OK)
            return status;
        individual->seconds[i] = result.seconds;
    }
    individual->fate = result.fate;
    memcpy(individual->why, result.why, sizeof individual->why);
    individual->findings = evolve_findings(run, &individual->genome.point);
    run->launched += result.fate != LAB_FATE_PRUNED;
    run->timed += result.fate == LAB_FATE_TIMED;
    return HEED_OK;
}

static void born(void *data, const lab_individual *child, const lab_individual *champion)
{
    evolve_run *run = data;
    char text[LAB_FORMAT_SIZE], point[LAB_POINT_TEXT], what[LAB_POINT_TEXT + 64] = "";
    (void)child;
    if (champion) {
        lab_point_print(&run->sweep.space, &champion->genome.point, point);
        snprintf(what, sizeof what, "best %s %s", lab_format_seconds(exp(champion->score), text),
                 point);
    }
    cli_progress_step(&run->progress, (size_t)run->launched, what);
}

lab_nature evolve_nature(evolve_run *run)
{
    return (lab_nature){ .data = run,
                         .shapes = (int)run->sweep.problems.count,
                         .evaluate = evaluate,
                         .succeeds = evolve_succeeds,
                         .born = born,
                         .interrupted = cli_interrupted };
}
