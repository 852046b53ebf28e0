/*
 * test_expect.c - rows selected for checking, and their error budgets
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"
#include "lab/verify/inputs.h"
#include "lab/verify/reference/expect.h"
#include "lab/verify/reference/reference.h"

typedef struct question {
    lab_values values;
    lab_expect *expect;
} question;

static void ask(question *q, const char *spec, const char *inputs, int64_t work, int threads)
{
    const lab_sampling sampling = { .seed = 4, .work = work, .threads = threads };
    heed_problem problem;
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    assert_int_equal(lab_values_create(&q->values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find(inputs), &q->values, 1);
    heed_buffers data = lab_values_buffers(&q->values);
    assert_int_equal(lab_expect_create(&q->expect, &problem, &data, &sampling), HEED_OK);
}

static void done(question *q)
{
    lab_values_destroy(&q->values);
    lab_expect_destroy(q->expect);
}

static double norm(const double *o, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += o[c] * o[c];
    return sqrt(sum);
}

static void test_small_problems_are_seen_whole(void **state)
{
    question q;
    ask(&q, "b2 h3 s7 d4 f32", "normal", (int64_t)1 << 20, 1);
    assert_int_equal(q.expect->count, 42);
    for (int64_t i = 0; i < 42; i++)
        assert_int_equal(q.expect->rows[i], i);
    done(&q);
}

static void test_large_ones_are_sampled(void **state)
{
    question q;
    ask(&q, "b2 h2 s1000 d4 f32", "normal", 8000 * 50, 1);
    assert_true(q.expect->count > 40 && q.expect->count <= 50);
    assert_int_equal(q.expect->rows[0], 0);
    assert_int_equal(q.expect->rows[q.expect->count - 1], 3999);
    bool first_end = false, last_start = false;
    for (int64_t i = 0; i < q.expect->count; i++) {
        first_end = first_end || q.expect->rows[i] == 999;
        last_start = last_start || q.expect->rows[i] == 3000;
        assert_true(i == 0 || q.expect->rows[i] > q.expect->rows[i - 1]);
    }
    assert_true(first_end && last_start);
    done(&q);
    ask(&q, "b1 h1 s1000 d4 f32", "normal", 1, 1);
    assert_int_equal(q.expect->count, 4); /* however small the amount of work allowed */
    done(&q);
}

static void test_threads_change_nothing(void **state)
{
    question a, b;
    ask(&a, "b1 h3 s30 d8 bf16 causal", "normal", (int64_t)1 << 20, 1);
    ask(&b, "b1 h3 s30 d8 bf16 causal", "normal", (int64_t)1 << 20, 7);
    assert_memory_equal(a.expect->o, b.expect->o, 90 * 8 * sizeof(double));
    assert_memory_equal(a.expect->o_budget, b.expect->o_budget, 90 * sizeof(double));
    assert_memory_equal(a.expect->lse_budget, b.expect->lse_budget, 90 * sizeof(double));
    done(&a);
    done(&b);
}

/* A few hundredths for bf16, thousandths for f16, ten-thousandths for f32, and more than one
 * rounding. */
static void test_budgets_are_tight(void **state)
{
    static const struct {
        const char *spec;
        double largest;
        double unit;
    } cases[] = {
        { "b1 h2 s64 d64 f32", 5e-6, 0x1p-24 },     { "b1 h2 s64 d64 f16", 5e-3, 0x1p-11 },
        { "b1 h2 s64 d64 bf16", 0.03, 0x1p-8 },     { "b1 h1 s4/4096 d32 f32", 1e-4, 0x1p-24 },
        { "b1 h1 s4/4096 d32 bf16", 0.03, 0x1p-8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        question q;
        ask(&q, cases[i].spec, "normal", (int64_t)1 << 20, 1);
        for (int64_t r = 0; r < q.expect->count; r++) {
            double size = norm(q.expect->o + r * q.expect->dim, q.expect->dim);
            assert_true(q.expect->o_budget[r] < cases[i].largest * size);
            assert_true(q.expect->o_budget[r] > 3 * cases[i].unit * size);
            assert_true(q.expect->lse_budget[r] < 1e-4 && q.expect->lse_budget[r] > 0x1p-24);
        }
        done(&q);
    }
}

/* With equal values, one sum over all keys has an RMS error of 11 units, one in parts of 128 keys
 * of 4. */
static void test_long_sums_are_made_in_parts(void **state)
{
    const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1, .own = true };
    question q;
    ask(&q, "b1 h1 s8/2048 d64 f32", "normal", 1, 1);
    lab_expect_destroy(q.expect);
    void *v = lab_values_data(&q.values, LAB_V);
    for (int64_t i = 0; i < 2048 * 64; i++)
        lab_element_set(HEED_F32, v, i, 1 + 0.1 * lab_element_get(HEED_F32, v, i));
    heed_buffers data = lab_values_buffers(&q.values);
    assert_int_equal(lab_expect_create(&q.expect, &q.values.problem, &data, &sampling), HEED_OK);
    for (int64_t r = 0; r < q.expect->count; r++) {
        double budget = q.expect->o_budget[r] / norm(q.expect->o + r * 64, 64) * 0x1p24;
        assert_true(budget > 6 && budget < 16);
    }
    done(&q);
}

/* Half-precision accumulation has a larger budget, which is still tight. */
static void test_half_precision_has_its_own_budget(void **state)
{
    question whole, half;
    ask(&whole, "b1 h1 s8/1024 d64 f16", "normal", (int64_t)1 << 20, 1);
    ask(&half, "b1 h1 s8/1024 d64 f16 acc=f16", "normal", (int64_t)1 << 20, 1);
    for (int64_t r = 0; r < 8; r++) {
        double size = norm(half.expect->o + r * 64, 64);
        assert_true(half.expect->o_budget[r] > 2 * whole.expect->o_budget[r]);
        assert_true(half.expect->o_budget[r] < 0.05 * size);
        assert_true(half.expect->lse_budget[r] > 10 * whole.expect->lse_budget[r]);
        assert_true(half.expect->lse_budget[r] < 0.01);
    }
    done(&whole);
    done(&half);
}

/* Products of rounded operands have budgets that match their unit roundoff, and exceed one
 * rounding. */
static void test_rounded_operands_have_their_own_budget(void **state)
{
    static const text_real cases[] = {
        { "b1 h2 s64 d64 f32 products=tf32", 0x1p-11 },
        { "b1 h2 s64 d64 f32 products=bf16x3", 0x1p-16 },
        { "b1 h1 s4/4096 d32 f32 products=tf32", 0x1p-11 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        question q;
        ask(&q, cases[i].text, "normal", (int64_t)1 << 20, 1);
        for (int64_t r = 0; r < q.expect->count; r++) {
            double size = norm(q.expect->o + r * q.expect->dim, q.expect->dim);
            double o = q.expect->o_budget[r] / cases[i].value, lse = q.expect->lse_budget[r];
            assert_true(o > 3 * size && o < 16 * size);
            assert_true(lse > 2 * cases[i].value && lse < 20 * cases[i].value);
        }
        done(&q);
    }
}

/* Column 0 of Q and K, of two keys, makes the logits; returns whether row 0 is judged. */
static bool is_judged(const char *spec, double query, double key, double other, double value)
{
    question q;
    ask(&q, spec, "normal", (int64_t)1 << 20, 1);
    const double columns[][2] = { { query, query }, { key, other }, { value, value } };
    for (int role = LAB_Q; role < LAB_VECTORS; role++)
        for (int s = 0; s < 2; s++) {
            void *data = lab_values_data(&q.values, (lab_role)role);
            lab_element_set(HEED_F16, data, 2 * s, columns[role][s]);
            lab_element_set(HEED_F16, data, 2 * s + 1, 0);
        }
    const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1 };
    heed_buffers data = lab_values_buffers(&q.values);
    lab_expect *expect;
    assert_int_equal(lab_expect_create(&expect, &q.values.problem, &data, &sampling), HEED_OK);
    bool judged = isfinite(expect->o_budget[0]);
    assert_true(isfinite(expect->lse_budget[0]) == judged);
    lab_expect_destroy(expect);
    done(&q);
    return judged;
}

static void test_rows_that_may_overflow_are_not_judged(void **state)
{
    const char *half = "b1 h1 s2 d2 f16 acc=f16";
    assert_true(is_judged(half, 255, 255, 0, 1));
    assert_false(is_judged(half, 256, 256, 0, 1));
    assert_true(is_judged("b1 h1 s2 d2 f16", 256, 256, 0, 1));
    assert_true(is_judged(half, -256, 256, 0, 1)); /* to -infinity, and far below the other key */
    assert_false(is_judged(half, -256, 256, 256, 1));
    assert_true(is_judged("b1 h1 s2 d2 f16 acc=f16 scale=-1", 256, 256, 0, 1));
    assert_true(is_judged(half, 0, 1, 1, 32000)); /* weights of 1 before the division */
    assert_false(is_judged(half, 0, 1, 1, 33000));
}

/* The mean of V, which a flat tolerance accepts as attention, is far off in every row. */
static void test_the_mean_of_values_is_far_out(void **state)
{
    question q;
    ask(&q, "b1 h1 s8/2048 d64 bf16", "normal", (int64_t)1 << 22, 1);
    double mean[64] = { 0 };
    for (int64_t j = 0; j < 2048; j++)
        for (int64_t c = 0; c < 64; c++)
            mean[c] += lab_element_get(HEED_BF16, lab_values_data(&q.values, LAB_V), j * 64 + c) /
                       2048;
    for (int64_t r = 0; r < q.expect->count; r++) {
        double difference[64];
        for (int64_t c = 0; c < 64; c++)
            difference[c] = mean[c] - q.expect->o[r * 64 + c];
        assert_true(norm(difference, 64) > 10 * q.expect->o_budget[r]);
    }
    done(&q);
}

static void test_empty_rows_are_zero_to_the_bit(void **state)
{
    question q;
    ask(&q, "b1 h1 s4/2 d8 f16 causal=br", "normal", (int64_t)1 << 20, 1);
    assert_true(q.expect->lse[0] == -INFINITY && q.expect->o[0] == 0);
    assert_true(q.expect->o_budget[0] == 0 && q.expect->lse_budget[0] == 0);
    assert_true(q.expect->o_budget[3] > 0);
    done(&q);
}

/* If all logits are -infinity, heed promises zeros, and the formula gives NaN. */
static void test_weightless_rows_have_no_budgets(void **state)
{
    for (int own = 0; own < 2; own++) {
        const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1, .own = own != 0 };
        question q;
        ask(&q, "b1 h1 s4 d8 f32 causal", "normal", (int64_t)1 << 20, 1);
        lab_expect_destroy(q.expect);
        lab_element_set(HEED_F32, lab_values_data(&q.values, LAB_K), 3, 1);
        lab_element_set(HEED_F32, lab_values_data(&q.values, LAB_K), 11, -1);
        lab_element_set(HEED_F32, lab_values_data(&q.values, LAB_Q), 3, -INFINITY);
        lab_element_set(HEED_F32, lab_values_data(&q.values, LAB_Q), 11, -INFINITY);
        heed_buffers data = lab_values_buffers(&q.values);
        assert_int_equal(lab_expect_create(&q.expect, &q.values.problem, &data, &sampling),
                         HEED_OK);
        assert_true(q.expect->lse[0] == -INFINITY && q.expect->o[0] == 0);
        assert_true(q.expect->o_budget[0] == (own ? 0 : INFINITY));
        assert_true(q.expect->lse_budget[0] == (own ? 0 : INFINITY));
        assert_true(lab_expect_weightless(q.expect, 0) == !own);
        assert_true(isnan(q.expect->o[8]) && isfinite(q.expect->o_budget[1]));
        assert_false(lab_expect_weightless(q.expect, 1));
        done(&q);
    }
}

/* An output, and the element that lab_expect_misplaced() objects to. */
typedef struct placement {
    double o[2];
    float lse;
    int64_t others; /* of a weightless row of a foreign kernel; 2: none */
    int64_t heeds;  /* of one of heed's, or of a row that sees no key; errors are judged there */
} placement;

static void place_all(const lab_expect *expect, int64_t i, bool own)
{
    static const placement placements[] = {
        { { 0, 0 }, -INFINITY, 2, 2 },        { { -0.0, 0 }, -INFINITY, 2, 2 },
        { { NAN, NAN }, NAN, 2, -1 },         { { 0, NAN }, -INFINITY, 2, 1 },
        { { NAN, 0 }, -INFINITY, 2, 0 },      { { 0, 0 }, NAN, 2, -1 },
        { { 0, 0x1p-149 }, NAN, 1, -1 },      { { 0.5, 0 }, -INFINITY, 0, 2 },
        { { 0, INFINITY }, -INFINITY, 1, 1 }, { { -INFINITY, NAN }, -INFINITY, 0, 0 },
        { { 0, 0 }, INFINITY, -1, -1 },       { { 0, 0 }, -1e30F, -1, -1 },
        { { NAN, NAN }, 0, -1, -1 },          { { 3, 3 }, 3, -1, -1 },
    };
    for (size_t n = 0; n < sizeof placements / sizeof *placements; n++) {
        const placement *it = &placements[n];
        int64_t due = own ? it->heeds : it->others;
        assert_int_equal(lab_expect_misplaced(expect, i, it->o, &it->lse), due);
        if (due >= 0) /* otherwise the LSE is the reason */
            assert_int_equal(lab_expect_misplaced(expect, i, it->o, NULL), due);
    }
}

/* Foreign kernels may give 0 or NaN there, and -infinity or NaN for the LSE, and nothing else. */
static void test_what_weightless_rows_may_give(void **state)
{
    for (int own = 0; own < 2; own++) {
        const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1, .own = own != 0 };
        question q;
        ask(&q, "b1 h1 s5/4 d2 f32 causal=br", "weightless", (int64_t)1 << 20, 1);
        lab_expect_destroy(q.expect);
        heed_buffers data = lab_values_buffers(&q.values);
        assert_int_equal(lab_expect_create(&q.expect, &q.values.problem, &data, &sampling),
                         HEED_OK);
        assert_int_equal(q.expect->count, 5);
        assert_true(q.expect->lse[0] == -INFINITY && q.expect->lse[4] == -INFINITY);
        place_all(q.expect, 0, true); /* it sees no key */
        place_all(q.expect, 4, own);
        done(&q);
    }
}

/* Half-precision sums may overflow there, but must not affect the result. */
static void test_weightless_rows_in_half_precision(void **state)
{
    const double mean[64] = { 0.5 }, zeros[64] = { 0 };
    const float lse = -INFINITY;
    question q;
    ask(&q, "b1 h1 s4 d64 f16 acc=f16", "weightless", (int64_t)1 << 20, 1);
    assert_true(lab_expect_weightless(q.expect, 3));
    assert_int_equal(lab_expect_misplaced(q.expect, 3, mean, &lse), 0);
    assert_int_equal(lab_expect_misplaced(q.expect, 3, zeros, &lse), 64);
    done(&q);
}

/* The error of a row in float32 whose weights are exp(logit - LSE), relative to its budget. */
static double lse_first(const question *q, int64_t i)
{
    const lab_values *values = &q->values;
    const int64_t dim = q->expect->dim, row = q->expect->rows[i], keys = values->problem.seq_k;
    const float *query = (const float *)lab_values_data(values, LAB_Q) + row * dim;
    const float *k = lab_values_data(values, LAB_K), *v = lab_values_data(values, LAB_V);
    float logits[64], o[64] = { 0 }, most = -INFINITY, sum = 0;
    double error = 0;
    for (int64_t j = 0; j < keys; j++) {
        logits[j] = 0;
        for (int64_t c = 0; c < dim; c++)
            logits[j] += query[c] * k[j * dim + c];
        logits[j] *= values->problem.scale;
        most = fmaxf(most, logits[j]);
    }
    int64_t key = 0;
    do /* there is at least one */
        sum += expf(logits[key] - most);
    while (++key < keys);
    float lse = most + logf(sum);
    for (int64_t j = 0; j < keys; j++)
        for (int64_t c = 0; c < dim; c++)
            o[c] += expf(logits[j] - lse) * v[j * dim + c];
    for (int64_t c = 0; c < dim; c++)
        error += pow((double)o[c] - q->expect->o[i * dim + c], 2);
    return sqrt(error) / q->expect->o_budget[i];
}

/* A correct foreign kernel may compute the LSE first; heed's own do not. */
static void test_weights_may_be_made_of_the_lse(void **state)
{
    int beyond[2] = { 0 };
    for (uint64_t seed = 0; seed < 400; seed++) {
        const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1, .own = seed % 2 };
        question q;
        ask(&q, "b1 h1 s32 d16 f32", "normal", 1, 1);
        lab_expect_destroy(q.expect);
        lab_inputs_fill(lab_inputs_find(seed % 4 < 2 ? "needle" : "tails"), &q.values, seed / 2);
        heed_buffers data = lab_values_buffers(&q.values);
        assert_int_equal(lab_expect_create(&q.expect, &q.values.problem, &data, &sampling),
                         HEED_OK);
        for (int64_t i = 0; i < q.expect->count; i++)
            beyond[seed % 2] += lse_first(&q, i) > 1;
        done(&q);
    }
    assert_int_equal(beyond[0], 0);
    assert_true(beyond[1] > 0);
}

/* Columns with a NaN are left out of the budget, the others are not. */
static void test_budgets_of_rows_with_nan_are_finite(void **state)
{
    question q;
    ask(&q, "b1 h1 s4 d8 f32", "normal", (int64_t)1 << 20, 1);
    lab_element_set(HEED_F32, lab_values_data(&q.values, LAB_V), 3, NAN);
    heed_buffers data = lab_values_buffers(&q.values);
    const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1 };
    lab_expect *expect;
    assert_int_equal(lab_expect_create(&expect, &q.values.problem, &data, &sampling), HEED_OK);
    assert_true(isnan(expect->o[3]) && isfinite(expect->o[2]));
    assert_true(isfinite(expect->o_budget[0]) && expect->o_budget[0] > 0);
    lab_expect_destroy(expect);
    done(&q);
}

/* -------------------------------------------------------------------------- */
/* Tied rows                                                                  */
/* -------------------------------------------------------------------------- */

/* Computes the expected row for two keys with logits @logit and (1 + @part) times as much; the
 * third is much lower. The sink, if there is one, is @sink. */
static void ask_of_two(question *q, const char *spec, double logit, double part, double sink)
{
    const lab_sampling sampling = { .seed = 4, .work = 1 << 20, .threads = 1, .own = true };
    const double keys[] = { 1, 1 + part, logit > 0 ? 0.5 : 2 };
    ask(q, spec, "normal", 1, 1);
    lab_expect_destroy(q->expect);
    lab_element_set(HEED_F32, lab_values_data(&q->values, LAB_Q), 0, logit);
    for (int64_t j = 0; j < 3; j++)
        lab_element_set(HEED_F32, lab_values_data(&q->values, LAB_K), j, keys[j]);
    if (q->values.problem.sinks.type)
        lab_data_set(HEED_DATA_F32, lab_values_data(&q->values, LAB_SINKS), 0, sink);
    heed_buffers data = lab_values_buffers(&q->values);
    assert_int_equal(lab_expect_create(&q->expect, &q->values.problem, &data, &sampling), HEED_OK);
}

/* Distance between the values of key @j and the expected output. */
static double away(const question *q, int64_t j)
{
    double difference[8];
    for (int64_t c = 0; c < 8; c++)
        difference[c] = lab_element_get(HEED_F32, lab_values_data(&q->values, LAB_V), j * 8 + c) -
                        q->expect->o[c];
    return norm(difference, 8);
}

static void test_either_key_of_a_tie_may_win(void **state)
{
    static const struct {
        double logit, part;
        bool tied;
    } cases[] = {
        { 0x1p90, 0x1p-23, true },   { 0x1p40, 0x1p-22, true },  { 0x1p40, 0, true },
        { -0x1p60, 0x1p-23, true },  { 0x1p90, 0x1p-20, false }, { 0x1p40, 0x1p-12, false },
        { -0x1p60, 0x1p-20, false }, { 0x1p16, 0x1p-22, false }, { 0x1p10, 0, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        question q;
        ask_of_two(&q, "b1 h1 s1/3 d1/8 f32 scale=1", cases[i].logit, cases[i].part, 0);
        double size = norm(q.expect->o, 8), budget = q.expect->o_budget[0];
        double least = fmin(away(&q, 0), away(&q, 1)), most = fmax(away(&q, 0), away(&q, 1));
        if (q.expect->tied[0] != cases[i].tied)
            fail_msg("case %zu is%s tied", i, cases[i].tied ? " not" : "");
        assert_true((most <= budget) == cases[i].tied); /* and no more than that */
        assert_true(budget < (cases[i].tied ? most + 3 * least : 0.1 * most) + 1e-5 * size);
        done(&q);
    }
}

/* A sink is tied like a key of value 0. */
static void test_a_sink_may_be_tied(void **state)
{
    const double sinks[] = { 0x1p40, 0x1p40 + 0x1p17, 0x1p40 + 0x1p20 };
    for (int i = 0; i < 3; i++) {
        question q;
        ask_of_two(&q, "b1 h1 s1/3 d1/8 f32 scale=1 sinks", 0x1p40, -0x1p-10, sinks[i]);
        assert_int_equal(q.expect->tied[0], i < 2);
        assert_true(norm(q.expect->o, 8) <= q.expect->o_budget[0]);
        assert_true((away(&q, 0) <= q.expect->o_budget[0]) == (i < 2));
        done(&q);
    }
}

RUN_TESTS(test_small_problems_are_seen_whole, test_large_ones_are_sampled,
          test_threads_change_nothing, test_budgets_are_tight, test_long_sums_are_made_in_parts,
          test_rounded_operands_have_their_own_budget, test_half_precision_has_its_own_budget,
          test_rows_that_may_overflow_are_not_judged, test_the_mean_of_values_is_far_out,
          test_empty_rows_are_zero_to_the_bit, test_weightless_rows_have_no_budgets,
          test_what_weightless_rows_may_give, test_weightless_rows_in_half_precision,
          test_weights_may_be_made_of_the_lse, test_budgets_of_rows_with_nan_are_finite,
          test_either_key_of_a_tie_may_win, test_a_sink_may_be_tied)
