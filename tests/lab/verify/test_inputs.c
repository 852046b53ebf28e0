/*
 * test_inputs.c - properties of the kinds of values
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/verify/inputs.h"
#include "lab/verify/reference/reference.h"
#include "problems.h"

#define KEYS_MAX 4096

static void fill(lab_values *values, const char *spec, const char *inputs, uint64_t seed)
{
    heed_problem problem = parsed(spec);
    assert_non_null(lab_inputs_find(inputs));
    assert_int_equal(lab_values_create(values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find(inputs), values, seed);
}

static double element(const lab_values *values, lab_role role, int64_t b, int64_t s, int64_t h,
                      int64_t c)
{
    lab_view view = lab_view_of(&values->problem, role);
    return lab_element_get(view.type, lab_values_data(values, role),
                           lab_view_at(&view, b, s, h) + c);
}

/* One row computed by the reference. */
typedef struct answer {
    double weights[KEYS_MAX];
    double o[HEED_DIM_MAX];
    double lse;
} answer;

static void ask(const lab_values *values, int64_t row, answer *result)
{
    heed_buffers data = lab_values_buffers(values);
    lab_reference_row(&values->problem, &data, lab_row_at(&values->problem, row), result->weights,
                      result->o, &result->lse);
}

static void test_the_list(void **state)
{
    assert_string_equal(lab_inputs_at(0)->name, "normal");
    for (size_t i = 0; lab_inputs_at(i); i++) {
        assert_ptr_equal(lab_inputs_find(lab_inputs_at(i)->name), lab_inputs_at(i));
        assert_true(strlen(lab_inputs_at(i)->summary) > 10);
    }
    assert_null(lab_inputs_find("captured"));
    assert_null(lab_inputs_find("norma"));
}

static bool same(const lab_values *a, const lab_values *b, lab_role role)
{
    lab_view x = lab_view_of(&a->problem, role);
    for (int64_t n = 0; n < lab_view_vectors(&x); n++)
        for (int64_t c = 0; c < x.dim; c++) {
            int64_t h = n / x.seq % x.heads, batch = n / x.seq / x.heads;
            double p = element(a, role, batch, n % x.seq, h, c);
            double q = element(b, role, batch, n % x.seq, h, c);
            if (p != q && !(isnan(p) && isnan(q)))
                return false;
        }
    return true;
}

/* Values depend on seed and position alone: the same in any layout, different with another seed. */
static void test_values_come_from_the_seed(void **state)
{
    for (size_t i = 0; lab_inputs_at(i); i++) {
        const char *name = lab_inputs_at(i)->name;
        lab_values a, b, other;
        fill(&a, "b2 h4/2 s9/12 d7/5 f16 causal=br", name, 11);
        fill(&b, "b2 h4/2 s9/12 d7/5 f16 causal=br layout=sbhd v=300:25:12", name, 11);
        fill(&other, "b2 h4/2 s9/12 d7/5 f16 causal=br", name, 12);
        for (int role = LAB_Q; role < LAB_VECTORS; role++)
            assert_true(same(&a, &b, (lab_role)role));
        assert_false(same(&a, &other, LAB_Q) && same(&a, &other, LAB_K) && same(&a, &other, LAB_V));
        lab_values_destroy(&a);
        lab_values_destroy(&b);
        lab_values_destroy(&other);
    }
}

static void test_needle_finds_one_key(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b1 h4/2 s50 d64 bf16 causal", "needle", 1);
    for (int64_t row = 0; row < lab_rows(&values.problem); row++) {
        double highest = 0;
        ask(&values, row, &result);
        for (int64_t j = 0; j < lab_visible(&values.problem, row % 50).end; j++)
            highest = fmax(highest, result.weights[j]);
        assert_true(highest > 0.95);
    }
    lab_values_destroy(&values);
}

static void test_impulse_shows_the_weights(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b1 h1 s3/100 d8/12 f32", "impulse", 1);
    ask(&values, 1, &result);
    assert_true(result.o[0] == result.weights[0] && result.o[11] == result.weights[99]);
    for (int c = 0; c < 12; c++)
        assert_true(result.o[c] == result.weights[c * 99 / 11]);
    lab_values_destroy(&values);
}

/* The mean over 2^n live keys is representable in the type, and dead keys have no weight. */
static void test_exact_answers(void **state)
{
    static const char *const specs[] = { "b1 h1 s60 d16 bf16", "b1 h1 s60 d16 f16 causal",
                                         "b1 h1 s5/20 d3/40 f32 scale=-2" };
    for (int i = 0; i < 3; i++) {
        answer result;
        lab_values values;
        fill(&values, specs[i], "exact", 1);
        int64_t last = lab_rows(&values.problem) - 1;
        ask(&values, last, &result);
        double live = exp(result.lse);
        assert_true(fabs(live - (i == 2 ? 4 : 16)) < 1e-9);
        assert_true(result.weights[1] == 0 && fabs(result.weights[3] * live - 1) < 1e-9);
        for (int64_t c = 0; c < values.problem.dim_v; c++)
            assert_true(lab_element_round(HEED_BF16, result.o[c]) == result.o[c]);
        lab_values_destroy(&values);
    }
    heed_problem problem = parsed("b1 h1 s4 d8 f16 scale=1e-06");
    assert_non_null(lab_inputs_find("exact")->absent(&problem));
}

static void test_large_logits(void **state)
{
    answer result;
    double highest = 0;
    lab_values values;
    fill(&values, "b1 h1 s64 d64 f16", "large", 1);
    for (int64_t row = 0; row < 64; row++) {
        ask(&values, row, &result);
        highest = fmax(highest, result.lse);
    }
    assert_true(highest > 8e3 && highest < 3e4);
    lab_values_destroy(&values);
}

static void test_equal_and_rising_logits(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b1 h2 s4/40 d16 f16", "equal", 1);
    ask(&values, 5, &result);
    for (int j = 0; j < 40; j++)
        assert_true(fabs(result.weights[j] - 1.0 / 40) < 1e-12);
    lab_values_destroy(&values);

    fill(&values, "b1 h2 s4/40 d16 f32 scale=-0.3", "rising", 1);
    ask(&values, 5, &result);
    for (int j = 1; j < 40; j++)
        assert_true(result.weights[j] > result.weights[j - 1]);
    assert_true(result.weights[39] > 1e10 * result.weights[0]);
    lab_values_destroy(&values);
}

static void test_tiny_outputs_are_subnormal_in_f16(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b1 h1 s40 d16 f16", "tiny", 1);
    ask(&values, 7, &result);
    for (int c = 0; c < 16; c++)
        assert_true(fabs(result.o[c]) < 0x1p-14);
    assert_true(fabs(lab_element_round(HEED_F16, result.o[0]) - result.o[0]) <= 0x1p-25);
    lab_values_destroy(&values);
}

/* Some rows see a NaN and some do not. */
static void test_masked_and_visible(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b2 h2 s20 d8 f32 causal", "masked", 1);
    ask(&values, 3, &result);
    assert_true(isfinite(result.o[0]) && isfinite(result.lse));
    ask(&values, 19, &result);
    assert_true(isnan(result.o[0]));
    lab_values_destroy(&values);
    heed_problem problem = parsed("b1 h1 s4 d8 f16");
    assert_non_null(lab_inputs_find("masked")->absent(&problem));

    int64_t infected = 0;
    fill(&values, "b2 h2 s20 d8 f32", "visible", 1);
    for (int64_t row = 0; row < 80; row++) {
        ask(&values, row, &result);
        for (int c = 0; c < 8; c++)
            infected += !isfinite(result.o[c]);
    }
    assert_true(infected >= 20 + 20 * 8 && infected < 80 * 8);
    lab_values_destroy(&values);
}

/* Logits are near the maximum of float32, and the highest is unambiguous: in float64 the rows are
 * one-hot. */
static void test_huge_and_low_logits(void **state)
{
    static const char *const specs[] = { "b1 h2 s70 d64 f32 causal", "b1 h1 s40/70 d24 bf16",
                                         "b1 h2 s70 d64 f16 causal=br",
                                         "b1 h1 s9/70 d8 f32 scale=-2" };
    static answer result;
    for (int i = 0; i < 8; i++) {
        double highest = -INFINITY, least = INFINITY;
        lab_values values;
        fill(&values, specs[i / 2], i % 2 ? "low" : "huge", 1);
        for (int64_t row = 0; row < lab_rows(&values.problem); row++) {
            double heaviest = 0;
            ask(&values, row, &result);
            for (int64_t j = 0; j < lab_visible(&values.problem, row % values.problem.seq_q).end;
                 j++)
                heaviest = fmax(heaviest, result.weights[j]);
            assert_true(heaviest == 1 || i % 2 == 0);
            assert_true(isfinite((float)result.lse) && fabs(result.lse) > 2e9);
            highest = fmax(highest, result.lse);
            least = fmin(least, result.lse);
        }
        double most = values.problem.type == HEED_F16 ? 8e9 : 1e36;
        assert_true(i % 2 ? highest < -2e9 && least < -most : highest > most);
        lab_values_destroy(&values);
    }
}

static void test_near_logits(void **state)
{
    answer result;
    lab_values values;
    fill(&values, "b1 h2 s4/200 d16 bf16", "near", 1);
    ask(&values, 5, &result);
    double least = 1, highest = 0;
    for (int j = 0; j < 200; j++) {
        least = fmin(least, result.weights[j]);
        highest = fmax(highest, result.weights[j]);
    }
    assert_true(highest < 2.0 / 200 && least > 0.5 / 200 && highest > 1.1 * least);
    lab_values_destroy(&values);
}

/* Every key contributes about equally to the output, however small its weight. */
static void test_tails_count(void **state)
{
    static const heed_type types[] = { HEED_F32, HEED_F16 };
    for (int t = 0; t < 2; t++) {
        answer result;
        lab_values values;
        fill(&values, t ? "b1 h1 s2/100 d16 f16" : "b1 h1 s2/100 d16 f32", "tails", 1);
        assert_int_equal(values.problem.type, types[t]);
        ask(&values, 1, &result);
        assert_true(result.weights[0] > 0.3);
        for (int j = 1; j < 100; j++) {
            double part = result.weights[j] * element(&values, LAB_V, 0, j, 0, 3);
            assert_true(result.weights[j] < 0.02 && fabs(part) > 0.3 * result.weights[0]);
        }
        lab_values_destroy(&values);
    }
}

/* One column of a head has a visible NaN, another one an infinity; nothing else has one. */
static void test_nan_in_one_column(void **state)
{
    answer result;
    int64_t infected = 0, infinite = 0;
    lab_values values;
    fill(&values, "b1 h1 s20 d8 f32", "nan-in-v", 1);
    for (int64_t row = 0; row < 20; row++) {
        ask(&values, row, &result);
        assert_true(isfinite(result.lse));
        for (int c = 0; c < 8; c++)
            infected += isnan(result.o[c]), infinite += isinf(result.o[c]);
    }
    assert_int_equal(infected, 20);
    assert_int_equal(infinite, 20);
    lab_values_destroy(&values);
}

/* Every row that sees the first key is NaN in all columns, whatever the seed. */
static void test_nan_in_the_first_key(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        answer result;
        lab_values values;
        fill(&values, "b2 h4/2 s20/18 d8 f32 causal=br", "nan-in-k", seed);
        for (int64_t row = 0; row < 160; row++) {
            ask(&values, row, &result);
            assert_true(row % 20 < 2 ? result.lse == -INFINITY : isnan(result.lse));
            assert_true(row % 20 < 2 ? result.o[7] == 0 : isnan(result.o[7]));
        }
        lab_values_destroy(&values);
    }
}

static bool is_between(double x, double low, double high)
{
    return x >= low && x < high;
}

/* Rows from tiny to huge logits; some high or low as a whole; some with two heaviest keys although
 * the logits are high. */
static void test_rows_of_all_sizes(void **state)
{
    static const char *const specs[] = { "b1 h2 s64 d32 f32", "b2 h4/2 s40/66 d16 bf16 causal=br",
                                         "b1 h2 s64 d64 f16", "b1 h2 s64 d8 f32 scale=-1e+20" };
    for (int i = 0; i < 4; i++) {
        static answer result;
        lab_values values;
        int tiny = 0, far = 0, low = 0, shared = 0;
        fill(&values, specs[i], "sizes", 7);
        for (int64_t row = 0; row < lab_rows(&values.problem); row++) {
            double highest = 0;
            ask(&values, row, &result);
            lab_range keys = lab_visible(&values.problem, row % values.problem.seq_q);
            for (int64_t j = keys.begin; j < keys.end; j++)
                highest = fmax(highest, result.weights[j]);
            assert_true(isfinite(result.lse) && isfinite(result.o[0]) && keys.end > 4);
            tiny += highest < 1.02 / (double)(keys.end - keys.begin);
            far += fabs(result.lse) > 1e8;
            low += is_between(result.lse, -1e5, -10);
            shared += result.lse > 60 && is_between(highest, 0.2, 0.8);
        }
        assert_true(tiny > 5 && low > 5 && shared > 5);
        assert_true(far > 5 || values.problem.type == HEED_F16);
        lab_values_destroy(&values);
    }
}

/* No single element reveals the logits, whose exponentials are infinite in float32. */
static void test_even_elements(void **state)
{
    static const char *const specs[] = { "b2 h4/2 s20/30 d64 f32", "b1 h2 s40 d16 f16 causal",
                                         "b1 h1 s33 d128 bf16 scale=-0.1" };
    for (uint64_t seed = 0; seed < 12; seed++) {
        static answer result;
        lab_values values;
        int64_t high = 0;
        double most = 0;
        fill(&values, specs[seed % 3], "even", seed);
        for (int role = LAB_Q; role <= LAB_K; role++) {
            lab_view view = lab_view_of(&values.problem, (lab_role)role);
            for (int64_t n = 0; n < lab_view_vectors(&view); n++)
                for (int64_t c = 0; c < view.dim; c++)
                    most = fmax(most, fabs(lab_element_get(view.type,
                                                           lab_values_data(&values, (lab_role)role),
                                                           lab_view_vector(&view, n) + c)));
        }
        for (int64_t row = 0; row < lab_rows(&values.problem); row++) {
            ask(&values, row, &result);
            assert_true(fabs(result.lse) < 150);
            high += result.lse > 92;
        }
        assert_true(most < 7 && high > lab_rows(&values.problem) / 2);
        lab_values_destroy(&values);
    }
}

/* The last row of each head sees only logits of -infinity, whatever the seed; of the others some
 * do, and some do not. */
static void test_weightless_rows(void **state)
{
    static const char *const specs[] = { "b2 h4/2 s20/18 d8 f32 causal=br",
                                         "b1 h1 s16 d16 f16 scale=-2", "b1 h2 s9 d1 bf16 causal",
                                         "b1 h1 s9 d8 f32 q=100:1:16 k=100:0:16" };
    for (uint64_t seed = 0; seed < 40; seed++) {
        static answer result;
        lab_values values;
        int64_t weightless = 0, judged = 0;
        fill(&values, specs[seed % 4], "weightless", seed);
        int64_t queries = values.problem.seq_q;
        for (int64_t row = 0; row < lab_rows(&values.problem); row++) {
            if (lab_visible_count(&values.problem, row % queries) == 0)
                continue;
            ask(&values, row, &result);
            assert_true(result.lse == -INFINITY || isfinite(result.lse));
            assert_true(row % queries < queries - 1 || result.lse == -INFINITY);
            weightless += result.lse == -INFINITY;
            judged++;
        }
        assert_true(weightless > 0 && (weightless < judged || seed % 4 == 3));
        lab_values_destroy(&values);
    }
}

RUN_TESTS(test_the_list, test_values_come_from_the_seed, test_needle_finds_one_key,
          test_impulse_shows_the_weights, test_exact_answers, test_large_logits,
          test_equal_and_rising_logits, test_tiny_outputs_are_subnormal_in_f16,
          test_masked_and_visible, test_huge_and_low_logits, test_near_logits, test_tails_count,
          test_nan_in_one_column, test_nan_in_the_first_key, test_rows_of_all_sizes,
          test_even_elements, test_weightless_rows)
