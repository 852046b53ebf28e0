/*
 * on_gpu_refusals.c - errors on a GPU: for bad input, and for every call once the device is lost
 */
#include "on_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* -------------------------------------------------------------------------- */
/* Bad input                                                                  */
/* -------------------------------------------------------------------------- */

static void refuse(const heed_plan *plan, const heed_buffers *buffers, const char *field,
                   const char *what)
{
    gpu_expect(heed_execute(plan, buffers), HEED_ERR_INVALID, what);
    if (!strstr(heed_message(), field))
        gpu_fail("%s: the message does not name %s: %s", what, field, heed_message());
}

void on_gpu_bad_buffers(void)
{
    static float host[1 << 16];
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, on_gpu_specs[2], NULL);
    if (!plan)
        gpu_skip("no kernel can do '%s'", on_gpu_specs[2]);
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    const heed_buffers good = scene.buffers;
    heed_buffers bad = good;
    bad.q = host;
    refuse(plan, &bad, "q", "Q in host memory");
    bad = good;
    bad.v = host;
    refuse(plan, &bad, "v", "V in host memory");
    bad = good;
    bad.o = host;
    refuse(plan, &bad, "o", "O in host memory");
    bad = good;
    bad.lse = host;
    refuse(plan, &bad, "lse", "LSE in host memory");
    bad = good;
    bad.k = NULL;
    refuse(plan, &bad, "k", "no K");
    bad = good;
    bad.k = (const char *)good.k + 1;
    refuse(plan, &bad, "k", "K at an odd address");
    if (good.workspace_size) {
        bad = good;
        bad.workspace_size--;
        refuse(plan, &bad, "workspace_size", "a workspace too small");
        bad = good;
        bad.workspace = (char *)good.workspace + HEED_ALIGNMENT / 2;
        refuse(plan, &bad, "workspace", "a misaligned workspace");
        bad = good;
        bad.workspace = host;
        refuse(plan, &bad, "workspace", "a workspace in host memory");
    } else {
        gpu_note("this plan needs no workspace: nothing to refuse there");
    }
    unsigned char *output = gpu_run(plan, &scene);
    gpu_scene_check(&scene, output, "after refusals");
    free(output);
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* Pointers and strides that are aligned to elements only are slower at worst. */
static void check_shifted(heed_context *context, const heed_plan *plan)
{
    size_t element = heed_type_size(heed_plan_problem(plan)->type);
    gpu_scene scene = gpu_scene_create(context, plan, 3);
    unsigned char *even = gpu_run(plan, &scene);
    gpu_scene shifted = scene;
    void *memory = NULL;
    gpu_expect(heed_device_allocate(context, scene.size[1] + element, &memory), HEED_OK,
               "heed_device_allocate");
    shifted.buffers.k = (char *)memory + element;
    gpu_scene_fill(&shifted, 3);
    gpu_scene_poison(&shifted);
    unsigned char *odd = gpu_run(plan, &shifted);
    gpu_scene_check(&shifted, odd, "with K at an odd element");
    heed_device_free(context, memory);
    free(even);
    free(odd);
    gpu_scene_destroy(&scene);
}

void on_gpu_unaligned_pointers(void)
{
    on_gpu_each(check_shifted);
}

/* Makes the calls that a child may make after fork(): returns 0, or the number of the failed
 * step. */
static int use_inherited(heed_context *context, heed_plan *plan, const heed_buffers *buffers)
{
    heed_plan *again = NULL;
    alarm(60);
    if (heed_execute(plan, buffers) == HEED_OK)
        return 1;
    if (heed_plan_create(&again, context, heed_plan_problem(plan), HEED_ESTIMATE) !=
        HEED_ERR_INVALID)
        return 2;
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return 0;
}

void on_gpu_inherited(void)
{
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, on_gpu_specs[0], NULL);
    if (!plan)
        gpu_skip("no kernel can do '%s'", on_gpu_specs[0]);
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(use_inherited(context, plan, &scene.buffers));
    if (child < 0 || waitpid(child, &status, 0) != child)
        gpu_fail("no child could be made");
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
        gpu_fail("a child that inherited a context: signal %d, step %d", WTERMSIG(status),
                 WEXITSTATUS(status));
    unsigned char *output = gpu_run(plan, &scene);
    gpu_scene_check(&scene, output, "after a child destroyed its copy");
    free(output);
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

void on_gpu_too_large(void)
{
    heed_context *context = gpu_context();
    size_t memory = heed_device_memory(context);
    void *block = NULL;
    gpu_expect(heed_device_allocate(context, 2 * memory, &block), HEED_ERR_NO_MEMORY,
               "allocating twice the memory");
    gpu_expect(heed_device_reserve(context, 2 * memory, true, &block), HEED_ERR_NO_MEMORY,
               "reserving twice the memory");
    heed_problem problem;
    heed_plan *plan;
    gpu_expect(heed_problem_parse(&problem, "b1024 h64 s65536 d128 f16"), HEED_OK,
               "a huge problem");
    heed_status status = heed_plan_create(&plan, context, &problem, HEED_MEASURE);
    if (status != HEED_ERR_NO_MEMORY && status != HEED_ERR_UNSUPPORTED)
        gpu_fail("measuring a problem of terabytes returned %s: %s", heed_status_name(status),
                 heed_message());
    gpu_note("%s", heed_message());
    plan = gpu_plan(context, on_gpu_specs[0], NULL);
    if (plan)
        on_gpu_answer(context, plan);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

void on_gpu_no_such_device(void)
{
    const heed_options options = { .size = sizeof options, .device = "cuda:1000" };
    heed_context *context;
    gpu_expect(heed_context_create(&context, &options), HEED_ERR_DEVICE, "cuda:1000");
    if (!strstr(heed_message(), "1000"))
        gpu_fail("the message does not name the ordinal: %s", heed_message());
}

void on_gpu_another_device(void)
{
    if (gpu_device_count() < 2)
        gpu_skip("there is one device");
    const heed_options options = { .size = sizeof options, .device = "cuda:1" };
    heed_context *first = gpu_context(), *second;
    gpu_expect(heed_context_create(&second, &options), HEED_OK, "cuda:1");
    heed_plan *plan = gpu_plan(first, on_gpu_specs[0], NULL),
              *other = gpu_plan(second, on_gpu_specs[0], NULL);
    if (!plan || !other)
        gpu_skip("no kernel can do '%s'", on_gpu_specs[0]);
    gpu_scene scene = gpu_scene_create(first, plan, 1);
    gpu_expect(heed_execute(other, &scene.buffers), HEED_ERR_INVALID,
               "a plan for another device than that of the tensors");
    gpu_note("%s", heed_message());
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_plan_destroy(other);
    heed_context_destroy(first);
    heed_context_destroy(second);
}

/* -------------------------------------------------------------------------- */
/* A lost device                                                              */
/* -------------------------------------------------------------------------- */

/* Every call from now on must report the loss. */
static void expect_lost(heed_context *context, const heed_plan *plan, const gpu_scene *scene)
{
    void *memory = NULL;
    unsigned char byte = 0;
    gpu_expect(heed_execute(plan, &scene->buffers), HEED_ERR_LOST, "heed_execute, lost");
    gpu_expect(heed_device_wait(context), HEED_ERR_LOST, "heed_device_wait, lost");
    gpu_expect(heed_device_allocate(context, 16, &memory), HEED_ERR_LOST, "allocate, lost");
    gpu_expect(heed_device_upload(context, scene->buffers.o, &byte, 1), HEED_ERR_LOST,
               "upload, lost");
    gpu_expect(heed_device_download(context, &byte, scene->buffers.o, 1), HEED_ERR_LOST,
               "download, lost");
}

/* K ends long before the end implied by the problem, at unmapped memory. */
static void lose_device(void)
{
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, "b1 h2 s8192 d64 f16", NULL);
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    void *k = NULL;
    gpu_expect(heed_device_reserve(context, 4096, true, &k), HEED_OK, "heed_device_reserve");
    gpu_scene stray = scene;
    stray.buffers.k = k;
    gpu_expect(heed_execute(plan, &stray.buffers), HEED_OK, "the execution that strays");
    gpu_expect(heed_device_wait(context), HEED_ERR_LOST, "waiting for the execution that strays");
    gpu_note("%s", heed_message());
    expect_lost(context, plan, &scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* In a child of this process, which must not have used the device itself. */
void on_gpu_lost_device(void)
{
    int code = on_gpu_child(lose_device);
    if (code != 0)
        _Exit(code);
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, on_gpu_specs[0], NULL);
    on_gpu_answer(context, plan);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}
