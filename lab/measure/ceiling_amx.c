/*
 * ceiling_amx.c - products of AMX's tile registers: pairs of bfloat16, added to float32
 */
#include <immintrin.h>
#include <string.h>

#include "ceiling_loops.h"

/* Registers of 16 rows of 16 pairs: four sums, since one takes longer than the products of three
 * others. */
enum {
    SUMS = 4,
    ROWS = 16,
    PAIRS = 16,
    PRODUCTS = 2
};

static float run(int64_t rounds, const float factors[2])
{
    const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shapes = { .palette = 1,
                 .row_bytes = { 64, 64, 64, 64, 64, 64 },
                 .rows = { ROWS, ROWS, ROWS, ROWS, ROWS, ROWS } };
    uint16_t pairs[ROWS][PAIRS * PRODUCTS];
    float sums[ROWS][PAIRS];
    uint32_t bits;
    memcpy(&bits, factors, sizeof bits);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < PAIRS * PRODUCTS; j++)
            pairs[i][j] = (uint16_t)(bits >> 16);
    _tile_loadconfig(&shapes);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, pairs, sizeof pairs[0]);
    _tile_loadd(5, pairs, sizeof pairs[0]);
    for (int64_t round = 0; round < rounds; round++) {
        _tile_dpbf16ps(0, 4, 5);
        _tile_dpbf16ps(1, 4, 5);
        _tile_dpbf16ps(2, 4, 5);
        _tile_dpbf16ps(3, 4, 5);
    }
    _tile_stored(0, sums, sizeof sums[0]);
    float first = sums[0][0];
    _tile_stored(3, sums, sizeof sums[0]);
    _tile_release();
    return first + sums[0][0];
}

const lab_ceiling_loop lab_ceiling_bf16_amx = {
    .name = "bf16 products of tile registers",
    .flops = 2.0 * SUMS * ROWS * PAIRS * PAIRS * PRODUCTS,
    .run = run,
};
