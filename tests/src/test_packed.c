/*
 * test_packed.c - packed sequences give the same results as each sequence alone, and nothing else
 * is written: lengths of 0, 1 and the maximum, equal and very unequal ones, cumulative lengths of
 * both types, on every kernel that supports them
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "cpu/cpu.h"
#include "heed.h"
#include "problems.h"

#define SEQUENCES_MAX 41
#define TOKENS_Q 260 /* maximum, including rows after the last sequence */
#define TOKENS_K 420
#define HEADS_Q 4
#define HEADS_KV 2
#define DIM 16
#define UNTOUCHED 77.0F

/* Lengths of sequences, and the number of rows after the last one. The last length repeats. */
static const struct {
    const char *about;
    int sequences, q[8], k[8], behind_q, behind_k;
} sets[] = {
    { "none, one, several", 6, { 0, 1, 17, 0, 17, 17 }, { 9, 0, 30, 1, 30, 23 }, 8, 7 },
    { "all equal",
      5,
      { 33, 33, 33, 33, 33, 33, 33, 33 },
      { 40, 40, 40, 40, 40, 40, 40, 40 },
      0,
      0 },
    { "all one", 41, { 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1 }, 0, 0 },
    { "all but one empty", 7, { 0, 0, 9, 0, 0, 0, 0, 0 }, { 0, 0, 11, 0, 0, 0, 0, 0 }, 2, 0 },
    { "a giant ahead of many",
      38,
      { 150, 2, 1, 0, 3, 2, 1, 1 },
      { 300, 2, 0, 5, 3, 1, 2, 1 },
      0,
      0 },
    { "a giant among many", 30, { 1, 2, 0, 3, 150, 1, 2, 1 }, { 2, 1, 3, 0, 300, 1, 5, 2 }, 5, 9 },
    { "at the edges of tiles", 4, { 63, 64, 65, 1 }, { 65, 128, 129, 63 }, 0, 1 },
    { "one query beside many keys", 3, { 1, 1, 1 }, { 127, 1, 257 }, 0, 0 },
};

/* Words in addition to the sizes; where positions matter they are aligned bottom right. */
static const char *const words[] = {
    "", "causal=br", "window=9:2 align=br", "chunk=8 align=br", "causal=tl", "softcap=3 sinks",
};

/* Configs that split keys, in addition to the kernels' default ones. */
static const char *const split[] = { "fwd_any_scalar_row__s4", "fwd_any_avx2_few__m4s4",
                                     "fwd_any_avx2_tile__m32n64s4" };

static float q[TOKENS_Q * HEADS_Q * DIM], k[TOKENS_K * HEADS_KV * DIM],
    v[TOKENS_K * HEADS_KV * DIM];
static float sinks[HEADS_Q] = { 0.5F, -1, 2, 0 };

/* The sequences of a set. */
typedef struct packing {
    int sequences, seq_q, seq_k, tokens_q, tokens_k;
    int32_t cu_q[SEQUENCES_MAX + 1], cu_k[SEQUENCES_MAX + 1];
    int64_t wide_q[SEQUENCES_MAX + 1], wide_k[SEQUENCES_MAX + 1];
} packing;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static packing pack(size_t set)
{
    packing p = { .sequences = sets[set].sequences, .seq_q = 1, .seq_k = 1 };
    for (int b = 0; b < p.sequences; b++) {
        const int n = sets[set].q[b < 8 ? b : 7], m = sets[set].k[b < 8 ? b : 7];
        p.cu_q[b + 1] = p.cu_q[b] + n;
        p.cu_k[b + 1] = p.cu_k[b] + m;
        p.seq_q = larger(p.seq_q, n);
        p.seq_k = larger(p.seq_k, m);
    }
    for (int b = 0; b <= p.sequences; b++) {
        p.wide_q[b] = p.cu_q[b];
        p.wide_k[b] = p.cu_k[b];
    }
    p.tokens_q = p.cu_q[p.sequences] + sets[set].behind_q;
    p.tokens_k = p.cu_k[p.sequences] + sets[set].behind_k;
    assert_true(p.tokens_q <= TOKENS_Q && p.tokens_k <= TOKENS_K);
    return p;
}

static void fill(float *data, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

/* Computes @spec with @kernel; returns false if the kernel does not support it. */
static bool run(heed_context *context, const char *kernel, const char *spec, heed_buffers buffers)
{
    const heed_problem problem = parsed(spec);
    buffers.sinks = sinks;
    return host_compute(context, &problem, kernel, buffers);
}

static void compare(const float *x, const float *expected, size_t count, const char *spec)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(x[i] - expected[i]) <= 2e-5F) && x[i] != expected[i])
            fail_msg("%s: element %zu is %g, not %g", spec, i, (double)x[i], (double)expected[i]);
}

/* Compares the sequences of @o and @lse, which are packed, one by one. */
static void compare_each(heed_context *context, const char *kernel, const char *more,
                         const packing *p, const float *o, const float *lse)
{
    for (int b = 0; b < p->sequences; b++) {
        const int queries = p->cu_q[b + 1] - p->cu_q[b], keys = p->cu_k[b + 1] - p->cu_k[b];
        static float own[TOKENS_Q * HEADS_Q * DIM], own_lse[HEADS_Q * TOKENS_Q];
        char spec[128];
        if (queries == 0)
            continue;
        memset(own, 0, sizeof own);
        for (int i = 0; i < HEADS_Q * queries; i++)
            own_lse[i] = strstr(more, "sinks") ? sinks[i / queries] : -INFINITY;
        snprintf(spec, sizeof spec, "b1 h%d/%d s%d/%d d%d f32 %s", HEADS_Q, HEADS_KV, queries, keys,
                 DIM, more);
        if (keys > 0)
            run(context, kernel, spec,
                (heed_buffers){ .q = q + p->cu_q[b] * HEADS_Q * DIM,
                                .k = k + p->cu_k[b] * HEADS_KV * DIM,
                                .v = v + p->cu_k[b] * HEADS_KV * DIM,
                                .o = own,
                                .lse = own_lse });
        compare(o + p->cu_q[b] * HEADS_Q * DIM, own, (size_t)queries * HEADS_Q * DIM, spec);
        for (int h = 0; h < HEADS_Q; h++)
            compare(lse + h * p->tokens_q + p->cu_q[b], own_lse + h * queries, (size_t)queries,
                    spec);
    }
}

/* Rows after the last sequence are unchanged. */
static void assert_untouched(const packing *p, const float *o, const float *lse)
{
    const int last = p->cu_q[p->sequences];
    for (int e = last * HEADS_Q * DIM; e < TOKENS_Q * HEADS_Q * DIM; e++)
        assert_true(o[e] == UNTOUCHED);
    for (int h = 0; h < HEADS_Q; h++)
        for (int t = last; t < p->tokens_q; t++)
            assert_true(lse[h * p->tokens_q + t] == UNTOUCHED);
}

/* Uses 64-bit cumulative lengths if @wide. Returns false if the kernel does not support the set. */
static bool try_set(heed_context *context, const char *kernel, const char *more, const packing *p,
                    bool wide)
{
    static float o[TOKENS_Q * HEADS_Q * DIM], lse[HEADS_Q * TOKENS_Q];
    char spec[160];
    for (size_t e = 0; e < sizeof o / sizeof *o; e++)
        o[e] = UNTOUCHED;
    for (size_t e = 0; e < sizeof lse / sizeof *lse; e++)
        lse[e] = UNTOUCHED;
    snprintf(spec, sizeof spec, "b%d h%d/%d s%d/%d d%d f32 varlen=%d/%d%s %s", p->sequences,
             HEADS_Q, HEADS_KV, p->seq_q, p->seq_k, DIM, p->tokens_q, p->tokens_k,
             wide ? " cu_q=i64 cu_k=i64" : "", more);
    if (!run(context, kernel, spec,
             (heed_buffers){ .q = q,
                             .k = k,
                             .v = v,
                             .o = o,
                             .lse = lse,
                             .cu_seqlens_q = wide ? (const void *)p->wide_q : p->cu_q,
                             .cu_seqlens_k = wide ? (const void *)p->wide_k : p->cu_k }))
        return false;
    compare_each(context, kernel, more, p, o, lse);
    assert_untouched(p, o, lse);
    return true;
}

static void test_like_each_by_itself(void **state)
{
    heed_context *context;
    size_t tried = 0;
    (void)state;
    fill(q, sizeof q / sizeof *q, 1);
    fill(k, sizeof k / sizeof *k, 2);
    fill(v, sizeof v / sizeof *v, 3);
    context = host_context(2);
    for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
        const packing p = pack(set);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            for (size_t n = 0; heed_kernel_name(n); n++)
                tried += try_set(context, heed_kernel_name(n), words[i], &p, (i + n) % 2 == 1);
            for (size_t n = 0; n < sizeof split / sizeof *split; n++)
                tried += try_set(context, split[n], words[i], &p, (i + n) % 2 == 1);
        }
    }
    assert_true(tried >= sizeof sets / sizeof *sets * (sizeof words / sizeof *words));
    heed_context_destroy(context);
}

/* Lengths beyond the keys of a sequence mean all of them. */
static void test_lengths_beyond_a_sequence(void **state)
{
    static float o[2][TOKENS_Q * HEADS_Q * DIM];
    static int32_t lengths[SEQUENCES_MAX];
    heed_context *context = host_context(2);
    const packing p = pack(0);
    size_t tried = 0;
    (void)state;
    fill(q, sizeof q / sizeof *q, 1);
    fill(k, sizeof k / sizeof *k, 2);
    fill(v, sizeof v / sizeof *v, 3);
    for (int b = 0; b < p.sequences; b++)
        lengths[b] = p.seq_k;
    for (size_t n = 0; heed_kernel_name(n); n++) {
        bool ran[2];
        memset(o, 0, sizeof o);
        for (int i = 0; i < 2; i++) {
            char spec[160];
            snprintf(spec, sizeof spec, "b%d h%d/%d s%d/%d d%d f32 varlen=%d/%d causal=br%s",
                     p.sequences, HEADS_Q, HEADS_KV, p.seq_q, p.seq_k, DIM, p.tokens_q, p.tokens_k,
                     i ? " lengths" : "");
            ran[i] = run(context, heed_kernel_name(n), spec,
                         (heed_buffers){ .q = q,
                                         .k = k,
                                         .v = v,
                                         .o = o[i],
                                         .lengths = lengths,
                                         .cu_seqlens_q = p.cu_q,
                                         .cu_seqlens_k = p.cu_k });
        }
        assert_int_equal(ran[0], ran[1]);
        tried += ran[0];
        compare(o[1], o[0], sizeof o[0] / sizeof o[0][0], heed_kernel_name(n));
    }
    assert_true(tried > 0);
    heed_context_destroy(context);
}

/* Work and memory depend on the number of tokens, however long a sequence may be. */
static void test_tasks_follow_tokens(void **state)
{
    const heed_problem many = parsed("b256 h32/8 s131072 d64 f32 varlen=2000");
    const heed_problem huge = parsed("b2147483648 h64 s2147483648 d64 f32 varlen=100");
    const heed_cut cut = { .block_rows = 8, .key_tile = 64, .splits = 4, .heads = 1 };
    heed_job job;
    (void)state;
    heed_job_init(&job, &many, &cut);
    assert_int_equal(heed_job_tasks(&job), 8 * 4 * (2000 * 4 / 8 + 256));
    assert_int_equal(heed_job_workspace(&many, &cut, 2, 128),
                     2 * 128 + 2000 * 32 * 4 * (64 + 2) * sizeof(float));
    heed_job_init(&job, &huge, &cut);
    assert_int_equal(heed_job_tasks(&job), 64 * 4 * (100 / 8 + HEED_SIZE_MAX));
}

static void test_too_many_tasks_are_refused(void **state)
{
    const heed_problem problem = parsed("b2147483648 h2147483648 s1 d1 f32 varlen=100");
    heed_context *context = host_context(2);
    heed_plan *plan;
    (void)state;
    assert_int_equal(heed_plan_create_named(&plan, context, &problem, "fwd_any_scalar_row__s64"),
                     HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "make more than 2^63 - 2 tasks"));
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    assert_true(heed_plan_workspace_size(plan) > 0);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static const bad_spec wrong[] = {
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
    expect_refused(wrong, sizeof wrong / sizeof *wrong);
}

/* Specs and their printed form. */
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
    expect_printed(printed, sizeof printed / sizeof *printed);
}

RUN_TESTS(test_like_each_by_itself, test_lengths_beyond_a_sequence, test_tasks_follow_tokens,
          test_too_many_tasks_are_refused, test_wrong_ones_are_refused, test_specs_are_printed)
