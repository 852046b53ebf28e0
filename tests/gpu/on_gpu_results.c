/*
 * on_gpu_results.c - results of plans on a GPU: from calls, from graphs, in streams and in threads
 */
#include "on_gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void on_gpu_known_answers(void)
{
    on_gpu_each(on_gpu_answer);
}

typedef struct replayed {
    const heed_plan *plan;
    gpu_scene *scene;
} replayed;

static heed_status execute_on(void *data, int index, void *stream)
{
    const replayed *r = data;
    heed_buffers buffers = r->scene->buffers;
    (void)index;
    buffers.stream = stream;
    return heed_execute(r->plan, &buffers);
}

/* A graph gives the same result as the call, for the current inputs. */
static void check_replay(heed_context *context, const heed_plan *plan)
{
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *eager = gpu_run(plan, &scene);
    replayed r = { plan, &scene };
    heed_replay replay;
    double seconds = 0;
    gpu_scene_poison(&scene);
    gpu_expect(heed_replay_create(&replay, context, execute_on, &r, 3), HEED_OK,
               "heed_replay_create");
    unsigned char *captured = gpu_scene_take(&scene);
    if (memcmp(captured, eager, gpu_scene_output_size(&scene)) == 0)
        gpu_fail("%s: capturing has computed already", heed_plan_name(plan));
    gpu_expect(heed_replay_run(&replay, &seconds), HEED_OK, "heed_replay_run");
    unsigned char *first = gpu_scene_take(&scene);
    on_gpu_same(&scene, first, eager, heed_plan_name(plan));

    gpu_scene_fill(&scene, 2);
    gpu_expect(heed_replay_run(&replay, &seconds), HEED_OK, "heed_replay_run");
    unsigned char *second = gpu_scene_take(&scene);
    if (memcmp(first, second, scene.size[3]) == 0)
        gpu_fail("%s: a replay on other inputs changes nothing", heed_plan_name(plan));
    gpu_scene_poison(&scene);
    unsigned char *again = gpu_run(plan, &scene);
    on_gpu_same(&scene, second, again, heed_plan_name(plan));
    heed_replay_destroy(&replay);
    free(captured);
    free(eager);
    free(first);
    free(second);
    free(again);
    gpu_scene_destroy(&scene);
}

void on_gpu_graphs(void)
{
    on_gpu_each(check_replay);
}

/* -------------------------------------------------------------------------- */
/* Launches that read the previous launch's output                            */
/* -------------------------------------------------------------------------- */

#define CHAIN_CALLS 9
#define CHAIN_ROUNDS 20

/* Small ones, whose blocks fit next to those of the previous launch and so start before it has
 * ended, and a larger one. Q, K, V and O have the same shape; the scale keeps rows from becoming
 * the mean. */
static const char *const chained[] = {
    "b1 h8 s512 d64 f16 scale=4",         "b1 h8 s512 d64 f16 causal scale=4",
    "b2 h8 s512 d64 f16 scale=4",         "b2 h8 s512 d64 bf16 causal scale=4",
    "b1 h2 s300 d128 f16 causal scale=4", "b4 h16 s512 d64 f16 scale=4",
};

/* The buffers of call @index: the previous call's output is its Q, K or V by turns, and it writes
 * to the tensor that this was before. */
static heed_buffers chain_link(const gpu_scene *scene, int index)
{
    heed_buffers buffers = scene->buffers;
    for (int i = 0; i < index; i++) {
        const void **input = i % 3 == 0 ? &buffers.q : i % 3 == 1 ? &buffers.k : &buffers.v;
        void *before = (void *)(uintptr_t)*input;
        *input = buffers.o;
        buffers.o = before;
    }
    return buffers;
}

static heed_status execute_link(void *data, int index, void *stream)
{
    const replayed *r = data;
    heed_buffers buffers = chain_link(r->scene, index);
    buffers.stream = stream;
    return heed_execute(r->plan, &buffers);
}

/* The output of call @index. */
static unsigned char *take_link(const gpu_scene *scene, int index)
{
    gpu_scene at = *scene;
    at.buffers = chain_link(scene, index);
    return gpu_scene_take(&at);
}

/* One call after another, waiting for each. */
static unsigned char *run_slowly(const replayed *r)
{
    unsigned char *before = NULL, *output = NULL;
    gpu_scene_fill(r->scene, 1);
    for (int i = 0; i < CHAIN_CALLS; i++) {
        gpu_expect(execute_link((void *)(uintptr_t)r, i, NULL), HEED_OK, "heed_execute");
        gpu_expect(heed_device_wait(r->scene->context), HEED_OK, "heed_device_wait");
        free(before);
        before = output;
        output = take_link(r->scene, i);
        if (before && memcmp(before, output, r->scene->size[3]) == 0)
            gpu_fail("%s: call %d writes what the one before did", heed_plan_name(r->plan), i);
    }
    free(before);
    return output;
}

static void check_chain(heed_context *context, const heed_plan *plan)
{
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    replayed r = { plan, &scene };
    heed_replay replay;
    double seconds = 0;
    unsigned char *expected = run_slowly(&r);
    gpu_expect(heed_replay_create(&replay, context, execute_link, &r, CHAIN_CALLS), HEED_OK,
               "heed_replay_create");
    for (int round = 0; round < CHAIN_ROUNDS; round++) {
        gpu_scene_fill(&scene, 1);
        gpu_expect(heed_replay_run(&replay, &seconds), HEED_OK, "heed_replay_run");
        unsigned char *output = take_link(&scene, CHAIN_CALLS - 1);
        on_gpu_same(&scene, output, expected, heed_plan_name(plan));
        free(output);
    }
    heed_replay_destroy(&replay);
    free(expected);
    gpu_scene_destroy(&scene);
}

void on_gpu_chains(void)
{
    on_gpu_each_of(chained, sizeof chained / sizeof *chained, check_chain);
}

/* -------------------------------------------------------------------------- */
/* Streams and threads                                                        */
/* -------------------------------------------------------------------------- */

#define STREAM_CALLS 50

void on_gpu_two_streams(void)
{
    for (size_t i = 0; i < ON_GPU_SPECS; i++) {
        heed_context *context = gpu_context();
        heed_plan *plan = gpu_plan(context, on_gpu_specs[i], NULL);
        if (!plan)
            gpu_skip("no kernel can do '%s'", on_gpu_specs[i]);
        gpu_scene scenes[2] = { gpu_scene_create(context, plan, 1),
                                gpu_scene_create(context, plan, 2) };
        unsigned char *alone[2];
        void *streams[2];
        for (int s = 0; s < 2; s++) {
            alone[s] = gpu_run(plan, &scenes[s]);
            gpu_scene_poison(&scenes[s]);
            streams[s] = gpu_stream_create(context);
            scenes[s].buffers.stream = streams[s];
        }
        for (int c = 0; c < 2 * STREAM_CALLS; c++)
            gpu_expect(heed_execute(plan, &scenes[c % 2].buffers), HEED_OK, on_gpu_specs[i]);
        for (int s = 0; s < 2; s++) {
            gpu_stream_wait(streams[s]);
            unsigned char *output = gpu_scene_take(&scenes[s]);
            on_gpu_same(&scenes[s], output, alone[s], on_gpu_specs[i]);
            gpu_stream_destroy(streams[s]);
            free(output);
            free(alone[s]);
            gpu_scene_destroy(&scenes[s]);
        }
        heed_plan_destroy(plan);
        heed_context_destroy(context);
    }
}

#define THREADS 8
#define THREAD_CALLS 100

typedef struct worker {
    pthread_t thread;
    const heed_plan *plan;
    heed_context *context;
    gpu_scene scene;
    const unsigned char *expected;
} worker;

/* Executes the shared plan, and creates other plans in the meantime. */
static void *work(void *data)
{
    worker *w = data;
    for (int i = 0; i < THREAD_CALLS; i++) {
        gpu_expect(heed_execute(w->plan, &w->scene.buffers), HEED_OK, "heed_execute in a thread");
        if (i % 25 == 0)
            heed_plan_destroy(
                gpu_plan(w->context, on_gpu_specs[(size_t)i / 25 % ON_GPU_SPECS], NULL));
    }
    gpu_expect(heed_device_wait(w->context), HEED_OK, "heed_device_wait in a thread");
    unsigned char *output = gpu_scene_take(&w->scene);
    on_gpu_same(&w->scene, output, w->expected, "in a thread");
    free(output);
    return NULL;
}

void on_gpu_many_threads(void)
{
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, on_gpu_specs[2],
                               NULL); /* with a workspace, if any needs one */
    if (!plan)
        gpu_skip("no kernel can do '%s'", on_gpu_specs[2]);
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *expected = gpu_run(plan, &scene);
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){ .plan = plan, .context = context, .expected = expected };
        workers[t].scene = gpu_scene_create(context, plan, 1);
        if (t % 2)
            workers[t].scene.buffers.stream = gpu_stream_create(context);
    }
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            gpu_fail("there can be no thread");
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        gpu_scene_destroy(&workers[t].scene);
    }
    gpu_scene_destroy(&scene);
    free(expected);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}
