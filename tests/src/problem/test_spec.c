/*
 * test_spec.c - problem specs: strict parsing and canonical printing
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "problems.h"

/* Specs and their printed form. */
static const char *const printed[][2] = {
    { "b2 h8 s512 d64 f16", "b2 h8 s512 d64 f16" },
    { "f16\td64  s512/512 h8/8 b2 ", "b2 h8 s512 d64 f16" },
    { "bf16 d192/128 h32/8 s1/4096 b4 causal=br scale=0.1 layout=bhsd",
      "b4 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1 layout=bhsd" },
    { "b1 h1 s4 d64 f32 scale=0.125", "b1 h1 s4 d64 f32" },
    { "b1 h1 s4 d64 f32 scale=12500e-5", "b1 h1 s4 d64 f32" },
    { "b1 h1 s4 d64 f32 scale=-.125", "b1 h1 s4 d64 f32 scale=-0.125" },
    { "b1 h1 s4 d64 f32 scale=1e+30", "b1 h1 s4 d64 f32 scale=1e+30" },
    { "b1 h2 s4 d64 f32 causal=br", "b1 h2 s4 d64 f32 causal" },
    { "b1 h2 s4 d64 f32 causal=tl", "b1 h2 s4 d64 f32 causal" },
    { "b1 h2 s4/5 d64 f32 window=:2 align=br", "b1 h2 s4/5 d64 f32 window=:2 align=br" },
    { "b1 h2 s8 d64 f32 chunk=3 align=br window=1:1", "b1 h2 s8 d64 f32 window=1:1 chunk=3" },
    { "b1 h2 s8/9 d64 f32 align=br", "b1 h2 s8/9 d64 f32" },
    { "b1 h2 s4/5 d64 f32 causal=tl", "b1 h2 s4/5 d64 f32 causal=tl" },
    { "b1 h2 s4/5 d64 f32 causal=br", "b1 h2 s4/5 d64 f32 causal=br" },
    { "b1 h2 s4 d64 f32 layout=bshd", "b1 h2 s4 d64 f32" },
    { "b1 h1 s4 d64 f32 layout=bhsd", "b1 h1 s4 d64 f32" },
    { "b1 h2 s4 d64 f32 layout=sbhd", "b1 h2 s4 d64 f32" },
    { "b3 h2 s4 d5 f32 layout=sbhd", "b3 h2 s4 d5 f32 layout=sbhd" },
    { "b3 h2 s4 d5 f32 q=10:30:5 k=10:30:5 v=10:30:5 o=10:30:5", "b3 h2 s4 d5 f32 layout=sbhd" },
    { "b3 h2 s4 d5 f32 q=40:10:5 v=0:10:5", "b3 h2 s4 d5 f32 v=0:10:5" },
    { "b3 h2 s4 d5 f32 layout=sbhd o=40:10:5", "b3 h2 s4 d5 f32 q=10:30:5 k=10:30:5 v=10:30:5" },
    { "b1 h1 s9 d8 f16 q=7:1:0", "b1 h1 s9 d8 f16 q=72:1:8" },
    { "b007 h1 s1 d1 f16", "b7 h1 s1 d1 f16" },
    { "acc=f16 b1 h1 s1 d1 f16", "b1 h1 s1 d1 f16 acc=f16" },
    { "b1 h1 s1 d1 f16 layout=sbhd acc=f16 scale=2", "b1 h1 s1 d1 f16 scale=2 acc=f16" },
    { "b1 h1 s1 d1 bf16 acc=f32", "b1 h1 s1 d1 bf16" },
    { "products=tf32 b1 h1 s1 d1 f32", "b1 h1 s1 d1 f32 products=tf32" },
    { "b1 h1 s1 d1 f32 layout=sbhd invariant products=bf16x3 scale=2",
      "b1 h1 s1 d1 f32 scale=2 products=bf16x3 invariant" },
    { "b1 h1 s1 d1 f16 products=full", "b1 h1 s1 d1 f16" },
};

static void test_canonical_form(void **state)
{
    expect_printed(printed, sizeof printed / sizeof *printed);
}

static void test_the_longest_spec_fits(void **state)
{
    const int64_t far = HEED_EXTENT_MAX / 4 - 1024, middle = far / 4, near = middle / 4;
    heed_problem problem = { .size = sizeof problem,
                             .type = HEED_BF16,
                             .mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT,
                             .batch = 2,
                             .heads_q = 4,
                             .heads_kv = 2,
                             .seq_q = 3,
                             .seq_k = 4,
                             .dim_qk = 1023,
                             .dim_v = 1024,
                             .scale = -1.17549435e-38F,
                             .q = { far, middle, near },
                             .k = { far, middle, near },
                             .v = { far, middle, near },
                             .o = { far, middle, near } };
    char text[HEED_SPEC_SIZE];
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    size_t length = heed_problem_print(&problem, text, sizeof text);
    assert_in_range(length, 200, HEED_SPEC_SIZE - 100); /* sizes of 10 digits would add 30 */
}

static void test_print_counts_what_does_not_fit(void **state)
{
    heed_problem problem;
    const char *whole = "b4 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1 layout=bhsd";
    assert_int_equal(heed_problem_parse(&problem, whole), HEED_OK);
    assert_int_equal(heed_problem_print(&problem, NULL, 0), strlen(whole));
    for (size_t size = 1; size <= strlen(whole) + 2; size++) {
        char text[HEED_SPEC_SIZE];
        memset(text, '#', sizeof text);
        assert_int_equal(heed_problem_print(&problem, text, size), strlen(whole));
        assert_int_equal(strlen(text), size <= strlen(whole) ? size - 1 : strlen(whole));
        assert_memory_equal(text, whole, strlen(text));
        assert_int_equal(text[size], '#');
    }
}

/* A message about a bad problem may contain its spec. */
static void test_bad_problems_can_be_printed(void **state)
{
    heed_problem problem = {
        .size = sizeof problem, .type = (heed_type)9, .mask = (heed_mask)9, .scale = NAN
    };
    problem.batch = INT64_MIN;
    problem.seq_q = problem.heads_q = problem.dim_qk = INT64_MAX;
    problem.o.head = -1;
    char text[HEED_SPEC_SIZE];
    size_t length = heed_problem_print(&problem, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "b-9223372036854775808 h9223372036854775807/0"));
    assert_non_null(strstr(text, "unknown"));
}

/* Sizes that would overflow, trap or be read out of bounds. */
static void test_operands_of_bad_problems_can_be_printed(void **state)
{
    heed_problem problem = { .size = sizeof problem,
                             .page = -1,
                             .lengths = { .type = HEED_DATA_F32 }, /* a byte of 1 behind visible */
                             .table = { HEED_DATA_I32, .along = HEED_ALONG_PAGE },
                             .shown = { HEED_DATA_BITS, .along = HEED_ALONG_KEY },
                             .rotary = INT64_MAX,
                             .rotary_cos = { HEED_DATA_F32, .along = HEED_ALONG_POSITION },
                             .cu_seqlens_q = { HEED_DATA_I64, .along = HEED_ALONG_SEQUENCE } };
    char text[HEED_SPEC_SIZE];
    problem.arrays[0] = (heed_array){ .name = "sixteen_letters_", .rank = 1 << 30 };
    memset(problem.visible, 'v', sizeof problem.visible);
    problem.batch = INT64_MAX;
    problem.seq_k = INT64_MIN;
    heed_problem_print(&problem, text, sizeof text);
    assert_non_null(strstr(text, " paged=-1"));
    assert_non_null(strstr(text, " array=sixteen_letters_:none:0x0x0 "));
    assert_null(strstr(text, "vv\1"));

    problem.page = 1;
    problem.seq_k = INT64_MAX;
    heed_problem_print(&problem, text, sizeof text);
    assert_non_null(strstr(text, "s0/9223372036854775807 "));
    assert_non_null(strstr(text, " paged=1/0 "));
}

/* -------------------------------------------------------------------------- */
/* Errors                                                                     */
/* -------------------------------------------------------------------------- */

/* In each spec a caret is before the character that the message must point at. */
static const struct {
    const char *message, *marked;
} errors[] = {
    { "the spec is empty", "^" },
    { "the spec is empty", "  \t ^" },
    /* numbers */
    { "batch: a number of 1 to 2147483648 is missing here", "b^ h8 s4 d4 f16" },
    { "batch is 0; it must be 1 to 2147483648", "b^0 h8 s4 d4 f16" },
    { "batch: a number", "b^-1 h8 s4 d4 f16" },
    { "batch is 2147483649; it must be 1 to 2147483648", "b^2147483649 h8 s4 d4 f16" },
    { "heads_q is 99999999999999999999; it must be", "b1 h^99999999999999999999 s4 d4 f16" },
    { "unexpected '/'; this word is written bN", "b1^/2 h8 s4 d4 f16" },
    { "unexpected 'x'", "b1 h8^x s4 d4 f16" },
    { "unexpected '.'; this word is written sN or sN/M", "b1 h8 s4^.5 d4 f16" },
    { "heads_kv: a number", "b1 h8/^ s4 d4 f16" },
    { "heads_kv is 0", "b1 h8/^0 s4 d4 f16" },
    { "seq_k: a number", "b1 h8 s4/^x d4 f16" },
    { "unexpected '/'", "b1 h8 s4/4^/4 d4 f16" },
    { "dim_qk is 1025; it must be 1 to 1024", "b1 h8 s4 d^1025 f16" },
    { "dim_v is 2000; it must be 1 to 1024", "b1 h8 s4 d5/^2000 f16" },
    { "shared is 1 and dim_v is 5; it must be dim_qk, which is 4, or less",
      "b1 h8 s4 d4/5 f16 ^shared" },
    { "'\"' is missing here", "b1 h8 s4 d4 f16 score=\"s*10^" },
    { "'\"' is missing here", "b1 h8 s4 d4 f16 visible=\"^" },
    { "score: \"1e\" is not a decimal number in the range of float32",
      "b1 h8 s4 d4 f16 score=s*^1e" },
    { "score: \"1e39\" is not a decimal number in the range of float32",
      "b1 h8 s4 d4 f16 score=s*^1e39" },
    { "score: 2147483648 is too large: a whole number is at most 2147483647",
      "b1 h8 s4 d4 f16 score=s*^2147483648" },
    { "score: this is true or false, where a number is needed", "b1 h8 s4 d4 f16 score=s*^(k<q)" },
    { "visible: this is a whole number, where true or false is needed",
      "b1 h8 s4 d4 f16 visible=\"k<1 || ^q\"" },
    { "score: this is a number, where a whole number is needed",
      "b1 h8 s4 d4 f16 score=a[k,^s] array=a:f32:8x8" },
    { "score: max takes 2 values, not 0", "b1 h8 s4 d4 f16 score=^max()" },
    { "score: a has 1 dimension and takes an index for each, not 0",
      "b1 h8 s4 d4 f16 score=s+^a[] array=a:f32:8" },
    { "score: a value is expected here, not ')'", "b1 h8 s4 d4 f16 score=max(s,^)" },
    { "score: an operator or the end is expected here, not ')'", "b1 h8 s4 d4 f16 score=s^)" },
    { "score: exp takes 1 value, not 2", "b1 h8 s4 d4 f16 score=^exp(s,s)" },
    { "slopes.along is 4 (query); it must have the bits of 2 (head), and may have those of 3 "
      "(batch, head)",
      "b1 h8 s4 d4 f16 ^alibi=q" },
    { "rotary_cos.type is 4 (i32); it must be 1 (f32), 2 (f16) or 3 (bf16)",
      "b1 h8 s4 d4 f16 lengths append=1 rotary=2 ^cos=i32" },
    { "shared must be given once", "b1 h8 s4 d4 f16 shared ^shared" },
    { "heads_kv is 3; it must divide heads_q, which is 8", "b1 h8/^3 s4 d4 f16" },
    { "heads_kv is 16; it must divide heads_q, which is 8", "b1 h8/^16 s4 d4 f16" },
    /* words */
    { "unknown word \"x\"; the words are", "b1 h8 s4 d4 f16 ^x" },
    { "unknown word \"n5\"; the words are", "^n5 b1 h8 s4 d4 f16" },
    { "unknown word \"5\"; the words are", "b1 ^5 h8 s4 d4 f16" },
    { "unknown word \"fp16\"; did you mean f16?", "b1 h8 s4 d4 ^fp16" },
    { "unknown word \"float32\"; did you mean f32?", "b1 h8 s4 d4 ^float32" },
    { "unknown word \"bfloat16\"; did you mean bf16?", "b1 h8 s4 d4 ^bfloat16" },
    { "unknown word \"half\"; did you mean f16?", "b1 h8 s4 d4 ^half" },
    { "unknown word \"bf17\"; did you mean bf16?", "b1 h8 s4 d4 ^bf17" },
    { "unknown word \"casual\"; did you mean causal?", "b1 h8 s4 d4 f16 ^casual" },
    { "unknown word \"scal=2\"; did you mean scale=?", "b1 h8 s4 d4 f16 ^scal=2" },
    { "unknown word \"lay=bhsd\"", "b1 h8 s4 d4 f16 ^lay=bhsd" },
    { "unknown word \"causalx\"; did you mean causal?", "b1 h8 s4 d4 f16 ^causalx" },
    { "unknown word \"F16\"", "b1 h8 s4 d4 ^F16" },
    { "unknown word \"B1\"", "^B1 h8 s4 d4 f16" },
    { "unknown word \"=\"", "b1 h8 s4 d4 f16 ^=" },
    { "unknown word \"f16,\"; did you mean f16?", "b1 h8 s4 d4 ^f16," },
    { "the batch size must be given once", "b1 h8 s4 ^b1 d4 f16" },
    { "the number of heads must be given once", "b1 h8 s4 ^h8 d4 f16" },
    { "the sequence length must be given once", "b1 h8 s4 ^s4 d4 f16" },
    { "the head dim must be given once", "b1 h8 s4 d4 ^d4 f16" },
    { "the element type must be given once", "b1 h8 s4 d4 f16 ^f32" },
    { "the mask must be given once", "b1 h8 s4 d4 f16 causal ^causal=tl" },
    { "the scale must be given once", "b1 h8 s4 d4 f16 scale=1 ^scale=1" },
    { "the layout must be given once", "b1 h8 s4 d4 f16 layout=bshd ^layout=bshd" },
    { "the strides of K must be given once", "b1 h8 s4 d4 f16 k=1:2:3 ^k=1:2:3" },
    { "the batch size is missing: add a word such as b1", "h8 s4 d4 f16^" },
    { "the number of heads is missing: add a word such as h8", "b1 s4 d4 f16^" },
    { "the sequence length is missing: add a word such as s512", "b1 h8 d4 f16^" },
    { "the head dim is missing: add a word such as d64", "b1 h8 s4 f16^" },
    { "the element type is missing: add a word such as f16", "b1 h8 s4 d4^" },
    /* values */
    { "causal= must be followed by tl (top left) or br (bottom right)",
      "b1 h8 s4 d4 f16 causal=^" },
    { "causal= must be followed by", "b1 h8 s4 d4 f16 causal=^tlx" },
    { "window= must be followed by L:R, L: or :R", "b1 h8 s4 d4 f16 window=^3" },
    { "window= must be followed by", "b1 h8 s4 d4 f16 window=^:" },
    { "the window's left side: a number of 0 to", "b1 h8 s4 d4 f16 window=^-1:2" },
    { "the window's right side is 2147483649; it must be 0 to 2147483648",
      "b1 h8 s4 d4 f16 window=:^2147483649" },
    { "unexpected 'x'; this word is written window=L:R, window=L: or window=:R",
      "b1 h8 s4 d4 f16 window=3^x:2" },
    { "unexpected ':'", "b1 h8 s4 d4 f16 window=3:2^:1" },
    { "chunk is 0; it must be 1 to", "b1 h8 s4 d4 f16 chunk=^0" },
    { "align= must be followed by tl", "b1 h8 s4 d4 f16 align=^up" },
    { "align is 1 (bottom right) and mask is 1 (top left)",
      "b1 h8 s4/5 d4 f16 causal=tl ^align=br" },
    { "a window with 4 queries and 5 keys needs an alignment: align=tl or align=br",
      "b1 h8 ^window=3: s4/5 d4 f16" },
    { "a chunk with 4 queries and 5 keys needs", "b1 h8 ^chunk=3 s4/5 d4 f16" },
    { "alibi with 1 query and 5 keys needs", "b1 h8 ^alibi s1/5 d4 f16" },
    { "causal with 4 queries and 1 key needs", "b1 h8 ^causal s4/1 d4 f16" },
    { "unknown word \"windwo=3:\"; did you mean window=?", "b1 h8 s4 d4 f16 ^windwo=3:" },
    { "causal with 4 queries and 5 keys needs an alignment: causal=tl or causal=br",
      "b1 h8 ^causal s4/5 d4 f16" },
    { "acc= must be followed by f32 or f16", "b1 h8 s4 d4 f16 acc=^bf16" },
    { "accumulate is 1 (f16) and type is f32; with that type it must be 0 (f32)",
      "b1 h8 ^acc=f16 s4 d4 f32" },
    { "the accumulation must be given once", "b1 h8 s4 d4 f16 acc=f16 ^acc=f16" },
    { "products= must be followed by full, tf32 or bf16x3", "b1 h8 s4 d4 f32 products=^f32" },
    { "products is 1 (tf32) and type is f16; with that type it must be 0 (full)",
      "b1 h8 ^products=tf32 s4 d4 f16" },
    { "products must be given once", "b1 h8 s4 d4 f32 products=tf32 ^products=tf32" },
    { "unknown word \"product=tf32\"; did you mean products=?", "b1 h8 s4 d4 f32 ^product=tf32" },
    { "scale is \"\"; it must be a decimal number in the range of float32",
      "b1 h8 s4 d4 f16 scale=^" },
    { "scale is \"nan\"", "b1 h8 s4 d4 f16 scale=^nan" },
    { "scale is \"inf\"", "b1 h8 s4 d4 f16 scale=^inf" },
    { "scale is \"0x1p3\"", "b1 h8 s4 d4 f16 scale=^0x1p3" },
    { "scale is \"1,5\"", "b1 h8 s4 d4 f16 scale=^1,5" },
    { "scale is \"1e39\"", "b1 h8 s4 d4 f16 scale=^1e39" },
    { "scale is 0 in float32", "b1 h8 s4 d4 f16 scale=^0" },
    { "scale is 0 in float32", "b1 h8 s4 d4 f16 scale=^1e-46" },
    { "layout= must be followed by bshd, bhsd or sbhd", "b1 h8 s4 d4 f16 layout=^hsbd" },
    { "layout= must be followed by", "b1 h8 s4 d4 f16 layout=^" },
    { "batch stride: a number of 0 to", "b1 h8 s4 d4 f16 q=^" },
    { "batch stride must be followed by ':' and the sequence stride", "b1 h8 s4 d4 f16 q=1^" },
    { "sequence stride: a number", "b1 h8 s4 d4 f16 q=1:^-2:3" },
    { "sequence stride is 70368744177665; it must be 0 to 70368744177664",
      "b1 h8 s4 d4 f16 q=1:^70368744177665:3" },
    { "head stride: a number", "b1 h8 s4 d4 f16 o=1:2:^" },
    { "unexpected ':'; this word is written o=B:S:H", "b1 h8 s4 d4 f16 o=1:2:3^:4" },
    { "strides of 0:0:0 mean dense ones", "b2 h8 s4 d4 f16 paged=2 table=b^@0:0:0" },
    { "strides of 0:0:0 mean the dense layout; omit v=", "b1 h8 s4 d4 f16 v=^0:0:0" },
    { "o strides 128:32:3 overlap: a stride of 3 must be 4 or more",
      "b1 h8 s4 d4 f16 ^o=128:32:3" },
    { "k strides 1:70368744177664:4 span more than 70368744177664 elements",
      "b1 h8 s4 d4 f16 ^k=1:70368744177664:4" },
    { "q has 2147483648 x 2147483648 x 2147483648 x 1 elements; the limit is 70368744177664",
      "b2147483648 h2147483648 s^2147483648 d1 f16" },
    { "q has 2147483648 x 2147483648 x 1 x 1024 elements",
      "b2147483648 h1 s^2147483648 d1024 f16 layout=bhsd" },
    /* characters */
    { "byte 0xc3 is not allowed", "b1 h8 s4 d4 f16 ^\xc3\xa9" },
    { "byte 0x0a is not allowed", "b1 h8 s4 d4 f16^\n" },
    { "byte 0x7f is not allowed", "^\x7f" },
};

/* The message shows @spec, control characters replaced, and below it a caret at @column, and ends
 * there. */
static void assert_points(const char *spec, int column)
{
    char end[1024];
    snprintf(end, sizeof end, "\n  %s\n  %*s^", spec, column, "");
    for (char *c = end + 3; c < end + 3 + strlen(spec); c++)
        *c = *c == '\t' ? ' ' : *c >= ' ' && *c <= '~' ? *c : '?';
    const char *shown = strchr(heed_message(), '\n');
    if (!shown || strcmp(shown, end) != 0)
        fail_msg("%s\nwant%s", heed_message(), end);
}

static void test_errors_point_at_the_character(void **state)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        heed_problem problem, before;
        char spec[256];
        const int column = (int)strcspn(errors[i].marked, "^");
        snprintf(spec, sizeof spec, "%.*s%s", column, errors[i].marked,
                 errors[i].marked + column + 1);
        memset(&problem, 0x55, sizeof problem);
        memcpy(&before, &problem, sizeof before);
        if (heed_problem_parse(&problem, spec) != HEED_ERR_INVALID)
            fail_msg("\"%s\" was accepted", spec);
        assert_memory_equal(&problem, &before, sizeof before);
        if (strncmp(heed_message(), errors[i].message, strlen(errors[i].message)) != 0)
            fail_msg("%s\nwant\n%s", heed_message(), errors[i].message);
        assert_points(spec, column);
    }
}

/* Of a very long spec only the part around the error is shown, and the caret is still below the
 * character. */
static void test_long_specs_are_shown_in_part(void **state)
{
    for (size_t place = 0; place < 200; place++) {
        char spec[256];
        memset(spec, ' ', sizeof spec);
        spec[place] = '&';
        spec[place + 1] = '1';
        memcpy(spec + sizeof spec - 4, "f16", 4);
        heed_problem problem;
        assert_int_equal(heed_problem_parse(&problem, spec), HEED_ERR_INVALID);
        const char *shown = strchr(heed_message(), '\n') + 1;
        const char *pointer = strchr(shown, '\n') + 1;
        size_t column = strlen(pointer) - 1;
        assert_int_equal(shown[column], '&');
        assert_in_range(pointer - shown, 40, 72);
    }
}

static void test_null_is_refused(void **state)
{
    heed_problem problem;
    assert_int_equal(heed_problem_parse(NULL, "b1 h1 s1 d1 f16"), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "problem is NULL");
    assert_int_equal(heed_problem_parse(&problem, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "spec is NULL");
}

RUN_TESTS(test_canonical_form, test_the_longest_spec_fits, test_print_counts_what_does_not_fit,
          test_bad_problems_can_be_printed, test_operands_of_bad_problems_can_be_printed,
          test_errors_point_at_the_character, test_long_specs_are_shown_in_part,
          test_null_is_refused)
