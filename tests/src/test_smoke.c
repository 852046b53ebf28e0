/*
 * test_smoke.c - every kernel once on a few awkward problems, in blocks of exactly the needed size
 *
 * Small enough for valgrind, which finds reads outside a tensor, uses of uninitialized values, and
 * leaks. Other tests check the values.
 */
#include "run_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"

static const char *const specs[] = {
    "b1 h1 s1 d1 f32",
    "b1 h2 s1/70 d64 f32",
    "b2 h4/2 s3/300 d40/24 f16",
    "b1 h2 s17/33 d3/5 bf16 causal=br",
    "b1 h2 s33/17 d65/1 f32 causal=br",
    "b1 h2 s33/17 d1/65 f16 causal=tl",
    "b1 h3/1 s130 d80 bf16 causal",
    "b1 h2 s65/129 d128/512 f32",
    "b2 h2 s19 d33 f16 layout=bhsd",
    "b2 h2 s19 d32 bf16 layout=sbhd causal scale=-0.5",
    "b2 h2 s9 d8 f32 q=400:40:20 k=0:16:8 v=144:0:0 o=999:99:9",
};

#define TENSORS 4

/* Number of elements from the first to the last of a tensor. */
static size_t extent(heed_strides strides, int64_t batch, int64_t seq, int64_t heads, int64_t dim)
{
    return (size_t)((batch - 1) * strides.batch + (seq - 1) * strides.seq +
                    (heads - 1) * strides.head + dim);
}

static void extents(const heed_problem *p, size_t elements[TENSORS])
{
    elements[0] = extent(p->q, p->batch, p->seq_q, p->heads_q, p->dim_qk);
    elements[1] = extent(p->k, p->batch, p->seq_k, p->heads_kv, p->dim_qk);
    elements[2] = extent(p->v, p->batch, p->seq_k, p->heads_kv, p->dim_v);
    elements[3] = extent(p->o, p->batch, p->seq_q, p->heads_q, p->dim_v);
}

/* Values of magnitude one to two with either sign, in any type: sign and mantissa vary, the
 * exponent does not. */
static void fill(void *tensor, size_t elements, heed_type type)
{
    static const uint32_t ones[] = {
        [HEED_F32] = 0x3f800000, [HEED_F16] = 0x3c00, [HEED_BF16] = 0x3f80
    };
    static const uint32_t vary[] = {
        [HEED_F32] = 0x807fffff, [HEED_F16] = 0x83ff, [HEED_BF16] = 0x807f
    };
    uint32_t random = 1;
    for (size_t i = 0; i < elements; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t bits = ones[type] | ((random ^ random >> 16) & vary[type]);
        uint16_t half = (uint16_t)bits;
        if (type == HEED_F32)
            memcpy((float *)tensor + i, &bits, sizeof bits);
        else
            memcpy((uint16_t *)tensor + i, &half, sizeof half);
    }
}

/* Executes with tensors of exactly the needed size; O, LSE and the workspace are uninitialized. */
static void execute(const heed_plan *plan)
{
    const heed_problem *p = heed_plan_problem(plan);
    size_t elements[TENSORS];
    void *tensors[TENSORS];
    size_t rows = (size_t)(p->batch * p->heads_q * p->seq_q);
    heed_buffers buffers = { .size = sizeof buffers,
                             .workspace_size = heed_plan_workspace_size(plan) };
    extents(p, elements);
    for (int i = 0; i < TENSORS; i++) {
        tensors[i] = malloc(elements[i] * heed_type_size(p->type));
        assert_non_null(tensors[i]);
        if (i < 3)
            fill(tensors[i], elements[i], p->type);
    }
    buffers.q = tensors[0];
    buffers.k = tensors[1];
    buffers.v = tensors[2];
    buffers.o = tensors[3];
    buffers.lse = malloc(rows * sizeof *buffers.lse);
    assert_non_null(buffers.lse);
    if (buffers.workspace_size)
        assert_int_equal(posix_memalign(&buffers.workspace, HEED_ALIGNMENT, buffers.workspace_size),
                         0);
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    for (size_t i = 0; i < rows; i++) /* valgrind reports branches on uninitialized values */
        if (isnan(buffers.lse[i]))
            fail_msg("%s: lse[%zu] is not a number", heed_plan_name(plan), i);
    for (int i = 0; i < TENSORS; i++)
        free(tensors[i]);
    free(buffers.lse);
    free(buffers.workspace);
}

static void test_all_kernels(void **state)
{
    heed_context *context = host_context(2);
    int executed = 0;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        heed_problem problem;
        if (heed_problem_parse(&problem, specs[i]) != HEED_OK)
            fail_msg("%s", heed_message());
        for (size_t j = 0; heed_kernel_name(j); j++) {
            heed_plan *plan = NULL;
            heed_status status = heed_plan_create_named(&plan, context, &problem,
                                                        heed_kernel_name(j));
            if (status == HEED_ERR_UNSUPPORTED)
                continue;
            assert_int_equal(status, HEED_OK);
            execute(plan);
            heed_plan_destroy(plan);
            executed++;
        }
    }
    heed_context_destroy(context);
    assert_true(executed >= (int)(sizeof specs / sizeof *specs));
}

RUN_TESTS(test_all_kernels)
