/*
 * ceiling_scalar.c - float32 multiplications and additions in vectors of 128 bits, which every
 * 64-bit machine has in its basic instruction set
 */
#include "ceiling_loops.h"

typedef float vector __attribute__((vector_size(16)));

/* With two registers for the factors these fill the 16 of x86-64, short of two. */
enum {
    REGISTERS = 12,
    LANES = 4
};

static float run(int64_t rounds, const float factors[2])
{
    vector sums[REGISTERS];
    vector scale = { factors[0], factors[0], factors[0], factors[0] };
    vector shift = { factors[1], factors[1], factors[1], factors[1] };

    for (int i = 0; i < REGISTERS; i++)
        sums[i] = (float)i * scale;
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < REGISTERS; i++)
            sums[i] = sums[i] * scale + shift;
    }
    for (int i = 1; i < REGISTERS; i++)
        sums[0] += sums[i];
    return sums[0][0];
}

const lab_ceiling_loop lab_ceiling_f32_scalar = {
    .name = "f32 multiply and add, 128 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};
