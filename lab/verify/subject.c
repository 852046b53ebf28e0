/*
 * subject.c - a kernel of the library as a subject of verification
 */
#include "lab/verify/subject.h"

#include <stdio.h>
#include <string.h>

#include "lab/base/planner.h"
#include "src/device.h"
#include "src/message.h"

static bool same_problem(const heed_problem *a, const heed_problem *b)
{
    char spec[2][HEED_SPEC_SIZE];
    heed_problem_print(a, spec[0], sizeof spec[0]);
    heed_problem_print(b, spec[1], sizeof spec[1]);
    return strcmp(spec[0], spec[1]) == 0;
}

/* The new plan is created before the old one is destroyed, so that compiled code that they share
 * stays loaded. */
static heed_status make_plan(lab_planned *planned, const heed_problem *problem)
{
    heed_plan *plan;
    if (planned->plan && same_problem(heed_plan_problem(planned->plan), problem))
        return HEED_OK;
    heed_status status = planned->kernel
                             ? heed_plan_create_named(&plan, planned->context, problem,
                                                      planned->kernel)
                             : heed_plan_create(&plan, planned->context, problem, HEED_ESTIMATE);
    lab_planned_release(planned);
    planned->plan = plan;
    return status;
}

/* The host allocates no memory for gaps that nothing touches; a device does. */
static heed_status fit_device(const lab_planned *planned, const heed_problem *problem)
{
    size_t memory = heed_device_memory(planned->context), total = 0;
    if (!planned->mirror || memory == 0)
        return HEED_OK;
    for (int role = 0; role < LAB_ROLES; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        if (__builtin_add_overflow(total, lab_view_bytes(&view), &total))
            total = SIZE_MAX;
    }
    if (total <= memory)
        return HEED_OK;
    return heed_fail(HEED_ERR_UNSUPPORTED, "the tensors take %zu MiB, the device has %zu MiB",
                     total >> 20, memory >> 20);
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    lab_planned *planned = data;
    heed_status status = fit_device(planned, problem);
    if (status == HEED_OK && planned->worthwhile && planned->kernel)
        status = heed_plan_considers_named(planned->context, problem, planned->kernel);
    if (status == HEED_OK)
        status = make_plan(planned, problem);
    if (status != HEED_OK)
        return status;
    snprintf(needs->name, sizeof needs->name, "%s", heed_plan_name(planned->plan));
    needs->workspace_size = heed_plan_workspace_size(planned->plan);
    needs->deterministic = heed_plan_deterministic(planned->plan);
    needs->seconds = lab_plan_chosen(planned->plan).predicted;
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const lab_planned *planned = data;
    return heed_execute(planned->plan, buffers);
}

/* The upload reports a device that was lost before; the download waits for all work. */
static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    const lab_planned *planned = data;
    *outcome = HEED_OK;
    heed_status status = lab_mirror_place(planned->mirror, stage);
    if (status == HEED_OK)
        status = lab_mirror_upload(planned->mirror, stage);
    if (status != HEED_OK && status != HEED_ERR_LOST)
        return status;
    heed_buffers buffers = lab_mirror_buffers(planned->mirror, stage);
    *outcome = status == HEED_OK ? heed_execute(planned->plan, &buffers) : status;
    if (*outcome == HEED_OK)
        *outcome = heed_device_wait(planned->context);
    return *outcome == HEED_OK ? lab_mirror_download(planned->mirror, stage) : HEED_OK;
}

static bool lost(void *data)
{
    const lab_planned *planned = data;
    return heed_device_wait(planned->context) == HEED_ERR_LOST;
}

lab_subject lab_planned_subject(lab_planned *planned)
{
    return (lab_subject){ .data = planned,
                          .prepare = prepare,
                          .run = run,
                          .run_away = planned->mirror ? run_away : NULL,
                          .lost = lost };
}

void lab_planned_release(lab_planned *planned)
{
    heed_plan_destroy(planned->plan);
    planned->plan = NULL;
}
