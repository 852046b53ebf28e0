/*
 * attn_few.c - the algorithm for few queries as the planner sees it
 *
 * The computation itself is attn_few_template.h.
 */
#include "few.h"

enum {
    KNOB_M,
    KNOB_S
};

heed_few_layout heed_few_layout_of(const heed_few_code *code, const heed_problem *problem,
                                   const heed_cut *cut)
{
    heed_few_layout y = { .dim_qk = heed_round_up(problem->dim_qk, code->step),
                          .dim_v = heed_round_up(problem->dim_v, code->step) };
    const struct {
        int64_t *offset;
        int64_t size;
    } parts[] = {
        { &y.q, cut->block_rows * y.dim_qk },
        { &y.o, cut->block_rows * y.dim_v },
        { &y.m, cut->block_rows },
        { &y.l, cut->block_rows },
        { &y.k, FEW_KEYS * y.dim_qk },
        { &y.v, FEW_KEYS * y.dim_v },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].offset = y.end;
        y.end += heed_round_up(parts[i].size, HEED_ALIGNMENT / (int64_t)sizeof(float));
    }
    return y;
}

static heed_cut cut_of(const heed_config *config)
{
    return (heed_cut){ .block_rows = config->value[KNOB_M],
                       .key_tile = FEW_KEYS,
                       .splits = config->value[KNOB_S] };
}

static size_t scratch_size(const heed_kernel *kernel, const heed_problem *problem,
                           const heed_cut *cut)
{
    return (size_t)heed_few_layout_of(kernel->code, problem, cut).end * sizeof(float);
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    heed_cut cut = cut_of(config);
    (void)kernel;
    return heed_cut_legal(problem, machine, &cut, why);
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_few_code *code = kernel->code;
    heed_cut cut = cut_of(config);
    return heed_cut_cost(problem, machine, &cut, &code->rates);
}

static size_t workspace(const heed_kernel *kernel, const heed_problem *problem,
                        const heed_machine *machine, const heed_config *config)
{
    heed_cut cut = cut_of(config);
    size_t scratch = scratch_size(kernel, problem, &cut);
    return heed_job_workspace(problem, &cut, machine->threads, scratch);
}

static void execute(const heed_plan *plan, const heed_buffers *buffers)
{
    const heed_few_code *code = plan->kernel->code;
    heed_cut cut = cut_of(&plan->config);
    size_t scratch = scratch_size(plan->kernel, &plan->problem, &cut);
    heed_job_run(plan, buffers, &cut, scratch, code->run);
}

const heed_algorithm heed_algorithm_few = {
    .knobs = { { 'm', { 8, 4, 16 } }, { 's', { 1, 2, 4, 8, 16, 32, 64 } } },
    .legal = legal,
    .cost = cost,
    .workspace = workspace,
    .execute = execute,
};
