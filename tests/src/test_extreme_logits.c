/*
 * test_extreme_logits.c - every config of every CPU kernel with logits near the limits of float32
 *
 * All keys are copies of two vectors, so it is certain which logits are equal however they are
 * rounded. The output is the mean over the keys with the larger logit, and the LSE is that logit
 * plus the logarithm of their number.
 */
#include "run_tests.h"

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "lab/tensor/convert.h"
#include "problems.h"

#define ROWS 5
#define KEYS 300

typedef struct extreme {
    const char *spec; /* ROWS queries, up to KEYS keys, one head */
    double query;     /* every element of Q */
    double key;       /* every element of the keys that have the larger logit */
    double other;     /* every element of the other keys */
    int step;         /* the keys 0, step, 2 * step, ... have the larger logit */
} extreme;

static const extreme extremes[] = {
    { "b1 h1 s5/1 d64 f32", 1e5, 1e5, 0, 1 },
    { "b1 h1 s5/1 d64 f32", -1e5, 1e5, 0, 1 },
    { "b1 h1 s5/300 d64 f32", 1e5, 1e5, 0, 1 },
    { "b1 h1 s5/300 d64 f32", 1e5, 1e5, 5e4, 97 },
    { "b1 h1 s5/300 d64 f32", -1e5, 5e4, 1e5, 97 },
    { "b1 h1 s5/300 d64 f32 scale=-3", 1e5, 5e4, 1e5, 97 },
    { "b1 h1 s5/300 d100 f32 causal=br", 3e3, 7e3, 6e3, 7 },
    { "b1 h1 s5/300 d64 f32", 700, 800, 799, 97 },
    { "b1 h1 s5/300 d17 f32", 1e18, 1e18, -1e18, 130 },
    { "b1 h1 s5/300 d17 f32 scale=1e-30", 1e18, 1e18, -1e18, 130 },
    { "b1 h1 s5/300 d64 f32 scale=1", 1e17, 2e19, 1e19, 97 },
    { "b1 h1 s5/1 d64 f16", 6e4, 6e4, 0, 1 },
    { "b1 h1 s5/300 d64 f16", 6e4, 6e4, 5e4, 97 },
    { "b1 h1 s5/300 d80 f16", -6e4, 5e4, 6e4, 97 },
    { "b1 h1 s5/1 d64 bf16", 1e5, 1e5, 0, 1 },
    { "b1 h1 s5/300 d64 bf16", 1e5, 1e5, 5e4, 97 },
    { "b1 h1 s5/300 d65 bf16 scale=-0.7", 1e17, 2e18, 1e19, 97 },
};

typedef struct scene {
    heed_problem problem;
    heed_context *context;
    float q[ROWS * HEED_DIM_MAX], k[KEYS * HEED_DIM_MAX], v[KEYS * HEED_DIM_MAX];
    float o[ROWS * HEED_DIM_MAX], lse[ROWS];
    double value[KEYS]; /* value of every column of V */
    double query, key;  /* rounded to the type */
} scene;

static double rounded(const scene *s, double x)
{
    return lab_element_round(s->problem.type, x);
}

static void fill(scene *s, const extreme *e)
{
    heed_type type = s->problem.type;
    int64_t dim = s->problem.dim_qk;
    s->query = rounded(s, e->query);
    s->key = rounded(s, e->key);
    for (int64_t i = 0; i < s->problem.seq_q * dim; i++)
        lab_element_set(type, s->q, i, s->query);
    for (int64_t j = 0; j < s->problem.seq_k; j++) {
        s->value[j] = (double)(j % 11) - 3;
        for (int64_t c = 0; c < dim; c++) {
            lab_element_set(type, s->k, j * dim + c, j % e->step ? rounded(s, e->other) : s->key);
            lab_element_set(type, s->v, j * dim + c, s->value[j]);
        }
    }
}

static int64_t seen_by(const heed_problem *p, int64_t row)
{
    return p->mask == HEED_MASK_NONE ? p->seq_k : row + 1 + p->seq_k - p->seq_q;
}

static void judge(const scene *s, const extreme *e, const char *kernel)
{
    const heed_problem *p = &s->problem;
    double logit = (double)p->scale * s->query * s->key * (double)p->dim_qk;
    for (int64_t row = 0; row < p->seq_q; row++) {
        double sum = 0, count = 0;
        for (int64_t j = 0; j < seen_by(p, row); j += e->step) {
            sum += s->value[j];
            count++;
        }
        double lse = logit + log(count);
        double roundings = (double)p->dim_qk + 4; /* in the sum of the logit; after it */
        if (!(fabs((double)s->lse[row] - lse) <= roundings * 0x1p-24 * fabs(lse)))
            fail_msg("%s, %s: LSE %g instead of %g", e->spec, kernel, (double)s->lse[row], lse);
        for (int64_t c = 0; c < p->dim_v; c++) {
            double o = lab_element_get(p->type, s->o, row * p->dim_v + c);
            if (!(fabs(o - sum / count) <= 10 * lab_type_unit(p->type)))
                fail_msg("%s, %s: O %g instead of %g", e->spec, kernel, o, sum / count);
        }
    }
}

static bool run(scene *s, const char *kernel)
{
    const heed_buffers buffers = { .q = s->q, .k = s->k, .v = s->v, .o = s->o, .lse = s->lse };
    memset(s->o, 0xff, sizeof s->o);
    return host_compute(s->context, &s->problem, kernel, buffers);
}

/* V is @value everywhere, and so must be O. Returns the first element of O from @kernel. */
static double large_values(scene *s, const char *kernel, double value)
{
    const heed_problem *p = &s->problem;
    for (int64_t i = 0; i < p->seq_k * p->dim_v; i++)
        lab_element_set(p->type, s->v, i, value);
    return run(s, kernel) ? lab_element_get(p->type, s->o, 0) : value;
}

/* Below the bound of heed.h on (keys + 1) * max |v| results are right; above it, none is finite and
 * wrong. */
static void test_sums_of_large_values(void **state)
{
    static const char *const specs[] = { "b1 h1 s5/300 d64 f32", "b1 h1 s5/300 d64 bf16" };
    static scene s;
    char kernel[HEED_NAME_SIZE];
    s.context = host_context(1);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const extreme ones = { specs[i], 1, 1, 1, 1 };
        s.problem = parsed(specs[i]);
        fill(&s, &ones);
        const double within = rounded(&s, 5.6e35), beyond = rounded(&s, 3e38);
        for (size_t j = 0; heed_kernel_name(j); j++)
            for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++) {
                double unit = 8 * lab_type_unit(s.problem.type) + 300 * 0x1p-24;
                double o = large_values(&s, kernel, within);
                if (!(fabs(o / within - 1) <= unit))
                    fail_msg("%s, %s: O %g instead of %g", specs[i], kernel, o, within);
                o = large_values(&s, kernel, beyond);
                if (isfinite(o) && !(fabs(o / beyond - 1) <= unit))
                    fail_msg("%s, %s: O %g instead of %g", specs[i], kernel, o, beyond);
            }
    }
    heed_context_destroy(s.context);
}

/* Denormal weights would make each product with them a hundred times as slow, so kernels take them
 * for zeros: keys with a weight of 2^-126.4 and huge values leave O as it is without them. */
static void test_denormal_weights_are_zeros(void **state)
{
    static scene s;
    const extreme e = { "b1 h1 s5/300 d64 f32 scale=1", 1, 0, -126.4 * 0.6931471805599453 / 64, 7 };
    heed_options options = { .size = sizeof options, .threads = 1 };
    char kernel[HEED_NAME_SIZE];
    assert_int_equal(heed_context_create(&s.context, &options), HEED_OK);
    assert_int_equal(heed_problem_parse(&s.problem, e.spec), HEED_OK);
    fill(&s, &e);
    for (int64_t i = 0; i < s.problem.seq_k * s.problem.dim_v; i++)
        lab_element_set(s.problem.type, s.v, i, i / s.problem.dim_v % e.step ? 5e35 : 1);
    for (size_t j = 0; heed_kernel_name(j); j++)
        for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++)
            if (run(&s, kernel) && fabsf(s.o[0] - 1) > 0x1p-20F)
                fail_msg("%s, %s: O %g instead of 1", e.spec, kernel, (double)s.o[0]);
    heed_context_destroy(s.context);
}

/* A sum of denormal products would be as slow, so it is zero on x86, and the caller's modes are
 * left as they were. */
static void test_denormal_sums_are_zeros(void **state)
{
#ifdef __SSE__
    static scene s;
    const extreme e = { "b1 h1 s5/300 d64 f32 scale=1", 1, 0, 0, 7 };
    char kernel[HEED_NAME_SIZE];
    s.context = host_context(1);
    s.problem = parsed(e.spec);
    fill(&s, &e);
    for (int64_t i = 0; i < s.problem.seq_k * s.problem.dim_v; i++)
        lab_element_set(s.problem.type, s.v, i, 0x1p-130);
    for (size_t j = 0; heed_kernel_name(j); j++)
        for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++)
            if (run(&s, kernel) && s.o[0] != 0)
                fail_msg("%s, %s: O %g instead of 0", e.spec, kernel, (double)s.o[0]);
    assert_int_equal(__builtin_ia32_stmxcsr() & 0x8000, 0); /* no longer flushed to zero */
    heed_context_destroy(s.context);
#endif
}

/* Kernels do not compute with memory of the workspace that they have not written, whose numbers may
 * be denormal, and slow: they raise no exception for a signalling NaN there. */
static void test_unwritten_workspace(void **state)
{
    static const char *const specs[] = { "b1 h1 s5/1 d64 f32", "b1 h1 s1/17 d64 f32",
                                         "b1 h1 s5/300 d17 f32", "b1 h1 s5/44 d64 bf16 causal=br" };
    static _Alignas(HEED_ALIGNMENT) uint32_t memory[1 << 20];
    static scene s;
    heed_options options = { .size = sizeof options, .threads = 1 };
    char kernel[HEED_NAME_SIZE];
    assert_int_equal(heed_context_create(&s.context, &options), HEED_OK);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const extreme ones = { specs[i], 1, 1, 1, 1 };
        s.problem = parsed(specs[i]);
        fill(&s, &ones);
        for (size_t j = 0; heed_kernel_name(j); j++)
            for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++) {
                heed_plan *plan;
                if (heed_plan_create_named(&plan, s.context, &s.problem, kernel) != HEED_OK)
                    continue;
                heed_buffers buffers = plain_buffers(s.q, s.k, s.v, s.o);
                buffers.lse = s.lse;
                buffers.workspace = memory;
                buffers.workspace_size = heed_plan_workspace_size(plan);
                assert_true(buffers.workspace_size <= sizeof memory);
                for (size_t w = 0; w < sizeof memory / sizeof *memory; w++)
                    memory[w] = 0x7fa00000;
                feclearexcept(FE_INVALID);
                assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
                if (fetestexcept(FE_INVALID))
                    fail_msg("%s, %s: it has computed with an unwritten number", specs[i], kernel);
                heed_plan_destroy(plan);
            }
    }
    heed_context_destroy(s.context);
}

static void test_every_finite_logit_counts(void **state)
{
    static scene s;
    char kernel[HEED_NAME_SIZE];
    int runs = 0;
    s.context = host_context(1);
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        s.problem = parsed(extremes[i].spec);
        fill(&s, &extremes[i]);
        for (size_t j = 0; heed_kernel_name(j); j++)
            for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++) {
                if (!run(&s, kernel))
                    continue;
                judge(&s, &extremes[i], kernel);
                runs++;
            }
    }
    heed_context_destroy(s.context);
    assert_true(runs >= (int)(sizeof extremes / sizeof *extremes));
}

RUN_TESTS(test_every_finite_logit_counts, test_sums_of_large_values,
          test_denormal_weights_are_zeros, test_denormal_sums_are_zeros, test_unwritten_workspace)
