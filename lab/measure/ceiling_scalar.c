/*
 * ceiling_scalar.c - float32 multiplications and additions, and exponentials, in vectors of 128
 * bits, which every 64-bit machine has in its basic instruction set; and reading memory
 */
#include "ceiling_loops.h"

typedef float vector __attribute__((vector_size(16)));
typedef int32_t integers __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));
#define LANES 4
#define REGISTERS 12 /* with two for the factors these use 14 of the 16 registers of x86-64 */
#define CHAINS 4
#define SPREAD spread
#define STEP step

/* A float32 of this size has no fractional bits. */
#define ROUNDER 12582912.0f

static inline vector spread(float x)
{
    return (vector){ x, x, x, x };
}

static inline vector step(vector sum, vector scale, vector shift)
{
    return sum * scale + shift;
}

static inline vector fraction(vector t)
{
    return t - (t + ROUNDER - ROUNDER);
}

static inline vector scale_by(vector p, vector t)
{
    return (vector)((integers)p + ((integers)(t + ROUNDER) << 23));
}

#include "ceiling_template.h"

const lab_ceiling_loop lab_ceiling_f32_scalar = {
    .name = "f32 multiply and add, 128 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};

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
