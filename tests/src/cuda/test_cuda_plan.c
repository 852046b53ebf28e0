/*
 * test_cuda_plan.c - plans for a CUDA device, and the launches of an execution (fake_cuda.h)
 *
 * Other tests check the results of kernels. This one checks the host's launches for different
 * problems and addresses, on the fast and the slow path.
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cuda/arrivals.h"
#include "cuda/gpu.h"
#include "cuda/outline.h"
#include "cuda_trial.h"
#include "device.h"
#include "internal.h"
#include "lab/base/planner.h"

/* -------------------------------------------------------------------------- */
/* Good ones                                                                  */
/* -------------------------------------------------------------------------- */

static void test_one_launch(void **state)
{
    trial t = trial_make(PLAIN);
    int calls = fake->calls;
    assert_non_null(strstr(heed_plan_name(t.plan), "fwd_16bit_sm80_mma__"));
    assert_int_equal(heed_plan_workspace_size(t.plan), 0);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    /* the current context, a push, five pointers, the launch: no call that waits */
    assert_int_equal(fake->calls - calls, 8);
    heed_cuda_args args = trial_args(&trial_launches[0]);
    assert_string_equal(trial_launches[0].function, "heed_attend");
    assert_null(trial_launches[0].stream);
    assert_ptr_equal(args.q, t.buffers.q);
    assert_ptr_equal(args.k, t.buffers.k);
    assert_ptr_equal(args.v, t.buffers.v);
    assert_ptr_equal(args.o, t.buffers.o);
    assert_ptr_equal(args.lse, t.buffers.lse);
    assert_int_equal(args.seq_k, 1024);
    assert_int_equal(trial_launches[0].grid[0], args.blocks * args.heads);
    trial_end(&t);
}

/* The driver is not asked about trusted pointers. */
static void test_trusted_pointers(void **state)
{
    trial t = trial_make(PLAIN);
    assert_int_equal(trial_execute_trusted(&t), 1);
    trial_end(&t);
}

/* Another length uses the same code. */
static void test_lengths_share_code(void **state)
{
    trial t = trial_make(PLAIN);
    heed_plan *other;
    heed_problem problem = parsed("b2 h4 s1100 d64 f16");
    int modules = fake->modules;
    assert_int_equal(heed_plan_create_named(&other, t.context, &problem, heed_plan_name(t.plan)),
                     HEED_OK);
    assert_int_equal(fake->modules, modules);
    heed_plan_destroy(other);
    assert_int_equal(fake->modules, modules);
    trial_end(&t);
}

/* The launch that splits keys also merges the parts, with counters that are zero. */
static void test_split_keys(void **state)
{
    trial t = trial_make(DECODING);
    assert_true(heed_plan_workspace_size(t.plan) > 0);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    heed_cuda_args args = trial_args(&trial_launches[0]);
    assert_string_equal(trial_launches[0].function, "heed_attend");
    assert_ptr_equal(args.partial, t.buffers.workspace);
    assert_non_null(args.arrived);
    for (unsigned i = 0; i < args.heads * args.blocks; i++)
        assert_int_equal(args.arrived[i], 0);
    size_t end = (size_t)((char *)args.partial_lse - (char *)args.partial) +
                 (size_t)args.heads * args.splits.value * args.rows * sizeof(float);
    assert_int_equal(end, heed_plan_workspace_size(t.plan));
    trial_end(&t);
}

static void name_of_plan(heed_context *context, const char *spec, char name[HEED_NAME_SIZE])
{
    heed_problem problem = parsed(spec);
    heed_plan *plan;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    snprintf(name, HEED_NAME_SIZE, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
}

static int64_t list_keys_of(const heed_context *context, const char *spec)
{
    heed_cuda_facts facts;
    const heed_problem problem = parsed(spec);
    const char *kernel = "fwd_16bit_sm80_mma__m64n64w4k1s3q1o1b1p1l1a1";
    assert_int_equal(heed_cuda_facts_for(kernel, &problem, context->machine.gpu, &facts), HEED_OK);
    return facts.launch.list_keys;
}

/* Lists of tiles, which change the order of sums, are left out if they would take too much memory.
 * In an invariant problem the batch size must not decide this. */
static void test_invariant_lists(void **state)
{
#define FEW " h4 s32768 d64 f16 array=doc:i32:1x32768 visible=doc[batch,q]==doc[batch,k] "
#define MANY " h4 s32768 d64 f16 array=doc:i32:400x32768 visible=doc[batch,q]==doc[batch,k] "
    static const text_integer cases[] = {
        { "b1" FEW, 64 },
        { "b400" MANY, 0 },
        { "b1" FEW "invariant", 0 },
        { "b400" MANY "invariant", 0 },
        { "b1 h4 s4096 d64 f16 shown=bits:b", 64 },
        { "b1 h4 s300 d64 f16 shown=bits:b invariant", 0 },
        { "b2 h4 s300 d64 f16 shown=bits:b invariant", 0 },
        { "b1 h4 s300 d64 f16 starts=bq visible=k!=q invariant", 0 },
        { "b2 h4 s300 d64 f16 starts=bq visible=k!=q invariant", 0 },
        { "b1 h4 s300 d64 f16 visible=k!=q invariant", 64 },
        { "b2 h4 s300 d64 f16 visible=k!=q invariant", 64 },
    };
    trial t = trial_make(PLAIN);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (list_keys_of(t.context, cases[i].text) != cases[i].value)
            fail_msg("%s has %s", cases[i].text, cases[i].value ? "no lists" : "lists");
    trial_end(&t);
}

/* An operand of a single batch element is planned like those of several. */
static void test_invariant_operands(void **state)
{
    static const char *const words[] = {
        "h1 s128/16384 d64 f16 shown=bytes:bh align=tl invariant",
        "h8 s2048 d16 bf16 shown=bytes causal=br invariant",
        "h8 s128/16384 d192 bf16 bias=f32 align=tl lengths sinks invariant",
    };
    trial t = trial_make(PLAIN);
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char spec[128], one[HEED_NAME_SIZE], many[HEED_NAME_SIZE];
        snprintf(spec, sizeof spec, "b1 %s", words[i]);
        name_of_plan(t.context, spec, one);
        snprintf(spec, sizeof spec, "b4 %s", words[i]);
        name_of_plan(t.context, spec, many);
        assert_string_equal(one, many);
    }
    trial_end(&t);
}

/* A batch-invariant problem has one config for all batch sizes, and its keys are not distributed
 * according to the lengths of the whole batch. */
static void test_invariant(void **state)
{
    static const char *const words[] = { "", " invariant" };
    trial t = trial_make(PLAIN);
    (void)state;
    for (int i = 0; i < 2; i++) {
        char spec[128], one[HEED_NAME_SIZE], many[HEED_NAME_SIZE];
        snprintf(spec, sizeof spec, "b1 h32/8 s1/4096 d128 f16 lengths causal=br%s", words[i]);
        name_of_plan(t.context, spec, one);
        snprintf(spec, sizeof spec, "b64 h32/8 s1/4096 d128 f16 lengths causal=br%s", words[i]);
        name_of_plan(t.context, spec, many);
        assert_int_equal(strcmp(one, many) == 0, i);
        heed_problem problem = parsed(spec);
        const heed_machine *machine = &t.context->machine;
        heed_cuda_facts facts;
        assert_int_equal(heed_cuda_facts_for(many, &problem, machine->gpu, &facts), HEED_OK);
        assert_int_equal(facts.launch.spread > 0, facts.launch.splits > 1 && i == 0);
    }
    trial_end(&t);
}

/* Blocks that share all keys of a head come in rounds of as many as an H200 runs at once, three of
 * this config on each multiprocessor, unless they are fewer than half of that. Each block and each
 * batch element may have a part. */
static void test_spread_keys(void **state)
{
    static const struct {
        int batch, splits, blocks; /* of each of 8 heads */
    } all[] = {
        { 2, 2, 4 },   { 2, 8, 16 },   { 12, 2, 24 },  { 13, 2, 49 },     { 16, 2, 49 },
        { 16, 4, 49 }, { 64, 2, 148 }, { 64, 8, 495 }, { 1000, 2, 1980 },
    };
    heed_gpu gpu;
    (void)state;
    assert_true(heed_gpu_find(&gpu, "H200"));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char spec[128], name[HEED_NAME_SIZE];
        heed_cuda_facts facts;
        snprintf(spec, sizeof spec, "b%d h32/8 s1/4096 d128 f16 lengths", all[i].batch);
        snprintf(name, sizeof name, "fwd_16bit_sm80_mma__m16n16w1k4s2q1o1b3p%dl1a1", all[i].splits);
        const heed_problem problem = parsed(spec);
        if (heed_cuda_facts_for(name, &problem, &gpu, &facts) != HEED_OK)
            fail_msg("%s", heed_message());
        assert_int_equal(facts.launch.spread, all[i].blocks);
        heed_cuda_outline outline;
        heed_cuda_outline_of(&outline, &problem, &gpu, &facts.launch);
        assert_int_equal(outline.grid, 8 * all[i].blocks);
        assert_int_equal(outline.args.splits.value, all[i].blocks);
    }
}

/* The workspace has room for a part of each block and each batch element. */
static void test_spread_parts(void **state)
{
    trial t = trial_make("b40 h32/8 s1/4096 d128 f16 lengths");
    heed_cuda_facts facts;
    (void)state;
    assert_int_equal(heed_cuda_facts_for(heed_plan_name(t.plan), &t.plan->problem,
                                         t.context->machine.gpu, &facts),
                     HEED_OK);
    assert_true(facts.launch.spread > 0);
    assert_int_equal(heed_plan_workspace_size(t.plan),
                     (facts.launch.spread + 40) * 32 * (128 + 1) * (int64_t)sizeof(float));
    t.buffers.lengths = t.buffers.k;
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    assert_int_equal(trial_launches[0].grid[0], 8 * facts.launch.spread);
    trial_end(&t);
}

/* Keys can be split although there are enough blocks, if requested by name; test_emulated_kernels
 * checks results of such launches, and of more splits than tiles. A config that cannot compute the
 * right result is refused. */
static void test_not_worthwhile_by_name(void **state)
{
    static const struct {
        const char *spec, *config, *why; /* after "not worthwhile: " */
        bool runs;
    } cases[] = {
        { "b2 h4 s1024 d64 f16", "m64n64w4k1s2q2o1b3p1l1a1", NULL, true },
        { "b8 h32 s1024 d64 f16", "m64n64w4k1s2q2o1b3p4l1a1", "enough blocks", true },
        { "b2 h4 s100 d64 f16", "m64n64w4k1s2q2o1b3p64l1a1", "more splits", true },
        { "b2 h4 s1024 d128 f16", "m128n48w4k1s2q1o1b2p1l1a1", "spills registers", true },
        { "b2 h4 s1024 d128 f16", "m32n64w2k2s3q2o1b2p1l1a1", "is for other head dims", true },
        { "b2 h4 s1024 d64 f16", "m64n64w4k1s2q2o1b3p1l1a2", "acc=f16", false },
        { "b2 h4 s1024 d256 f16", "m128n128w8k1s4q1o1b1p1l1a1", "shared memory", false },
    };
    heed_context *context = scene_open("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_plan *plan = NULL;
        char name[HEED_NAME_SIZE];
        heed_problem problem = parsed(cases[i].spec);
        snprintf(name, sizeof name, "fwd_16bit_sm80_mma__%s", cases[i].config);
        heed_status status = heed_plan_create_named(&plan, context, &problem, name);
        assert_int_equal(status, cases[i].runs ? HEED_OK : HEED_ERR_UNSUPPORTED);
        const char *why = cases[i].runs ? lab_plan_chosen(plan).rejected : heed_message();
        if (!cases[i].why)
            assert_null(why);
        else if (!strstr(why, cases[i].why) ||
                 cases[i].runs != (strncmp(why, "not worthwhile: ", 16) == 0))
            fail_msg("%s for %s: %s", name, cases[i].spec, why);
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
}

/* From compute capability 9.0 on a launch may start before the previous one has ended. */
static void test_overlap(void **state)
{
    static const int archs[] = { 89, 90 };
    for (int i = 0; i < 2; i++) {
        fake->arch = archs[i];
        trial t = trial_make(DECODING);
        assert_int_equal(trial_execute(&t, &t.buffers), 1);
        assert_int_equal(trial_launches[0].overlap, archs[i] >= 90);
        trial_end(&t);
    }
    fake->arch = 90;
}

/* -------------------------------------------------------------------------- */
/* Counters and workspaces                                                    */
/* -------------------------------------------------------------------------- */

/* The buffers of @t with workspace number @index; only its start is checked. */
static heed_buffers with_workspace(const trial *t, void *memory, int index)
{
    heed_buffers buffers = t->buffers;
    buffers.workspace = (char *)memory + (size_t)index * HEED_ALIGNMENT;
    return buffers;
}

/* The second launch merges what the first one stores. */
static void expect_same_parts(const fake_launch *first, const fake_launch *second)
{
    heed_cuda_args stored = trial_args(first), merged = trial_args(second);
    assert_non_null(stored.partial);
    assert_ptr_equal(merged.partial, stored.partial);
    assert_ptr_equal(merged.partial_lse, stored.partial_lse);
    assert_ptr_equal(merged.o, stored.o);
}

/* Each workspace has separate counters, the same every time. When there are no more counters, the
 * parts are combined by a second launch, which may start before the first one has ended. */
static void test_counters_of_workspaces(void **state)
{
    trial t = trial_make(DECODING);
    const int sets = HEED_CUDA_ARRIVAL_SETS;
    void *memory = trial_room(t.context, (size_t)(sets + 2) * HEED_ALIGNMENT);
    unsigned *counters[HEED_CUDA_ARRIVAL_SETS];
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < sets + (turn > 0 ? 2 : 0); i++) {
            heed_buffers buffers = with_workspace(&t, memory, i);
            int count = trial_execute(&t, &buffers);
            heed_cuda_args args = trial_args(&trial_launches[0]);
            assert_int_equal(count, i < sets ? 1 : 2);
            assert_ptr_equal(args.partial, buffers.workspace);
            if (i >= sets) {
                assert_null(args.arrived);
                assert_string_equal(trial_launches[0].function, "heed_attend");
                assert_string_equal(trial_launches[1].function, "heed_combine");
                assert_true(trial_launches[1].overlap);
                expect_same_parts(&trial_launches[0], &trial_launches[1]);
                continue;
            }
            if (turn == 0)
                counters[i] = args.arrived;
            assert_ptr_equal(args.arrived, counters[i]);
            size_t distance = (size_t)(args.arrived - counters[0]);
            assert_int_equal(distance, (size_t)i * args.heads * args.blocks);
        }
    heed_device_free(t.context, memory);
    trial_end(&t);
}

/* Parts of rows of more than 256 columns are always merged by a second launch, with one block per
 * row. */
static void test_long_rows(void **state)
{
    static const text_integer cases[] = { { "b1 h128/1 s1/4096 d576/512 bf16", 128 },
                                          { "b1 h128/1 s1/4096 d576/512 bf16 shared", 128 },
                                          { "b2 h4/2 s3/1024 d1024 f16", 24 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial t = trial_make(cases[i].text);
        heed_buffers buffers = t.buffers;
        if (strstr(cases[i].text, "shared"))
            buffers.v = NULL;
        assert_int_equal(trial_execute(&t, &buffers), 2);
        heed_cuda_args args = trial_args(&trial_launches[0]);
        assert_true(args.splits.value > 1);
        assert_null(args.arrived);
        assert_string_equal(trial_launches[1].function, "heed_combine");
        assert_int_equal(trial_launches[1].grid[0], cases[i].value);
        expect_same_parts(&trial_launches[0], &trial_launches[1]);
        trial_end(&t);
    }
}

#define THREADS 8
#define ROUNDS 200
#define SHARED 40 /* workspaces, which the threads use in different orders */

/* The counters of each workspace. */
static struct {
    pthread_mutex_t lock;
    const void *base;
    unsigned *counters[SHARED];
    int launches, changes;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note_counters(void *data, const fake_launch *launch)
{
    heed_cuda_args args = trial_args(launch);
    size_t index = (size_t)((const char *)args.partial - (const char *)seen.base) / HEED_ALIGNMENT;
    (void)data;
    pthread_mutex_lock(&seen.lock);
    seen.launches++;
    if (!seen.counters[index])
        seen.counters[index] = args.arrived;
    seen.changes += !args.arrived || seen.counters[index] != args.arrived;
    pthread_mutex_unlock(&seen.lock);
}

typedef struct executor {
    pthread_t thread;
    const trial *trial;
    void *memory;
    int number;
    heed_status status;
} executor;

static void *run_executor(void *data)
{
    executor *e = data;
    for (int i = 0; i < ROUNDS && e->status == HEED_OK; i++) {
        heed_buffers buffers = with_workspace(e->trial, e->memory, (i * 7 + e->number) % SHARED);
        e->status = heed_execute(e->trial->plan, &buffers);
    }
    return NULL;
}

/* Many threads at once, with new workspaces. */
static void test_counters_among_threads(void **state)
{
    trial t = trial_make(DECODING);
    executor executors[THREADS];
    void *memory = trial_room(t.context, SHARED * HEED_ALIGNMENT);
    seen.base = memory;
    fake->hook = note_counters;
    for (int i = 0; i < THREADS; i++) {
        executors[i] = (executor){ .trial = &t, .memory = memory, .number = i * 5 };
        assert_int_equal(pthread_create(&executors[i].thread, NULL, run_executor, &executors[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(executors[i].thread, NULL);
        assert_int_equal(executors[i].status, HEED_OK);
    }
    assert_int_equal(seen.launches, THREADS * ROUNDS);
    assert_int_equal(seen.changes, 0);
    for (int i = 0; i < SHARED; i++)
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(seen.counters[i], seen.counters[j]);
    heed_device_free(t.context, memory);
    trial_end(&t);
}

/* -------------------------------------------------------------------------- */
/* Slow ones                                                                  */
/* -------------------------------------------------------------------------- */

/* Returns whether the launch has the config that takes any address: 64 rows, 16 keys and four
 * warps. */
static bool is_fallback(const fake_launch *launch)
{
    heed_cuda_args args = trial_args(launch);
    return args.partial == NULL && args.splits.value == 1 && launch->block[0] == 128 &&
           args.blocks == (args.rows + 63) / 64;
}

/* An address of any tensor that is not a multiple of 16 uses the slow path. */
static void expect_slow_path(const char *spec)
{
    trial t = trial_make(spec);
    const void **fields[] = { &t.buffers.q, &t.buffers.k, &t.buffers.v,
                              (const void **)&t.buffers.o };
    int count = trial_execute(&t, &t.buffers);
    unsigned smem = trial_launches[0].smem;
    for (int i = 0; i < 4; i++)
        for (int shift = 2; shift <= 16; shift += shift == 2 ? 6 : 8) {
            const char *place = *fields[i];
            *fields[i] = place + shift;
            int launched = trial_execute(&t, &t.buffers);
            *fields[i] = place;
            assert_int_equal(launched, shift == 16 ? count : 1);
            assert_int_equal(trial_launches[0].smem == smem, shift == 16);
            assert_int_equal(is_fallback(&trial_launches[0]), shift != 16);
        }
    trial_end(&t);
}

static void test_misaligned_pointers(void **state)
{
    expect_slow_path(PLAIN);
    expect_slow_path(DECODING);
}

#define DOCUMENTS " array=doc:i32:2x32768 visible=doc[batch,q]==doc[batch,k]"
#define LONG "b2 h4 s2048 d64 f16"
#define LONG_DECODING "b1 h8/2 s1/32768 d128 f16"

/* Tiles are listed in the workspace, after the parts to be merged, by a launch before the attention
 * kernel. There is one list per batch element, since all heads see the same keys. */
static void expect_lists(const trial *t, const heed_buffers *buffers, int64_t batch)
{
    assert_int_equal(trial_execute(t, buffers), 2);
    heed_cuda_args list = trial_args(&trial_launches[0]), args = trial_args(&trial_launches[1]);
    const char *begin = (const char *)list.changes.lists, *workspace = buffers->workspace;
    assert_string_equal(trial_launches[0].function, "heed_list");
    assert_string_equal(trial_launches[1].function, "heed_attend");
    assert_int_equal(trial_launches[0].grid[0], batch * args.blocks);
    assert_int_equal(trial_launches[0].block[0], HEED_CUDA_LIST_THREADS);
    assert_int_equal(trial_launches[0].smem, HEED_CUDA_LIST_SMEM);
    assert_ptr_equal(args.changes.lists, list.changes.lists);
    size_t parts = args.splits.value == 1
                       ? 0
                       : (size_t)args.heads * args.rows * args.splits.value * (128 + 1) * 4;
    assert_ptr_equal(begin, workspace + parts);
    assert_true(parts + heed_cuda_list_bytes(&args) <= buffers->workspace_size);
}

static void test_lists_of_tiles(void **state)
{
    static const text_integer cases[] = { { LONG DOCUMENTS, 2 }, { LONG_DECODING DOCUMENTS, 1 } };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        trial t = trial_make(cases[i].text);
        t.buffers.arrays[0] = t.buffers.k;
        expect_lists(&t, &t.buffers, cases[i].value);
        heed_buffers shifted = t.buffers;
        shifted.q = (const char *)shifted.q + 2;
        expect_lists(&t, &shifted, cases[i].value);
        assert_true(is_fallback(&trial_launches[1]));
        trial_end(&t);
    }
}

/* Lists would take longer than they can save. But whether a batch-invariant problem has lists,
 * which change the order of tiles, must not depend on its batch. */
static void test_brief_problems_have_no_lists(void **state)
{
    static const text_integer cases[] = {
        { DECODING DOCUMENTS, 1 },
        { "b2 h4 s256 d64 f16" DOCUMENTS, 1 },
        { "b2 h4 s256 d64 f16 invariant array=doc:i32:256 visible=doc[q]==doc[k]", 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial t = trial_make(cases[i].text);
        t.buffers.arrays[0] = t.buffers.k;
        assert_int_equal(trial_execute(&t, &t.buffers), cases[i].value);
        trial_end(&t);
    }
}

/* Large lists are not made: here one per head, for 16384 by 16384 tiles. */
static void test_large_lists_are_left_out(void **state)
{
    heed_problem problem = parsed("b1 h4 s1048576 d64 f16 visible=k//9%(head+2)!=q");
    heed_gpu gpu;
    (void)state;
    assert_true(heed_gpu_find(&gpu, "H200"));
    assert_int_equal(heed_cuda_list_keys(&problem, &gpu, 64, 64), 0);
    problem.seq_q = problem.seq_k = 4096;
    assert_int_equal(heed_cuda_list_keys(&problem, &gpu, 64, 64), 64);
}

/* A mask tensor has too many elements to be read in advance. */
static void test_masks_have_no_lists(void **state)
{
    trial t = trial_make(PLAIN " shown=bits:q");
    (void)state;
    t.buffers.shown = t.buffers.k;
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    assert_null(trial_args(&trial_launches[0]).changes.lists);
    trial_end(&t);
}

/* LSE and the other arrays need only the alignment of their type. */
static void test_lse_at_any_float(void **state)
{
    trial t = trial_make(PLAIN);
    trial_execute(&t, &t.buffers);
    unsigned smem = trial_launches[0].smem;
    heed_buffers shifted = t.buffers;
    shifted.lse++;
    trial_execute(&t, &shifted);
    assert_int_equal(trial_launches[0].smem, smem);
    trial_end(&t);
}

/* One such stride of one tensor is enough; strides of a dimension of size 1 do not count. */
static void test_strides_that_break_16_bytes(void **state)
{
    static const text_integer cases[] = {
        { "b2 h4 s256 d64 f16 k=66560:260:64", true },
        { "b2 h4 s256 d64 f16 q=65540:256:64", true },
        { "b2 h4 s256 d64 f16 v=67584:264:65", true },
        { "b2 h4 s256 d64 f16 o=67592:264:66", true },
        { "b2 h4 s256 d64 f16 k=67584:264:64", false },
        { "b1 h4 s256 d64 f16 q=1:256:64", false },
        { "b2 h3 s256 d36 f16", true },
        { "b2 h3 s256 d40 bf16", false },
        { "b1 h1 s100 d64 f16 k=0:4194312:0", true }, /* a key stride that exceeds 32 bits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_context *context = scene_open("cuda");
        heed_problem problem = parsed(cases[i].text);
        heed_plan *plan;
        fake->args_size = sizeof(heed_cuda_args);
        fake->hook = trial_note;
        if (heed_plan_create_named(&plan, context, &problem, "fwd_16bit_sm80_mma") != HEED_OK)
            fail_msg("%s: %s", cases[i].text, heed_message());
        trial t = { .context = context, .plan = plan };
        void *memory = trial_room(context, (size_t)1 << 20), *space = trial_room(context, 1 << 20);
        heed_buffers buffers = { .size = sizeof buffers,
                                 .q = memory,
                                 .k = memory,
                                 .v = memory,
                                 .o = (char *)memory + (1 << 19) };
        buffers.workspace = space;
        buffers.workspace_size = heed_plan_workspace_size(plan);
        trial_execute(&t, &buffers);
        if (is_fallback(&trial_launches[0]) != cases[i].value)
            fail_msg("%s is %s", cases[i].text, cases[i].value ? "fast" : "slow");
        heed_device_free(context, space);
        heed_device_free(context, memory);
        heed_plan_destroy(plan);
        heed_context_destroy(context);
    }
}

RUN_SCENE_TESTS(scene_begin_uncached, test_one_launch, test_trusted_pointers,
                test_lengths_share_code, test_invariant, test_invariant_lists,
                test_invariant_operands, test_spread_keys, test_spread_parts, test_split_keys,
                test_not_worthwhile_by_name, test_overlap, test_counters_of_workspaces,
                test_long_rows, test_counters_among_threads, test_misaligned_pointers,
                test_lists_of_tiles, test_brief_problems_have_no_lists,
                test_large_lists_are_left_out, test_masks_have_no_lists, test_lse_at_any_float,
                test_strides_that_break_16_bytes)
