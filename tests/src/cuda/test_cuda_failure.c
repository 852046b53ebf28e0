/*
 * test_cuda_failure.c - every call to a CUDA driver fails once; many threads; a device that is lost
 * while threads use it (fake_cuda.h)
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cuda_scene.h"
#include "device.h"
#include "internal.h"

/* -------------------------------------------------------------------------- */
/* Every call fails once                                                      */
/* -------------------------------------------------------------------------- */

/* Opens a device, uses it and closes it. Returns the first failure, after releasing everything. */
static heed_status lead_life(void)
{
    heed_context *context = NULL;
    heed_options options = { .size = sizeof options, .device = "cuda:1" };
    scene s = { 0 };
    scene_job j = { .scene = &s, .bad_at = -1 };
    heed_replay replay = { 0 };
    heed_cubin cubin = scene_cubin("life");
    void *memory = NULL, *walled = NULL;
    char bytes[16] = "";
    double seconds;
    heed_cuda_launch launch = { .grid = { 1, 1, 1 }, .threads = 1, .smem = 9, .args = bytes };

    heed_status status = heed_context_create(&context, &options);
    if (status != HEED_OK)
        return status;
    s = (scene){ .context = context, .cuda = context->cuda };
    status = heed_cuda_load(s.cuda, &cubin, "work", 100, &s.function);
    launch.function = s.function;
    if (status == HEED_OK)
        status = heed_cuda_allow_window(s.cuda);
    if (status == HEED_OK)
        status = heed_device_allocate(context, 16, &memory);
    if (status == HEED_OK)
        status = heed_device_reserve(context, 16, true, &walled);
    if (status == HEED_OK)
        status = heed_device_upload(context, memory, bytes, 16);
    if (status == HEED_OK)
        status = heed_cuda_enter(s.cuda);
    if (status == HEED_OK) {
        status = heed_cuda_check_pointer(s.cuda, "q", memory);
        heed_cuda_leave(s.cuda);
    }
    if (status == HEED_OK)
        status = scene_start(&s, launch, NULL);
    if (status == HEED_OK)
        status = heed_replay_create(&replay, context, scene_do_job, &j, 2);
    if (status == HEED_OK)
        status = heed_replay_run(&replay, &seconds);
    if (status == HEED_OK)
        status = heed_device_wait(context);
    if (status == HEED_OK)
        status = heed_device_download(context, bytes, walled, 16);
    heed_replay_destroy(&replay);
    heed_device_release(context, walled, 16);
    heed_device_free(context, memory);
    heed_cuda_unload(s.cuda, s.function);
    heed_context_destroy(context);
    return status;
}

/* A call that releases something may fail silently. */
static bool gives_back(const char *name)
{
    static const char *const words[] = { "Destroy", "Release", "Free", "Unload", "Unmap" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static void fail_each_call(int result, heed_status wanted)
{
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(lead_life(), HEED_OK);
    int calls = fake->calls;
    assert_true(calls > 60);
    for (int call = 1; call <= calls; call++) {
        scene_fail_at(NULL, call, result);
        heed_status status = lead_life();
        bool quiet = fake->failed && (gives_back(fake->failed) || status == HEED_OK);
        /* the current context is queried once more during release */
        if (quiet && !gives_back(fake->failed))
            assert_true(strcmp(fake->failed, "cuCtxGetCurrent") == 0 ||
                        strcmp(fake->failed, "cuCtxPushCurrent") == 0 ||
                        strcmp(fake->failed, "cuMemGetAllocationGranularity") == 0);
        else if (!quiet && status != wanted)
            fail_msg("call %d, %s: %s, %s", call, fake->failed, heed_status_name(status),
                     heed_message());
        assert_int_equal(fake->depth, 0);
        assert_int_equal(fake->retained, 0);
        if (!quiet && wanted != HEED_ERR_LOST && fake_cuda_live(fake))
            fail_msg("call %d, %s: something is left", call, fake->failed);
        fake->renew();
    }
    scene_fail_at(NULL, 0, 0);
}

static void test_every_refusal(void **state)
{
    fail_each_call(1, HEED_ERR_DEVICE);
}

static void test_every_lack_of_memory(void **state)
{
    fail_each_call(2, HEED_ERR_NO_MEMORY);
}

static void test_every_loss(void **state)
{
    fail_each_call(719, HEED_ERR_LOST);
}

/* -------------------------------------------------------------------------- */
/* Many threads                                                               */
/* -------------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 100

/* One thread's work on a shared device, and the first status that was not HEED_OK. */
typedef struct worker {
    pthread_t thread;
    heed_context *context;
    int number;
    heed_status status;
    char message[256];
} worker;

static heed_status do_round(const worker *w, int round)
{
    char key[8];
    void *memory = NULL;
    scene s = { .context = w->context, .cuda = w->context->cuda };
    heed_cuda_launch launch = { .grid = { 1, 1, 1 }, .threads = 1, .args = &round };
    snprintf(key, sizeof key, "%d", (w->number + round) % 3);
    heed_cubin cubin = scene_cubin(key);
    heed_status status = heed_cuda_load(s.cuda, &cubin, round % 2 ? "odd" : "even", round,
                                        &s.function);
    launch.function = s.function;
    if (status == HEED_OK)
        status = heed_device_allocate(w->context, 64, &memory);
    if (status == HEED_OK)
        status = scene_start(&s, launch, NULL);
    if (status == HEED_OK)
        status = heed_device_wait(w->context);
    heed_device_free(w->context, memory);
    heed_cuda_unload(s.cuda, s.function);
    return status;
}

static void *run_worker(void *data)
{
    worker *w = data;
    for (int i = 0; i < ROUNDS && w->status == HEED_OK; i++)
        w->status = do_round(w, i);
    if (w->status != HEED_OK)
        snprintf(w->message, sizeof w->message, "%s", heed_message());
    return NULL;
}

static void run_workers(worker *workers, heed_context *context)
{
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ .context = context, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void test_threads(void **state)
{
    worker workers[THREADS];
    heed_context *context = scene_open("cuda");
    run_workers(workers, context);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].status, HEED_OK);
    assert_int_equal(fake->launches, THREADS * ROUNDS);
    heed_context_destroy(context);
}

/* All threads report the same reason, whichever detects the loss first. */
static void test_loss_among_threads(void **state)
{
    worker workers[THREADS];
    heed_context *context = scene_open("cuda");
    fake->launch_error = 700;
    run_workers(workers, context);
    assert_int_equal(heed_device_wait(context), HEED_ERR_LOST);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].status, HEED_ERR_LOST);
        assert_string_equal(workers[i].message, heed_message());
    }
    heed_context_destroy(context);
    assert_int_equal(fake->depth + fake->retained, 0);
    fake->renew();
}

RUN_SCENE_TESTS(scene_begin, test_every_refusal, test_every_lack_of_memory, test_every_loss,
                test_threads, test_loss_among_threads)
