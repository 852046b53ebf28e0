/*
 * attn_few.c - the algorithm for few queries (decode): knobs and scratch layout
 *
 * The computation itself is attn_few_template.h.
 */
#include "few.h"

enum {
    BLOCK_ROWS,
    SPLITS
};

heed_few_layout heed_few_layout_of(const heed_few_code *code, const heed_problem *problem,
                                   const heed_cut *cut, const heed_modify_need *need)
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
        { &y.all_o, cut->block_rows * y.dim_v },
        { &y.all_m, cut->block_rows },
        { &y.all_l, cut->block_rows },
        { &y.k, FEW_KEYS * y.dim_qk },
        { &y.v, FEW_KEYS * y.dim_v },
        { &y.kept, cut->block_rows * need->kept },
        { &y.program, cut->block_rows * need->patch },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].offset = y.end;
        y.end += heed_round_up(parts[i].size, HEED_ALIGNMENT / (int64_t)sizeof(float));
    }
    return y;
}

heed_cut heed_few_cut(const heed_config *config)
{
    return (heed_cut){ .block_rows = config->value[BLOCK_ROWS],
                       .key_tile = FEW_KEYS,
                       .splits = config->value[SPLITS] };
}

size_t heed_few_scratch(const heed_cpu_code *code, const heed_problem *problem, const heed_cut *cut,
                        const heed_modify_need *need)
{
    heed_few_layout layout = heed_few_layout_of((const heed_few_code *)code, problem, cut, need);
    return (size_t)(layout.end * cut->heads) * sizeof(float);
}

const heed_algorithm heed_algorithm_few = {
    .knobs = { { 'm', "BLOCK_ROWS", { 8, 4, 16 } }, { 's', "SPLITS", { 1, 2, 4, 8, 16, 32, 64 } } },
    .modifies = true,
    .legal = heed_cpu_legal,
    .worthwhile = heed_cpu_worthwhile,
    .cost = heed_cpu_cost,
    .plans = &heed_cpu_plans,
};
