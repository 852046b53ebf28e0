/*
 * test_problem_misuse.c - bad input for every field of a problem
 *
 * Every function that takes the problem refuses it with a message that names the field, the value
 * and the limit, and leaves the caller's objects unchanged.
 */
#include "run_tests.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "contexts.h"
#include "expect.h"
#include "heed.h"
#include "problems.h"

static const heed_problem valid = VALID_PROBLEM;

/* Every entry point that takes a problem refuses @bad with the same message and writes nothing. */
static void expect_bad_problem(heed_context *context, const heed_problem *bad, const char *field,
                               const char *const words[])
{
    heed_plan *const untouched = (heed_plan *)&context;
    heed_plan *plan = untouched;
    heed_problem normal;
    heed_problem before;
    memset(&normal, 0x5a, sizeof normal);
    memcpy(&before, &normal, sizeof normal);

    assert_true(is_refused(field, heed_problem_check(bad), HEED_ERR_INVALID, words));
    assert_true(is_refused(field, heed_problem_normalize(&normal, bad), HEED_ERR_INVALID, words));
    assert_memory_equal(&normal, &before, sizeof normal);
    assert_true(is_refused(field, heed_plan_create(&plan, context, bad, HEED_ESTIMATE),
                           HEED_ERR_INVALID, words));
    assert_null(plan);
    plan = untouched;
    assert_true(is_refused(field, heed_plan_create_named(&plan, context, bad, heed_kernel_name(0)),
                           HEED_ERR_INVALID, words));
    assert_null(plan);
}

static void test_problem_sizes(void **state)
{
    static const struct {
        const char *name;
        size_t offset;
        int64_t limit;
    } fields[] = {
        { "batch", offsetof(heed_problem, batch), HEED_SIZE_MAX },
        { "heads_q", offsetof(heed_problem, heads_q), HEED_SIZE_MAX },
        { "heads_kv", offsetof(heed_problem, heads_kv), HEED_SIZE_MAX },
        { "seq_q", offsetof(heed_problem, seq_q), HEED_SIZE_MAX },
        { "seq_k", offsetof(heed_problem, seq_k), HEED_SIZE_MAX },
        { "dim_qk", offsetof(heed_problem, dim_qk), HEED_DIM_MAX },
        { "dim_v", offsetof(heed_problem, dim_v), HEED_DIM_MAX },
    };
    heed_context *context = host_context(1);
    for (size_t i = 0; i < COUNT(fields); i++) {
        const int64_t values[] = { 0, -1, INT64_MIN, fields[i].limit + 1, INT64_MAX };
        for (size_t j = 0; j < COUNT(values); j++) {
            heed_problem bad = valid;
            char value[32];
            char limit[32];
            memcpy((char *)&bad + fields[i].offset, &values[j], sizeof values[j]);
            snprintf(value, sizeof value, "%lld", (long long)values[j]);
            snprintf(limit, sizeof limit, "%lld", (long long)fields[i].limit);
            expect_bad_problem(context, &bad, fields[i].name, WORDS(fields[i].name, value, limit));
        }
    }
    heed_context_destroy(context);
}

static void test_problem_enums_and_scale(void **state)
{
    heed_context *context = host_context(1);
    heed_problem bad = valid;
    static const int values[] = { -1, 3, INT_MAX, INT_MIN };
    for (size_t i = 0; i < COUNT(values); i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", values[i]);
        bad = valid;
        memcpy(&bad.type, &values[i], sizeof bad.type);
        expect_bad_problem(context, &bad, "type", WORDS("type", value, "2"));
        bad = valid;
        memcpy(&bad.mask, &values[i], sizeof bad.mask);
        expect_bad_problem(context, &bad, "mask", WORDS("mask", value, "2"));
        bad = valid;
        memcpy(&bad.accumulate, &values[i], sizeof bad.accumulate);
        expect_bad_problem(context, &bad, "accumulate", WORDS("accumulate", value, "1"));
        bad = valid;
        bad.products = values[i];
        expect_bad_problem(context, &bad, "products", WORDS("products", value, "2"));
        bad = valid;
        memcpy(&bad.pass, &values[i], sizeof bad.pass);
        expect_bad_problem(context, &bad, "pass", WORDS("pass", value, "0", "forward"));
    }
    bad = valid;
    bad.type = HEED_F32;
    bad.accumulate = HEED_ACC_F16;
    expect_bad_problem(context, &bad, "accumulate", WORDS("accumulate", "1", "f32"));
    bad = valid;
    bad.type = HEED_BF16;
    bad.products = HEED_PRODUCTS_TF32;
    expect_bad_problem(context, &bad, "products", WORDS("products", "1", "bf16"));
    bad = valid;
    bad.heads_kv = 3;
    expect_bad_problem(context, &bad, "heads_kv", WORDS("heads_kv", "3", "heads_q", "4"));
    const float scales[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < COUNT(scales); i++) {
        bad = valid;
        bad.scale = scales[i];
        expect_bad_problem(context, &bad, "scale",
                           WORDS("scale", isnan(scales[i]) ? "nan" : "inf"));
    }
    heed_context_destroy(context);
}

static void test_problem_strides(void **state)
{
    static const text_integer tensors[] = {
        { "q", offsetof(heed_problem, q) },
        { "k", offsetof(heed_problem, k) },
        { "v", offsetof(heed_problem, v) },
        { "o", offsetof(heed_problem, o) },
    };
    static const int64_t values[] = { -1, INT64_MIN, INT64_MAX, HEED_EXTENT_MAX, INT64_MAX / 2 };
    heed_context *context = host_context(1);
    for (size_t i = 0; i < COUNT(tensors); i++) {
        for (size_t j = 0; j < 3 * COUNT(values); j++) {
            heed_problem bad = valid;
            int64_t strides[3] = { 1 << 20, 1 << 12, 1 << 8 };
            char value[32];
            char field[16];
            strides[j % 3] = values[j / 3];
            memcpy((char *)&bad + tensors[i].value, strides, sizeof strides);
            snprintf(value, sizeof value, "%lld", (long long)strides[j % 3]);
            snprintf(field, sizeof field, "%s strides", tensors[i].text);
            expect_bad_problem(context, &bad, field, WORDS(field, value));
        }
    }
    heed_context_destroy(context);
}

#define FIELD(field) #field " strides", offsetof(heed_problem, field)

/* Operands of the valid problem, with valid and invalid strides along a dimension that they must
 * have. */
static const struct {
    const char *name;
    size_t offset;
    heed_operand operand;
    heed_strides bad;
    const char *limit;
} operands[] = {
    { FIELD(starts),
      { HEED_DATA_I32, HEED_ALONG_BATCH | HEED_ALONG_QUERY, { 9, 1, 0 } },
      { 9, 5, 0 },
      "query stride must be 1," },
    { FIELD(starts),
      { HEED_DATA_I32, HEED_ALONG_BATCH | HEED_ALONG_QUERY, { 0, 1, 0 } },
      { 9, 0, 0 },
      "query stride must be 1," },
    { FIELD(slopes),
      { HEED_DATA_F32, HEED_ALONG_BATCH | HEED_ALONG_HEAD, { 9, 0, 1 } },
      { 9, 0, 5 },
      "head stride must be 1," },
    { FIELD(sinks),
      { HEED_DATA_F32, HEED_ALONG_HEAD, { 0, 0, 1 } },
      { 1, 0, 0 },
      "head stride must be 1," },
    { FIELD(lengths),
      { HEED_DATA_I32, HEED_ALONG_BATCH, { 3, 0, 0 } },
      { 0, 0, 1 },
      "batch stride must be 1 or more" },
    { FIELD(table),
      { HEED_DATA_I32, HEED_ALONG_BATCH | HEED_ALONG_PAGE, { 9, 0, 0 } },
      { 0, 0, 1 },
      "batch stride must be 1 or more" },
};

/* The spec of a problem reads back as the same spec. */
static void expect_read_back(const heed_problem *problem)
{
    char text[HEED_SPEC_SIZE], repeated[HEED_SPEC_SIZE];
    heed_problem_print(problem, text, sizeof text);
    const heed_problem again = parsed(text);
    heed_problem_print(&again, repeated, sizeof repeated);
    assert_string_equal(repeated, text);
}

static void test_operand_strides(void **state)
{
    heed_context *context = host_context(1);
    for (size_t i = 0; i < COUNT(operands); i++) {
        heed_problem problem = valid, normal, again;
        heed_operand operand = operands[i].operand;
        const heed_strides bad = operands[i].bad;
        const size_t at = operands[i].offset;
        char value[32];
        problem.page = at == offsetof(heed_problem, table) ? 7 : 0;
        memcpy((char *)&problem + at, &operand, sizeof operand);
        assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
        assert_int_equal(heed_problem_normalize(&again, &normal), HEED_OK);
        assert_memory_equal((char *)&again + at, (char *)&normal + at, sizeof operand);
        expect_read_back(&normal);
        operand.strides = bad;
        memcpy((char *)&problem + at, &operand, sizeof operand);
        snprintf(value, sizeof value, "%d:%d:%d", (int)bad.batch, (int)bad.seq, (int)bad.head);
        expect_bad_problem(context, &problem, operands[i].name,
                           WORDS(operands[i].name, value, operands[i].limit));
    }
    heed_context_destroy(context);
}

/* Layouts of O in which two elements share an address, and tensors that are too large in total. */
static void test_problem_overlap_and_extent(void **state)
{
    static const heed_strides overlapping[] = {
        { 160, 32, 7 }, { 160, 31, 8 }, { 159, 32, 8 }, { 0, 32, 8 },
        { 160, 0, 8 },  { 160, 32, 0 }, { 1, 1, 1 },    { 0, 0, 8 },
    };
    heed_context *context = host_context(1);
    heed_problem bad = valid;
    for (size_t i = 0; i < COUNT(overlapping); i++) {
        bad.o = overlapping[i];
        expect_bad_problem(context, &bad, "overlap", WORDS("o strides", "overlap"));
    }
    bad = valid;
    bad.batch = bad.seq_q = HEED_SIZE_MAX;
    expect_bad_problem(context, &bad, "extent", WORDS("q has", "2147483648", "70368744177664"));
    bad = valid;
    bad.batch = bad.seq_k = HEED_SIZE_MAX;
    bad.q = bad.k = bad.v = bad.o = (heed_strides){ 0, 0, 8 };
    expect_bad_problem(context, &bad, "extent", WORDS("k has", "2147483648", "70368744177664"));
    heed_context_destroy(context);
}

static void test_problem_pointers(void **state)
{
    heed_problem problem;
    char text[HEED_SPEC_SIZE];
    assert_true(
        is_refused("check", heed_problem_check(NULL), HEED_ERR_INVALID, WORDS("problem", "NULL")));
    assert_true(is_refused("normalize", heed_problem_normalize(NULL, &valid), HEED_ERR_INVALID,
                           WORDS("normal", "NULL")));
    assert_true(is_refused("normalize", heed_problem_normalize(&problem, NULL), HEED_ERR_INVALID,
                           WORDS("problem", "NULL")));
    assert_true(is_refused("parse", heed_problem_parse(&problem, NULL), HEED_ERR_INVALID,
                           WORDS("spec", "NULL")));
    assert_true(is_refused("parse", heed_problem_parse(NULL, "b1 h1 s1 d1 f32"), HEED_ERR_INVALID,
                           WORDS("problem", "NULL")));
    size_t length = heed_problem_print(&valid, NULL, 0);
    assert_true(length > 0 && length < sizeof text);
    memset(text, 'x', sizeof text);
    assert_int_equal(heed_problem_print(&valid, text, 4), length);
    assert_int_equal(strlen(text), 3);
    assert_int_equal(text[4], 'x');
}

static void test_enum_names(void **state)
{
    assert_string_equal(heed_status_name((heed_status)-1), "unknown");
    assert_string_equal(heed_status_name((heed_status)99), "unknown");
    assert_string_equal(heed_type_name((heed_type)-1), "unknown");
    assert_string_equal(heed_type_name((heed_type)3), "unknown");
    assert_int_equal(heed_type_size((heed_type)-1), 0);
    assert_int_equal(heed_type_size((heed_type)3), 0);
}

RUN_TESTS(test_problem_sizes, test_problem_enums_and_scale, test_problem_strides,
          test_problem_overlap_and_extent, test_problem_pointers, test_enum_names,
          test_operand_strides)
