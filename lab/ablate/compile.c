/*
 * compile.c - compiles builds on all cores while the device measures others
 */
#include <stdlib.h>
#include <string.h>

#include "lab/ablate/ablate.h"
#include "lab/base/array.h"
#include "lab/base/pool.h"
#include "src/device.h"
#include "src/message.h"

typedef struct pool_build {
    lab_job job;
    heed_cuda_facts facts;
    heed_status status;
    char message[512];
    heed_cubin cubin;
} pool_build;

struct lab_ablate_pool {
    lab_pool jobs;
    int arch;
    pool_build **builds; /* separate allocations: addresses stay valid as the array grows */
    size_t count;
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

/* The build of @facts, added if missing; NULL if there is no memory. The lock is held. */
static pool_build *find_build(lab_ablate_pool *pool, const heed_cuda_facts *facts)
{
    for (size_t i = 0; i < pool->count; i++)
        if (is_same(&pool->builds[i]->facts, facts))
            return pool->builds[i];
    pool_build *build = calloc(1, sizeof *build);
    if (!build || !lab_grow(&pool->builds, pool->count, sizeof *pool->builds)) {
        free(build);
        return NULL;
    }
    build->facts = *facts;
    pool->builds[pool->count++] = build;
    return build;
}

static void compile(void *data, lab_job *job)
{
    const lab_ablate_pool *pool = data;
    pool_build *build = (pool_build *)job;
    const heed_build what = heed_cuda_facts_build(&build->facts, pool->arch);
    build->status = heed_jit_build(&what, &build->cubin);
    if (build->status != HEED_OK)
        snprintf(build->message, sizeof build->message, "%s", heed_message());
}

static lab_job *next_untouched(void *data)
{
    const lab_ablate_pool *pool = data;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->builds[i]->job.state == LAB_JOB_UNTOUCHED)
            return &pool->builds[i]->job;
    return NULL;
}

lab_ablate_pool *lab_ablate_pool_start(heed_context *context, int threads)
{
    lab_ablate_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->arch = heed_device_arch(context);
    pool->jobs = (lab_pool){ .owner = pool, .next = next_untouched, .work = compile };
    lab_pool_start(&pool->jobs, threads);
    return pool;
}

void lab_ablate_pool_want(lab_ablate_pool *pool, const heed_cuda_facts *facts)
{
    lab_pool_lock(&pool->jobs);
    find_build(pool, facts); /* a lack of memory is reported when the build is taken */
    lab_pool_unlock(&pool->jobs);
}

heed_status lab_ablate_pool_get(lab_ablate_pool *pool, const heed_cuda_facts *facts,
                                const heed_cubin **cubin)
{
    lab_pool_lock(&pool->jobs);
    pool_build *build = find_build(pool, facts);
    lab_pool_unlock(&pool->jobs);
    if (!build)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for another build of %s", facts->name);
    lab_pool_finish(&pool->jobs, &build->job);
    *cubin = &build->cubin;
    return build->status == HEED_OK ? HEED_OK : heed_fail(build->status, "%s", build->message);
}

void lab_ablate_pool_stop(lab_ablate_pool *pool)
{
    if (!pool)
        return;
    lab_pool_stop(&pool->jobs);
    for (size_t i = 0; i < pool->count; i++) {
        heed_cubin_free(&pool->builds[i]->cubin);
        free(pool->builds[i]);
    }
    free(pool->builds);
    free(pool);
}
