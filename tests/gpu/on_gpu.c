/*
 * on_gpu.c - helpers shared by the tests of test_on_gpu
 */
#include "on_gpu.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_S 120

const char *const on_gpu_specs[ON_GPU_SPECS] = {
    "b2 h4 s256 d64 f16 causal",      "b1 h8/2 s300 d128 bf16", "b2 h8/2 s1/4096 d128 f16",
    "b1 h2 s64/100 d80/48 bf16",      "b1 h2 s70 d32 f32",      "b1 h2 s33/97 d256 f16 causal=br",
    "b1 h2 s128 d64 f16 layout=bhsd",
};

void on_gpu_each_of(const char *const specs[], size_t count, on_gpu_body *body)
{
    heed_context *context = gpu_context();
    int bodies = 0;
    for (size_t k = 0; heed_kernel_name(k); k++)
        for (size_t i = 0; i < count; i++) {
            heed_plan *plan = gpu_plan(context, specs[i], heed_kernel_name(k));
            if (plan)
                body(context, plan);
            bodies += plan != NULL;
            heed_plan_destroy(plan);
        }
    heed_context_destroy(context);
    if (bodies == 0)
        gpu_skip("there is no kernel for this device");
    gpu_note("%d plans", bodies);
}

void on_gpu_each(on_gpu_body *body)
{
    on_gpu_each_of(on_gpu_specs, ON_GPU_SPECS, body);
}

void on_gpu_same(const gpu_scene *scene, const unsigned char *a, const unsigned char *b,
                 const char *what)
{
    for (size_t i = 0; i < gpu_scene_output_size(scene); i++)
        if (a[i] != b[i])
            gpu_fail("%s: byte %zu of %zu differs", what, i, gpu_scene_output_size(scene));
}

void on_gpu_answer(heed_context *context, const heed_plan *plan)
{
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *output = gpu_run(plan, &scene);
    gpu_scene_check(&scene, output, heed_plan_name(plan));
    free(output);
    gpu_scene_destroy(&scene);
}

int on_gpu_child(gpu_test_fn *test)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        gpu_fail("the system lets no process be made");
    if (child == 0) {
        alarm(DEADLINE_S);
        test();
        fflush(stdout);
        _Exit(0);
    }
    while (waitpid(child, &status, 0) < 0)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    printf("    FAIL %s\n",
           WTERMSIG(status) == SIGALRM ? "not done in time" : strsignal(WTERMSIG(status)));
    return 1;
}
