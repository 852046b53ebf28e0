/*
 * compile.c - compiles points on all cores while the device times others
 *
 * The code goes to the cache of compiled kernels, where the planner finds it; its facts are kept
 * here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/pool.h"
#include "lab/sweep/sweep.h"
#include "src/cuda/driver/nvrtc.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"
#include "src/measure.h"

#define WARP 32
#define WANTED_MAX 64

typedef struct pool_point {
    lab_job job;
    lab_sweep_facts *facts; /* when done; NULL if there was no memory */
} pool_point;

struct lab_sweep_pool {
    lab_pool jobs;
    const lab_sweep *run;
    pool_point *points; /* all points of the space */
    int64_t wanted[WANTED_MAX];
    size_t wanted_count;
    int64_t until_ns; /* begin nothing ahead that would not be done by then; 0: no limit */
};

static void refuse(lab_sweep_facts *facts, const char *why)
{
    facts->failed = true;
    snprintf(facts->why, sizeof facts->why, "%s", why);
}

void lab_sweep_add_code(lab_point_facts *facts, const lab_cubin_kernel *code,
                        const heed_launch_facts *launch, int arch)
{
    heed_gpu gpu;
    lab_point_facts one = lab_point_facts_unknown();
    int64_t smem = code->smem + launch->smem;
    one.value[LAB_FACT_REGISTERS] = code->registers;
    one.value[LAB_FACT_SMEM] = smem;
    if (code->spill_stores >= 0 && code->spill_loads >= 0)
        one.value[LAB_FACT_SPILLS] = code->spill_stores + code->spill_loads;
    if (heed_gpu_arch(&gpu, arch)) {
        int blocks = heed_gpu_resident(&gpu, launch->threads, code->registers, smem, NULL);
        one.value[LAB_FACT_BLOCKS] = blocks;
        one.value[LAB_FACT_WARPS] = blocks * ((launch->threads + WARP - 1) / WARP);
    }
    lab_point_facts_worsen(facts, &one);
}

lab_clues lab_sweep_clues(const lab_point_facts *facts, int arch)
{
    heed_gpu gpu;
    lab_clues clues = lab_clues_unknown();
    clues.point_facts = *facts;
    if (heed_gpu_arch(&gpu, arch)) {
        clues.warps_max = gpu.threads / WARP;
        clues.smem_max = gpu.smem;
    }
    return clues;
}

static void read_code(lab_sweep_facts *facts, const heed_cuda_facts *kernel,
                      const heed_cubin *built, int arch)
{
    lab_cubin cubin;
    lab_error error;
    if (built->ptx) /* the driver will compile it: no facts are known */
        return;
    if (lab_cubin_read(&cubin, built->data, built->size, kernel->name, &error) != HEED_OK) {
        refuse(facts, error.text);
        return;
    }
    lab_cubin_spills(&cubin, built->log);
    for (size_t i = 0; i < cubin.count; i++)
        if (strcmp(cubin.kernels[i].name, kernel->launch.entry) == 0)
            lab_sweep_add_code(&facts->point_facts, &cubin.kernels[i], &kernel->launch, arch);
    lab_cubin_free(&cubin);
}

static void compile_for(lab_sweep_facts *facts, const char *name, const heed_problem *problem,
                        int arch)
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

static lab_sweep_facts compile_point(const lab_sweep *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->space, index);
    lab_sweep_facts facts = { .point_facts = lab_point_facts_unknown() };
    char name[HEED_NAME_SIZE];
    lab_error error;
    if (lab_space_name(&run->space, &point, run->kernel, name, &error) != HEED_OK)
        refuse(&facts, error.text);
    for (size_t i = 0; i < run->problems.count && !facts.failed; i++)
        compile_for(&facts, name, &run->problems.items[i], run->arch);
    facts.predicted /= (double)run->problems.count;
    return facts;
}

static void compile(void *data, lab_job *job)
{
    const lab_sweep_pool *pool = data;
    pool_point *point = (pool_point *)job;
    point->facts = malloc(sizeof *point->facts);
    if (point->facts)
        *point->facts = compile_point(pool->run, point - pool->points);
}

static lab_job *next_wanted(void *data)
{
    const lab_sweep_pool *pool = data;
    if (pool->until_ns > 0 && heed_clock_ns() + pool->jobs.longest_ns > pool->until_ns)
        return NULL;
    for (size_t i = 0; i < pool->wanted_count; i++)
        if (pool->points[pool->wanted[i]].job.state == LAB_JOB_UNTOUCHED)
            return &pool->points[pool->wanted[i]].job;
    return NULL;
}

heed_status lab_sweep_pool_start(lab_sweep *run)
{
    const heed_nvrtc *nvrtc;
    if (!run->arch)
        return HEED_OK;
    heed_status status = heed_nvrtc_get(&nvrtc); /* else each point would report the failure */
    if (status != HEED_OK)
        return lab_fail(&run->trouble, status, "%s", heed_message());
    lab_sweep_pool *pool = calloc(1, sizeof *pool);
    pool_point *points = calloc((size_t)lab_space_count(&run->space), sizeof *points);
    if (!pool || !points) {
        free(pool);
        free(points);
        return lab_fail(&run->trouble, HEED_ERR_NO_MEMORY,
                        "not enough memory to compile %lld points",
                        (long long)lab_space_count(&run->space));
    }
    pool->run = run;
    pool->points = points;
    pool->jobs = (lab_pool){ .owner = pool, .next = next_wanted, .work = compile };
    lab_pool_start(&pool->jobs, run->threads);
    run->pool = pool;
    return HEED_OK;
}

void lab_sweep_pool_want(lab_sweep_pool *pool, const lab_point *points, size_t count)
{
    lab_pool_lock(&pool->jobs);
    pool->wanted_count = count < WANTED_MAX ? count : WANTED_MAX;
    for (size_t i = 0; i < pool->wanted_count; i++)
        pool->wanted[i] = lab_space_index(&pool->run->space, &points[i]);
    lab_pool_unlock(&pool->jobs);
}

void lab_sweep_pool_until(lab_sweep_pool *pool, int64_t until_ns)
{
    lab_pool_lock(&pool->jobs);
    pool->until_ns = until_ns;
    lab_pool_unlock(&pool->jobs);
}

lab_sweep_facts lab_sweep_pool_get(lab_sweep_pool *pool, int64_t point)
{
    lab_sweep_facts facts = { .point_facts = lab_point_facts_unknown() };
    lab_pool_finish(&pool->jobs, &pool->points[point].job);
    if (pool->points[point].facts)
        facts = *pool->points[point].facts;
    else
        refuse(&facts, "no memory");
    return facts;
}

unsigned lab_sweep_findings(const lab_sweep *run, int64_t point)
{
    if (!run->pool)
        return 0;
    const lab_sweep_facts facts = lab_sweep_pool_get(run->pool, point);
    const lab_clues clues = lab_sweep_clues(&facts.point_facts, run->arch);
    return facts.failed ? 0 : lab_clues_findings(&clues);
}

void lab_sweep_pool_stop(lab_sweep_pool *pool)
{
    if (!pool)
        return;
    lab_pool_stop(&pool->jobs);
    for (int64_t i = 0; i < lab_space_count(&pool->run->space); i++)
        free(pool->points[i].facts);
    free(pool->points);
    free(pool);
}
