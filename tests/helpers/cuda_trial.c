/*
 * cuda_trial.c - plans of fwd_16bit_sm80_mma with the fake driver, and the launches of executions
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "cuda_trial.h"
#include "device.h"
#include "internal.h"

#define SLACK 64 /* bytes that tensors may be shifted by */

fake_launch trial_launches[TRIAL_LAUNCHES];
int trial_launch_count;

void trial_note(void *data, const fake_launch *launch)
{
    (void)data;
    if (trial_launch_count < TRIAL_LAUNCHES)
        trial_launches[trial_launch_count] = *launch;
    trial_launch_count++;
}

void *trial_room(heed_context *context, size_t size)
{
    void *memory;
    assert_int_equal(heed_device_allocate(context, size + SLACK, &memory), HEED_OK);
    return memory;
}

heed_buffers trial_tensors(heed_context *context, size_t workspace)
{
    const size_t size = 8 << 20;
    fake->args_size = sizeof(heed_cuda_args);
    fake->hook = trial_note;
    return (heed_buffers){ .size = sizeof(heed_buffers),
                           .q = trial_room(context, size),
                           .k = trial_room(context, size),
                           .v = trial_room(context, size),
                           .o = trial_room(context, size),
                           .lse = trial_room(context, size),
                           .workspace = trial_room(context, workspace),
                           .workspace_size = workspace };
}

trial trial_make(const char *spec)
{
    trial t = { .context = scene_open("cuda") };
    heed_problem problem = parsed(spec);
    if (heed_plan_create_named(&t.plan, t.context, &problem, "fwd_16bit_sm80_mma") != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    t.buffers = trial_tensors(t.context, heed_plan_workspace_size(t.plan));
    return t;
}

void trial_end(trial *t)
{
    void *all[] = { (void *)(uintptr_t)t->buffers.q,
                    (void *)(uintptr_t)t->buffers.k,
                    (void *)(uintptr_t)t->buffers.v,
                    t->buffers.o,
                    t->buffers.lse,
                    t->buffers.workspace };
    for (int i = 0; i < 6; i++)
        heed_device_free(t->context, all[i]);
    heed_plan_destroy(t->plan);
    heed_context_destroy(t->context);
}

int trial_execute(const trial *t, const heed_buffers *buffers)
{
    trial_launch_count = 0;
    if (heed_execute(t->plan, buffers) != HEED_OK)
        fail_msg("%s: %s", heed_plan_name(t->plan), heed_message());
    assert_int_equal(fake->own_depth(), 0); /* another thread may compile in the background */
    return trial_launch_count;
}

int trial_execute_trusted(const trial *t)
{
    heed_buffers buffers = t->buffers;
    buffers.trusted = 1;
    scene_fail_at("cuPointerGetAttributes", 1, 999);
    int launches = trial_execute(t, &buffers);
    scene_fail_at(NULL, 0, 0);
    return launches;
}

heed_cuda_args trial_args(const fake_launch *launch)
{
    heed_cuda_args args;
    memcpy(&args, launch->kept, sizeof args);
    return args;
}
