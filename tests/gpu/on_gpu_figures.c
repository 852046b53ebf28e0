/*
 * on_gpu_figures.c - the cost of calls and plans on a GPU
 */
#include "on_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define LAUNCHES 10000
#define LAUNCHES_IN_FLIGHT 100

void on_gpu_host_cost(void)
{
    static double seconds[LAUNCHES];
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, "b1 h2 s64 d64 f16", NULL);
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    scene.buffers.stream = gpu_stream_create(context);
    for (int i = 0; i < LAUNCHES; i++) {
        double start = now();
        heed_status status = heed_execute(plan, &scene.buffers);
        seconds[i] = now() - start;
        gpu_expect(status, HEED_OK, "heed_execute");
        if (i % LAUNCHES_IN_FLIGHT == 0)
            gpu_expect(heed_device_wait(context), HEED_OK, "heed_device_wait");
    }
    qsort(seconds, LAUNCHES, sizeof seconds[0], compare_doubles);
    gpu_note("heed_execute: median %.2f us, 90 %% %.2f us of host time, %s",
             seconds[LAUNCHES / 2] * 1e6, seconds[LAUNCHES * 9 / 10] * 1e6, heed_plan_name(plan));
    gpu_expect(heed_device_wait(context), HEED_OK, "heed_device_wait");
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void time_plan(const char *spec, const char *what)
{
    double start = now();
    heed_context *context = gpu_context();
    double opened = now();
    heed_plan *plan = gpu_plan(context, spec, NULL);
    double planned = now();
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_note("%-34s %6.1f ms, after %.0f ms for the context", what, (planned - opened) * 1e3,
             (opened - start) * 1e3);
    double again = now();
    heed_plan_destroy(gpu_plan(context, "b1 h8 s777 d64 f16 causal", NULL));
    gpu_note("%-34s %6.1f ms", "  another length", (now() - again) * 1e3);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void time_first_plan(void)
{
    time_plan("b1 h8 s512 d64 f16 causal", "first plan, empty cache");
}

static void time_cached_plan(void)
{
    time_plan("b1 h8 s512 d64 f16 causal", "first plan of another process");
}

/* With a separate cache, which is deleted afterwards. */
void on_gpu_plan_times(void)
{
    char folder[] = "/tmp/heed-test-gpu-XXXXXX", command[64];
    if (!mkdtemp(folder) || setenv("HEED_CACHE", folder, 1) != 0)
        gpu_fail("no folder for a cache");
    int code = on_gpu_child(time_first_plan);
    if (code == 0)
        code = on_gpu_child(time_cached_plan);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        gpu_note("%s is left behind", folder);
    if (code != 0)
        _Exit(code);
}
