/*
 * test_packed.c - packed sequences give what each of them gives by itself, and nothing else is
 * written: lengths of 0, 1 and the most, cumulative lengths of both types
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrays.h"
#include "heed.h"

#define SEQUENCES 6
#define TOKENS_Q 60 /* with rows behind the last sequence */
#define TOKENS_K 100
#define HEADS_Q 4
#define HEADS_KV 2
#define DIM 16
#define UNTOUCHED 77.0F

static const int32_t cu_q[SEQUENCES + 1] = { 0, 0, 1, 18, 18, 35, 52 };
static const int32_t cu_k[SEQUENCES + 1] = { 0, 9, 9, 39, 40, 70, 93 };

/* Words beside the sizes; where positions matter they are aligned bottom right. */
static const char *const words[] = {
    "", "causal=br", "window=9:2 align=br", "chunk=8 align=br", "causal=tl", "softcap=3 sinks",
};

static float q[TOKENS_Q * HEADS_Q * DIM], k[TOKENS_K * HEADS_KV * DIM],
    v[TOKENS_K * HEADS_KV * DIM];
static float sinks[HEADS_Q] = { 0.5F, -1, 2, 0 };

static void fill(float *data, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

/* Computes @spec with @kernel. */
static void run(heed_context *context, const char *kernel, const char *spec, heed_buffers buffers)
{
    heed_problem problem;
    heed_plan *plan = NULL;
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        heed_plan_create_named(&plan, context, &problem, kernel) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    buffers.size = sizeof buffers;
    buffers.sinks = sinks;
    buffers.workspace_size = heed_plan_workspace_size(plan);
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT, buffers.workspace_size + HEED_ALIGNMENT);
    if (heed_execute(plan, &buffers) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    free(buffers.workspace);
    heed_plan_destroy(plan);
}

static void compare(const float *x, const float *expected, size_t count, const char *spec)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(x[i] - expected[i]) <= 2e-5F) && x[i] != expected[i])
            fail_msg("%s: element %zu is %g, not %g", spec, i, (double)x[i], (double)expected[i]);
}

/* The sequences of @o and @lse, which are packed, one by one. */
static void compare_each(heed_context *context, const char *kernel, const char *more,
                         const float *o, const float *lse)
{
    for (int b = 0; b < SEQUENCES; b++) {
        const int queries = cu_q[b + 1] - cu_q[b], keys = cu_k[b + 1] - cu_k[b];
        static float own[TOKENS_Q * HEADS_Q * DIM], own_lse[HEADS_Q * TOKENS_Q];
        char spec[128];
        if (queries == 0)
            continue;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            own[i] = 0;
        for (int i = 0; i < HEADS_Q * queries; i++)
            own_lse[i] = strstr(more, "sinks") ? sinks[i / queries] : -INFINITY;
        snprintf(spec, sizeof spec, "b1 h%d/%d s%d/%d d%d f32 %s", HEADS_Q, HEADS_KV, queries, keys,
                 DIM, more);
        if (keys > 0)
            run(context, kernel, spec,
                (heed_buffers){ .q = q + cu_q[b] * HEADS_Q * DIM,
                                .k = k + cu_k[b] * HEADS_KV * DIM,
                                .v = v + cu_k[b] * HEADS_KV * DIM,
                                .o = own,
                                .lse = own_lse });
        compare(o + cu_q[b] * HEADS_Q * DIM, own, (size_t)queries * HEADS_Q * DIM, spec);
        for (int h = 0; h < HEADS_Q; h++)
            compare(lse + h * TOKENS_Q + cu_q[b], own_lse + h * queries, (size_t)queries, spec);
    }
}

static void test_like_each_by_itself(void **state)
{
    static const char *const kernels[] = { "fwd_any_scalar_row", "fwd_any_avx2_tile",
                                           "fwd_any_avx2_few" };
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 2 };
    static float o[TOKENS_Q * HEADS_Q * DIM], lse[HEADS_Q * TOKENS_Q];
    static int64_t wide_q[SEQUENCES + 1], wide_k[SEQUENCES + 1];
    heed_context *context;
    (void)state;
    fill(q, sizeof q / sizeof *q, 1);
    fill(k, sizeof k / sizeof *k, 2);
    fill(v, sizeof v / sizeof *v, 3);
    for (int b = 0; b <= SEQUENCES; b++) {
        wide_q[b] = cu_q[b];
        wide_k[b] = cu_k[b];
    }
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t n = 0; n < sizeof kernels / sizeof *kernels; n++) {
            const bool wide = (i + n) % 2 == 1;
            char spec[160];
            for (size_t e = 0; e < sizeof o / sizeof *o; e++)
                o[e] = UNTOUCHED;
            for (size_t e = 0; e < sizeof lse / sizeof *lse; e++)
                lse[e] = UNTOUCHED;
            snprintf(spec, sizeof spec, "b%d h%d/%d s17/30 d%d f32 varlen=%d/%d%s %s", SEQUENCES,
                     HEADS_Q, HEADS_KV, DIM, TOKENS_Q, TOKENS_K, wide ? " cu_q=i64 cu_k=i64" : "",
                     words[i]);
            run(context, kernels[n], spec,
                (heed_buffers){ .q = q,
                                .k = k,
                                .v = v,
                                .o = o,
                                .lse = lse,
                                .cu_seqlens_q = wide ? (const void *)wide_q : cu_q,
                                .cu_seqlens_k = wide ? (const void *)wide_k : cu_k });
            compare_each(context, kernels[n], words[i], o, lse);
            for (size_t e = (size_t)cu_q[SEQUENCES] * HEADS_Q * DIM; e < sizeof o / sizeof *o; e++)
                assert_true(o[e] == UNTOUCHED);
            for (int h = 0; h < HEADS_Q; h++)
                for (int t = cu_q[SEQUENCES]; t < TOKENS_Q; t++)
                    assert_true(lse[h * TOKENS_Q + t] == UNTOUCHED);
        }
    heed_context_destroy(context);
}

static const struct {
    const char *spec, *fault;
} wrong[] = {
    { "b2 h1 s4 d4 f32 varlen=9", "tokens_q is 9; it must be 0 to 8, batch * seq_q" },
    { "b2 h1 s4/5 d4 f32 varlen=8/11", "tokens_k is 11; it must be 0 to 10, batch * seq_k" },
    { "b2 h1 s4 d4 f32 varlen=8 paged=2", "tokens_k is 8 and page is 2" },
    { "b2 h1 s4 d4 f32 varlen=0/8 cu_q=i32", "tokens_q is 0; with cu_seqlens_q it must be 1 to 8" },
    { "b2 h1 s4 d4 f32 cu_k=i64", "tokens_k is 0; with cu_seqlens_k it must be 1 to 8" },
    { "b2 h1 s4 d4 f32 varlen=8 cu_q=f32", "cu_seqlens_q.type is 1 (f32)" },
    { "b2 h1 s4 d4 f32 varlen=8 cu_q=", "must be followed by a type: i32 or i64" },
    { "b2 h1 s4 d4 f32 varlen=-1", "tokens_q: a number of 0 to" },
};

static void test_wrong_ones_are_refused(void **state)
{
    heed_problem problem;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(heed_problem_parse(&problem, wrong[i].spec), HEED_ERR_INVALID);
        if (!strstr(heed_message(), wrong[i].fault))
            fail_msg("%s: %s", wrong[i].spec, heed_message());
    }
}

/* Specs, and how they are printed. */
static const char *const printed[][2] = {
    { "b2 h1 s4 d4 f32 varlen=8", "b2 h1 s4 d4 f32 varlen=8" },
    { "b2 h1 s4 d4 f32 varlen=8/0", "b2 h1 s4 d4 f32 varlen=8/0" },
    { "b2 h1 s4/9 d4 f32 varlen=0/8 cu_k=i64", "b2 h1 s4/9 d4 f32 varlen=0/8 cu_k=i64" },
    { "b2 h1 s4 d4 f32 varlen=8 cu_q=i32 causal=br", "b2 h1 s4 d4 f32 causal=br varlen=8" },
    { "b2 h1 s4 d4 f32 varlen=8 window=1:2 align=br",
      "b2 h1 s4 d4 f32 window=1:2 varlen=8 align=br" },
};

static void test_specs_are_printed(void **state)
{
    heed_problem problem;
    char text[HEED_SPEC_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        assert_int_equal(heed_problem_parse(&problem, printed[i][0]), HEED_OK);
        heed_problem_print(&problem, text, sizeof text);
        assert_string_equal(text, printed[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_each_by_itself),
        cmocka_unit_test(test_wrong_ones_are_refused),
        cmocka_unit_test(test_specs_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
