/*
 * ceiling_rates.cu - loops of independent arithmetic on registers: float32 multiply-adds,
 * exponentials, and mma.m16n8k16
 *
 * Each thread, or warp, has enough chains to hide the latency of one, together with the other warps
 * of its scheduler; lab/measure/ceiling_cuda.c has the number of operations in a round. ceiling.cuh
 * is prepended to this file.
 */
#include "ptx.cuh"

#define CHAINS 16
#define STEPS 4 /* per chain and round */

HEED_DEVICE void finish(const heed_ceiling_args *args, float result)
{
    if (ptx_as_u32(result) == args->never)
        ptx_st_global_f32(args->to, result);
}

HEED_ENTRY(256, 4) heed_ceiling_fma(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    float x[CHAINS], sum = 0.0f;
    HEED_UNROLL
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(ptx_lane() + (u32)i);
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        HEED_UNROLL
        for (int i = 0; i < CHAINS * STEPS; i++)
            x[i % CHAINS] = x[i % CHAINS] * args.factors[0] + args.factors[1];
    }
    HEED_UNROLL
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    finish(&args, sum);
}

/* The iteration x = 2^-x converges to 0.64. */
HEED_ENTRY(256, 4) heed_ceiling_exp(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    float x[CHAINS], sum = 0.0f;
    HEED_UNROLL
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(ptx_lane() + (u32)i) * args.factors[1];
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        HEED_UNROLL
        for (int i = 0; i < CHAINS * STEPS; i++)
            x[i % CHAINS] = ptx_ex2(-x[i % CHAINS]);
    }
    HEED_UNROLL
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    finish(&args, sum);
}

#define SUMS 8
#define OPERANDS 4

HEED_ENTRY(256, 2) heed_ceiling_mma(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    float d[SUMS][4], sum = 0.0f;
    u32 a[OPERANDS][4], b[OPERANDS][2];
    HEED_UNROLL
    for (u32 i = 0; i < OPERANDS * 4; i++)
        a[i / 4][i % 4] = operand(64 * ptx_thread() + i);
    HEED_UNROLL
    for (u32 i = 0; i < OPERANDS * 2; i++)
        b[i / 2][i % 2] = operand(64 * ptx_thread() + 32 + i);
    HEED_UNROLL
    for (int i = 0; i < SUMS * 4; i++)
        d[i / 4][i % 4] = 0.0f;
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        HEED_UNROLL
        for (int i = 0; i < SUMS * STEPS; i++) {
#if HEED_BF16
            ptx_mma_bf16(d[i % SUMS], a[(i + i / SUMS) % OPERANDS], b[i / 2 % OPERANDS]);
#else
            ptx_mma_f16(d[i % SUMS], a[(i + i / SUMS) % OPERANDS], b[i / 2 % OPERANDS]);
#endif
        }
    }
    HEED_UNROLL
    for (int i = 0; i < SUMS * 4; i++)
        sum += d[i / 4][i % 4];
    finish(&args, sum);
}
