/*
 * cuda_scene.c - a CUDA device simulated by the fake driver, for tests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_scene.h"
#include "internal.h"

fake_cuda *fake;

int scene_begin(void **state)
{
    (void)state;
    fake = fake_cuda_take(FAKE_CUDA);
    if (!fake)
        fprintf(stderr, "%s\n", dlerror());
    return fake ? 0 : 1;
}

int scene_begin_uncached(void **state)
{
    setenv("HEED_CACHE_LIMIT", "0", 1);
    return scene_begin(state);
}

int scene_reset(void **state)
{
    (void)state;
    fake->renew(); /* from a test that failed */
    fake->driver = 13000;
    fake->devices = 2;
    fake->arch = 90;
    fake->memory = (size_t)64 << 30;
    fake->args_size = sizeof(int);
    fake->hook = NULL;
    fake->fail_name = NULL;
    fake->fail_call = fake->fail_result = fake->launch_error = 0;
    fake->calls = fake->sticky = fake->launches = fake->compilations = 0;
    fake->failed = NULL;
    fake->compile_error = NULL;
    atomic_store(&fake->hold_compiler, 0);
    fake->persisting = 0;
    return 0;
}

int scene_check(void **state)
{
    (void)state;
    if (fake_cuda_live(fake))
        fprintf(stderr,
                "left: %d contexts, %d modules, %d blocks, %d streams, %d events, "
                "%d graphs, %d pushed\n",
                fake->retained, fake->modules, fake->blocks, fake->streams, fake->events,
                fake->graphs, fake->depth);
    return fake_cuda_live(fake);
}

heed_context *scene_open(const char *device)
{
    heed_context *context;
    heed_options options = { .size = sizeof options, .device = device };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s: %s", device, heed_message());
    return context;
}

heed_problem scene_problem(const char *spec)
{
    heed_problem problem, normal = { .batch = 0 };
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        heed_problem_normalize(&normal, &problem) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    return normal;
}

void scene_fail_at(const char *name, int call, int result)
{
    fake->calls = 0;
    fake->fail_name = name;
    fake->fail_call = call;
    fake->fail_result = result;
}

static unsigned char elf[64] = "\177ELF";

heed_cubin scene_cubin(const char *key)
{
    heed_cubin cubin = { .data = elf, .size = sizeof elf };
    snprintf(cubin.key, sizeof cubin.key, "%s", key);
    return cubin;
}

scene scene_make(int64_t smem)
{
    heed_cubin cubin = scene_cubin("scene");
    scene s = { .context = scene_open("cuda") };
    s.cuda = s.context->cuda;
    assert_int_equal(heed_cuda_load(s.cuda, &cubin, "work", smem, &s.function), HEED_OK);
    return s;
}

void scene_end(scene *s)
{
    heed_cuda_unload(s->cuda, s->function);
    heed_context_destroy(s->context);
}

heed_status scene_start(const scene *s, heed_cuda_launch launch, void *stream)
{
    heed_status status = heed_cuda_enter(s->cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_start(s->cuda, &launch, stream);
    heed_cuda_leave(s->cuda);
    return status;
}

heed_status scene_do_job(void *data, int index, void *stream)
{
    scene_job *j = data;
    heed_cuda_launch launch = {
        .function = j->scene->function, .grid = { 1, 1, 1 }, .threads = 32, .args = &index
    };
    if (index == j->bad_at)
        return heed_fail(j->failure, "call %d is bad", index);
    return scene_start(j->scene, launch, stream);
}
