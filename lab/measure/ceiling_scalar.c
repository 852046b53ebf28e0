/*
 * ceiling_scalar.c - float32 multiplications and additions, and exponentials, in vectors of 128
 * bits, which every 64-bit machine has in its basic instruction set; and reading memory
 */
#include "ceiling_loops.h"

typedef float vector __attribute__((vector_size(16)));

/* With two registers for the factors these use 14 of the 16 registers of x86-64. */
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

typedef int32_t integers __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));

enum {
    CHAINS = 4
};

/* A float32 of this size has no fractional bits. */
#define ROUNDER 12582912.0f

static vector minus_exp2(vector t)
{
    vector rounded = t + ROUNDER;
    vector f = t - (rounded - ROUNDER);
    vector p = f * -LAB_EXP_5 - LAB_EXP_4;
    p = p * f - LAB_EXP_3;
    p = p * f - LAB_EXP_2;
    p = p * f - LAB_EXP_1;
    p = p * f - 1.0f;
    return (vector)((integers)p + ((integers)rounded << 23));
}

static float run_exp(int64_t rounds, const float factors[2])
{
    vector x[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        x[i] = (vector){ 0, 0, 0, 0 } - factors[0] * (float)i;
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 4
        for (int i = 0; i < CHAINS; i++)
            x[i] = minus_exp2(x[i]);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] += x[i];
    return x[0][0];
}

const lab_ceiling_loop lab_ceiling_exp_scalar = {
    .name = "exp2 of degree 5, 128 bits",
    .flops = (double)CHAINS * LANES,
    .run = run_exp,
};

uint64_t lab_ceiling_read(const void *from, size_t bytes)
{
    const words *at = from;
    words sums[8] = { { 0, 0 } };

    for (size_t i = 0; i < bytes / sizeof *at; i += 8) {
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; j++)
            sums[j] ^= at[i + j];
    }
    for (int i = 1; i < 8; i++)
        sums[0] ^= sums[i];
    return sums[0][0] ^ sums[0][1];
}
