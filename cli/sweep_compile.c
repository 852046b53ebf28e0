/*
 * sweep_compile.c - points are compiled on all cores while the device is busy with others
 *
 * What comes out is in the cache of machine code, where planning finds it, and its facts are kept
 * here. Each point is compiled once, by the thread that takes it first; who needs one that nobody
 * has taken compiles it himself.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "inspect/cubin.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"
#include "sweep.h"

#define WARP 32
#define WANTED_MAX 64

typedef enum progress_of_point {
    UNTOUCHED,
    BUSY,
    DONE
} progress_of_point;

struct sweep_pool {
    const sweep_run *run;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int thread_count;
    bool ending;
    unsigned char *state; /* by point: progress_of_point */
    sweep_facts **facts;  /* by point, once it is DONE; NULL if there was no memory */
    int64_t wanted[WANTED_MAX];
    size_t wanted_count;
    int64_t until_ns;   /* nothing is begun in advance that would not be done by then; 0: never */
    int64_t longest_ns; /* that a point took to compile so far */
};

static void refuse(sweep_facts *facts, const char *why)
{
    facts->failed = true;
    snprintf(facts->why, sizeof facts->why, "%s", why);
}

/* What the machine code of the kernel that is launched says of itself. */
static void add_code(sweep_facts *facts, const heed_cuda_facts *kernel,
                     const lab_cubin_kernel *code, int arch)
{
    heed_gpu gpu;
    lab_prospect one = lab_prospect_unknown();
    int64_t smem = code->smem + kernel->smem;
    one.value[LAB_FACT_REGISTERS] = code->registers;
    one.value[LAB_FACT_SMEM] = smem;
    if (code->spill_stores >= 0 && code->spill_loads >= 0)
        one.value[LAB_FACT_SPILLS] = code->spill_stores + code->spill_loads;
    if (heed_gpu_arch(&gpu, arch)) {
        int blocks = heed_gpu_resident(&gpu, kernel->threads, code->registers, smem, NULL);
        one.value[LAB_FACT_BLOCKS] = blocks;
        one.value[LAB_FACT_WARPS] = blocks * ((kernel->threads + WARP - 1) / WARP);
    }
    lab_prospect_worsen(&facts->prospect, &one);
}

static void read_code(sweep_facts *facts, const heed_cuda_facts *kernel, const heed_cubin *built,
                      int arch)
{
    lab_cubin cubin;
    lab_error error;
    if (built->ptx) /* the driver will compile it: nothing is known */
        return;
    if (lab_cubin_read(&cubin, built->data, built->size, kernel->name, &error) != HEED_OK) {
        refuse(facts, error.text);
        return;
    }
    lab_cubin_spills(&cubin, built->log);
    for (size_t i = 0; i < cubin.count; i++)
        if (strcmp(cubin.kernels[i].name, kernel->entry) == 0)
            add_code(facts, kernel, &cubin.kernels[i], arch);
    lab_cubin_free(&cubin);
}

static void compile_for(sweep_facts *facts, const char *name, const heed_problem *problem, int arch)
{
    heed_cuda_facts kernel;
    heed_cubin built;
    if (heed_cuda_facts_find(name, problem, arch, &kernel) != HEED_OK) {
        refuse(facts, heed_message());
        return;
    }
    facts->predicted += log(kernel.seconds);
    const heed_build build = heed_cuda_facts_build(&kernel, arch);
    if (heed_jit_build(&build, &built) == HEED_OK)
        read_code(facts, &kernel, &built, arch);
    else
        refuse(facts, heed_message());
    heed_cubin_free(&built);
}

static sweep_facts compile_point(const sweep_run *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->space, index);
    sweep_facts facts = { .prospect = lab_prospect_unknown() };
    char name[HEED_NAME_SIZE];
    lab_error error;
    if (lab_space_name(&run->space, &point, run->kernel, name, &error) != HEED_OK)
        refuse(&facts, error.text);
    for (size_t i = 0; i < run->problems.count && !facts.failed; i++)
        compile_for(&facts, name, &run->problems.items[i], run->arch);
    facts.predicted /= (double)run->problems.count;
    return facts;
}

/* Compiles a point that is marked as busy; the lock is held before and after. */
static void work_on(sweep_pool *pool, int64_t point)
{
    pthread_mutex_unlock(&pool->lock);
    int64_t begin = heed_clock_ns();
    sweep_facts *kept = malloc(sizeof *kept);
    if (kept)
        *kept = compile_point(pool->run, point);
    int64_t took = heed_clock_ns() - begin;
    pthread_mutex_lock(&pool->lock);
    if (took > pool->longest_ns)
        pool->longest_ns = took;
    pool->facts[point] = kept;
    pool->state[point] = DONE;
    pthread_cond_broadcast(&pool->changed);
}

/* The next point that is wanted and that nobody works on; -1: none. */
static int64_t next_wanted(sweep_pool *pool)
{
    if (pool->until_ns > 0 && heed_clock_ns() + pool->longest_ns > pool->until_ns)
        return -1;
    for (size_t i = 0; i < pool->wanted_count; i++)
        if (pool->state[pool->wanted[i]] == UNTOUCHED)
            return pool->wanted[i];
    return -1;
}

static void *work(void *data)
{
    sweep_pool *pool = data;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ending) {
        int64_t point = next_wanted(pool);
        if (point < 0) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        pool->state[point] = BUSY;
        work_on(pool, point);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

sweep_pool *sweep_pool_start(const sweep_run *run)
{
    size_t points = (size_t)lab_space_count(&run->space);
    sweep_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->run = run;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pool->state = calloc(points, sizeof *pool->state);
    pool->facts = calloc(points, sizeof *pool->facts);
    pool->threads = calloc((size_t)run->threads, sizeof *pool->threads);
    if (!pool->state || !pool->facts || !pool->threads) {
        sweep_pool_stop(pool);
        return NULL;
    }
    for (int i = 0; i < run->threads; i++)
        if (pthread_create(&pool->threads[pool->thread_count], NULL, work, pool) == 0)
            pool->thread_count++;
    return pool;
}

void sweep_pool_want(sweep_pool *pool, const lab_point *points, size_t count)
{
    pthread_mutex_lock(&pool->lock);
    pool->wanted_count = count < WANTED_MAX ? count : WANTED_MAX;
    for (size_t i = 0; i < pool->wanted_count; i++)
        pool->wanted[i] = lab_space_index(&pool->run->space, &points[i]);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void sweep_pool_until(sweep_pool *pool, int64_t until_ns)
{
    pthread_mutex_lock(&pool->lock);
    pool->until_ns = until_ns;
    pthread_mutex_unlock(&pool->lock);
}

sweep_facts sweep_pool_get(sweep_pool *pool, int64_t point)
{
    sweep_facts facts = { .prospect = lab_prospect_unknown() };
    pthread_mutex_lock(&pool->lock);
    if (pool->state[point] == UNTOUCHED) {
        pool->state[point] = BUSY;
        work_on(pool, point);
    }
    while (pool->state[point] != DONE)
        pthread_cond_wait(&pool->changed, &pool->lock);
    if (pool->facts[point])
        facts = *pool->facts[point];
    else
        refuse(&facts, "no memory");
    pthread_mutex_unlock(&pool->lock);
    return facts;
}

unsigned sweep_findings(const sweep_run *run, const lab_point *point)
{
    heed_gpu gpu;
    lab_clues clues = lab_clues_unknown();
    if (!run->pool)
        return 0;
    sweep_facts facts = sweep_pool_get(run->pool, lab_space_index(&run->space, point));
    if (facts.failed)
        return 0;
    clues.prospect = facts.prospect;
    if (heed_gpu_arch(&gpu, run->arch)) {
        clues.warps_max = gpu.threads / WARP;
        clues.smem_max = gpu.smem;
    }
    return lab_clues_findings(&clues);
}

void sweep_pool_stop(sweep_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    for (int64_t i = 0; pool->facts && i < lab_space_count(&pool->run->space); i++)
        free(pool->facts[i]);
    free(pool->state);
    free(pool->facts);
    free(pool->threads);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
