/*
 * test_emulated_far.c - the CUDA kernels on logits far from zero, on the emulator
 *
 * Scores are sums of two products of powers of two and small integers. They are exact in float32 in
 * any order, so rounding does not affect their softmax.
 *
 *     test_emulated_far [sample]
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulated.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/reference.h"
#include "problem/problem.h"

/* A sample has one case in this many. */
#define SAMPLE_EVERY 5
#define SAMPLE_SEED 18

/* Selects the keys with large scores; the scores of all others are small. */
typedef enum keys {
    ALL,
    FIRST_HALF,
    LAST_HALF,
    SOME
} keys;

/* Rows alternate: far above zero, near it, far below. */
typedef struct values {
    const char *name;
    double query, key; /* far scores are plus and minus their product */
    double step;       /* scores differ by small multiples of it */
    keys keys;
    float scale;
    int sign; /* of all rows; 0: rows alternate */
} values;

static const values tried[] = {
    { "about 2^24", 0x1p15, 0x1p15, 128, ALL, 0x1p-6f, 0 },
    { "about 2^24, of keys at the end", 0x1p15, 0x1p15, 128, LAST_HALF, 0x1p-6f, 0 },
    { "2^27", 0x1p15, 0x1p15, 128, SOME, 0x1p-3f, 0 },
    { "2^27 and a negative scale", 0x1p15, 0x1p15, 128, FIRST_HALF, -0x1p-3f, 0 },
    { "2^32 and a large scale", 0x1p15, 0x1p15, 128, LAST_HALF, 4.0f, 0 },
    { "2^34 and a larger scale", 0x1p15, 0x1p15, 128, LAST_HALF, 16.0f, 0 },
    { "all equal", 20000, 20000, 0, ALL, 0, 1 },
    { "all equal below zero", 20000, 20000, 0, ALL, 0, -1 },
    { "2^200, whose products are infinite", 0x1p100, 0x1p100, 0, SOME, 0, 0 },
    { "2^120", 0x1p60, 0x1p60, 0, SOME, 0, 0 },
    { "2^120 and a small scale", 0x1p60, 0x1p60, 0, LAST_HALF, 0x1p-70f, 0 },
    { "2^100 and a large scale", 0x1p40, 0x1p40, 0, FIRST_HALF, 0x1p20f, 0 },
};
#define TRIED (sizeof tried / sizeof tried[0])

/* Sizes, and the number of blocks that share the keys. */
typedef struct shape {
    const char *sizes;
    unsigned splits;
} shape;

static const shape shapes[] = { { "b1 h2/1 s10/330", 1 }, { "b1 h1 s7/330", 5 } };
#define SHAPES (sizeof shapes / sizeof shapes[0])

typedef struct scene {
    heed_problem problem;
    heed_buffers data;
    float *lse;
} scene;

static void *tensor_new(const heed_problem *problem, int index)
{
    heed_tensor t = heed_problem_tensor(problem, index);
    return test_calloc((size_t)(t.batch * t.seq * t.heads * t.dim) + 8,
                       heed_type_size(problem->type));
}

static bool is_far_key(const values *it, int64_t key, int64_t count)
{
    switch (it->keys) {
    case ALL:
        return true;
    case FIRST_HALF:
        return key < count / 2;
    case LAST_HALF:
        return key >= count / 2;
    default:
        return key % 71 == 5;
    }
}

static void fill_q(const scene *s, const values *it)
{
    const heed_problem *p = &s->problem;
    for (int64_t row = 0; row < p->seq_q * p->heads_q; row++) {
        int64_t at = row * p->dim_qk;
        double sign = it->sign ? it->sign : (double)(1 - row % 3);
        lab_element_set(p->type, (void *)s->data.q, at, sign * it->query);
        if (p->dim_qk > 1)
            lab_element_set(p->type, (void *)s->data.q, at + p->dim_qk - 1, it->step);
    }
}

static void fill_keys(const scene *s, const values *it)
{
    const heed_problem *p = &s->problem;
    for (int64_t key = 0; key < p->seq_k; key++) {
        int64_t at = key * p->dim_qk;
        double small = (double)lab_random_below(1, (uint64_t)key, 5);
        lab_element_set(p->type, (void *)s->data.k, at,
                        is_far_key(it, key, p->seq_k) ? it->key : 0);
        if (p->dim_qk > 1)
            lab_element_set(p->type, (void *)s->data.k, at + p->dim_qk - 1, small);
        for (int64_t c = 0; c < p->dim_v; c++)
            lab_element_set(p->type, (void *)s->data.v, key * p->dim_v + c,
                            lab_random_normal(2, (uint64_t)(key * p->dim_v + c)));
    }
}

/* Compares an output of a row, in multiples of @unit: weights and values are rounded. */
static bool is_close(double value, double expected, double unit)
{
    return isfinite(expected) ? fabs(value - expected) <= 16 * unit : !isfinite(value);
}

/* Returns the error of a row, or NULL. A logit is infinite if its product overflows in float32; it
 * does not in float64, so rows with one are checked by @infinite. */
static const char *wrong_row(const scene *s, lab_row row, double *weights)
{
    const heed_problem *p = &s->problem;
    double o[HEED_DIM_MAX], lse;
    int64_t at = row.query * p->heads_q + row.head;
    lab_reference_row(p, &s->data, row, weights, o, &lse);
    float got = s->lse[row.head * p->seq_q + row.query];
    bool overflows = fabs(lse) > 3.4e38;
    if (overflows ? isfinite(got) : fabs((double)got - lse) > 1e-3 + 4e-7 * fabs(lse))
        return "LSE";
    for (int64_t c = 0; c < p->dim_v; c++) {
        double value = lab_element_get(p->type, s->data.o, at * p->dim_v + c);
        double wanted = !overflows ? o[c] : lse > 0 ? NAN : 0;
        if (!is_close(value, wanted, lab_type_unit(p->type == HEED_F32 ? HEED_F16 : p->type)))
            return "O";
    }
    return NULL;
}

static bool check(const scene *s, const emulated *it, const values *of, const shape *sizes)
{
    double *weights = test_calloc((size_t)s->problem.seq_k, sizeof *weights);
    int64_t failed = 0, rows = lab_rows(&s->problem);
    for (int64_t n = 0; n < rows; n++) {
        const char *wrong = wrong_row(s, lab_row_at(&s->problem, n), weights);
        failed += wrong != NULL;
        if (wrong && failed == 1)
            print_message("%s, %s, %s: %s of row %lld (LSE %g)\n", it->config->aligned->name,
                          sizes->sizes, of->name, wrong, (long long)n, (double)s->lse[n]);
    }
    test_free(weights);
    return failed == 0;
}

/* Tries one kernel with some values. Not all values apply to every type: products of float16 do not
 * overflow, and sums of one column have no steps. */
static bool try_values(const emulated_config *config, const values *of, const shape *sizes)
{
    const emulated_kernel *kernel = config->aligned;
    emulated it = { .config = config };
    const lab_subject subject = emulated_subject(&it);
    char spec[96];
    scene s;
    lab_needs needs;
    snprintf(spec, sizeof spec, "%s d%d/%d %s %s", sizes->sizes, kernel->dim_qk, kernel->dim_v,
             heed_type_name(kernel->type), kernel->masked ? "causal=br" : "");
    assert_int_equal(heed_problem_parse(&s.problem, spec), HEED_OK);
    it.splits = emulated_splits(kernel, sizes->splits, s.problem.seq_k);
    s.problem.scale = of->scale;
    assert_int_equal(heed_problem_normalize(&s.problem, &s.problem), HEED_OK);
    s.lse = test_calloc((size_t)(s.problem.heads_q * s.problem.seq_q), sizeof *s.lse);
    s.data = (heed_buffers){ .size = sizeof(heed_buffers),
                             .q = tensor_new(&s.problem, 0),
                             .k = tensor_new(&s.problem, 1),
                             .v = tensor_new(&s.problem, 2),
                             .o = tensor_new(&s.problem, 3),
                             .lse = s.lse };
    fill_q(&s, of);
    fill_keys(&s, of);
    assert_int_equal(subject.prepare(&it, &s.problem, &needs), HEED_OK);
    bool fine = subject.run(&it, &s.data) == HEED_OK && check(&s, &it, of, sizes);
    if (it.stopped)
        print_message("%s\n", it.worst);
    test_free((void *)s.data.q);
    test_free((void *)s.data.k);
    test_free((void *)s.data.v);
    test_free(s.data.o);
    test_free(s.lse);
    return fine;
}

static void test_far_logits(void **state)
{
    const int64_t *every = *state;
    size_t failed = 0;
    uint64_t tries = 0;
    for (const emulated_config *config = emulated_configs; config->aligned; config++) {
        if (config->aligned->half || config->aligned->shared_v || /* V is separate here */
            strstr(config->aligned->name, "candidate"))
            continue; /* scores end at 65504 or are rounded products; heed chooses neither */
        for (size_t i = 0; i < TRIED * SHAPES; i++) {
            const values *of = &tried[i / SHAPES];
            if (of->query > 65504 && config->aligned->type == HEED_F16)
                continue;
            if (i % SHAPES > 0 && !config->aligned->combine)
                continue;
            if (lab_random_below(SAMPLE_SEED, tries++, *every) == 0)
                failed += !try_values(config, of, &shapes[i % SHAPES]);
        }
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    int64_t every = argc > 1 && strcmp(argv[1], "sample") == 0 ? SAMPLE_EVERY : 1;
    test_list tests = TEST_LIST(test_far_logits);
    tests.state = &every;
    return run_test_list(tests, NULL, NULL);
}
