/*
 * test_together.c - tasks with several key/value heads give the same bits as tasks with one head
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"
#include "lab/verify/inputs.h"
#include "lab/verify/stage/stage.h"

#define MANY 64 /* threads; with so many, each task has one head */

static const char *const specs[] = {
    "b3 h8 s1/300 d64 f32",
    "b2 h6/3 s2/1500 d40/72 bf16 causal=br", /* sections of keys */
    "b3 h8/4 s1/200 d64 f16 lengths",
    "b3 h8/2 s3/208 d32 f32 lengths paged=16 causal=br",
    "b3 h4 s5/150 d64 f32 varlen=9/300",
    "b2 h4 s2/200 d64 f32 alibi=h align=br sinks",
    "b2 h7 s1/260 d33 bf16 window=99:0 align=br",
    "b2 h4/4 s1/260 d72/64 bf16 shared",
};

typedef struct outputs {
    float *o, *lse; /* of any type; SIZE bytes each */
    size_t workspace;
} outputs;

#define SIZE ((size_t)1 << 16)

static outputs make_outputs(void)
{
    outputs it = { calloc(1, SIZE), calloc(1, SIZE), 0 };
    assert_true(it.o && it.lse);
    return it;
}

/* Returns false if the kernel cannot run the problem. */
static bool run(const lab_values *values, const char *kernel, int threads, outputs *it)
{
    heed_options options = { .size = sizeof options, .threads = threads };
    heed_buffers buffers = lab_values_buffers(values);
    if (values->problem.shared)
        buffers.v = NULL;
    heed_context *context;
    heed_plan *plan;
    memset(it->o, 0, SIZE);
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    heed_status status = heed_plan_create_named(&plan, context, &values->problem, kernel);
    if (status == HEED_OK) {
        it->workspace = heed_plan_workspace_size(plan);
        buffers.o = it->o;
        buffers.lse = it->lse;
        buffers.workspace_size = it->workspace;
        buffers.workspace = aligned_alloc(HEED_ALIGNMENT, it->workspace + HEED_ALIGNMENT);
        assert_non_null(buffers.workspace);
        if (heed_execute(plan, &buffers) != HEED_OK)
            fail_msg("%s: %s", kernel, heed_message());
        free(buffers.workspace);
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
    return status == HEED_OK;
}

/* Compares all configs of the kernels for few queries; returns how many there are. */
static int compare(const char *spec, outputs *apart, outputs *together)
{
    lab_values values;
    heed_problem problem;
    char kernel[HEED_NAME_SIZE];
    int count = 0;
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(lab_values_create(&values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("normal"), &values, 1);
    for (size_t j = 0; heed_kernel_name(j); j++)
        for (size_t c = 0; heed_kernel_config(j, c, kernel, sizeof kernel) == HEED_OK; c++) {
            if (!strstr(kernel, "_few") || !run(&values, kernel, MANY, apart))
                continue;
            assert_true(run(&values, kernel, 1, together));
            if (memcmp(apart->o, together->o, SIZE) != 0 ||
                memcmp(apart->lse, together->lse, SIZE) != 0)
                fail_msg("%s, %s: other bits with heads together", spec, kernel);
            count++;
        }
    lab_values_destroy(&values);
    return count;
}

static void test_bits_are_the_same(void **state)
{
    outputs apart = make_outputs(), together = make_outputs();
    int count = 0;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        count += compare(specs[i], &apart, &together);
    if (count == 0)
        print_message("skipped: no kernel for few queries runs here\n");
    free(apart.o);
    free(apart.lse);
    free(together.o);
    free(together.lse);
}

/* A thread's scratch has room for all heads of a task. */
static void test_adjacent_heads_are_together(void **state)
{
    outputs it = make_outputs(), other = make_outputs();
    lab_values values, rows;
    heed_problem problem;
    assert_int_equal(heed_problem_parse(&problem, "b1 h8 s1/100 d64 f32"), HEED_OK);
    assert_int_equal(lab_values_create(&values, &problem), HEED_OK);
    assert_int_equal(heed_problem_parse(&problem, "b1 h8 s1/100 d64 f32 layout=bhsd"), HEED_OK);
    assert_int_equal(lab_values_create(&rows, &problem), HEED_OK);
    if (run(&values, "fwd_any_avx2_few__m8s1", 1, &it)) {
        assert_true(run(&rows, "fwd_any_avx2_few__m8s1", 1, &other));
        assert_int_equal(it.workspace, 8 * other.workspace);
        assert_true(run(&values, "fwd_any_avx2_few__m8s1", 2, &it));
        assert_int_equal(it.workspace, 2 * other.workspace); /* each thread needs four tasks */
    }
    free(it.o);
    free(it.lse);
    free(other.o);
    free(other.lse);
    lab_values_destroy(&values);
    lab_values_destroy(&rows);
}

RUN_TESTS(test_bits_are_the_same, test_adjacent_heads_are_together)
