/*
 * ablate_compile.c - builds are compiled on all cores while the device measures others
 *
 * Each is compiled once, by the thread that takes it first; who needs one that nobody has taken
 * compiles it himself.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../src/message.h"
#include "ablate.h"
#include "src/device.h"

typedef enum progress_of_build {
    UNTOUCHED,
    BUSY,
    DONE
} progress_of_build;

typedef struct pool_build {
    heed_cuda_facts facts;
    progress_of_build state;
    heed_status status;
    char message[512];
    heed_cubin cubin;
} pool_build;

struct ablate_pool {
    int arch;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int thread_count;
    bool ending;
    pool_build **builds; /* each for itself, so that they stay where they are */
    size_t count, room;
};

/* The same kernel in the same config, with the same macros. */
static bool is_same(const heed_cuda_facts *a, const heed_cuda_facts *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->define_count == b->define_count;
    for (int i = 0; same && i < a->define_count; i++)
        same = strcmp(a->defines[i].name, b->defines[i].name) == 0 &&
               a->defines[i].value == b->defines[i].value;
    return same;
}

/* The build of @facts, entered if it is not there; NULL if there is no memory. The lock is held. */
static pool_build *find_build(ablate_pool *pool, const heed_cuda_facts *facts)
{
    for (size_t i = 0; i < pool->count; i++)
        if (is_same(&pool->builds[i]->facts, facts))
            return pool->builds[i];
    if (pool->count == pool->room) {
        size_t room = 2 * pool->room + 16;
        pool_build **more = realloc(pool->builds, room * sizeof *more);
        if (!more)
            return NULL;
        pool->builds = more;
        pool->room = room;
    }
    pool_build *build = calloc(1, sizeof *build);
    if (!build)
        return NULL;
    build->facts = *facts;
    pool->builds[pool->count++] = build;
    return build;
}

/* Compiles what is marked as busy; the lock is held before and after. */
static void work_on(ablate_pool *pool, pool_build *build)
{
    pthread_mutex_unlock(&pool->lock);
    const heed_build what = heed_cuda_facts_build(&build->facts, pool->arch);
    build->status = heed_jit_build(&what, &build->cubin);
    if (build->status != HEED_OK)
        snprintf(build->message, sizeof build->message, "%s", heed_message());
    pthread_mutex_lock(&pool->lock);
    build->state = DONE;
    pthread_cond_broadcast(&pool->changed);
}

static pool_build *next_untouched(const ablate_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (pool->builds[i]->state == UNTOUCHED)
            return pool->builds[i];
    return NULL;
}

static void *work(void *data)
{
    ablate_pool *pool = data;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ending) {
        pool_build *build = next_untouched(pool);
        if (!build) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        build->state = BUSY;
        work_on(pool, build);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

ablate_pool *ablate_pool_start(heed_context *context, int threads)
{
    ablate_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->arch = heed_device_arch(context);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pool->threads = calloc((size_t)threads, sizeof *pool->threads);
    for (int i = 0; pool->threads && i < threads; i++)
        if (pthread_create(&pool->threads[pool->thread_count], NULL, work, pool) == 0)
            pool->thread_count++;
    return pool;
}

void ablate_pool_want(ablate_pool *pool, const heed_cuda_facts *facts)
{
    pthread_mutex_lock(&pool->lock);
    find_build(pool, facts); /* where there is no memory, whoever gets it will say so */
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

heed_status ablate_pool_get(ablate_pool *pool, const heed_cuda_facts *facts,
                            const heed_cubin **cubin)
{
    pthread_mutex_lock(&pool->lock);
    pool_build *build = find_build(pool, facts);
    if (build && build->state == UNTOUCHED) {
        build->state = BUSY;
        work_on(pool, build);
    }
    while (build && build->state != DONE)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    if (!build)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for another build of %s", facts->name);
    *cubin = &build->cubin;
    return build->status == HEED_OK ? HEED_OK : heed_fail(build->status, "%s", build->message);
}

void ablate_pool_stop(ablate_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    for (size_t i = 0; i < pool->count; i++) {
        heed_cubin_free(&pool->builds[i]->cubin);
        free(pool->builds[i]);
    }
    free(pool->builds);
    free(pool->threads);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
