/*
 * attn_naive.c - host half of attn_naive.cu: limits and cost model
 */
#include "../../problem/problem.h"
#include "../backend.h"
#include "../score/score.h"

#define WARPS 4
#define WARP 32

static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    (void)gpu;
    (void)problem;
    (void)config;
    return (heed_cuda_cut){ .launch = { .rows = WARPS, .splits = 1 } };
}

const heed_cuda_code heed_cuda_naive_code = { .cut = cut };

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    (void)machine;
    (void)config;
    return heed_cuda_fits(problem, WARPS, 1, why);
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const heed_naive_costs *costs = gpu->costs->naive;
    (void)kernel;
    (void)config;
    double rows = (double)problem->batch * (double)problem->heads_q * (double)problem->seq_q;
    double pairs = (double)heed_problem_pairs(problem) * (double)problem->batch *
                   (double)problem->heads_q;
    double flops = heed_problem_flops_own(problem) +
                   pairs * heed_cuda_needs_of(problem).instructions;
    double seconds = flops / (costs->flops_per_clock * gpu->multiprocessors * gpu->clock);
    double alone = flops / rows / (costs->flops_per_clock / 16 * gpu->clock);
    double memory = heed_problem_bytes_own(problem) / (costs->bandwidth_share * gpu->bandwidth);
    seconds = seconds > alone ? seconds : alone;
    return costs->launch + (seconds > memory ? seconds : memory);
}

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const heed_define defines[] = {
        { "HEED_TYPE", problem->type },
        { "HEED_W", WARPS },
    };
    (void)kernel;
    (void)machine;
    (void)config;
    result->source = "attn_naive.cu";
    result->launch.threads = WARPS * WARP;
    return heed_cuda_facts_define(result, problem, defines, sizeof defines / sizeof *defines);
}

const heed_algorithm heed_algorithm_cuda_naive = {
    .modifies = true,
    .legal = legal,
    .cost = cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
