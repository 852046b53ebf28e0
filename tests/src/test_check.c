/*
 * test_check.c - on a CPU, out-of-range lengths, cumulative lengths and page table entries and
 * decreasing starts are found before each execution, and valid ones are accepted
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdlib.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define SPEC "b2 h1 s1/8 d4 f32 causal=br lengths paged=2/5 table=b@6:0:0"

static float q[2 * 4], pool[5 * 2 * 4], o[2 * 4];

static const struct {
    int32_t lengths[2], table[12];
    const char *fault; /* NULL: none */
} cases[] = {
    { { 8, 3 }, { 0, 4, 2, 1, -9, -9, 3, 0, 99, -1, 0, 0 }, NULL },
    { { 0, 0 }, { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 }, NULL },
    { { 9, 3 }, { 0 }, "lengths[0] is 9; it must be 0 to 8" },
    { { 8, -1 }, { 0 }, "lengths[1] is -1; it must be 0 to 8" },
    { { 8, 3 }, { 0, 1, 2, 5 }, "table[0][3] is 5; it must be 0 to 4" },
    { { 6, 3 }, { 0, 1, 2, 5, 0, 0, 0, -2 }, "table[1][1] is -2; it must be 0 to 4" },
};

static void expect(const heed_plan *plan, heed_buffers buffers, const char *fault)
{
    assert_int_equal(host_try(plan, buffers), fault ? HEED_ERR_INVALID : HEED_OK);
    if (fault)
        assert_string_equal(heed_message(), fault);
}

static void test_faults_are_named(void **state)
{
    unsetenv("HEED_CHECK");
    heed_context *context = host_context(1);
    const heed_problem problem = parsed(SPEC);
    heed_plan *plan = host_plan(context, &problem);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_buffers buffers = plain_buffers(q, pool, pool, o);
        buffers.lengths = cases[i].lengths;
        buffers.table = cases[i].table;
        expect(plan, buffers, cases[i].fault);
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static const struct {
    int64_t cu[4];
    const char *fault; /* NULL: none */
} packed_cases[] = {
    { { 0, 3, 3, 7 }, NULL },
    { { 0, 0, 0, 0 }, NULL },
    { { 1, 3, 4, 7 }, "cu_seqlens_k[0] is 1; it must be 0" },
    { { 0, 3, 7, 8 }, "cu_seqlens_k[3] is 8; it must be 7" },
    { { 0, 3, 2, 7 }, "cu_seqlens_k[2] is 2; it must be 3 to 7" },
    { { 0, 3, 4, 8 }, "cu_seqlens_k[3] is 8; it must be 4 to 7" },
    { { 0, 5, 6, 7 },
      "cu_seqlens_k[1] is 5; it must be 0 to 4, as no sequence may be longer than 4" },
};

static void test_faults_of_packed_sequences_are_named(void **state)
{
    static const int32_t cu_q[4] = { 0, 1, 1, 2 };
    unsetenv("HEED_CHECK");
    heed_context *context = host_context(1);
    const heed_problem problem = parsed("b3 h1 s1/4 d4 f32 varlen=2/7 cu_k=i64");
    heed_plan *plan = host_plan(context, &problem);
    (void)state;
    for (size_t i = 0; i < sizeof packed_cases / sizeof *packed_cases; i++) {
        heed_buffers buffers = plain_buffers(q, pool, pool, o);
        buffers.cu_seqlens_q = cu_q;
        buffers.cu_seqlens_k = packed_cases[i].cu;
        expect(plan, buffers, packed_cases[i].fault);
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static heed_status run_starts(const char *spec, const int32_t *starts, const int32_t *cu)
{
    static float rows[4 * 4], keys[2 * 8 * 4], results[4 * 4];
    heed_plan *plan;
    heed_context *context = host_context(1);
    heed_problem problem = parsed(spec);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    void *workspace = aligned_alloc(HEED_ALIGNMENT,
                                    heed_plan_workspace_size(plan) + HEED_ALIGNMENT);
    heed_buffers buffers = plain_buffers(rows, keys, keys, results);
    buffers.starts = starts;
    buffers.cu_seqlens_q = cu;
    buffers.workspace = workspace;
    buffers.workspace_size = heed_plan_workspace_size(plan);
    heed_status status = heed_execute(plan, &buffers);
    free(workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return status;
}

static void test_decreasing_starts_are_named(void **state)
{
    static const int32_t cu[] = { 0, 2, 3 }, rising[] = { -5, 9, 3, 3 }, falling[] = { 0, 0, 4, 3 };
    (void)state;
    assert_int_equal(run_starts("b2 h1 s2/8 d4 f32 starts=bq", rising, NULL), HEED_OK);
    assert_int_equal(run_starts("b2 h1 s2/8 d4 f32 starts=bq", falling, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "starts[1][1] is 3; it must be 4 or more, the start of the "
                                        "query before it");
    assert_int_equal(run_starts("b2 h1 s2/8 d4 f32 starts=q", falling + 2, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "starts[0][1] is 3; it must be 4 or more, the start of the "
                                        "query before it");
    /* the second sequence has one query */
    assert_int_equal(run_starts("b2 h1 s2/8 d4 f32 starts=bq varlen=3/0", falling, cu), HEED_OK);
}

RUN_TESTS(test_faults_are_named, test_faults_of_packed_sequences_are_named,
          test_decreasing_starts_are_named)
