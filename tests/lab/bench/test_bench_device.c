/*
 * test_bench_device.c - `heed bench` on a fake CUDA device: its use of memory, and its check of the
 * clock
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "fake_cuda.h"
#include "lab/bench/match.h"
#include "lab/bench/pair.h"
#include "problems.h"
#include "src/cuda/kernels/args.cuh"

static fake_cuda *fake;

static lab_bench_source source_of(const char *spec)
{
    lab_bench_source source;
    memset(&source, 0, sizeof source);
    assert_int_equal(heed_problem_parse(&source.problem, spec), HEED_OK);
    return source;
}

static heed_context *open_device(void)
{
    const heed_options options = { .size = sizeof options, .device = "cuda:0" };
    heed_context *context;
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_false(heed_device_is_host(context));
    return context;
}

/* Computes O of the first copy from the tensors on the device, which is in host memory. */
static void compute(const lab_bench_tensors *tensors)
{
    heed_context *context = host_context(1);
    heed_plan *plan;
    assert_int_equal(heed_plan_create(&plan, context, &tensors->problem, HEED_ESTIMATE), HEED_OK);
    host_execute(plan, lab_bench_tensors_buffers(tensors, 0));
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* Expects @count rows, or approximately. */
static lab_expect *expect_of(const lab_bench_tensors *tensors, int64_t work)
{
    lab_expect *expect;
    heed_buffers data = lab_bench_tensors_inputs(tensors);
    lab_sampling rows = { .seed = 3, .work = work, .threads = 1 };
    assert_int_equal(lab_expect_create(&expect, &tensors->problem, &data, &rows), HEED_OK);
    return expect;
}

/* Values are uploaded once per copy, and results are downloaded: a few rows or all, with any
 * strides. */
static void judges_what_is_on_the_device(void **state)
{
    static const text_integer cases[] = {
        { "b2 h4/2 s50 d8 f16", 1 << 14 },
        { "b1 h2 s30 d8 bf16 layout=bhsd q=9000:40:1300", 1 << 14 },
        { "b4 h16 s128/9 d4 f32", INT64_MAX }, /* more rows than are worth separate transfers */
    };
    heed_context *context = open_device();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_bench_source source = source_of(cases[i].text);
        lab_bench_tensors tensors;
        double error = 0;
        assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 300000), HEED_OK);
        assert_true(tensors.copies > 1);
        assert_ptr_not_equal(tensors.host[LAB_K], tensors.data[LAB_K]);
        for (int64_t copy = 1; copy < tensors.copies; copy++)
            assert_memory_equal(lab_bench_tensors_buffers(&tensors, copy).v, tensors.host[LAB_V],
                                64);
        lab_expect *expect = expect_of(&tensors, cases[i].value);
        assert_int_equal(lab_bench_tensors_error(&tensors, 0, expect, &error), HEED_OK);
        assert_true(error > 1); /* poisoned */
        compute(&tensors);
        assert_int_equal(lab_bench_tensors_error(&tensors, 0, expect, &error), HEED_OK);
        assert_true(error <= 1);
        assert_int_equal(lab_bench_tensors_error(&tensors, 1, expect, &error), HEED_OK);
        assert_true(error > 1); /* the other copy still is */
        assert_int_equal(lab_bench_tensors_poison(&tensors), HEED_OK);
        assert_int_equal(lab_bench_tensors_error(&tensors, 0, expect, &error), HEED_OK);
        assert_true(error > 1);
        lab_expect_destroy(expect);
        lab_bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
    assert_int_equal(fake_cuda_live(fake), 0);
}

/* Running out of memory and device failures cause no leaks. */
static void gives_back_what_it_took(void **state)
{
    lab_bench_source source = source_of("b1 h2 s64 d16 f32");
    heed_context *context = open_device();
    lab_bench_tensors tensors;
    int before = fake_cuda_live(fake), failures = 0;
    for (int call = 1; call < 200; call++) {
        fake->fail_name = call % 2 ? "cuMemAlloc" : "cuMemcpyHtoD";
        fake->fail_call = (call + 1) / 2;
        fake->fail_result = 2; /* out of memory */
        fake->calls = 0;
        heed_status status = lab_bench_tensors_create(&tensors, context, &source, 7, 100000);
        fake->fail_call = 0;
        failures += status != HEED_OK;
        if (status == HEED_OK)
            lab_bench_tensors_free(&tensors);
        assert_null(tensors.data);
        assert_int_equal(fake_cuda_live(fake), before);
    }
    assert_in_range(failures, 10, 190);
    heed_context_destroy(context);
}

/* No call is faster than the data sheet allows. */
static void knows_what_cannot_be(void **state)
{
    heed_context *context = open_device();
    heed_device_limits limits = heed_device_get_limits(context);
    lab_bench bench = { .context = context };
    lab_bench_source dense = source_of("b1 h16 s16384 d128 f16");
    lab_bench_row row = { .source = &dense, .copies = 1 };
    row.flops = heed_problem_flops(&dense.problem);
    row.work = lab_roofline_work(&dense.problem);
    double rate = limits.multiprocessors * limits.clock_hz * 4096;
    double floor = lab_bench_device_floor(&bench, &row);
    assert_true(limits.multiprocessors > 0 && limits.clock_hz > 1e8 && limits.bandwidth > 1e9);
    assert_int_equal(heed_device_arch(context), 90);
    assert_true(floor > 0.9 * row.flops / rate && floor <= row.flops / rate);

    lab_bench_source few = source_of(
        "b64 h32/8 s1/8192 d128 f16"); /* bound by bytes, not by operations */
    row.source = &few;
    row.flops = heed_problem_flops(&few.problem);
    row.work = lab_roofline_work(&few.problem);
    double seconds = heed_problem_bytes(&few.problem) / limits.bandwidth;
    floor = lab_bench_device_floor(&bench, &row);
    assert_true(floor > 0.4 * seconds && floor < 0.6 * seconds);

    lab_bench_source small = source_of("b1 h8 s1/128 d64 f16"); /* fits the cache */
    row.source = &small;
    row.flops = heed_problem_flops(&small.problem);
    row.work = lab_roofline_work(&small.problem);
    assert_true(lab_bench_device_floor(&bench, &row) <= row.flops / rate);
    row.copies = 1000000; /* does not fit, with a million copies */
    assert_true(lab_bench_device_floor(&bench, &row) > row.flops / rate);
    heed_context_destroy(context);
}

/* The result of a fake kernel: that of a CPU kernel, no result, or always the first O. */
typedef struct answer {
    heed_context *cpu;
    heed_plan *plan;
    void *workspace;
    size_t size; /* of O */
    void *first; /* first O */
    int launches, captured;
    int behind;      /* launches of the kernel that precedes calls, all in graphs */
    bool stands;     /* the last launch was one of those */
    int last_right;  /* launches after this one leave O unchanged; 0: all are right */
    int last_honest; /* launches after this one give the first O; 0: all compute */
} answer;

static void give_answer(void *data, const fake_launch *launch)
{
    answer *self = data;
    heed_cuda_args args;
    if (strcmp(launch->function, "heed_behind") == 0) {
        float *element;
        memcpy(&element, launch->args, sizeof element);
        assert_true(*element == 0 && launch->captured && !self->stands);
        self->behind++;
        self->stands = true;
        return;
    }
    assert_true(self->stands == (launch->captured && self->behind > 0));
    self->stands = false;
    memcpy(&args, launch->args, sizeof args);
    self->launches++;
    self->captured += launch->captured;
    if (self->last_right > 0 && self->launches > self->last_right)
        return;
    if (self->last_honest > 0 && self->launches > self->last_honest) {
        memcpy(args.o, self->first, self->size);
        return;
    }
    heed_buffers buffers = plain_buffers(args.q, args.k, args.v, args.o);
    buffers.workspace = self->workspace;
    buffers.workspace_size = heed_plan_workspace_size(self->plan);
    assert_int_equal(heed_execute(self->plan, &buffers), HEED_OK);
    if (self->launches == 1)
        memcpy(self->first, args.o, self->size);
}

/* Installs a fake kernel that computes @source, which is dense. */
static void answer_open(answer *right, const lab_bench_source *source)
{
    const heed_problem *problem = &source->problem;
    memset(right, 0, sizeof *right);
    right->size = (size_t)(problem->batch * problem->seq_q * problem->heads_q * problem->dim_v) *
                  heed_type_size(problem->type);
    right->cpu = host_context(1);
    assert_int_equal(heed_plan_create(&right->plan, right->cpu, problem, HEED_ESTIMATE), HEED_OK);
    right->workspace = aligned_alloc(64, (heed_plan_workspace_size(right->plan) / 64 + 1) * 64);
    right->first = malloc(right->size);
    fake->args_size = sizeof(heed_cuda_args);
    fake->hook = give_answer;
    fake->hook_data = right;
}

static void answer_close(answer *right)
{
    fake->hook = NULL;
    free(right->first);
    free(right->workspace);
    heed_plan_destroy(right->plan);
    heed_context_destroy(right->cpu);
}

static lab_bench by_replays(heed_context *context)
{
    return (lab_bench){ .context = context,
                        .kernel = "fwd_any_sm80_naive",
                        .seconds = 0.01,
                        .margin = 0.01,
                        .cold = true,
                        .replay = true,
                        .host_threads = 1,
                        .seed = 1 };
}

/* A whole problem by replays: every figure comes with a checked output. */
static void times_by_replays(void **state)
{
    heed_context *context = open_device();
    lab_bench_source source = source_of("b1 h2 s16 d8 f16");
    answer right;
    lab_bench bench = by_replays(context);
    lab_bench_row row;
    answer_open(&right, &source);
    assert_int_equal(lab_bench_measure(&bench, &source, &row), HEED_OK);
    if (row.outcome != LAB_BENCH_OK)
        fail_msg("%s: %s", lab_bench_outcome_name(row.outcome), row.reason);
    assert_true(row.error >= 0 && row.error <= 1);
    assert_true(row.copies > 1 && row.calls >= 1 && row.count >= 5);
    assert_true(row.hot > 0 && row.cold > 0 && row.cold == row.summary.p50);
    assert_true(row.eager.n >= 5 && row.launch > 0);
    assert_true(right.captured > 0 && right.captured < right.launches);
    lab_bench_row_free(&row);

    bench.against = "fwd_any_sm80_naive";
    assert_int_equal(lab_bench_measure(&bench, &source, &row), HEED_OK);
    assert_int_equal(row.match_count, 1);
    if (row.matches[0].outcome != LAB_BENCH_OK)
        fail_msg("%s", row.matches[0].reason);
    assert_true(row.matches[0].calls >= 1 && row.matches[0].pairs >= 1);
    lab_bench_row_free(&row);

    right.last_honest = right.launches + 100; /* a cheat that starts after many calls */
    assert_int_equal(lab_bench_measure(&bench, &source, &row), HEED_OK);
    assert_true(row.outcome == LAB_BENCH_WRONG || row.matches[0].outcome == LAB_BENCH_WRONG);
    lab_bench_row_free(&row);
    right.last_honest = 0;

    bench.against = NULL;
    right.last_right = right.launches + 1; /* from the second launch on it does nothing */
    assert_int_equal(lab_bench_measure(&bench, &source, &row), HEED_OK);
    assert_int_equal(row.outcome, LAB_BENCH_WRONG);
    lab_bench_row_free(&row);
    answer_close(&right);
    heed_context_destroy(context);
    assert_int_equal(fake_cuda_live(fake), 0);
}

/* A kernel of another module precedes every call in a graph, on both sides, and no single call. */
static void times_behind_another_kernel(void **state)
{
    heed_context *context = open_device();
    lab_bench_source source = source_of("b1 h2 s16 d8 f16");
    answer right;
    lab_bench bench = by_replays(context);
    lab_behind *behind;
    lab_bench_row row;
    lab_bench_calibration calibration;
    answer_open(&right, &source);
    assert_int_equal(lab_behind_create(&behind, context), HEED_OK);
    bench.behind = behind;
    bench.against = "fwd_any_sm80_naive";
    assert_int_equal(lab_bench_measure(&bench, &source, &row), HEED_OK);
    if (row.outcome != LAB_BENCH_OK || row.matches[0].outcome != LAB_BENCH_OK)
        fail_msg("%s%s", row.reason, row.matches ? row.matches[0].reason : "");
    assert_true(right.behind > 0 && right.captured < right.launches);
    assert_int_equal(right.behind, right.captured);
    lab_bench_row_free(&row);
    assert_int_equal(lab_bench_calibrate_problem(&bench, &source, &calibration), HEED_OK);
    assert_int_equal(calibration.pair.outcome, LAB_BENCH_OK);
    assert_int_equal(right.behind, right.captured);
    lab_duel_free(&calibration.pair.duel);
    lab_behind_destroy(behind);
    lab_behind_destroy(NULL);
    answer_close(&right);
    heed_context_destroy(context);
    assert_int_equal(fake_cuda_live(fake), 0);
}

/* Nothing leaks if the device has no memory or fails; a CPU has no such kernel. */
static void has_no_other_kernel_everywhere(void **state)
{
    static const char *const entries[] = { "cuModuleLoadDataEx", "cuModuleGetFunction",
                                           "cuMemAlloc", "cuMemcpyHtoD" };
    heed_context *context = open_device(), *cpu;
    lab_behind *behind;
    int before = fake_cuda_live(fake);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        fake->fail_name = entries[i];
        fake->fail_call = 1;
        fake->fail_result = 2; /* out of memory */
        fake->calls = 0;
        assert_int_equal(lab_behind_create(&behind, context), HEED_ERR_NO_MEMORY);
        fake->fail_call = 0;
        assert_null(behind);
        assert_int_equal(fake_cuda_live(fake), before);
    }
    heed_context_destroy(context);
    cpu = host_context(1);
    assert_int_equal(lab_behind_create(&behind, cpu), HEED_ERR_UNSUPPORTED);
    assert_null(behind);
    heed_context_destroy(cpu);
}

/* A kernel compared with itself by replays: its output is checked as well. */
static void calibrates_by_replays(void **state)
{
    heed_context *context = open_device();
    lab_bench_source source = source_of("b1 h2 s16 d8 f16");
    answer right;
    lab_bench bench = by_replays(context);
    lab_bench_calibration row;
    answer_open(&right, &source);
    assert_int_equal(lab_bench_calibrate_problem(&bench, &source, &row), HEED_OK);
    if (row.pair.outcome != LAB_BENCH_OK)
        fail_msg("%s: %s", lab_bench_outcome_name(row.pair.outcome), row.pair.reason);
    assert_true(row.pair.copies > 1 && row.pair.calls >= 1 && row.seconds > 0);
    assert_true(row.pair.duel.pairs >= LAB_COMPARE_PAIRS_MIN && row.detectable > 0);
    lab_duel_free(&row.pair.duel);

    right.last_honest = right.launches + 10;
    assert_int_equal(lab_bench_calibrate_problem(&bench, &source, &row), HEED_OK);
    assert_int_equal(row.pair.outcome, LAB_BENCH_WRONG);
    lab_duel_free(&row.pair.duel);
    right.last_honest = 0;
    right.last_right = 1;
    assert_int_equal(lab_bench_calibrate_problem(&bench, &source, &row), HEED_OK);
    assert_int_equal(row.pair.outcome, LAB_BENCH_WRONG);
    lab_duel_free(&row.pair.duel);
    bench.kernel = "fwd_any_sm80_naive__w3";
    assert_int_equal(lab_bench_calibrate_problem(&bench, &source, &row), HEED_OK);
    assert_true(row.pair.outcome == LAB_BENCH_REFUSED || row.pair.outcome == LAB_BENCH_FAILED);
    lab_duel_free(&row.pair.duel);
    answer_close(&right);
    heed_context_destroy(context);
    assert_int_equal(fake_cuda_live(fake), 0);
}

/* Replays take long enough, but not too long. */
static void sizes_replays(void **state)
{
    static const struct {
        double seconds;
        int64_t calls, replays, single;
    } cases[] = {
        { 1e-9, 2000, 3, 100 }, { 10e-6, 200, 3, 100 }, { 1e-3, 2, 3, 50 },
        { 3e-3, 1, 2, 17 },     { 16e-3, 1, 1, 5 },     { 2, 1, 1, 5 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t calls, replays;
        lab_bench_replay_size(cases[i].seconds, &calls, &replays);
        assert_int_equal(calls, cases[i].calls);
        assert_int_equal(replays, cases[i].replays);
        assert_int_equal(lab_bench_single_count(cases[i].seconds), cases[i].single);
    }
}

int main(void)
{
    setenv("HEED_CACHE_LIMIT", "0", 1); /* the fake compiler's code is not worth caching */
    fake = fake_cuda_take(FAKE_CUDA);
    return fake ? run_test_list(TEST_LIST(judges_what_is_on_the_device, gives_back_what_it_took,
                                          knows_what_cannot_be, times_by_replays,
                                          calibrates_by_replays, sizes_replays,
                                          times_behind_another_kernel,
                                          has_no_other_kernel_everywhere),
                                NULL, NULL)
                : 1;
}
