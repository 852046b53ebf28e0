/*
 * test_emulated_append.c - append.cu on the emulator: the cache equals an independent definition,
 * byte for byte, rotated queries are bit-exact, and nothing else is written
 */
#include "run_tests.h"

#include <string.h>

#include "append.h"
#include "appended.h"
#include "cuda/append.h"
#include "emulator/emulator.h"
#include "emulator/kernels/append.h"

/* Specs, and whether vectors can be moved 16 bytes at a time. */
static const text_integer specs[] = {
    { "b4 h4/2 s1/40 d16 f32 lengths append=1", true },
    { "b4 h4/2 s3/40 d17/40 f32 lengths append=3", false },
    { "b4 h4/2 s5/40 d16 f16 lengths append=3 k_new=200:48:17 v_new=0:32:16", false },
    { "b4 h6/3 s1/40 d16/24 bf16 lengths append=40 layout=bhsd", true },
    { "b4 h4/2 s1/40 d264 bf16 lengths append=1 paged=8/24", true },
    { "b4 h4/2 s3/40 d8 f16 lengths append=11 paged=8/24 k=2000:40:16 v=600:20:200", false },
    { "b4 h2 s3/40 d16 f16 lengths append=3 paged=1/170 table=b@45:0:0", true },
    { "b4 h4/1 s2/40 d24/16 bf16 shared lengths append=2 paged=4/40", true },
    { "b4 h4/1 s2/40 d24/16 f32 shared lengths append=2 rotary=8:interleaved", true },
    { "b4 h4/1 s2/40 d29/20 f32 shared lengths append=2 rotary=8:interleaved", false },
    { "b4 h4/2 s3/40 d16 f32 lengths append=3 rotary=16", true },
    { "b4 h4/2 s3/40 d16 f32 lengths append=3 rotary=12", false },
    { "b4 h4/2 s50/40 d520 f32 lengths append=3 rotary=520:interleaved paged=10/17", true },
    { "b4 h4/2 s3/40 d16 bf16 lengths append=3 rotary=6 paged=8/24", false },
    { "b4 h4/2 s3/40 d96 bf16 lengths append=3 rotary=64 paged=8/24 q=2000:400:96", true },
    { "b4 h4/2 s3/40 d32 bf16 lengths append=7 rotary=24:interleaved cos=bf16 sin=bf16", true },
    { "b4 h4/2 s3/40 d16 bf16 lengths append=1 rotary=2:interleaved cos=bf16 sin=bf16", false },
    { "b4 h4/2 s9/40 d24 f16 lengths append=1 rotary=16 cos=f16 sin=f16 q=2000:96:24", true },
    { "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths append=3 rotary=16", true },
    { "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths append=3 rotary=12 cu_q=i64", false },
    { "b4 h4/2 s9/40 d16 f16 varlen=20/0 lengths append=3 cu_q=i64", true },
    { "b4 h4/2 s12/40 d16 bf16 varlen=12/0 lengths append=1 rotary=8:interleaved paged=1/170 "
      "cos=bf16 sin=bf16",
      true },
    { "b4 h4/1 s5/40 d29/20 bf16 varlen=9/0 shared lengths append=2 rotary=8:interleaved "
      "cos=bf16 sin=bf16 paged=4/40",
      false },
    { "b4 h4/2 s9/40 d16 f32 varlen=24/0 lengths prefix=8 append=3 rotary=16", true },
    { "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths append=9:packed", true },
    { "b4 h4/2 s9/40 d16 f32 varlen=20/0 lengths append=9:packed rotary=16 paged=8/24", true },
    { "b4 h4/2 s9/40 d17/40 f32 varlen=18/0 lengths append=9:packed rotary=12 cu_q=i64", false },
    { "b4 h4/2 s12/40 d16 bf16 varlen=12/0 lengths append=12:packed rotary=8:interleaved "
      "paged=1/170 cos=bf16 sin=bf16 k_new=7:40:20 v_new=9:0:16 q=0:90:20",
      false },
    { "b4 h4/1 s5/40 d32/16 bf16 varlen=9/0 shared lengths append=5:packed rotary=16:interleaved "
      "cos=bf16 sin=bf16 paged=4/40 cu_q=i64",
      true },
    { "b70 h2/1 s3/24 d16 f32 varlen=100/0 lengths append=3:packed rotary=16 layout=bhsd", true },
    { "b300 h2/1 s3/24 d16 f32 varlen=520/0 lengths append=1 rotary=16 layout=bhsd", true },
};
#define SPECS (sizeof specs / sizeof *specs)

/* Finds the kernel that was compiled with the host's macros. */
static const emulated_append *find(const heed_problem *problem)
{
    heed_define defines[HEED_APPEND_DEFINES];
    const int count = heed_cuda_append_defines(problem, defines);
    int type = -1, turns = -1, interleaved = 0, varlen = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(defines[i].name, "HEED_TYPE") == 0)
            type = (int)defines[i].value;
        if (strcmp(defines[i].name, "HEED_TURNS") == 0)
            turns = (int)defines[i].value;
        if (strcmp(defines[i].name, "HEED_INTERLEAVED") == 0)
            interleaved = (int)defines[i].value;
        if (strcmp(defines[i].name, "HEED_VARLEN") == 0)
            varlen = (int)defines[i].value;
    }
    for (const emulated_append *const *it = emulated_appends; *it; it++)
        if ((*it)->type == type && (*it)->turns == turns && (*it)->interleaved == interleaved &&
            (*it)->varlen == varlen)
            return *it;
    fail_msg("not compiled for type %d, turns %d, interleaved %d, varlen %d", type, turns,
             interleaved, varlen);
    return NULL;
}

/* Rotated queries are dense, the expected ones have the strides of Q. Rows after the last packed
 * sequence are written only if a prefix has them read, as at position 0, where the angle is 0. */
static void compare_queries(const appended *a, const unsigned char *queries)
{
    const heed_problem rest = heed_append_rest(&a->problem);
    const heed_tensor to = heed_problem_tensor(&rest, HEED_ROLE_Q);
    const heed_tensor q = heed_problem_tensor(&a->problem, HEED_ROLE_Q);
    const size_t element = heed_type_size(a->problem.type), size = (size_t)q.dim * element;
    const int64_t end = a->problem.tokens_q > 0 ? appended_rows(a) : q.seq;
    unsigned char nothing[HEED_DIM_MAX * sizeof(float)];
    memset(nothing, 0xff, sizeof nothing);
    for (int64_t b = 0; b < q.batch; b++)
        for (int64_t i = 0; i < q.seq; i++)
            for (int64_t h = 0; h < q.heads; h++) {
                const int64_t at = b * to.strides.batch + i * to.strides.seq + h * to.strides.head;
                const int64_t from = b * q.strides.batch + i * q.strides.seq + h * q.strides.head;
                const unsigned char *right = a->after[HEED_ROLE_Q];
                right += (size_t)from * element;
                assert_memory_equal(queries + (size_t)at * element,
                                    i < end || a->problem.prefix > 0 ? right : nothing, size);
            }
}

static void run(appended *a, const char *spec, const emulated_append *code, bool wide)
{
    const heed_problem rest = heed_append_rest(&a->problem);
    const heed_tensor q = heed_problem_tensor(&rest, HEED_ROLE_Q);
    const heed_buffers buffers = appended_buffers(a);
    lab_region queries = { .map = NULL };
    heed_cuda_append_args args;
    emulator_report report;
    assert_int_equal(heed_cuda_append_fill(&args, &a->problem), HEED_OK);
    if (a->problem.rotary > 0)
        assert_int_equal(
            lab_region_create(&queries,
                              (size_t)heed_tensor_extent(&q) * heed_type_size(a->problem.type), 2,
                              LAB_EDGE_END),
            HEED_OK);
    if (queries.data)
        memset(queries.data, 0xff, queries.size);
    heed_cuda_append_place(&args, &a->problem, &buffers, queries.data);
    assert_true(!wide || heed_cuda_append_aligned(&args));
    const emulator_launch launch = { .kernel = wide ? code->wide : code->any,
                                     .args = &args,
                                     .grid = { heed_cuda_append_grid(&args), 1, 1 },
                                     .threads = HEED_APPEND_VECTORS * 32 };
    if (!emulator_run(&launch, &report))
        fail_msg("%s: %s: %s", code->name, spec, emulator_complaint(&report));
    if (!appended_is_done(a))
        fail_msg("%s: %s: the cache has wrong contents", code->name, spec);
    if (queries.map)
        compare_queries(a, queries.data);
    lab_region_destroy(&queries);
}

static void test_the_cache_is_written(void **state)
{
    for (size_t i = 0; i < SPECS; i++) {
        appended a;
        appended_create(&a, specs[i].text);
        const emulated_append *code = find(&a.problem);
        for (int role = 0; role < HEED_ALL_TENSORS; role++)
            if (role != HEED_ROLE_K && role != HEED_ROLE_V)
                lab_region_lock(&a.tensors[role], true);
        run(&a, specs[i].text, code, false);
        if (heed_cuda_append_wide(&a.problem) != specs[i].value)
            fail_msg("%s: %s", specs[i].text, specs[i].value ? "not wide" : "wide");
        if (specs[i].value) {
            appended_reset(&a);
            run(&a, specs[i].text, code, true);
        }
        appended_destroy(&a);
    }
}

static void test_addresses_are_looked_at(void **state)
{
    static _Alignas(16) unsigned char memory[64];
    heed_cuda_append_args args = { .k = memory, .v = memory, .k_new = memory, .q = memory + 2 };
    assert_true(heed_cuda_append_aligned(&args));
    args.rotary = 8;
    assert_false(heed_cuda_append_aligned(&args));
    args.q = memory + 16;
    assert_true(heed_cuda_append_aligned(&args));
    args.values = 1;
    args.v_new = memory + 8;
    assert_false(heed_cuda_append_aligned(&args));
}

static void test_too_many(void **state)
{
    heed_cuda_append_args args;
    heed_problem problem;
    assert_int_equal(
        heed_problem_parse(&problem, "b65536 h16 s2048/4096 d1 f16 lengths append=2048"), HEED_OK);
    assert_int_equal(heed_cuda_append_fill(&args, &problem), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "append is 2048"));
}

RUN_TESTS(test_the_cache_is_written, test_addresses_are_looked_at, test_too_many)
