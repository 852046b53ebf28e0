/*
 * test_problem_work.c - amount of work in a problem: visible pairs, operations and bytes
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>

#include "internal.h"
#include "problems.h"

/* Returns whether query @i sees key @j, by the definition in heed.h, evaluated per key. */
static bool sees(const heed_problem *problem, int64_t i, int64_t j)
{
    const heed_window *window = &problem->window;
    int64_t p = i;
    if (problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ||
        (problem->mask == HEED_MASK_NONE && problem->align == HEED_ALIGN_BOTTOM_RIGHT))
        p = i + problem->seq_k - problem->seq_q;
    if (problem->mask != HEED_MASK_NONE && j > p)
        return false;
    if ((window->sides & HEED_WINDOW_LEFT && j < p - window->left) ||
        (window->sides & HEED_WINDOW_RIGHT && j > p + window->right))
        return false;
    return problem->chunk == 0 ||
           floor((double)j / (double)problem->chunk) == floor((double)p / (double)problem->chunk);
}

/* The normal form shows, and heed_problem_flops() counts, exactly the keys visible in @problem. */
static void check_mask(const heed_problem *problem)
{
    heed_problem normal, again;
    int64_t pairs = 0, most = 0;
    assert_int_equal(heed_problem_normalize(&normal, problem), HEED_OK);
    assert_int_equal(heed_problem_normalize(&again, &normal), HEED_OK);
    assert_true(heed_problem_equal(&normal, &again));
    bool masked = false, hides = false;
    for (int64_t i = 0; i < problem->seq_q; i++) {
        heed_interval keys = heed_problem_keys(&normal, heed_problem_lengths(&normal), i);
        assert_true(keys.begin <= keys.end);
        for (int64_t j = 0; j < problem->seq_k; j++)
            if ((keys.begin <= j && j < keys.end) != sees(problem, i, j))
                fail_msg("query %d, key %d: mask %d align %d window %u %d:%d chunk %d, s%d/%d",
                         (int)i, (int)j, problem->mask, problem->align, problem->window.sides,
                         (int)problem->window.left, (int)problem->window.right, (int)problem->chunk,
                         (int)problem->seq_q, (int)problem->seq_k);
        pairs += keys.end - keys.begin;
        most = keys.end - keys.begin > most ? keys.end - keys.begin : most;
        masked |= keys.end - keys.begin < problem->seq_k;
        hides |= keys.begin > 0;
    }
    /* 2 batch elements, 4 heads, (3 + 6) multiply-adds of 2 operations per pair */
    assert_true(heed_problem_flops(problem) == (double)(pairs * 2 * 4 * 9 * 2));
    assert_true(heed_problem_most_keys(&normal) >= most);
    assert_true(heed_problem_masked(&normal) || !masked);
    assert_true(heed_problem_hides_first(&normal) || !hides);
}

static void check_windows(heed_problem *problem)
{
    for (unsigned sides = 0; sides < 4; sides++)
        for (int64_t left = 0; left <= (sides & HEED_WINDOW_LEFT ? 7 : 0); left++)
            for (int64_t right = 0; right <= (sides & HEED_WINDOW_RIGHT ? 7 : 0); right++)
                for (problem->chunk = 0; problem->chunk <= 8; problem->chunk++) {
                    problem->window = (heed_window){ sides, left, right };
                    check_mask(problem);
                }
}

static void test_flops_and_visible_by_counting(void **state)
{
    heed_problem problem = plain_problem();
    for (problem.seq_q = 1; problem.seq_q <= 7; problem.seq_q++)
        for (problem.seq_k = 1; problem.seq_k <= 7; problem.seq_k++)
            for (int mask = 0; mask <= 2; mask++)
                for (int align = 0; align <= (mask == 1 ? 0 : 1); align++) {
                    problem.mask = (heed_mask)mask;
                    problem.align = (heed_align)align;
                    check_windows(&problem);
                }
}

/* Sequences of a pool have the mean length that fills it: at least a page beyond the prefix, and at
 * most seq_k. */
static void test_pools(void **state)
{
    static const text_real pools[] = {
        { "b4 h2 s1/96 d8 f32 lengths paged=16", 96 },
        { "b4 h2 s1/96 d8 f32 lengths paged=16/100", 96 },
        { "b4 h2 s1/96 d8 f32 lengths paged=16/12", 48 },
        { "b4 h2 s1/96 d8 f32 lengths paged=16/1", 16 },
        { "b4 h2 s1/96 d8 f32 paged=16/12", 96 }, /* all have seq_k keys */
        { "b4 h2 s1/96 d8 f32 lengths paged=16/6 prefix=32", 48 },
        { "b4 h2 s1/96 d8 f32 lengths paged=16/1 prefix=32", 48 },
    };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const heed_problem problem = parsed(pools[i].text);
        assert_true(heed_problem_flops(&problem) == 4 * 2 * 2 * 16 * pools[i].value);
    }
}

static void test_flops_of_the_largest(void **state)
{
    heed_problem problem = parsed("b1 h1 s2147483648 d1 f16 causal");
    assert_true(heed_problem_flops(&problem) == 4 * (0x1p61 + 0x1p30));
    problem = parsed("b1 h1 s2147483648 d1 f16");
    assert_true(heed_problem_flops(&problem) == 4 * 0x1p62);
    problem = parsed("b1 h1 s2147483648 d1 f16 chunk=1");
    assert_true(heed_problem_flops(&problem) == 4 * 0x1p31);
    problem = parsed("b1 h1 s2147483648 d1 f16 causal chunk=2 window=0:");
    assert_true(heed_problem_flops(&problem) == 4 * 0x1p31);
    problem = parsed("b1 h1 s2147483648 d1 f16 window=1:1");
    assert_true(heed_problem_flops(&problem) == 4 * (3 * 0x1p31 - 2));
    problem = parsed("b1 h1 s1/2147483648 d1 f16 causal=br");
    assert_true(heed_problem_flops(&problem) == 4 * 0x1p31);
}

static void test_invalid_problems_have_no_work(void **state)
{
    heed_problem problem = parsed("b1 h1 s64 d8 f16 paged=16");
    problem.page = 0;
    assert_true(heed_problem_flops(&problem) == 0 && heed_problem_bytes(&problem) == 0);
    problem = parsed("b2 h1 s64 d8 f16 varlen=9");
    problem.batch = 0;
    assert_true(heed_problem_flops(&problem) == 0 && heed_problem_bytes(&problem) == 0);
}

static void test_bytes(void **state)
{
    heed_problem problem = plain_problem();
    double elements = 2 * 5 * 4 * 3 + 2 * 7 * 2 * 3 + 2 * 7 * 2 * 6 + 2 * 5 * 4 * 6;
    assert_true(heed_problem_bytes(&problem) == 4 * elements);
    problem.type = HEED_BF16;
    assert_true(heed_problem_bytes(&problem) == 2 * elements);
    problem.q = (heed_strides){ 6000, 120, 30 }; /* padding is not counted */
    assert_true(heed_problem_bytes(&problem) == 2 * elements);
    problem.k = (heed_strides){ 0, 6, 3 }; /* repeated elements are counted once */
    assert_true(heed_problem_bytes(&problem) == 2 * (elements - 7 * 2 * 3));
    problem.k = (heed_strides){ 42, 0, 3 };
    assert_true(heed_problem_bytes(&problem) == 2 * (elements - 2 * 6 * 2 * 3));
    problem.k = (heed_strides){ 42, 6, 0 };
    assert_true(heed_problem_bytes(&problem) == 2 * (elements - 2 * 7 * 3));
}

/* The bytes that words add to those of the tensors of a problem. */
static double bytes_of(const char *words)
{
    char spec[256];
    snprintf(spec, sizeof spec, "b2 h4/2 s8/40 d3 f32 %s", words);
    heed_problem problem = parsed(spec), bare = parsed("b2 h4/2 s8/40 d3 f32");
    return heed_problem_bytes(&problem) - heed_problem_bytes(&bare);
}

static void test_bytes_of_operands(void **state)
{
    assert_true(bytes_of("bias=f16") == 2 * 2 * 4 * 8 * 40);
    assert_true(bytes_of("bias=f32:h") == 4 * 4 * 40);
    assert_true(bytes_of("shown=bytes:q") == 8 * 40);
    assert_true(bytes_of("shown=bits:bq") == 4 * 2 * 8 * 2);
    assert_true(bytes_of("alibi=bh align=tl sinks starts") == 4 * (2 * 4 + 4 + 2 * 8));
    assert_true(bytes_of("array=a:i32:3x5 array=b:bytes:7") == 4 * 15 + 7);
    /* for visible pairs: 1 + 2 + ... + 8 */
    assert_true(fabs(bytes_of("causal=tl bias=f32:q") - 4 * 36) < 1e-9);
}

RUN_TESTS(test_flops_and_visible_by_counting, test_pools, test_flops_of_the_largest,
          test_invalid_problems_have_no_work, test_bytes, test_bytes_of_operands)
