/*
 * test_bench_tensors.c - the tensors that `heed bench` times with, and its judge of outputs
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/bench/match.h"
#include "lab/tensor/convert.h"

static lab_bench_source source_of(const char *spec)
{
    lab_bench_source source;
    memset(&source, 0, sizeof source);
    assert_int_equal(heed_problem_parse(&source.problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&source.problem, &source.problem), HEED_OK);
    return source;
}

static heed_context *open_context(void)
{
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    heed_context *context;
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    return context;
}

static void execute(heed_context *context, const lab_bench_tensors *tensors, int64_t call)
{
    heed_plan *plan;
    heed_buffers buffers = lab_bench_tensors_buffers(tensors, call);
    assert_int_equal(
        heed_plan_create_named(&plan, context, &tensors->problem, "fwd_any_scalar_row"), HEED_OK);
    buffers.workspace_size = heed_plan_workspace_size(plan);
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT, (buffers.workspace_size / 64 + 1) * 64);
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    free(buffers.workspace);
    heed_plan_destroy(plan);
}

/* A right output passes; one that was not written, is not finite, or is off in a single element by
 * more than rounding, does not. */
static void judges_outputs(void **state)
{
    static const char *const specs[] = { "b2 h4/2 s9/17 d8 f32", "b1 h2 s16 d8 f16 causal",
                                         "b1 h2 s7/9 d8/6 bf16 layout=bhsd" };
    heed_context *context = open_context();
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        lab_bench_source source = source_of(specs[i]);
        lab_bench_tensors tensors;
        lab_expect *expect;
        lab_sampling all = { .seed = 1, .work = INT64_MAX, .threads = 1 };
        assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
        heed_buffers data = lab_bench_tensors_buffers(&tensors, 0);
        assert_int_equal(lab_expect_create(&expect, &tensors.problem, &data, &all), HEED_OK);
        assert_true(lab_bench_error(&tensors.problem, data.o, expect) == INFINITY);
        execute(context, &tensors, 0);
        assert_true(lab_bench_error(&tensors.problem, data.o, expect) <= 1);
        double value = lab_element_get(source.problem.type, data.o, 5);
        lab_element_set(source.problem.type, data.o, 5, value + 0.05);
        assert_true(lab_bench_error(&tensors.problem, data.o, expect) > 1);
        lab_element_set(source.problem.type, data.o, 5, INFINITY);
        assert_true(lab_bench_error(&tensors.problem, data.o, expect) == INFINITY);
        lab_bench_tensors_poison(&tensors);
        assert_true(lab_bench_error(&tensors.problem, data.o, expect) == INFINITY);
        lab_expect_destroy(expect);
        lab_bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
}

/* Copies have the same values at other addresses, and together exceed what they are to exceed. */
static void rotates_copies(void **state)
{
    heed_context *context = open_context();
    lab_bench_source source = source_of("b1 h2 s16 d8 f32");
    lab_bench_tensors tensors;
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 20000), HEED_OK);
    assert_int_equal(tensors.copies, 5); /* of 4096 bytes */
    heed_buffers first = lab_bench_tensors_buffers(&tensors, 0);
    for (int64_t call = 1; call < 5; call++) {
        heed_buffers copy = lab_bench_tensors_buffers(&tensors, call);
        assert_ptr_not_equal(copy.q, first.q);
        assert_ptr_not_equal(copy.o, first.o);
        assert_memory_equal(copy.q, first.q, 1024);
        assert_memory_equal(copy.v, first.v, 1024);
    }
    assert_ptr_equal(lab_bench_tensors_buffers(&tensors, 5).q, first.q);
    assert_memory_not_equal(first.q, first.k, 1024);
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Strided tensors become dense for the rivals: the values follow from place, not from address. */
static void packs_strided_tensors(void **state)
{
    heed_context *context = open_context();
    lab_bench_source dense = source_of("b2 h3 s5 d4 f16");
    lab_bench_source strided = source_of("b2 h3 s5 d4 f16 layout=sbhd k=1000:100:9");
    lab_bench_tensors a, b;
    assert_int_equal(lab_bench_tensors_create(&a, context, &dense, 7, 0), HEED_OK);
    assert_int_equal(lab_bench_tensors_create(&b, context, &strided, 7, 0), HEED_OK);
    for (int role = LAB_Q; role < LAB_VECTORS; role++) {
        void *packed = lab_bench_tensors_dense(&b, (lab_role)role);
        assert_memory_equal(packed, a.data[role], 240);
        free(packed);
    }
    lab_bench_tensors_free(&a);
    lab_bench_tensors_free(&b);
    heed_context_destroy(context);
}

/* Values of large tensors repeat, the same for heed and for rivals, and no two vectors are alike.
 */
static void repeats_values(void **state)
{
    heed_context *context = open_context();
    lab_bench_source source = source_of("b1 h16 s2048 d64 f16");
    lab_bench_tensors tensors;
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    assert_in_range(tensors.period, 1000000, 2 * 1024 * 1024 - 1);
    const uint16_t *q = lab_bench_tensors_buffers(&tensors, 0).q, *values = tensors.values[LAB_Q];
    for (size_t i = 0; i < (size_t)2048 * 16 * 64; i++)
        if (q[i] != values[i % (size_t)tensors.period])
            fail_msg("element %zu", i);
    assert_memory_not_equal(q, q + (size_t)1024 * 16 * 64, 128);
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Only rows that were asked for are looked at, and each of them. */
static void judges_rows(void **state)
{
    heed_context *context = open_context();
    lab_bench_source source = source_of("b1 h2 s40 d8 f16");
    lab_bench_tensors tensors;
    lab_expect *expect;
    lab_sampling some = { .seed = 1, .work = 10 * 40 * 16, .threads = 1 };
    uint16_t rows[10 * 8];
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    heed_buffers data = lab_bench_tensors_inputs(&tensors);
    assert_int_equal(lab_expect_create(&expect, &tensors.problem, &data, &some), HEED_OK);
    assert_in_range(expect->count, 5, 10);
    execute(context, &tensors, 0);
    lab_view view = lab_view_of(&tensors.problem, LAB_O);
    for (int64_t i = 0; i < expect->count; i++)
        memcpy(rows + i * 8,
               (uint16_t *)tensors.data[LAB_O] + lab_view_vector(&view, expect->rows[i]), 16);
    double whole = lab_bench_error(&tensors.problem, tensors.data[LAB_O], expect), error;
    assert_true(lab_bench_rows_error(HEED_F16, rows, expect) == whole && whole <= 1);
    assert_int_equal(lab_bench_tensors_error(&tensors, 0, expect, &error), HEED_OK);
    assert_true(error == whole);
    for (int64_t i = 0; i < expect->count; i++) {
        rows[i * 8 + 3] ^= 0x4000;
        assert_true(lab_bench_rows_error(HEED_F16, rows, expect) > 1);
        rows[i * 8 + 3] ^= 0x4000;
    }
    lab_expect_destroy(expect);
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Rows whose logits are all -infinity give 0 or NaN in timed calls, too. */
static void judges_weightless_rows(void **state)
{
    static const struct {
        float o;
        bool right;
    } cases[] = { { 0, true },          { -0.0F, true },     { NAN, true },       { 0.25F, false },
                  { 0x1p-149F, false }, { INFINITY, false }, { -INFINITY, false } };
    const lab_sampling all = { .seed = 1, .work = INT64_MAX, .threads = 1 };
    float q[2] = { -INFINITY, 1 }, k[4] = { 1, 2, 3, 4 }, v[4] = { 1, 2, 3, 4 };
    const heed_buffers data = { .size = sizeof data, .q = q, .k = k, .v = v };
    lab_bench_source source = source_of("b1 h1 s1/2 d2 f32");
    lab_expect *expect;
    assert_int_equal(lab_expect_create(&expect, &source.problem, &data, &all), HEED_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float o[2] = { 0, cases[i].o };
        assert_true((lab_bench_error(&source.problem, o, expect) <= 1) == cases[i].right);
        assert_true((lab_bench_rows_error(HEED_F32, o, expect) <= 1) == cases[i].right);
    }
    lab_expect_destroy(expect);
}

static void refuses_more_than_the_machine_has(void **state)
{
    heed_context *context = open_context();
    lab_bench_source source = source_of("b100000 h100 s10000 d512 f32");
    lab_bench_tensors tensors;
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0),
                     HEED_ERR_NO_MEMORY);
    assert_null(tensors.data);
    heed_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_outputs),
        cmocka_unit_test(rotates_copies),
        cmocka_unit_test(packs_strided_tensors),
        cmocka_unit_test(repeats_values),
        cmocka_unit_test(judges_rows),
        cmocka_unit_test(judges_weightless_rows),
        cmocka_unit_test(refuses_more_than_the_machine_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
