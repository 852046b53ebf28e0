/*
 * test_problem.c - limits of a problem, and its normal form
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"
#include "internal.h"
#include "problems.h"

/* -------------------------------------------------------------------------- */
/* Check                                                                      */
/* -------------------------------------------------------------------------- */

static void assert_refused(const heed_problem *problem, const char *message)
{
    heed_problem normal = plain_problem();
    const heed_problem before = normal;
    assert_int_equal(heed_problem_check(problem), HEED_ERR_INVALID);
    if (!strstr(heed_message(), message))
        fail_msg("\"%s\" does not say \"%s\"", heed_message(), message);
    assert_int_equal(heed_problem_normalize(&normal, problem), HEED_ERR_INVALID);
    assert_true(heed_problem_equal(&normal, &before));
}

static void test_sizes_have_limits(void **state)
{
    const struct {
        size_t offset;
        const char *name;
        int64_t max;
    } sizes[] = {
        { offsetof(heed_problem, batch), "batch", HEED_SIZE_MAX },
        { offsetof(heed_problem, heads_q), "heads_q", HEED_SIZE_MAX },
        { offsetof(heed_problem, heads_kv), "heads_kv", HEED_SIZE_MAX },
        { offsetof(heed_problem, seq_q), "seq_q", HEED_SIZE_MAX },
        { offsetof(heed_problem, seq_k), "seq_k", HEED_SIZE_MAX },
        { offsetof(heed_problem, dim_qk), "dim_qk", HEED_DIM_MAX },
        { offsetof(heed_problem, dim_v), "dim_v", HEED_DIM_MAX },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t bad[] = { 0, -1, INT64_MIN, sizes[i].max + 1, INT64_MAX };
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            char message[128];
            heed_problem problem = plain_problem();
            memcpy((char *)&problem + sizes[i].offset, &bad[j], sizeof bad[j]);
            snprintf(message, sizeof message, "%s is %lld; it must be 1 to %lld", sizes[i].name,
                     (long long)bad[j], (long long)sizes[i].max);
            assert_refused(&problem, message);
        }
    }
}

static void test_largest_sizes_are_allowed(void **state)
{
    heed_problem problem = parsed("b2147483648 h1 s1 d1024 f16");
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.batch = 1;
    problem.seq_k = HEED_SIZE_MAX;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.heads_q = HEED_SIZE_MAX;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
}

static void test_options_have_limits(void **state)
{
    heed_problem problem = plain_problem();
    problem.heads_kv = 3;
    assert_refused(&problem, "heads_kv is 3; it must divide heads_q, which is 4");
    problem = plain_problem();
    problem.type = (heed_type)3;
    assert_refused(&problem, "type is 3");
    problem = plain_problem();
    problem.type = (heed_type)-1;
    assert_refused(&problem, "type is -1");
    problem = plain_problem();
    problem.mask = (heed_mask)3;
    assert_refused(&problem, "mask is 3");
    problem = plain_problem();
    problem.align = (heed_align)2;
    assert_refused(&problem, "align is 2; it must be 0 (top left) or 1 (bottom right)");
    problem.align = HEED_ALIGN_BOTTOM_RIGHT;
    problem.mask = HEED_MASK_CAUSAL_TOP_LEFT;
    assert_refused(&problem, "align is 1 (bottom right) and mask is 1 (top left)");
    problem = plain_problem();
    problem.window.sides = 4;
    assert_refused(&problem, "window.sides is 4; it must be 0 to 3");
    problem.window = (heed_window){ HEED_WINDOW_LEFT, 1, 2 };
    assert_refused(&problem, "window.right is 2; it must be 0 where window.sides has no");
    problem.window = (heed_window){ HEED_WINDOW_LEFT, -1, 0 };
    assert_refused(&problem, "window.left is -1; it must be 0 to 2147483648");
    problem.window = (heed_window){ HEED_WINDOW_RIGHT, 0, HEED_SIZE_MAX + 1 };
    assert_refused(&problem, "window.right is 2147483649; it must be 0 to 2147483648");
    problem = plain_problem();
    problem.chunk = -1;
    assert_refused(&problem, "chunk is -1; it must be 0 to 2147483648");
    problem = plain_problem();
    problem.type = HEED_F16;
    problem.accumulate = (heed_accumulate)2;
    assert_refused(&problem, "accumulate is 2; it must be 0 (f32) or 1 (f16)");
    problem.accumulate = HEED_ACC_F16;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.type = HEED_BF16;
    assert_refused(&problem, "accumulate is 1 (f16) and type is bf16; with that type it must be 0");
    problem = plain_problem();
    problem.products = HEED_PRODUCTS_COUNT;
    assert_refused(&problem, "products is 3; it must be 0 (full), 1 (tf32) or 2 (bf16x3)");
    problem.products = HEED_PRODUCTS_BF16X3;
    problem.type = HEED_F32;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.type = HEED_F16;
    assert_refused(&problem, "products is 2 (bf16x3) and type is f16; with that type it must be 0");
    problem = plain_problem();
    problem.scale = NAN;
    assert_refused(&problem, "scale is ");
    problem = plain_problem();
    problem.scale = -INFINITY;
    assert_refused(&problem, "scale is -inf");
}

static heed_problem with_bias(heed_data type, unsigned along)
{
    heed_problem problem = plain_problem();
    problem.bias = (heed_operand){ .type = type, .along = along };
    return problem;
}

static void test_operands_have_limits(void **state)
{
    heed_problem problem = with_bias(HEED_DATA_I32, HEED_ALONG_KEY);
    assert_refused(&problem, "bias.type is 4 (i32); it must be 1 (f32), 2 (f16) or 3 (bf16)");
    problem = with_bias((heed_data)8, HEED_ALONG_KEY);
    assert_refused(&problem, "bias.type is 8 (none)");
    problem = with_bias(HEED_DATA_F16, HEED_ALONG_HEAD);
    assert_refused(&problem, "bias.along is 2 (head); it must have the bits of 8 (key)");
    problem = with_bias(HEED_DATA_F16, 16 | HEED_ALONG_KEY);
    assert_refused(&problem, "bias.along is 24");
    problem = with_bias(HEED_DATA_NONE, HEED_ALONG_KEY);
    assert_refused(&problem, "bias.type is 0 (none)");
    problem = with_bias(HEED_DATA_F16, HEED_ALONG_KEY | HEED_ALONG_HEAD);
    problem.bias.strides.head = -1;
    assert_refused(&problem, "bias strides are 0:0:-1; they must be 0 or more");
    problem.bias.strides.head = HEED_EXTENT_MAX;
    assert_refused(&problem, "bias strides 0:0:70368744177664 span more than 70368744177664");
    problem.bias.strides.head = 100;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem = plain_problem();
    problem.sinks = (heed_operand){ .type = HEED_DATA_F32, .along = HEED_ALONG_QUERY };
    assert_refused(&problem, "sinks.along is 4");
    problem = plain_problem();
    problem.starts = (heed_operand){ .type = HEED_DATA_F32, .along = HEED_ALONG_QUERY };
    assert_refused(&problem, "starts.type is 1 (f32)");
    problem.starts = (heed_operand){ .type = HEED_DATA_NONE };
    problem.lengths = (heed_operand){ .type = HEED_DATA_I32, .along = HEED_ALONG_QUERY };
    assert_refused(&problem, "lengths.along");
    problem = plain_problem();
    problem.tokens_q = 1;
    problem.cu_seqlens_q = (heed_operand){ .type = HEED_DATA_F32, .along = HEED_ALONG_SEQUENCE };
    assert_refused(&problem, "cu_seqlens_q.type is 1 (f32); it must be 4 (i32) or 7 (i64)");
    problem.cu_seqlens_q.type = HEED_DATA_I64;
    problem.cu_seqlens_q.strides.batch = 2;
    assert_refused(&problem, "cu_seqlens_q strides are 2:0:0; they must be 0");
    problem = plain_problem();
    problem.lengths = (heed_operand){ .type = HEED_DATA_I32, .along = HEED_ALONG_BATCH };
    problem.append = 1;
    problem.rotary = 2;
    problem.rotary_cos = problem.rotary_sin = (heed_operand){ .along = HEED_ALONG_POSITION,
                                                              .type = HEED_DATA_F32 };
    problem.rotary_cos.type = (heed_data)-1;
    assert_refused(&problem, "rotary_cos.type is -1 (none); it must be 1 (f32), 2 (f16) or 3");
    problem.rotary_cos.type = HEED_DATA_F32;
    problem.rotary_cos.strides.seq = 2;
    assert_refused(&problem, "rotary_cos strides are 0:2:0; they must be 0");
    static const float caps[] = { -1, NAN, INFINITY };
    for (int i = 0; i < 3; i++) {
        problem = plain_problem();
        problem.softcap = caps[i];
        assert_refused(&problem, "softcap is ");
    }
}

static heed_problem with_array(const char *name, heed_data type, int rank, int64_t size)
{
    heed_problem problem = plain_problem();
    problem.arrays[0] = (heed_array){ .type = type, .rank = rank, .size = { size } };
    memcpy(problem.arrays[0].name, name, strlen(name));
    return problem;
}

static void test_arrays_have_limits(void **state)
{
    static const struct {
        const char *name;
        heed_data type;
        int rank;
        int64_t size;
        const char *message;
    } cases[] = {
        { "", HEED_DATA_F32, 1, 3, "arrays[0].name is \"\"" },
        { "0a", HEED_DATA_F32, 1, 3, "arrays[0].name is \"0a\"" },
        { "a-b", HEED_DATA_F32, 1, 3, "arrays[0].name is \"a-b\"" },
        { "sixteen_letters_", HEED_DATA_F32, 1, 3, "it must be 1 to 15 letters" },
        { "a", HEED_DATA_F16, 1, 3, "the type of array a is 2 (f16)" },
        { "a", HEED_DATA_F32, 0, 0, "the rank of array a is 0; it must be 1 to 3" },
        { "a", HEED_DATA_F32, 4, 3, "the rank of array a is 4" },
        { "a", HEED_DATA_F32, 1, 0, "size 0 of array a is 0" },
        { "a", HEED_DATA_F32, 1, (int64_t)1 << 31, "size 0 of array a is 2147483648" },
        { "a", HEED_DATA_F32, 2, 3, "size 1 of array a is 0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_problem problem = with_array(cases[i].name, cases[i].type, cases[i].rank,
                                          cases[i].size);
        assert_refused(&problem, cases[i].message);
    }
    heed_problem problem = with_array("a", HEED_DATA_F32, 1, 3);
    problem.arrays[1] = problem.arrays[0];
    assert_refused(&problem, "arrays[0] and arrays[1] are both a");
    problem.arrays[2] = problem.arrays[1];
    problem.arrays[2].name[0] = 'b';
    problem.arrays[1] = (heed_array){ 0 };
    assert_refused(&problem, "arrays[2] is b, and arrays[1] is empty");
    problem = plain_problem();
    memset(problem.score, 's', sizeof problem.score);
    assert_refused(&problem, "score has no end within 256 characters");
    problem = plain_problem();
    strcpy(problem.score, "s + foo");
    assert_refused(&problem, "queries, keys, true, false and arrays\n  s + foo\n      ^");
    strcpy(problem.score, "s*\xc3\xa9");
    assert_refused(&problem, "score: a value is expected here, not byte 0xc3\n  s*??\n    ^");
    problem = plain_problem();
    strcpy(problem.visible, "k < q && p");
    assert_refused(&problem, "where true or false is needed\n  k < q && p\n           ^");
}

static void test_strides_have_limits(void **state)
{
    heed_problem problem = plain_problem();
    problem.k.seq = -1;
    assert_refused(&problem, "k strides are 0:-1:0; they must be 0 or more");

    /* The last element of V may have the number HEED_EXTENT_MAX, but not a larger one. */
    problem = plain_problem();
    problem.v.batch = HEED_EXTENT_MAX - problem.dim_v;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.v.batch++;
    assert_refused(&problem, "v strides ");
    problem.v.batch = INT64_MAX;
    assert_refused(&problem, "span more than 70368744177664 elements");
    problem.v = (heed_strides){ INT64_MAX / 2, INT64_MAX / 7, 1 };
    assert_refused(&problem, "span more than 70368744177664 elements");
}

/* The longest message about strides is not cut. */
static void test_strides_with_a_prefix(void **state)
{
    heed_problem problem = plain_problem();
    problem.q = (heed_strides){ 1000000000001, 3000000001, 700001 };
    problem.batch = 3;
    problem.seq_q = 2;
    problem.seq_k = 8;
    problem.page = problem.prefix = 4;
    problem.table = (heed_operand){ HEED_DATA_I32, .along = HEED_ALONG_BATCH | HEED_ALONG_PAGE };
    assert_refused(&problem, "q strides are 1000000000001:3000000001:700001; with a prefix");
    assert_refused(&problem, "or the seq stride batch times the batch stride");
}

static void test_elements_have_limits(void **state)
{
    heed_problem problem = plain_problem();
    problem.batch = problem.seq_q = HEED_SIZE_MAX;
    assert_refused(&problem, "q has 2147483648 x 2147483648 x 4 x 3 elements; the limit is");

    /* Repeated elements are counted each time, so sums must be checked for overflow as well. */
    problem = plain_problem();
    problem.heads_q = problem.heads_kv = problem.seq_k = HEED_SIZE_MAX;
    problem.batch = problem.seq_q = 1;
    problem.k = problem.v = (heed_strides){ 0, 1, 0 };
    assert_refused(&problem, "k has 1 x 2147483648 x 2147483648 x 3 elements");
}

static void test_output_has_no_overlap(void **state)
{
    heed_problem problem = plain_problem(); /* O is [2, 5, 4, 6] */
    static const heed_strides good[] = {
        { 120, 24, 6 },  /* bshd */
        { 120, 6, 30 },  /* bhsd */
        { 24, 48, 6 },   /* sbhd */
        { 6, 48, 12 },   /* heads and queries in the outer dimensions, batch in the inner one */
        { 1000, 60, 7 }, /* gaps everywhere */
    };
    static const heed_strides bad[] = {
        { 119, 24, 6 }, { 120, 23, 6 },  { 120, 24, 5 }, { 0, 24, 6 },  { 120, 0, 6 },
        { 120, 24, 0 }, { 120, 24, 24 }, { 6, 6, 6 },    { 12, 48, 6 }, { 1, 100, 1000 },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        problem.o = good[i];
        if (heed_problem_check(&problem) != HEED_OK)
            fail_msg("good layout %zu: %s", i, heed_message());
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        problem.o = bad[i];
        assert_refused(&problem, "overlap");
    }
    problem.batch = 1; /* a stride of a dimension of size 1 */
    problem.o = (heed_strides){ 0, 24, 6 };
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.q = problem.k = problem.v = (heed_strides){ 0, 1, 0 }; /* inputs may overlap */
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
}

static void test_null_is_refused(void **state)
{
    heed_problem problem = plain_problem();
    assert_int_equal(heed_problem_check(NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "problem is NULL");
    assert_int_equal(heed_problem_normalize(NULL, &problem), HEED_ERR_INVALID);
    assert_int_equal(heed_problem_normalize(&problem, NULL), HEED_ERR_INVALID);
}

/* -------------------------------------------------------------------------- */
/* Normal form                                                                */
/* -------------------------------------------------------------------------- */

static void assert_strides(heed_strides strides, int64_t batch, int64_t seq, int64_t head)
{
    assert_int_equal(strides.batch, batch);
    assert_int_equal(strides.seq, seq);
    assert_int_equal(strides.head, head);
}

/* If lengths determine the positions of queries, nothing that holds for all keys may be assumed. */
static void test_normal_form_of_lengths(void **state)
{
    static const text_pair all[] = {
        { "b2 h1 s8 d4 f16 causal=br lengths", "b2 h1 s8 d4 f16 causal=br lengths=b" },
        { "b2 h1 s8 d4 f16 causal lengths=b", "b2 h1 s8 d4 f16 causal lengths=b" },
        { "b2 h1 s8 d4 f16 window=9: align=br lengths",
          "b2 h1 s8 d4 f16 window=9: lengths=b align=br" },
        { "b2 h1 s8 d4 f16 window=9: align=tl lengths", "b2 h1 s8 d4 f16 lengths=b" },
        { "b2 h1 s8 d4 f16 chunk=8 align=br lengths",
          "b2 h1 s8 d4 f16 chunk=8 lengths=b align=br" },
        { "b1 h1 s8 d4 f16 lengths", "b1 h1 s8 d4 f16 lengths=b" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        heed_problem problem = parsed(all[i].given);
        char text[HEED_SPEC_SIZE];
        heed_problem_print(&problem, text, sizeof text);
        assert_string_equal(text, all[i].wanted);
        heed_problem again = parsed(text);
        assert_true(heed_problem_equal(&problem, &again));
    }
}

static void test_normal_form_writes_defaults_out(void **state)
{
    heed_problem problem = plain_problem();
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    assert_true(problem.scale == (float)(1 / sqrt(3)));
    assert_strides(problem.q, 60, 12, 3);
    assert_strides(problem.k, 42, 6, 3);
    assert_strides(problem.v, 84, 12, 6);
    assert_strides(problem.o, 120, 24, 6);
}

static void test_unused_strides_do_not_count(void **state)
{
    heed_problem problem = plain_problem();
    problem.batch = 1;
    problem.k = (heed_strides){ 12345, 6, 3 };
    heed_problem normal, again, dense = plain_problem();
    dense.batch = 1;
    assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
    assert_int_equal(heed_problem_normalize(&dense, &dense), HEED_OK);
    assert_true(heed_problem_equal(&normal, &dense));
    assert_int_equal(heed_problem_normalize(&again, &normal), HEED_OK);
    assert_true(heed_problem_equal(&again, &normal));

    /* A stride of zero that repeats elements is kept, also if the other two are not used. */
    problem = plain_problem();
    problem.seq_k = problem.heads_kv = 1;
    problem.k = (heed_strides){ 0, 0, 99 };
    assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
    assert_strides(normal.k, 0, 3, 3);
}

static void test_alignments_are_one_where_queries_are_keys(void **state)
{
    heed_problem problem = plain_problem();
    problem.mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT;
    heed_problem normal;
    assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
    assert_int_equal(normal.mask, HEED_MASK_CAUSAL_BOTTOM_RIGHT);
    problem.seq_k = problem.seq_q;
    assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
    assert_int_equal(normal.mask, HEED_MASK_CAUSAL_TOP_LEFT);
}

static void test_every_field_tells_problems_apart(void **state)
{
    heed_problem base = parsed("b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5");
    const char *const *others = WORDS(
        "b3 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5", "b2 h2/2 s5/7 d3/6 f16 causal=tl scale=0.5",
        "b2 h4/1 s5/7 d3/6 f16 causal=tl scale=0.5", "b2 h4/2 s6/7 d3/6 f16 causal=tl scale=0.5",
        "b2 h4/2 s5/8 d3/6 f16 causal=tl scale=0.5", "b2 h4/2 s5/7 d4/6 f16 causal=tl scale=0.5",
        "b2 h4/2 s5/7 d3/5 f16 causal=tl scale=0.5", "b2 h4/2 s5/7 d3/6 bf16 causal=tl scale=0.5",
        "b2 h4/2 s5/7 d3/6 f16 causal=br scale=0.5", "b2 h4/2 s5/7 d3/6 f16 scale=0.5",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl", "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=-0.5",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 window=2:",
        "b2 h4/2 s5/7 d3/6 f16 window=:2 align=tl scale=0.5",
        "b2 h4/2 s5/7 d3/6 f16 window=:2 align=br scale=0.5",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 chunk=3",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 softcap=2",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 bias=f16",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 bias=f16:q",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 alibi",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 sinks",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 starts",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 shown=bits",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths",
        "b2 h4/2 s5/7 d3/6 f16 causal=br scale=0.5 prefix=2",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths append=2",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths append=2 v_new=84:12:7",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths append=2 rotary=2",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths append=2 rotary=2:interleaved",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 lengths append=2 rotary=2 cos=f16 sin=f16",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 array=a:f32:3",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 score=s+1",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 visible=k!=1",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 q=61:12:3",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 k=42:7:3",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 v=84:12:7",
        "b2 h4/2 s5/7 d3/6 f16 causal=tl scale=0.5 o=121:24:6");
    assert_true(heed_problem_equal(&base, &base));
    for (size_t i = 0; others[i]; i++) {
        heed_problem other = parsed(others[i]);
        assert_false(heed_problem_equal(&base, &other));
    }
    base = parsed("b2 h4/2 s5/7 d3/6 f16 varlen=6/0 lengths append=5:packed");
    heed_problem other = base;
    other.append_packed = 0;
    assert_false(heed_problem_equal(&base, &other));
}

/* Masks that show the same keys have one normal form. */
static void test_masks_have_one_form(void **state)
{
    static const text_pair same[] = {
        { "b1 h1 s9 d8 f32 window=:0", "b1 h1 s9 d8 f32 causal" },
        { "b1 h1 s5/9 d8 f32 window=2:0 align=br", "b1 h1 s5/9 d8 f32 causal=br window=2:" },
        { "b1 h1 s9 d8 f32 causal window=2:3", "b1 h1 s9 d8 f32 causal window=2:" },
        { "b1 h1 s9 d8 f32 window=8:8", "b1 h1 s9 d8 f32" },
        { "b1 h1 s9 d8 f32 window=8:7", "b1 h1 s9 d8 f32 window=:7" },
        { "b1 h1 s9 d8 f32 chunk=9 align=br", "b1 h1 s9 d8 f32" },
        { "b1 h1 s5/9 d8 f32 chunk=5 causal=tl", "b1 h1 s5/9 d8 f32 causal=tl" },
        { "b1 h1 s9 d8 f32 chunk=4 window=3:5", "b1 h1 s9 d8 f32 chunk=4" },
        { "b1 h1 s5/9 d8 f32 causal align=br", "b1 h1 s5/9 d8 f32 causal=br" },
        { "b1 h1 s9/5 d8 f32 window=9: align=tl", "b1 h1 s9/5 d8 f32" },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        heed_problem a = parsed(same[i].given), b = parsed(same[i].wanted);
        if (!heed_problem_equal(&a, &b))
            fail_msg("%s is not %s", same[i].given, same[i].wanted);
    }
}

static void test_types(void **state)
{
    assert_int_equal(heed_type_size(HEED_F32), 4);
    assert_int_equal(heed_type_size(HEED_F16), 2);
    assert_int_equal(heed_type_size(HEED_BF16), 2);
    assert_int_equal(heed_type_size((heed_type)3), 0);
    assert_int_equal(heed_type_size((heed_type)-1), 0);
    assert_string_equal(heed_type_name(HEED_F32), "f32");
    assert_string_equal(heed_type_name(HEED_F16), "f16");
    assert_string_equal(heed_type_name(HEED_BF16), "bf16");
    assert_string_equal(heed_type_name((heed_type)3), "unknown");
}

RUN_TESTS(test_sizes_have_limits, test_largest_sizes_are_allowed, test_options_have_limits,
          test_operands_have_limits, test_arrays_have_limits, test_strides_have_limits,
          test_strides_with_a_prefix, test_elements_have_limits, test_output_has_no_overlap,
          test_null_is_refused, test_normal_form_of_lengths, test_normal_form_writes_defaults_out,
          test_unused_strides_do_not_count, test_alignments_are_one_where_queries_are_keys,
          test_every_field_tells_problems_apart, test_masks_have_one_form, test_types)
