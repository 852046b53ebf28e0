/*
 * test_append.c - appended keys and values: an execution that appends gives, bit for bit, the
 * result of one whose cache already contained them, and leaves the cache identical to it, byte for
 * byte
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "appended.h"
#include "contexts.h"
#include "heed.h"
#include "problems.h"

/* One new key and several, across page boundaries, in the first slots and up to the last ones. */
static const char *const specs[] = {
    "b4 h4/2 s1/40 d16 f32 lengths append=1",
    "b4 h4/2 s3/40 d16 f32 lengths causal=br append=3",
    "b4 h4/2 s5/40 d16 f16 lengths causal=br append=3 k_new=200:48:17 v_new=0:32:16",
    "b4 h4/2 s1/40 d16/24 bf16 lengths append=40 layout=bhsd",
    "b4 h4/2 s1/40 d16 bf16 lengths append=1 paged=8/24",
    "b4 h4/2 s3/40 d16 f32 lengths causal=br append=11 paged=8/24 k=2000:40:16 v=600:20:200",
    "b4 h2 s3/40 d16 f16 lengths window=5: align=br append=3 paged=1/170 table=b@45:0:0",
    "b4 h4/1 s2/40 d24/16 bf16 shared lengths causal=br append=2 paged=4/40",
    "b4 h4/1 s2/40 d24/16 f32 shared lengths append=2 rotary=8:interleaved",
    "b4 h4/2 s3/40 d16 f32 lengths causal=br append=3 rotary=16",
    "b4 h4/2 s3/40 d16 f32 lengths causal=br append=3 rotary=16:interleaved",
    "b4 h4/2 s3/40 d16 bf16 lengths causal=br append=3 rotary=6 paged=8/24 cos=bf16 sin=bf16",
    "b4 h4/2 s3/40 d16 f16 lengths causal=br append=1 rotary=2:interleaved cos=f16 sin=f16",
    "b4 h4/2 s9/40 d20 f16 lengths align=br alibi append=1 rotary=20 q=2000:80:20",
    "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths causal=br append=3 rotary=16",
    ("b4 h4/2 s9/40 d16 bf16 varlen=18/0 lengths causal=br append=9 rotary=12:interleaved "
     "paged=8/24"),
    "b4 h4/2 s12/40 d16 f16 varlen=12/0 lengths append=1 rotary=6 paged=1/170 cu_q=i64 q=9:90:20",
    "b4 h4/1 s5/40 d24/16 bf16 varlen=9/0 shared lengths causal=br append=2 rotary=8:interleaved",
    "b9 h2 s1/40 d16 f32 varlen=5/0 lengths causal=br append=1 rotary=16 layout=bhsd",
    "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths causal=br append=9:packed",
    "b4 h4/2 s9/40 d16 f16 varlen=16/0 lengths causal=br append=9:packed rotary=16 cu_q=i64",
    "b4 h4/2 s12/40 d16 bf16 varlen=12/0 lengths append=12:packed rotary=6:interleaved paged=8/24",
    ("b4 h4/2 s9/40 d16 bf16 varlen=18/0 lengths causal=br append=9:packed rotary=12 paged=1/170 "
     "k_new=7:40:20 v_new=9:0:16 q=0:90:20"),
    "b4 h4/1 s5/40 d24/16 f16 varlen=9/0 shared lengths append=5:packed rotary=8 layout=bhsd",
    "b9 h2 s1/40 d16 f32 varlen=5/0 lengths causal=br append=1:packed rotary=16",
};
#define SPECS (sizeof specs / sizeof *specs)

static const char *const kernels[] = { "fwd_any_scalar_row", "fwd_any_avx2_tile",
                                       "fwd_any_avx2_few" };

static void execute(heed_context *context, const heed_problem *problem, const char *kernel,
                    heed_buffers buffers)
{
    heed_plan *plan;
    if (heed_plan_create_named(&plan, context, problem, kernel) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_true(heed_problem_equal(heed_plan_problem(plan), problem));
    buffers.workspace_size = heed_plan_workspace_size(plan);
    lab_region workspace;
    const float slopes[4] = { 0.5F, 0.25F, 0.125F, 1 };
    buffers.slopes = slopes;
    assert_int_equal(
        lab_region_create(&workspace, buffers.workspace_size + 1, HEED_ALIGNMENT, LAB_EDGE_END),
        HEED_OK);
    buffers.workspace = workspace.data;
    if (heed_execute(plan, &buffers) != HEED_OK)
        fail_msg("%s", heed_message());
    lab_region_destroy(&workspace);
    heed_plan_destroy(plan);
}

static void compare(heed_context *context, const char *spec, const char *kernel)
{
    appended a;
    appended_create(&a, spec);
    const heed_problem *p = &a.problem;
    const size_t size = a.tensors[HEED_ROLE_O].size;
    const size_t rows = (size_t)(p->batch * p->heads_q * p->seq_q);
    void *o[2] = { calloc(1, size), calloc(1, size) };
    float *lse[2] = { calloc(rows, sizeof(float)), calloc(rows, sizeof(float)) };
    heed_buffers buffers[2] = { appended_buffers(&a), appended_rest_buffers(&a) };
    for (int i = 0; i < 2; i++) {
        buffers[i].o = o[i];
        buffers[i].lse = lse[i];
    }
    lab_region_lock(&a.tensors[HEED_ROLE_Q], true);
    lab_region_lock(&a.tensors[HEED_ROLE_K_NEW], true);
    execute(context, p, kernel, buffers[0]);
    execute(context, &a.rest, kernel, buffers[1]);
    if (!appended_is_done(&a))
        fail_msg("%s, %s: the cache has wrong contents", spec, kernel);
    if (memcmp(o[0], o[1], size) != 0 || memcmp(lse[0], lse[1], rows * sizeof(float)) != 0)
        fail_msg("%s, %s: the result differs from that of a complete cache", spec, kernel);
    for (int i = 0; i < 2; i++) {
        free(o[i]);
        free(lse[i]);
    }
    appended_destroy(&a);
}

static void test_append_equals_concatenation(void **state)
{
    heed_context *context = host_context(2);
    for (size_t i = 0; i < SPECS; i++)
        for (size_t n = 0; n < sizeof kernels / sizeof *kernels; n++)
            compare(context, specs[i], kernels[n]);
    heed_context_destroy(context);
}

/* Enough new keys to be divided among threads. */
static void test_long_pieces(void **state)
{
    heed_context *context = host_context(2);
    compare(context, "b2 h8/4 s300/320 d64 bf16 lengths causal=br append=300 rotary=64 paged=16/48",
            "fwd_any_avx2_tile");
    heed_context_destroy(context);
}

/* One plan for all lengths: keys are appended one at a time. */
static void test_step_after_step(void **state)
{
    static float q[2 * 8], k[2 * 6 * 8], v[2 * 6 * 8], k_new[2 * 8], v_new[2 * 8], o[2 * 8];
    heed_context *context = host_context(1);
    heed_problem problem = parsed("b2 h1 s1/6 d8 f32 lengths append=1");
    heed_plan *plan = host_plan(context, &problem);
    for (int step = 0; step < 6; step++) {
        const int32_t lengths[2] = { step + 1, 6 - step };
        const heed_buffers buffers = {
            .q = q, .k = k, .v = v, .o = o, .lengths = lengths, .k_new = k_new, .v_new = v_new
        };
        for (int c = 0; c < 16; c++)
            k_new[c] = v_new[c] = (float)(100 * step + c);
        host_execute(plan, buffers);
        for (int c = 0; c < 8; c++) {
            assert_true(k[step * 8 + c] == (float)(100 * step + c));
            assert_true(v[(6 + 5 - step) * 8 + c] == (float)(100 * step + 8 + c));
        }
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static const text_integer pointers[] = {
    { "k_new is NULL", offsetof(heed_buffers, k_new) },
    { "v_new is NULL", offsetof(heed_buffers, v_new) },
    { "rotary_cos is NULL", offsetof(heed_buffers, rotary_cos) },
    { "rotary_sin is NULL", offsetof(heed_buffers, rotary_sin) },
    { "workspace is NULL", offsetof(heed_buffers, workspace) },
};

static void test_bad_buffers(void **state)
{
    heed_context *context = host_context(1);
    appended a;
    heed_plan *plan;
    appended_create(&a, "b4 h4/2 s3/40 d16 f32 lengths causal=br append=3 rotary=16");
    assert_int_equal(heed_plan_create(&plan, context, &a.problem, HEED_ESTIMATE), HEED_OK);
    heed_buffers buffers = appended_buffers(&a);
    buffers.workspace_size = heed_plan_workspace_size(plan);
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT, buffers.workspace_size + HEED_ALIGNMENT);
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        heed_buffers bad = buffers;
        memset((char *)&bad + pointers[i].value, 0, sizeof(void *));
        assert_int_equal(heed_execute(plan, &bad), HEED_ERR_INVALID);
        assert_non_null(strstr(heed_message(), pointers[i].text));
    }
    buffers.workspace_size--;
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    buffers.workspace_size++;
    ((int32_t *)(void *)a.lengths.data)[1] = 2;
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    assert_string_equal(heed_message(),
                        "lengths[1] is 2; it must be 3 to 40: it includes new keys");
    free(buffers.workspace);
    heed_plan_destroy(plan);
    appended_destroy(&a);
    heed_context_destroy(context);
}

static const bad_spec wrong[] = {
    { "b2 h1 s1/4 d4 f32 append=1", "lengths.type is 0 (none); with append it must be 4 (i32)" },
    { "b2 h1 s1/4 d4 f32 lengths append=5", "append is 5; it must be 0 to 4, which is seq_k" },
    { "b2 h1 s1/4 d4 f32 lengths append=0", "append is 0; it must be 1 to" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 varlen=0/6", "append is 1 and tokens_k is 6" },
    { "b2 h1 s1/4 d4 f32 lengths append=1:packed", "append_packed is 1 and tokens_q is 0" },
    { "b2 h1 s3/4 d4 f32 varlen=2/0 lengths append=2:packed", "it must be 3, which is seq_q" },
    { "b2 h1 s5/4 d4 f32 varlen=2/0 lengths append=5:packed", "append is 5; it must be 0 to 4" },
    { "b2 h1 s1/4 d4 f32 varlen=2/0 lengths append=1:loose", "unexpected ':'" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 k=0:4:4", "k strides 0:4:4 overlap" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 v=16:2:4", "v strides 16:2:4 overlap" },
    { "b2 h1 s1/4 d4 f32 lengths k_new=8:4:4", "k_new strides are 8:4:4; they must be 0" },
    { "b2 h1 s1/4 d4/2 f32 shared lengths append=1 v_new=8:4:4", "v_new strides are 8:4:4" },
    { "b2 h1 s1/4 d4 f32 lengths rotary=4", "rotary is 4 and append is 0" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 rotary=3", "rotary is 3; it must be an even number" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 rotary=6", "0 to 4, which is dim_qk" },
    { "b2 h1 s1/4 d6/4 f32 shared lengths append=1 rotary=4", "0 to 2, which is dim_qk - dim_v" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 rotary=4:halves", "unexpected ':'" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 rotary=4 cos=bf16", "rotary_sin.type is 1 (f32)" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 rotary=4 cos=i32 sin=i32", "rotary_cos.type is 4 (i32)" },
    { "b2 h1 s1/4 d4 f32 lengths append=1 cos=f32",
      "rotary is 0; with rotary_cos it must be 2 to 4" },
};

static void test_wrong_ones_are_refused(void **state)
{
    expect_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void test_wrong_fields_are_refused(void **state)
{
    heed_problem problem;
    assert_int_equal(
        heed_problem_parse(&problem, "b2 h1 s1/4 d4 f32 varlen=2/0 lengths append=1:packed"),
        HEED_OK);
    problem.append_packed = 2;
    assert_int_equal(heed_problem_check(&problem), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "append_packed is 2; it must be 0, or 1 where append"));
    problem.append_packed = 1;
    problem.append = 0;
    assert_int_equal(heed_problem_check(&problem), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "append_packed is 1; it must be 0, or 1 where append"));
}

/* There are as many new keys as queries, so shorter lengths are wrong; a sequence may have none. */
static void test_packed_lengths(void **state)
{
    heed_context *context = host_context(1);
    appended a;
    appended_create(&a, "b4 h2 s5/9 d8 f32 varlen=20/0 lengths causal=br append=5:packed");
    heed_plan *plan = host_plan(context, &a.problem);
    const heed_buffers buffers = appended_buffers(&a);
    ((int32_t *)(void *)a.lengths.data)[0] = 0;
    assert_int_equal(host_try(plan, buffers), HEED_OK);
    ((int32_t *)(void *)a.lengths.data)[1] = 4;
    assert_int_equal(host_try(plan, buffers), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "lengths[1] is 4; it must be 5 to 9: it includes new keys");
    heed_plan_destroy(plan);
    appended_destroy(&a);
    heed_context_destroy(context);
}

/* Rows after the last packed sequence are written to the workspace only if a prefix has them read,
 * as at position 0, where the angle is 0. */
static void test_rows_of_no_sequence(void **state)
{
    static const char *const words[] = { "prefix=8", "" };
    heed_context *context = host_context(1);
    for (int i = 0; i < 2; i++) {
        appended a;
        heed_plan *plan;
        char spec[128];
        unsigned char row[16 * sizeof(float)];
        snprintf(spec, sizeof spec, "b4 h1 s9/40 d16 f32 varlen=24/0 lengths append=3 rotary=16 %s",
                 words[i]);
        appended_create(&a, spec);
        assert_int_equal(heed_plan_create(&plan, context, &a.problem, HEED_ESTIMATE), HEED_OK);
        heed_buffers buffers = appended_buffers(&a);
        const size_t size = buffers.workspace_size = heed_plan_workspace_size(plan);
        unsigned char *workspace = buffers.workspace = aligned_alloc(HEED_ALIGNMENT,
                                                                     size + HEED_ALIGNMENT);
        memset(workspace, 0xff, size);
        for (int b = 0; b < 4; b++)
            ((int32_t *)(void *)a.lengths.data)[b] = 40;
        assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
        memset(row, 0xff, sizeof row);
        if (i == 0)
            memcpy(row, a.tensors[HEED_ROLE_Q].data + a.tensors[HEED_ROLE_Q].size - sizeof row,
                   sizeof row);
        assert_memory_equal(workspace + size - sizeof row, row, sizeof row);
        free(workspace);
        heed_plan_destroy(plan);
        appended_destroy(&a);
    }
    heed_context_destroy(context);
}

/* Specs and their printed form. */
static const char *const printed[][2] = {
    { "b2 h1 s1/4 d4 append=1 f32 lengths", "b2 h1 s1/4 d4 f32 append=1 lengths=b" },
    { "b2 h1 s1/4 d4 f32 lengths append=2 rotary=4:interleaved sin=f16 cos=f16",
      "b2 h1 s1/4 d4 f32 append=2 rotary=4:interleaved lengths=b cos=f16 sin=f16" },
    { "b2 h2 s1/4 d4 f32 lengths append=2 cos=f32 rotary=2 layout=bhsd",
      "b2 h2 s1/4 d4 f32 append=2 rotary=2 lengths=b layout=bhsd" },
    { "b2 h2 s3/4 d4 f32 lengths append=3:packed varlen=4/0 cu_q=i64",
      "b2 h2 s3/4 d4 f32 varlen=4/0 append=3:packed lengths=b cu_q=i64" },
    { "b2 h2 s1/4 d4 f32 lengths append=2 k_new=8:0:4",
      "b2 h2 s1/4 d4 f32 append=2 lengths=b k_new=8:0:4" },
};

static void test_specs_are_printed(void **state)
{
    expect_printed(printed, sizeof printed / sizeof *printed);
}

RUN_TESTS(test_append_equals_concatenation, test_long_pieces, test_step_after_step,
          test_bad_buffers, test_wrong_ones_are_refused, test_wrong_fields_are_refused,
          test_packed_lengths, test_rows_of_no_sequence, test_specs_are_printed)
