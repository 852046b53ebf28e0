/*
 * test_sample.c - the expected answer of a few rows after an element was changed
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/verify/inputs.h"
#include "lab/verify/mutants/steps.h"
#include "lab/verify/reference/reference.h"
#include "lab/verify/sample.h"
#include "lab/verify/stage/stage.h"

static const char *const specs[] = {
    "b2 h4/2 s17/60 d24/16 f32",         "b1 h4/2 s40 d32 f16 causal",
    "b2 h2 s12/30 d33 bf16 causal=br",   "b1 h1 s3/2000 d16 bf16",
    "b1 h2 s9/40 d8 f32 scale=-0.7",     "b2 h2 s6/20 d8 f32 k=0:8:160 v=160:8:0",
    "b1 h1 s20 d1 f16 causal",           "b1 h2 s10/130 d72/40 f16 acc=f16",
    "b1 h2 s9/90 d64 f32 products=tf32",
};
#define SPECS (sizeof specs / sizeof specs[0])

#define TOUCHES 60

/* The tensors of a problem, with their current and previous values. */
typedef struct scene {
    heed_problem problem;
    lab_values now, before;
    lab_sample *sample;
    void *o;
    float *lse;
} scene;

static void open_scene(scene *it, const char *spec, const char *inputs)
{
    const lab_sampling sampling = { .seed = 5, .work = 1 << 14, .threads = 1 };
    assert_int_equal(heed_problem_parse(&it->problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&it->problem, &it->problem), HEED_OK);
    assert_int_equal(lab_values_create(&it->before, &it->problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find(inputs), &it->before, 9);
    assert_int_equal(lab_values_copy(&it->now, &it->before), HEED_OK);
    heed_buffers data = lab_values_buffers(&it->before);
    assert_int_equal(lab_sample_create(&it->sample, &it->problem, &data, &sampling), HEED_OK);
    lab_view o = lab_view_of(&it->problem, LAB_O);
    it->o = test_calloc((size_t)lab_view_extent(&o), heed_type_size(o.type));
    it->lse = test_calloc((size_t)lab_rows(&it->problem), sizeof *it->lse);
}

static void close_scene(scene *it)
{
    lab_sample_destroy(it->sample);
    lab_values_destroy(&it->now);
    lab_values_destroy(&it->before);
    test_free(it->o);
    test_free(it->lse);
}

static void write_touches(scene *it, const lab_touch *touches, int count)
{
    assert_in_range(count, 0, LAB_TOUCHES);
    for (int t = 0; t < count; t++)
        lab_touch_write(&touches[t], it->problem.type, lab_values_data(&it->now, touches[t].role));
}

static void touch(scene *it)
{
    lab_touch touches[LAB_TOUCHES];
    int count = lab_sample_touch(it->sample, 3, touches);
    write_touches(it, touches, count);
}

/* Computes a row with the largest permitted error. */
static void rounded_row(mutant_row *r)
{
    mutant_in_products(r, r->problem->products, true, false);
}

static double error_of(scene *it, const lab_values *values)
{
    heed_buffers buffers = lab_values_buffers(values);
    buffers.o = it->o;
    buffers.lse = it->lse;
    mutant_run_all(&it->problem, &buffers, rounded_row);
    return lab_sample_error(it->sample, it->o, it->lse);
}

/* The expected rows equal the reference for the current tensors. */
static void compare_with_reference(const scene *it)
{
    heed_buffers data = lab_values_buffers(&it->now);
    double *weights = test_calloc((size_t)it->problem.seq_k, sizeof *weights);
    const lab_expect *expect = it->sample->expect;
    for (int64_t i = 0; i < expect->count; i++) {
        double o[HEED_DIM_MAX], lse;
        lab_reference_row(&it->problem, &data, lab_row_at(&it->problem, expect->rows[i]), weights,
                          o, &lse);
        assert_true(fabs(lse - expect->lse[i]) <= 1e-9 * (1 + fabs(lse)));
        for (int64_t c = 0; c < expect->dim; c++)
            assert_true(fabs(o[c] - expect->o[i * expect->dim + c]) <= 1e-9 * (1 + fabs(o[c])));
    }
    test_free(weights);
}

static void test_expectation_follows(void **state)
{
    for (size_t s = 0; s < SPECS; s++) {
        scene it;
        open_scene(&it, specs[s], "normal");
        for (int n = 0; n < TOUCHES; n++) {
            touch(&it);
            compare_with_reference(&it);
        }
        close_scene(&it);
    }
}

/* A correct answer passes, and the one before the change fails: for nearly every change, since some
 * rows hardly move, such as one that sees a single key. */
static void test_old_answers_fail(void **state)
{
    for (size_t s = 0; s < SPECS; s++) {
        scene it;
        int caught = 0;
        open_scene(&it, specs[s], "normal");
        for (int n = 0; n < TOUCHES; n++) {
            touch(&it);
            double right = error_of(&it, &it.now), old = error_of(&it, &it.before);
            if (!(right <= 1))
                fail_msg("%s: touch %d: correct, but %g times the allowed error", specs[s], n,
                         right);
            caught += old > 1;
        }
        if (caught < TOUCHES * 9 / 10)
            fail_msg("%s: %d of %d old answers fail", specs[s], caught, TOUCHES);
        close_scene(&it);
    }
}

/* The tensors never differ from the originals by more than one element, and are restored. */
static void test_elements_are_put_back(void **state)
{
    scene it;
    lab_touch touches[LAB_TOUCHES];
    open_scene(&it, specs[1], "needle");
    for (int n = 0; n < TOUCHES; n++) {
        int changed = 0;
        touch(&it);
        for (int role = LAB_Q; role < LAB_VECTORS; role++) {
            size_t size = it.now.block[role].region.size;
            const unsigned char *a = lab_values_data(&it.now, (lab_role)role);
            const unsigned char *b = lab_values_data(&it.before, (lab_role)role);
            for (size_t i = 0; i < size; i += 2)
                changed += memcmp(a + i, b + i, 2) != 0;
        }
        assert_int_equal(changed, 1);
    }
    write_touches(&it, touches, lab_sample_restore(it.sample, touches));
    assert_int_equal(lab_sample_restore(it.sample, touches), 0);
    for (int role = LAB_Q; role < LAB_VECTORS; role++)
        assert_memory_equal(lab_values_data(&it.now, (lab_role)role),
                            lab_values_data(&it.before, (lab_role)role),
                            it.now.block[role].region.size);
    compare_with_reference(&it);
    assert_true(error_of(&it, &it.now) <= 1);
    close_scene(&it);
}

/* All three tensors are changed, and not always in the same place. */
static void test_touches_differ(void **state)
{
    scene it;
    int roles[LAB_ROLES] = { 0 };
    int64_t last = -1;
    open_scene(&it, specs[0], "normal");
    for (int n = 0; n < TOUCHES; n++) {
        lab_touch touches[LAB_TOUCHES];
        int count = lab_sample_touch(it.sample, 3, touches);
        roles[touches[count - 1].role]++;
        assert_true(n == 0 || touches[count - 1].index != last);
        last = touches[count - 1].index;
    }
    assert_true(roles[LAB_Q] > 5 && roles[LAB_K] > 5 && roles[LAB_V] > 5);
    close_scene(&it);
}

static void test_what_cannot_be_judged(void **state)
{
    const lab_sampling sampling = { .seed = 5, .work = 1, .threads = 1 };
    heed_problem problem;
    lab_values values;
    lab_sample *sample;
    assert_int_equal(heed_problem_parse(&problem, "b1 h1 s4/1 d8 f32"), HEED_OK);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    assert_int_equal(lab_values_create(&values, &problem), HEED_OK);
    lab_element_set(HEED_F32, lab_values_data(&values, LAB_V), 3, NAN);
    heed_buffers data = lab_values_buffers(&values);
    assert_int_equal(lab_sample_create(&sample, &problem, &data, &sampling), HEED_ERR_UNSUPPORTED);
    assert_null(sample);
    lab_values_destroy(&values);
}

static void test_nan_is_an_error(void **state)
{
    scene it;
    open_scene(&it, specs[4], "normal");
    assert_true(error_of(&it, &it.now) <= 1);
    lab_view o = lab_view_of(&it.problem, LAB_O);
    int64_t at = lab_view_vector(&o, it.sample->expect->rows[0]);
    lab_element_set(o.type, it.o, at + 1, NAN);
    assert_true(isinf(lab_sample_error(it.sample, it.o, it.lse)));
    assert_true(isinf(lab_sample_error(it.sample, it.o, NULL)));
    close_scene(&it);
}

RUN_TESTS(test_expectation_follows, test_old_answers_fail, test_elements_are_put_back,
          test_touches_differ, test_what_cannot_be_judged, test_nan_is_an_error)
