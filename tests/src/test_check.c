/*
 * test_check.c - on a CPU, out-of-range lengths, cumulative lengths and page table entries are
 * found before each execution, and valid ones are accepted
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define SPEC "b2 h1 s1/8 d4 f32 causal=br lengths paged=2/5 table=b@6:0:0"

static float q[2 * 4], pool[5 * 2 * 4], o[2 * 4];
static int32_t lengths[2], table[12];

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

static heed_status run(const heed_plan *plan, size_t index, void *workspace)
{
    memcpy(lengths, cases[index].lengths, sizeof lengths);
    memcpy(table, cases[index].table, sizeof table);
    const heed_buffers buffers = { .size = sizeof buffers,
                                   .q = q,
                                   .k = pool,
                                   .v = pool,
                                   .o = o,
                                   .lengths = lengths,
                                   .table = table,
                                   .workspace = workspace,
                                   .workspace_size = heed_plan_workspace_size(plan) };
    return heed_execute(plan, &buffers);
}

static void test_faults_are_named(void **state)
{
    heed_context *context;
    heed_plan *plan;
    (void)state;
    unsetenv("HEED_CHECK");
    context = host_context(1);
    heed_problem problem = parsed(SPEC);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    void *workspace = aligned_alloc(HEED_ALIGNMENT,
                                    heed_plan_workspace_size(plan) + HEED_ALIGNMENT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_status status = run(plan, i, workspace);
        assert_int_equal(status, cases[i].fault ? HEED_ERR_INVALID : HEED_OK);
        if (cases[i].fault)
            assert_string_equal(heed_message(), cases[i].fault);
    }
    free(workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static const struct {
    int64_t cu[4];
    const char *fault; /* NULL: none */
} packed_cases[] = {
    { { 0, 3, 3, 7 }, NULL },
    { { 0, 0, 0, 0 }, NULL },
    { { 1, 3, 4, 7 }, "cu_seqlens_k[0] is 1; it must be 0 to 0" },
    { { 0, 3, 2, 7 }, "cu_seqlens_k[2] is 2; it must be 3 to 7" },
    { { 0, 3, 4, 8 }, "cu_seqlens_k[3] is 8; it must be 4 to 7" },
    { { 0, 5, 6, 7 }, "cu_seqlens_k[1] is 5; it must be 0 to 4" },
};

static void test_faults_of_packed_sequences_are_named(void **state)
{
    static const int32_t cu_q[4] = { 0, 1, 1, 2 };
    heed_context *context;
    heed_plan *plan;
    (void)state;
    unsetenv("HEED_CHECK");
    context = host_context(1);
    heed_problem problem = parsed("b3 h1 s1/4 d4 f32 varlen=2/7 cu_k=i64");
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    void *workspace = aligned_alloc(HEED_ALIGNMENT,
                                    heed_plan_workspace_size(plan) + HEED_ALIGNMENT);
    for (size_t i = 0; i < sizeof packed_cases / sizeof *packed_cases; i++) {
        const heed_buffers buffers = { .size = sizeof buffers,
                                       .q = q,
                                       .k = pool,
                                       .v = pool,
                                       .o = o,
                                       .cu_seqlens_q = cu_q,
                                       .cu_seqlens_k = packed_cases[i].cu,
                                       .workspace = workspace,
                                       .workspace_size = heed_plan_workspace_size(plan) };
        heed_status status = heed_execute(plan, &buffers);
        assert_int_equal(status, packed_cases[i].fault ? HEED_ERR_INVALID : HEED_OK);
        if (packed_cases[i].fault)
            assert_string_equal(heed_message(), packed_cases[i].fault);
    }
    free(workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

RUN_TESTS(cmocka_unit_test(test_faults_are_named),
          cmocka_unit_test(test_faults_of_packed_sequences_are_named))
