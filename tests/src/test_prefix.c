/*
 * test_prefix.c - shared key prefix: an execution that reads it once gives the same results as one
 * in which each batch element has a copy, and reads nothing else
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/stage/region.h"
#include "problem/problem.h"
#include "problems.h"

/* Queries one after another, side by side and in neither order, packed, in pages; up to all keys
 * but one; every feature that can be combined with a prefix. */
static const char *const specs[] = {
    "b4 h4/2 s1/40 d16 f32 prefix=24",
    "b4 h4/2 s1/40 d16 f32 prefix=39 lengths",
    "b4 h4/2 s3/40 d16 f32 causal=br prefix=1",
    "b4 h4/2 s3/40 d16/24 f16 causal=br prefix=37 layout=bhsd",
    "b4 h4/2 s3/40 d16 bf16 lengths causal=br prefix=20 layout=sbhd softcap=3",
    "b1 h4/2 s5/40 d16 f32 prefix=20 q=9:80:16",
    "b4 h4/2 s7/40 d16 f32 lengths causal=br prefix=24 paged=8/60 sinks=bh",
    "b4 h4/2 s7/40 d16 f16 lengths causal=br prefix=24 paged=8/60 layout=sbhd sinks",
    "b4 h6/1 s1/40 d24/16 bf16 shared prefix=16 paged=4/60 table=b@11:0:0",
    "b4 h4/1 s2/40 d24/16 f32 shared lengths causal=br prefix=8 o=200:64:16",
    "b4 h4/2 s9/40 d16 f32 varlen=17/0 lengths causal=br prefix=24 paged=8/60",
    "b4 h4/2 s9/40 d16 f16 varlen=17/0 prefix=24 cu_q=i64",
    "b4 h4/2 s3/40 d16 f32 lengths causal=br prefix=24 append=5 rotary=8 layout=bhsd paged=8/60",
    "b4 h4/2 s9/40 d16 f32 varlen=17/0 lengths causal=br prefix=24 append=5 rotary=8 paged=8/60",
    "b4 h4/2 s9/40 d16 f16 varlen=17/0 lengths causal=br prefix=24 append=9:packed rotary=8",
    "b4 h4/2 s1/40 d16 bf16 lengths prefix=30 append=2",
    "b4 h4/2 s1/64 d32 f32 prefix=16 q=0:128:0",
    "b1 h4/2 s3/40 d16 f32 causal=br prefix=16 k=64:0:0 v=64:0:0",
};
#define SPECS (sizeof specs / sizeof *specs)

static const char *const kernels[] = { NULL, "fwd_any_scalar_row", "fwd_any_avx2_tile",
                                       "fwd_any_avx2_few" };

/* The tensors of one problem. Those with a prefix hold NaN, and their tables invalid pages,
 * wherever nothing may be read. */
typedef struct scene {
    heed_problem problem;
    lab_region tensors[HEED_ALL_TENSORS], lse, table, workspace;
    int32_t lengths[4], cu[5];
    int64_t wide[5]; /* cu */
    float sinks[16], turns[2][160];
} scene;

static void make(lab_region *region, size_t size)
{
    assert_int_equal(lab_region_create(region, size, HEED_ALIGNMENT, LAB_EDGE_END), HEED_OK);
    memset(region->data, 0xff, size);
}

static bool has(const scene *s, int role)
{
    return heed_problem_has(&s->problem, role) && !(role == HEED_ROLE_V && s->problem.shared);
}

/* Returns the page @n of batch element @b. All differ, and they are assigned from the last one
 * down. */
static int32_t page_of(const scene *s, int64_t b, int64_t n)
{
    return (int32_t)(s->problem.pages - 1 - n * s->problem.batch - b);
}

static void fill_table(scene *s, int64_t prefix)
{
    const heed_problem *p = &s->problem;
    const int64_t pages = p->seq_k / p->page, stride = p->table.strides.batch;
    make(&s->table, (size_t)((p->batch - 1) * stride + pages) * sizeof(int32_t));
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t n = 0; n < pages; n++)
            ((int32_t *)(void *)s->table.data)[b * stride + n] = b > 0 && n * p->page < prefix
                                                                     ? -7
                                                                     : page_of(s, b, n);
}

static int64_t vector_at(const scene *s, int role, int64_t b, int64_t i, int64_t h)
{
    const heed_tensor t = heed_problem_tensor(&s->problem, role);
    if (t.role->seq == HEED_PART_SEQ_K && s->problem.page > 0) {
        b = page_of(s, b, i / s->problem.page);
        i %= s->problem.page;
    }
    return b * t.strides.batch + i * t.strides.seq + h * t.strides.head;
}

/* Fills a tensor with values that depend on the position in a batch element; keys below @prefix are
 * those of the first element. */
static void fill(scene *s, int role, int64_t prefix)
{
    const heed_tensor t = heed_problem_tensor(&s->problem, role);
    const bool keys = t.role->seq == HEED_PART_SEQ_K;
    const int64_t batch = keys ? s->problem.batch : t.batch, seq = keys ? s->problem.seq_k : t.seq;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = s->problem.prefix && keys && b > 0 ? prefix : 0; i < seq; i++)
            for (int64_t h = 0; h < t.heads; h++)
                for (int64_t c = 0; c < t.dim; c++) {
                    const int64_t from = keys && i < prefix ? 0 : b;
                    const int64_t n = ((from * seq + i) * t.heads + h) * t.dim + c;
                    lab_element_set(s->problem.type, s->tensors[role].data,
                                    vector_at(s, role, b, i, h) + c,
                                    lab_random_normal((uint64_t)role + 1, (uint64_t)n));
                }
}

static void fill_numbers(scene *s, int64_t prefix)
{
    const heed_problem *p = &s->problem;
    const int64_t behind = p->append > p->seq_q ? p->append : p->seq_q;
    const int64_t least = prefix + behind;
    const int64_t lengths[] = { least, p->seq_k, (least + p->seq_k) / 2, least };
    static const int32_t cu[] = { 0, 3, 3, 12, 16 }; /* the last row belongs to no sequence */
    for (int i = 0; i < 4; i++)
        s->lengths[i] = (int32_t)(lengths[i] < p->seq_k ? lengths[i] : p->seq_k);
    for (int i = 0; i < 5; i++)
        s->wide[i] = s->cu[i] = cu[i];
    for (int i = 0; i < 16; i++)
        s->sinks[i] = (float)(i % 5) - 2;
    for (int i = 0; i < 160; i++) {
        s->turns[0][i] = cosf((float)i);
        s->turns[1][i] = sinf((float)i);
    }
}

/* Opens a problem with the word, or the same one without. */
static void open_scene(scene *s, const char *spec, bool with)
{
    *s = (scene){ .problem = parsed(spec) };
    heed_problem *p = &s->problem;
    const int64_t prefix = p->prefix;
    p->prefix = with ? prefix : 0;
    for (int role = 0; role < HEED_ALL_TENSORS; role++) {
        const heed_tensor t = heed_problem_tensor(p, role);
        if (has(s, role))
            make(&s->tensors[role], (size_t)heed_tensor_extent(&t) * heed_type_size(p->type));
    }
    make(&s->lse, (size_t)(p->batch * p->heads_q * p->seq_q) * sizeof(float));
    fill_numbers(s, prefix);
    if (p->page > 0)
        fill_table(s, with ? prefix : 0);
    for (int role = 0; role < HEED_ALL_TENSORS; role++)
        if (has(s, role) && role != HEED_ROLE_O)
            fill(s, role, prefix);
}

static void close_scene(scene *s)
{
    for (int role = 0; role < HEED_ALL_TENSORS; role++)
        lab_region_destroy(&s->tensors[role]);
    lab_region_destroy(&s->lse);
    lab_region_destroy(&s->table);
    lab_region_destroy(&s->workspace);
}

static heed_buffers buffers_of(const scene *s)
{
    heed_buffers buffers = { .size = sizeof buffers,
                             .lse = (float *)(void *)s->lse.data,
                             .lengths = s->lengths,
                             .table = s->table.data,
                             .cu_seqlens_q = s->cu,
                             .sinks = s->sinks,
                             .rotary_cos = s->turns[0],
                             .rotary_sin = s->turns[1],
                             .workspace = s->workspace.data,
                             .workspace_size = s->workspace.size };
    if (s->problem.cu_seqlens_q.type == HEED_DATA_I64)
        buffers.cu_seqlens_q = s->wide;
    for (int role = 0; role < HEED_ALL_TENSORS; role++)
        heed_buffer_set(&buffers, (heed_role)role, s->tensors[role].data);
    return buffers;
}

static heed_plan *make_plan(scene *s, heed_context *context, const char *kernel)
{
    heed_plan *plan;
    const heed_status status = kernel
                                   ? heed_plan_create_named(&plan, context, &s->problem, kernel)
                                   : heed_plan_create(&plan, context, &s->problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        fail_msg("%s", heed_message());
    assert_true(heed_problem_equal(heed_plan_problem(plan), &s->problem));
    assert_true(!kernel || strncmp(heed_plan_name(plan), kernel, strlen(kernel)) == 0);
    make(&s->workspace, heed_plan_workspace_size(plan) + (heed_plan_workspace_size(plan) == 0));
    return plan;
}

static void execute(scene *s, heed_context *context, const char *kernel, bool lse)
{
    heed_plan *plan = make_plan(s, context, kernel);
    heed_buffers buffers = buffers_of(s);
    if (!lse)
        buffers.lse = NULL;
    if (heed_execute(plan, &buffers) != HEED_OK)
        fail_msg("%s", heed_message());
    heed_plan_destroy(plan);
    lab_region_destroy(&s->workspace);
}

/* All elements of O are equal up to rounding. The memory around them is unchanged in both. */
static void compare_o(const scene *a, const scene *b, const char *spec, const char *kernel)
{
    static const double units[] = { 1e-5, 2e-3, 2e-2 };
    const heed_type type = a->problem.type;
    const size_t count = a->tensors[HEED_ROLE_O].size / heed_type_size(type);
    for (size_t n = 0; n < count; n++) {
        const double x = lab_element_get(type, a->tensors[HEED_ROLE_O].data, (int64_t)n);
        const double y = lab_element_get(type, b->tensors[HEED_ROLE_O].data, (int64_t)n);
        if (isnan(x) != isnan(y) || fabs(x - y) > units[type] * (1 + fabs(y)))
            fail_msg("%s, %s: o[%zu] is %g, not %g", spec, kernel ? kernel : "planned", n, x, y);
    }
}

static void compare_lse(const scene *a, const scene *b, const char *spec, const char *kernel)
{
    const float *x = (const float *)(const void *)a->lse.data;
    const float *y = (const float *)(const void *)b->lse.data;
    for (size_t n = 0; n < a->lse.size / sizeof *x; n++)
        if (isnan(x[n]) != isnan(y[n]) || fabsf(x[n] - y[n]) > 1e-5F * (1 + fabsf(y[n])))
            fail_msg("%s, %s: lse[%zu] is %g, not %g", spec, kernel ? kernel : "planned", n,
                     (double)x[n], (double)y[n]);
}

static void compare(heed_context *context, const char *spec, const char *kernel)
{
    scene with, without, silent;
    open_scene(&with, spec, true);
    open_scene(&without, spec, false);
    open_scene(&silent, spec, true);
    execute(&with, context, kernel, true);
    execute(&without, context, kernel, true);
    execute(&silent, context, kernel, false);
    compare_o(&with, &without, spec, kernel);
    compare_lse(&with, &without, spec, kernel);
    assert_memory_equal(with.tensors[HEED_ROLE_O].data, silent.tensors[HEED_ROLE_O].data,
                        with.tensors[HEED_ROLE_O].size);
    close_scene(&with);
    close_scene(&without);
    close_scene(&silent);
}

static void test_prefix_equals_keys_of_ones_own(void **state)
{
    heed_context *context = host_context(2);
    for (size_t i = 0; i < SPECS; i++)
        for (size_t n = 0; n < sizeof kernels / sizeof *kernels; n++)
            compare(context, specs[i], kernels[n]);
    heed_context_destroy(context);
}

/* Enough rows for threads to share the merge. */
static void test_many_rows(void **state)
{
    heed_context *context = host_context(2);
    compare(context, "b4 h8/4 s200/300 d64 bf16 causal=br prefix=100", NULL);
    heed_context_destroy(context);
}

/* ---- Errors ---- */

static void test_bad_numbers_are_named(void **state)
{
    heed_context *context = host_context(1);
    scene s;
    open_scene(&s, "b4 h4/2 s3/40 d16 f32 lengths causal=br prefix=24 paged=8/60", true);
    heed_plan *plan = make_plan(&s, context, NULL);
    const heed_buffers buffers = buffers_of(&s);
    int32_t *table = (int32_t *)(void *)s.table.data;
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    s.lengths[2] = 26;
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "lengths[2] is 26; it must be 27 to 40: it includes the "
                                        "prefix, and the keys that must follow it");
    s.lengths[2] = 27;
    table[2] = 60;
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "table[0][2] is 60; it must be 0 to 59");
    table[2] = 0;
    table[2 * 5 + 3] = -1;
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "table[2][3] is -1; it must be 0 to 59");
    table[2 * 5 + 3] = 1;
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    heed_buffers bad = buffers;
    bad.workspace_size = heed_plan_workspace_size(plan) - 1;
    assert_int_equal(heed_execute(plan, &bad), HEED_ERR_INVALID);
    heed_plan_destroy(plan);
    close_scene(&s);
    heed_context_destroy(context);
}

/* Each packed sequence counts its queries separately. */
static void test_lengths_of_packed_queries(void **state)
{
    heed_context *context = host_context(1);
    scene s;
    open_scene(&s, "b4 h4/2 s9/40 d16 f32 varlen=17/0 lengths causal=br prefix=24", true);
    heed_plan *plan = make_plan(&s, context, NULL);
    const heed_buffers buffers = buffers_of(&s);
    s.lengths[1] = 24; /* it has no query */
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    s.lengths[2] = 32; /* and this one nine */
    assert_int_equal(heed_execute(plan, &buffers), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "lengths[2] is 32; it must be 33 to 40"));
    heed_plan_destroy(plan);
    close_scene(&s);
    heed_context_destroy(context);
}

static const bad_spec wrong[] = {
    { "b2 h1 s1/8 d4 f32 prefix=0", "prefix is 0; it must be 1 to" },
    { "b2 h1 s1/1 d4 f32 prefix=1", "prefix is 1; it must be 0, which is seq_k - 1" },
    { "b2 h1 s1/8 d4 f32 prefix=8", "prefix is 8; it must be 0 to 7, which is seq_k - 1" },
    { "b2 h1 s3/8 d4 f32 causal=br prefix=6",
      "prefix is 6; it must be 0 to 5, which is seq_k - seq_q under a causal mask" },
    { "b2 h1 s1/8 d4 f32 lengths append=2 prefix=7",
      "prefix is 7; it must be 0 to 6, which is seq_k - append" },
    { "b2 h1 s1/8 d4 f32 prefix=3 paged=2",
      "prefix is 3; it must be a multiple of page, which is 2" },
    { "b2 h1 s1/8 d4 f32 prefix=3 varlen=0/9", "prefix is 3 and tokens_k is 9" },
    { "b2 h1 s8 d4 f32 prefix=3 causal", "prefix is 3; it must be 0 with a mask that is aligned" },
    { "b2 h1 s8/9 d4 f32 prefix=3 causal=tl", "it must be 0 with a mask that is aligned top left" },
    { "b2 h1 s1/8 d4 f32 prefix=3 window=2: align=br", "it must be 0 with a window" },
    { "b2 h1 s1/8 d4 f32 prefix=3 chunk=2 align=br", "it must be 0 with a chunk" },
    { "b2 h1 s1/8 d4 f32 prefix=3 bias=f32", "it must be 0 with bias" },
    { "b2 h1 s1/8 d4 f32 prefix=3 alibi align=br", "it must be 0 with slopes" },
    { "b2 h1 s1/8 d4 f32 prefix=3 starts", "it must be 0 with starts" },
    { "b2 h1 s1/8 d4 f32 prefix=3 shown=bytes", "it must be 0 with shown" },
    { "b2 h1 s1/8 d4 f32 prefix=3 score=s+k", "it must be 0 with score" },
    { "b2 h1 s1/8 d4 f32 prefix=3 visible=k!=1", "it must be 0 with visible" },
    { "b2 h1 s1/8 d4 f32 prefix=3 invariant", "it must be 0 with invariant" },
    { "b2 h2 s3/8 d4 f32 prefix=4 paged=2 layout=bhsd", "q strides are 24:4:12" },
    { "b2 h2 s3/8 d4 f32 prefix=4 q=30:8:4 k=4:0:0",
      "k strides are 4:0:0; with a prefix the seq or head" },
    { "b2 h2 s3/8 d4 f32 prefix=4 q=30:8:4 v=4:0:0",
      "v strides are 4:0:0; with a prefix the seq or head" },
};

static void test_wrong_ones_are_refused(void **state)
{
    expect_refused(wrong, sizeof wrong / sizeof *wrong);
    heed_problem problem = parsed("b2 h1 s1/8 d4 f32");
    problem.prefix = -1;
    assert_int_equal(heed_problem_check(&problem), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "prefix is -1; it must be 0 to"));
}

/* ---- Both parts ---- */

static const struct {
    const char *spec, *part, *rest;
} parts[] = {
    { "b64 h32/8 s1/8192 d128 bf16 lengths causal=br prefix=7168 paged=16/4544",
      "b1 h32/8 s64/7168 d128 bf16 paged=16/4544",
      "b64 h32/8 s1/1024 d128 bf16 causal=br lengths=b paged=16/4544 table=b@512:0:0" },
    { "b4 h2 s3/20 d8 f32 causal=br prefix=16 sinks softcap=2", "b1 h2 s12/16 d8 f32 softcap=2",
      "b4 h2 s3/4 d8 f32 causal=br softcap=2 sinks=h k=320:16:8 v=320:16:8" },
    { "b4 h2 s3/20 d8 f32 causal=br prefix=16 layout=bhsd",
      "b4 h2 s3/16 d8 f32 q=48:8:24 k=0:8:160 v=0:8:160",
      "b4 h2 s3/4 d8 f32 causal=br q=48:8:24 k=320:8:160 v=320:8:160 o=48:8:24" },
    { "b4 h2 s3/20 d8 f32 prefix=16 layout=sbhd", "b1 h2 s12/16 d8 f32 k=128:64:8 v=128:64:8",
      "b4 h2 s3/4 d8 f32 layout=sbhd" },
    { "b3 h2 s9/20 d8 f32 varlen=17/0 prefix=16", "b1 h2 s17/16 d8 f32",
      "b3 h2 s9/4 d8 f32 varlen=17/0 k=320:16:8 v=320:16:8" },
};

static void test_both_parts(void **state)
{
    char text[HEED_SPEC_SIZE];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const heed_problem problem = parsed(parts[i].spec);
        const heed_problem part = heed_prefix_part(&problem), rest = heed_prefix_rest(&problem);
        heed_problem_print(&part, text, sizeof text);
        const heed_problem expected = parsed(parts[i].part);
        if (!heed_problem_equal(&part, &expected))
            fail_msg("%s: %s", parts[i].spec, text);
        heed_problem_print(&rest, text, sizeof text);
        assert_string_equal(text, parts[i].rest);
    }
}

/* The prefix is counted once. */
static void test_bytes(void **state)
{
    const heed_problem with = parsed("b4 h1 s1/40 d8 f32 prefix=30");
    const heed_problem paged = parsed("b4 h1 s1/40 d8 f32 prefix=30 paged=10/8");
    const heed_problem without = parsed("b4 h1 s1/40 d8 f32");
    assert_true(heed_problem_bytes(&without) - heed_problem_bytes(&with) == 2 * 3 * 30 * 8 * 4);
    assert_true(heed_problem_bytes(&paged) - heed_problem_bytes(&with) == 4 * 4 * 4);
    assert_true(heed_problem_flops(&without) == heed_problem_flops(&with));
    assert_false(heed_problem_equal(&without, &with));
}

static void test_plan_tells_of_both(void **state)
{
    heed_context *context = host_context(1);
    heed_plan *plan;
    char text[4096];
    const heed_problem problem = parsed("b4 h1 s1/40 d8 f32 prefix=30");
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    assert_true(heed_plan_explain(plan, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "b4 h1 s1/40 d8 f32 prefix=30 on"));
    assert_non_null(strstr(text, "\nprefix: b1 h1 s4/30 d8 f32 "));
    heed_plan_destroy(plan);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_MEASURE), HEED_OK);
    heed_plan_destroy(plan);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY), HEED_OK);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

RUN_TESTS(test_prefix_equals_keys_of_ones_own, test_many_rows, test_bad_numbers_are_named,
          test_lengths_of_packed_queries, test_wrong_ones_are_refused, test_both_parts, test_bytes,
          test_plan_tells_of_both)
