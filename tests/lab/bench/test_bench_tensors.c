/*
 * test_bench_tensors.c - the tensors that `heed bench` times with, and its check of outputs
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "lab/bench/match.h"
#include "lab/tensor/convert.h"
#include "problems.h"

static lab_bench_source source_of(const char *spec)
{
    lab_bench_source source;
    memset(&source, 0, sizeof source);
    source.problem = parsed(spec);
    assert_int_equal(heed_problem_normalize(&source.problem, &source.problem), HEED_OK);
    return source;
}

static void execute(heed_context *context, const lab_bench_tensors *tensors, int64_t call)
{
    assert_true(host_compute(context, &tensors->problem, "fwd_any_scalar_row",
                             lab_bench_tensors_buffers(tensors, call)));
}

/* A right output passes. One that was not written, is not finite, or has a single element that is
 * off by more than rounding fails. */
static void judges_outputs(void **state)
{
    static const char *const specs[] = { "b2 h4/2 s9/17 d8 f32", "b1 h2 s16 d8 f16 causal",
                                         "b1 h2 s7/9 d8/6 bf16 layout=bhsd" };
    heed_context *context = host_context(0);
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

/* Copies have the same values at different addresses, and together exceed the given size. */
static void rotates_copies(void **state)
{
    heed_context *context = host_context(0);
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

/* Strided tensors become dense for the rivals: values depend on the position, not on the
 * address. */
static void packs_strided_tensors(void **state)
{
    heed_context *context = host_context(0);
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

/* Values of large tensors repeat, the same for heed and for rivals, and no two vectors are
 * equal. */
static void repeats_values(void **state)
{
    heed_context *context = host_context(0);
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

/* Each requested row is checked, and no other. */
static void judges_rows(void **state)
{
    heed_context *context = host_context(0);
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

/* Rows whose logits are all -infinity may be 0 or NaN in timed calls, too. */
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

/* Usual lengths have the total that the problem gives, whatever the seed, from a hundredth of the
 * maximum up; in a pool that they fill, no page belongs to two sequences. */
static void draws_lengths(void **state)
{
    static const struct {
        const char *spec;
        int64_t keys, shortest, longest;
    } rows[] = {
        { "b16 h1 s1/21472 d1 f32 lengths paged=16/5752", 91792, 215, 21472 },
        { "b64 h1 s7440 d1 f32 causal varlen=81286", 81286, 75, 7440 },
        { "b5 h1 s3/900 d1 f32 lengths=b", 1312, 9, 900 },
        { "b1 h1 s3/900 d1 f32 lengths=b", 900, 900, 900 },
        { "b4 h1 s6/8 d1 f32 varlen=2/31", 31, 7, 8 },
    };
    heed_context *context = host_context(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            lab_bench_source source = source_of(rows[i].spec);
            lab_bench_tensors tensors;
            assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, seed, 0),
                             HEED_OK);
            const heed_buffers data = lab_bench_tensors_inputs(&tensors);
            const lab_bench_sequences all = lab_bench_sequences_of(&tensors.problem, &data);
            assert_int_equal(all.count, source.problem.batch);
            if (all.keys != rows[i].keys || all.shortest != rows[i].shortest ||
                all.longest != rows[i].longest)
                fail_msg("%s: %lld keys, %lld to %lld", rows[i].spec, (long long)all.keys,
                         (long long)all.shortest, (long long)all.longest);
            lab_bench_tensors_free(&tensors);
        }
    heed_context_destroy(context);
}

static void shares_no_page(void **state)
{
    heed_context *context = host_context(0);
    lab_bench_source source = source_of("b16 h1 s1/2048 d1 f32 lengths paged=16/640");
    lab_bench_tensors tensors;
    bool named[640] = { false };
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    const heed_buffers data = lab_bench_tensors_inputs(&tensors);
    const int32_t *lengths = data.lengths, *table = data.table;
    for (int b = 0; b < 16; b++)
        for (int j = 0; j < 128; j++) {
            const int32_t page = table[b * 128 + j];
            assert_in_range(page, 0, 639);
            assert_false(16 * j < lengths[b] && named[page]);
            named[page] |= 16 * j < lengths[b];
        }
    const float *k = data.k, *values = tensors.values[LAB_K]; /* the pool is in a different order */
    for (int i = 0; i < 640 * 16; i++)
        assert_true(k[i] == values[i]);
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Work depends on the actual keys, sequence by sequence. */
static void weighs_sequences(void **state)
{
    lab_bench_source source = source_of("b3 h4/2 s2/100 d8 f16 causal=br lengths");
    lab_bench_source packed = source_of("b3 h4/2 s9 d8 f16 causal varlen=14");
    int32_t lengths[3] = { 50, 0, 7 }, cumulative[4] = { 0, 5, 5, 14 };
    const heed_buffers data = { .size = sizeof data,
                                .lengths = lengths,
                                .cu_seqlens_q = cumulative,
                                .cu_seqlens_k = cumulative };
    lab_bench_sequences all = lab_bench_sequences_of(&source.problem, &data);
    assert_int_equal(all.keys, 57);
    assert_int_equal(all.queries, 6);
    assert_int_equal(all.shortest, 0);
    assert_true(all.flops == 4.0 * 32 * (49 + 50 + 6 + 7));
    assert_true(all.work.bytes == 2.0 * (57 * 2 * 16 + 2 * 2 * 4 * 16)); /* one has no keys */
    all = lab_bench_sequences_of(&packed.problem, &data);
    assert_int_equal(all.keys, 14);
    assert_int_equal(all.queries, 14);
    assert_true(all.flops == 4.0 * 32 * (5 * 6 / 2 + 9 * 10 / 2));
    source = source_of("b1 h1 s4 d8 f16");
    assert_int_equal(lab_bench_sequences_of(&source.problem, &data).count, 0);
}

/* The documents of an expression are the same as those of starts. */
static void draws_documents(void **state)
{
    heed_context *context = host_context(0);
    lab_bench_source source = source_of("b1 h1 s500 d1 f32 causal starts=q array=doc:i32:500 "
                                        "visible=doc[q]==doc[k]");
    lab_bench_tensors tensors;
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    const heed_buffers data = lab_bench_tensors_inputs(&tensors);
    const int32_t *starts = data.starts, *document = data.arrays[0];
    for (int i = 1; i < 500; i++)
        assert_true((starts[i] == i) == (document[i] != document[i - 1]));
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

static void refuses_more_than_the_machine_has(void **state)
{
    heed_context *context = host_context(0);
    lab_bench_source source = source_of("b100000 h100 s10000 d512 f32");
    lab_bench_tensors tensors;
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0),
                     HEED_ERR_NO_MEMORY);
    assert_null(tensors.data);
    heed_context_destroy(context);
}

RUN_TESTS(judges_outputs, rotates_copies, packs_strided_tensors, repeats_values, judges_rows,
          judges_weightless_rows, draws_lengths, shares_no_page, weighs_sequences, draws_documents,
          refuses_more_than_the_machine_has)
