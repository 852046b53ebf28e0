/*
 * test_emulated_long.c - CUDA kernels on float32 rows of many keys, on the emulator
 *
 * All values are equal, so partial sums are rounded in the same direction for long stretches: a
 * sequential sum has a larger error than is allowed for sums in parts.
 *
 *     test_emulated_long [sample]    with "sample" one value for each kernel
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulated.h"

#define KEYS 16384
#define ROWS_MAX 32 /* per block, */
#define DIM_MAX 72  /* and columns of V, in the kernels tried */

/* Parts of 32 keys, groups of 16 parts, and the sum of the groups: one rounding per addition, and
 * some for the division and the weights. The parts of attn_mma.cu are tiles, and then 512 keys. */
#define ROUNDINGS (32 + 16 + KEYS / 512 + 8)

/* The largest error of a row compared with the mean of @value, in ULPs. */
static double error_of(const emulated_config *config, float value)
{
    const emulated_kernel *kernel = config->aligned;
    emulated it = { .config = config, .splits = emulated_splits(kernel, 1, KEYS) };
    const lab_subject subject = emulated_subject(&it);
    heed_problem problem;
    lab_needs needs;
    char spec[96];
    snprintf(spec, sizeof spec, "b1 h1 s1/%d d%d/%d f32 %s", KEYS, kernel->dim_qk, kernel->dim_v,
             kernel->masked ? "causal=br" : "");
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    float *q = test_calloc((size_t)kernel->dim_qk + 8, sizeof *q);
    float *k = test_calloc((size_t)kernel->dim_qk * KEYS + 8, sizeof *k);
    float *v = test_calloc((size_t)kernel->dim_v * KEYS + 8, sizeof *v);
    float *o = test_calloc((size_t)kernel->dim_v + 8, sizeof *o);
    heed_buffers data = { .size = sizeof data, .q = q, .k = k, .v = v, .o = o };
    for (size_t i = 0; i < (size_t)kernel->dim_v * KEYS; i++)
        v[i] = value;
    assert_int_equal(subject.prepare(&it, &problem, &needs), HEED_OK);
    assert_int_equal(subject.run(&it, &data), HEED_OK);
    double worst = 0;
    for (int c = 0; c < kernel->dim_v; c++)
        worst = fmax(worst, fabs((double)o[c] - (double)value));
    test_free(q);
    test_free(k);
    test_free(v);
    test_free(o);
    return worst / ((double)value * 0x1p-24);
}

static void test_sums_are_made_in_parts(void **state)
{
    static const float values[] = { 0.7f, 0.34f, 1.3f };
    const bool *sampled = *state;
    size_t kernels = 0;
    for (const emulated_config *config = emulated_configs; config->aligned; config++) {
        const emulated_kernel *kernel = config->aligned;
        if (kernel->type != HEED_F32 || kernel->rows > ROWS_MAX || kernel->dim_v > DIM_MAX ||
            kernel->shared_v || strstr(kernel->name, "candidate"))
            continue;
        kernels++;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            if (*sampled && i != kernels % (sizeof values / sizeof *values))
                continue;
            double error = error_of(config, values[i]);
            if (error > ROUNDINGS)
                fail_msg("%s: the mean of %d times %g is %.0f roundings off; the limit is %d",
                         kernel->name, KEYS, (double)values[i], error, ROUNDINGS);
        }
    }
    assert_true(kernels > 0);
}

int main(int argc, char **argv)
{
    bool sampled = argc > 1 && strcmp(argv[1], "sample") == 0;
    test_list tests = TEST_LIST(test_sums_are_made_in_parts);
    tests.state = &sampled;
    return run_test_list(tests, NULL, NULL);
}
