/*
 * attn_tile.c - the tile algorithm (many queries): knobs and scratch layout
 *
 * The computation itself is attn_tile_template.h.
 */
#include "tile.h"

enum {
    BLOCK_ROWS,
    TILE_KEYS,
    SPLITS
};

heed_tile_layout heed_tile_layout_of(const heed_tile_code *code, const heed_problem *problem,
                                     const heed_cut *cut, const heed_modify_need *need)
{
    heed_tile_layout y = { 0 };
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    y.strips = heed_div_up(heed_min(cut->block_rows, rows), code->width);
    y.keys = heed_min(cut->key_tile, heed_round_up(problem->seq_k, code->keys));
    y.steps = heed_div_up(problem->dim_qk, code->unit);
    y.panels = heed_div_up(y.steps, TILE_PANEL);
    y.dims = heed_round_up(problem->dim_v, code->keys);
    y.row = heed_round_up(y.steps > y.dims ? y.steps : y.dims, code->width);
    const struct {
        int64_t *offset;
        int64_t size;
    } parts[] = {
        { &y.q, y.strips * y.steps * code->width },
        { &y.o, y.strips * y.dims * code->width },
        { &y.m, y.strips * code->width },
        { &y.l, y.strips * code->width },
        { &y.k, y.panels * y.keys * TILE_PANEL },
        { &y.v, heed_div_up(y.keys, code->unit) * y.dims },
        { &y.s, y.keys * code->width },
        { &y.rows, code->width * y.row },
        { &y.seen, (int64_t)(sizeof(heed_interval) / sizeof(float)) * y.strips * code->width },
        { &y.kept, y.strips * need->kept },
        { &y.program, need->patch },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].offset = y.end;
        y.end += heed_round_up(parts[i].size, HEED_ALIGNMENT / (int64_t)sizeof(float));
    }
    return y;
}

heed_cut heed_tile_cut(const heed_config *config)
{
    return (heed_cut){ .block_rows = config->value[BLOCK_ROWS],
                       .key_tile = config->value[TILE_KEYS],
                       .splits = config->value[SPLITS] };
}

size_t heed_tile_scratch(const heed_cpu_code *code, const heed_problem *problem,
                         const heed_cut *cut, const heed_modify_need *need)
{
    heed_tile_layout layout = heed_tile_layout_of((const heed_tile_code *)code, problem, cut, need);
    return (size_t)layout.end * sizeof(float);
}

const heed_algorithm heed_algorithm_tile = {
    .knobs = { { 'm', "BLOCK_ROWS", { 128, 32, 64, 96, 192, 256, 512 } },
               { 'n', "TILE_KEYS", { 128, 64, 256 } },
               { 's', "SPLITS", { 1, 2, 4, 8, 16 } } },
    .modifies = true,
    .legal = heed_cpu_legal,
    .worthwhile = heed_cpu_worthwhile,
    .cost = heed_cpu_cost,
    .plans = &heed_cpu_plans,
};
