/*
 * ablated.c - plans of degraded builds of CPU kernels
 */
#include "ablated.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "few.h"
#include "measure.h"
#include "tile.h"

#define HEED_ABLATED(kernel, type, code, ...) extern const type code;
#include "ablated.def"
#undef HEED_ABLATED

/* A row of ablated.def; the code of every CPU kernel begins with a heed_cpu_code. */
static const struct {
    const char *kernel;
    const void *code;
    int ablations[10]; /* up to the first 0 */
} builds[] = {
#define HEED_ABLATED(kernel, type, code, ...) { #kernel, &(code), { __VA_ARGS__ } },
#include "ablated.def"
#undef HEED_ABLATED
};

/* The code that a degraded plan runs, in place of the kernel of kernels.def. */
typedef struct ablated_plan {
    heed_kernel kernel;
    heed_algorithm algorithm;
    heed_plan_functions plans;
    heed_task_fn *run;
    int ablation;
    double delay; /* by which tasks take longer with ABLATE_DELAY, as a fraction of their time */
} ablated_plan;

/* The code of @kernel with @ablation; NULL if there is none. */
static const void *find_code(const heed_kernel *kernel, int ablation)
{
    if (ablation == ABLATE_NONE || ablation == ABLATE_DELAY)
        return kernel->code;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        for (const int *a = builds[i].ablations; *a != ABLATE_NONE; a++)
            if (*a == ablation && strcmp(builds[i].kernel, kernel->name) == 0)
                return builds[i].code;
    return NULL;
}

bool heed_cpu_ablated(const char *name, int ablation)
{
    const char *config;
    const heed_kernel *kernel = heed_kernel_find(name, &config);
    return kernel && kernel->backend == HEED_BACKEND_CPU && find_code(kernel, ablation);
}

const char *heed_cpu_ablated_unfit(const char *name, int ablation, const heed_problem *problem)
{
    const char *config;
    const heed_kernel *kernel = heed_kernel_find(name, &config);
    if (ablation != ABLATE_NO_STAGING)
        return NULL;
    if (problem->type != HEED_F32)
        return "elements must be converted to float32 first";
    const heed_tile_code *tile = kernel->code;
    const heed_few_code *few = kernel->code;
    if (kernel->algorithm == &heed_algorithm_tile && problem->seq_k % tile->keys != 0)
        return "the number of keys is not a multiple of the keys of a tile";
    if (kernel->algorithm == &heed_algorithm_few &&
        (problem->seq_k % FEW_KEYS != 0 || problem->dim_qk % few->step != 0 ||
         problem->dim_v % few->step != 0))
        return "keys or head dims are not a multiple of those computed together";
    return NULL;
}

/* A task leads to the plan's problem, and so to the plan. */
static void run_delayed(const heed_job *job, const heed_task *task, void *scratch)
{
    const char *problem = (const char *)job->problem;
    const heed_plan *plan = (const void *)(problem - offsetof(heed_plan, problem));
    const ablated_plan *made = plan->code;
    int64_t begin = heed_clock_ns();
    made->run(job, task, scratch);
    int64_t end = heed_clock_ns();
    int64_t until = end + (int64_t)((double)(end - begin) * made->delay);
    while (made->delay > 0 && heed_clock_ns() < until)
        ;
}

static heed_status execute(const heed_plan *plan, const heed_buffers *buffers)
{
    const ablated_plan *made = plan->code;
    heed_task_fn *run = made->ablation == ABLATE_DELAY ? run_delayed : made->run;
    heed_cpu_run(plan, buffers, run, made->ablation);
    return HEED_OK;
}

static void release(heed_plan *plan)
{
    free(plan->code);
    plan->code = NULL;
}

static heed_status replace(heed_plan *plan, int ablation, double delay)
{
    const void *code = find_code(plan->kernel, ablation);
    if (plan->kernel->backend != HEED_BACKEND_CPU || !code)
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s has no build with ablation %d",
                         plan->kernel->name, ablation);
    const char *unfit = heed_cpu_ablated_unfit(plan->kernel->name, ablation, &plan->problem);
    if (unfit)
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s with ablation %d: %s", plan->kernel->name,
                         ablation, unfit);
    ablated_plan *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    made->kernel = *plan->kernel;
    made->kernel.code = code;
    made->algorithm = *plan->kernel->algorithm;
    made->algorithm.plans = &made->plans;
    made->plans = heed_cpu_plans;
    made->plans.execute = execute;
    made->plans.release = release;
    made->run = ((const heed_cpu_code *)code)->run;
    made->ablation = ablation;
    made->delay = delay;
    made->kernel.algorithm = &made->algorithm;
    plan->code = made;
    plan->kernel = &made->kernel;
    plan->workspace_size = made->plans.workspace(plan->kernel, &plan->problem,
                                                 &plan->context->machine, &plan->config);
    return HEED_OK;
}

heed_status heed_plan_create_ablated(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name, int ablation,
                                     double delay)
{
    heed_status status = heed_plan_create_named(plan, context, problem, name);
    if (status == HEED_OK)
        status = replace(*plan, ablation, delay);
    if (status != HEED_OK) {
        heed_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
}
