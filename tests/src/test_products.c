/*
 * test_products.c - on a CPU, a problem that permits other products has the same plan and the same
 * bits as one that does not
 */
#include "run_tests.h"

#include <stdio.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define ROWS (2 * 33 * 3)
#define DIM 40

static float q[ROWS * DIM], k[ROWS * DIM], v[ROWS * DIM];

/* Returns whether @kernel, or the chosen kernel if it is NULL, supports the problem. */
static int compute(heed_context *context, const char *words, const char *kernel, float *o,
                   char name[HEED_NAME_SIZE])
{
    char spec[128];
    heed_plan *plan = NULL;
    snprintf(spec, sizeof spec, "b2 h3 s33 d%d f32 causal %s", DIM, words);
    const heed_problem problem = parsed(spec);
    heed_status status = kernel ? heed_plan_create_named(&plan, context, &problem, kernel)
                                : heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return 0;
    host_execute(plan, (heed_buffers){ .q = q, .k = k, .v = v, .o = o });
    snprintf(name, HEED_NAME_SIZE, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
    return 1;
}

static void test_equal_bits(void **state)
{
    static const char *const words[] = { "products=tf32", "products=bf16x3" };
    static float full[ROWS * DIM], other[ROWS * DIM];
    heed_context *context = host_context(1);
    int kernels = 0;
    for (uint32_t i = 0, draw = 1; i < ROWS * DIM; i++) {
        float *const tensors[] = { q, k, v };
        for (int t = 0; t < 3; t++) {
            draw = draw * 1664525U + 1013904223U;
            tensors[t][i] = (float)(draw >> 8) / (float)(1 << 23) - 1;
        }
    }
    for (size_t n = 0; n == 0 || heed_kernel_name(n - 1); n++) {
        const char *kernel = n == 0 ? NULL : heed_kernel_name(n - 1);
        char name[HEED_NAME_SIZE], chosen[HEED_NAME_SIZE];
        if (!compute(context, "", kernel, full, name))
            continue;
        kernels++;
        for (int w = 0; w < 2; w++) {
            assert_true(compute(context, words[w], kernel, other, chosen));
            assert_string_equal(chosen, name);
            assert_memory_equal(other, full, sizeof full);
        }
    }
    assert_true(kernels > 1);
    heed_context_destroy(context);
}

RUN_TESTS(test_equal_bits)
