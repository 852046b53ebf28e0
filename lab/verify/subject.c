/*
 * subject.c - a kernel of the library as a subject of verification
 */
#include "lab/verify/subject.h"

#include <stdio.h>

/* What the cost model predicts for the chosen kernel. */
static double predicted(const heed_plan *plan)
{
    heed_candidate candidate;
    for (size_t i = 0; heed_plan_candidate(plan, i, &candidate) == HEED_OK; i++)
        if (candidate.chosen)
            return candidate.predicted;
    return -1;
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    lab_planned *planned = data;
    lab_planned_release(planned);
    heed_status status = planned->kernel ? heed_plan_create_named(&planned->plan, planned->context,
                                                                  problem, planned->kernel)
                                         : heed_plan_create(&planned->plan, planned->context,
                                                            problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return status;
    snprintf(needs->name, sizeof needs->name, "%s", heed_plan_name(planned->plan));
    needs->workspace_size = heed_plan_workspace_size(planned->plan);
    needs->deterministic = heed_plan_deterministic(planned->plan);
    needs->seconds = predicted(planned->plan);
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const lab_planned *planned = data;
    return heed_execute(planned->plan, buffers);
}

lab_subject lab_planned_subject(lab_planned *planned)
{
    return (lab_subject){ .data = planned, .prepare = prepare, .run = run };
}

void lab_planned_release(lab_planned *planned)
{
    heed_plan_destroy(planned->plan);
    planned->plan = NULL;
}
