/*
 * test_trial_cuda.c - CUDA candidates: their compiler in its sandbox, and the process that launches
 * them, with a fake driver (fake_cuda.h)
 *
 * The fake runs no code. It does enough to show that tensors are transferred, and to test a launch
 * that never ends or loses the device.
 */
#include "run_tests.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cuda/driver/nvrtc.h"
#include "cuda/facts.h"
#include "fake_cuda.h"
#include "hold.h"
#include "lab/trial/process.h"
#include "lab/trial/trial.h"

#define DIM 64
#define POISON (-77.0f)

static heed_problem problem;
static lab_trial_outcome outcome;
static float q[DIM], k[DIM], v[DIM], o[DIM];

static const heed_launch_facts launch = {
    .entry = "heed_attend", .threads = 128, .rows = 4, .splits = 1
};

static lab_candidate candidate_of(const char *source)
{
    return (lab_candidate){ .name = "test",
                            .language = LAB_LANGUAGE_CUDA,
                            .source = source,
                            .source_size = strlen(source),
                            .launch = launch,
                            .problem = &problem };
}

static void expect_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---------------------------------------------------------------------------------------------- */
/* The compiler, if there is one                                                                  */
/* ---------------------------------------------------------------------------------------------- */

static char runner[PATH_MAX];
static lab_code code;

static void expect_compiled(const lab_candidate *candidate, lab_trial_verdict verdict,
                            const char *words)
{
    const lab_limits limits = { .compile_seconds = 120 };
    bool well = lab_compile_cuda(candidate, &limits, runner, 80, &code, &outcome);

    if (outcome.verdict != verdict || !strstr(outcome.text, words))
        fail_msg("%s: \"%s\"\n%s", lab_trial_verdict_name(outcome.verdict), outcome.text, code.log);
    assert_int_equal(well, verdict == LAB_TRIAL_OK);
    if (well)
        assert_memory_equal(code.data, "\177ELF", 4);
    lab_code_free(&code);
    expect_no_children();
}

static void test_compiler(void **state)
{
    static char source[1 << 16];
    heed_cuda_facts facts;
    lab_knob knobs[LAB_KNOBS_MAX];
    const heed_nvrtc *nvrtc;

    if (heed_nvrtc_get(&nvrtc) != HEED_OK)
        skip();
    FILE *file = fopen(HEED_SOURCE_DIR "/src/cuda/kernels/attn_naive.cu", "r");
    assert_non_null(file);
    assert_true(fread(source, 1, sizeof source - 1, file) > 0);
    fclose(file);
    assert_int_equal(heed_cuda_facts_find("fwd_any_sm80_naive", &problem, 80, &facts), HEED_OK);
    assert_true(facts.launch.rows > 0 && facts.launch.splits == 1 && !facts.launch.aligned);
    lab_candidate candidate = candidate_of(source);
    for (int i = 0; i < facts.define_count; i++)
        knobs[i] = (lab_knob){ facts.defines[i].name, facts.defines[i].value };
    candidate.knobs = knobs;
    candidate.knob_count = (size_t)facts.define_count;
    assert_true(lab_program_find(LAB_RUNNER_CUDA, runner, &outcome));
    expect_compiled(&candidate, LAB_TRIAL_OK, "");
    candidate.knob_count--;
    expect_compiled(&candidate, LAB_TRIAL_COMPILE_ERROR, "error");
    assert_non_null(strstr(code.log, "candidate.cu"));
    if (!can_hold())
        return;
    candidate = candidate_of("#include \"/etc/passwd\"\n");
    expect_compiled(&candidate, LAB_TRIAL_COMPILE_ERROR, "passwd");
    assert_null(strstr(code.log, "root"));
    candidate = candidate_of("#include \"/proc/self/environ\"\n");
    expect_compiled(&candidate, LAB_TRIAL_COMPILE_ERROR, "environ");
    candidate = candidate_of("extern \"C\" __global__ void other() {}\n");
    candidate.launch.threads = 0;
    expect_compiled(&candidate, LAB_TRIAL_REFUSED, "launch.threads");
}

/* ---------------------------------------------------------------------------------------------- */
/* The process, with the fake driver                                                              */
/* ---------------------------------------------------------------------------------------------- */

static void tell_fake(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static int begin(void **state)
{
    tell_fake("HEED_LIBCUDA", FAKE_CUDA);
    tell_fake("HEED_NVRTC", FAKE_CUDA);
    tell_fake("HEED_NVML", FAKE_CUDA);
    tell_fake("HEED_CACHE_LIMIT", "0");
    tell_fake("FAKE_CUDA_COPIES", "256"); /* all of V */
    tell_fake("FAKE_CUDA_HANG", "0");
    tell_fake("FAKE_CUDA_LAUNCH_ERROR", "0");
    for (int i = 0; i < DIM; i++) {
        v[i] = (float)i;
        o[i] = POISON;
    }
    return 0;
}

static lab_set set_of(void)
{
    const heed_buffers buffers = { .size = sizeof buffers, .q = q, .k = k, .v = v, .o = o };

    return lab_set_of(&problem, &buffers);
}

/* A whole trial, which must have the given @verdict. */
static void expect(lab_trial_verdict verdict, const char *words)
{
    const lab_candidate candidate = candidate_of("a kernel");
    const lab_limits limits = { .arch = 90, .run_seconds = 1, .tensor_bytes = (size_t)8 << 20 };
    const lab_set set = set_of();
    lab_trial *trial;
    size_t workspace;

    if (lab_trial_open(&trial, &candidate, &limits, &outcome) &&
        lab_trial_prepare(trial, &problem, &workspace, &outcome))
        lab_trial_run(trial, &set, 1, 0, &outcome);
    lab_trial_close(trial);
    expect_no_children();
    if (outcome.verdict != verdict || !strstr(outcome.text, words))
        fail_msg("%s: \"%s\"", lab_trial_verdict_name(outcome.verdict), outcome.text);
}

static void test_run(void **state)
{
    expect(LAB_TRIAL_OK, "");
    assert_memory_equal(o, v, sizeof v);
    assert_true(outcome.seconds >= 0 && outcome.seconds < 1);
}

static void test_probe(void **state)
{
    const lab_limits limits = { .device = "cuda:0" }, none = { .device = "cuda:7" };
    int arch;

    assert_true(lab_trial_probe(&limits, &arch, &outcome));
    assert_int_equal(arch, 90);
    tell_fake("FAKE_CUDA_COPIES", "4");
    assert_false(lab_trial_probe(&limits, &arch, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_LOST);
    assert_non_null(strstr(outcome.text, "known answer"));
    tell_fake("FAKE_CUDA_LAUNCH_ERROR", "719");
    assert_false(lab_trial_probe(&limits, &arch, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_LOST);
    assert_false(lab_trial_probe(&none, &arch, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_SYSTEM);
    expect_no_children();
}

static void test_lost(void **state)
{
    tell_fake("FAKE_CUDA_LAUNCH_ERROR", "700");
    expect(LAB_TRIAL_LOST, "lost");
    assert_true(o[0] == POISON);
    tell_fake("FAKE_CUDA_LAUNCH_ERROR", "0");
    expect(LAB_TRIAL_OK, "");
}

static void test_hang(void **state)
{
    tell_fake("FAKE_CUDA_HANG", "1");
    expect(LAB_TRIAL_HUNG, "1 s");
    tell_fake("FAKE_CUDA_HANG", "0");
    expect(LAB_TRIAL_OK, "");
}

/* Memory around O does not belong to the candidate. */
static void test_outside(void **state)
{
    static float room[DIM + 32];
    const lab_candidate candidate = candidate_of("a kernel");
    const lab_limits limits = { .arch = 90, .tensor_bytes = (size_t)8 << 20 };
    lab_set set = set_of();
    lab_trial *trial;
    size_t workspace;

    set.span[LAB_V] = (lab_span){ .room = room,
                                  .room_size = sizeof room,
                                  .size = DIM * sizeof *room };
    set.span[LAB_O] = (lab_span){ .room = room,
                                  .room_size = sizeof room,
                                  .size = DIM * sizeof *room };
    room[DIM] = 1;
    tell_fake("FAKE_CUDA_COPIES", "260");
    assert_true(lab_trial_open(&trial, &candidate, &limits, &outcome));
    assert_true(lab_trial_prepare(trial, &problem, &workspace, &outcome));
    assert_true(lab_trial_run(trial, &set, 1, 0, &outcome)); /* it wrote the value it had before */
    float other[DIM + 32] = { 0 };
    set.span[LAB_V].room = other;
    assert_false(lab_trial_run(trial, &set, 1, 0, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_WROTE_OUTSIDE);
    lab_trial_close(trial);
}

/* Values of V that differ in each call. */
static void fill(void *data, int call, int index, void *to)
{
    float *values = to;

    for (int i = 0; i < DIM; i++)
        values[i] = (float)(*(int *)data * 1000 + call * 100 + index * 10 + i);
}

/* Calls find their values wherever they are in the slots, which are reassigned. */
static void test_time(void **state)
{
    const lab_candidate candidate = candidate_of("a kernel");
    const lab_limits limits = { .arch = 90, .tensor_bytes = (size_t)8 << 20 };
    const size_t bytes = DIM * sizeof(float);
    int block = 0, moved = 0;
    lab_calls calls = {
        .size = { [LAB_Q] = bytes, [LAB_K] = bytes, [LAB_V] = bytes, [LAB_O] = bytes },
        .count = 8,
        .fill = fill,
        .data = &block
    };
    const void *before = NULL;
    lab_trial *trial;
    size_t workspace;

    assert_true(lab_trial_open(&trial, &candidate, &limits, &outcome));
    assert_true(lab_trial_prepare(trial, &problem, &workspace, &outcome));
    for (; block < 10; block++) {
        if (!lab_trial_time(trial, &calls, &outcome))
            fail_msg("%s", outcome.text);
        for (int i = 0; i < calls.count; i++)
            assert_memory_equal(calls.made[i].o, calls.made[i].v, bytes);
        moved += calls.made[0].v != before;
        before = calls.made[0].v;
    }
    assert_true(moved > 5);
    tell_fake("FAKE_CUDA_COPIES", "128"); /* half of O is left unchanged */
    lab_trial_close(trial);
    assert_true(lab_trial_open(&trial, &candidate, &limits, &outcome));
    assert_true(lab_trial_prepare(trial, &problem, &workspace, &outcome));
    assert_true(lab_trial_time(trial, &calls, &outcome));
    for (int i = 0; i < calls.count; i++)
        assert_true(isnan(((const float *)calls.made[i].o)[DIM - 1]));
    lab_trial_close(trial);
}

static void test_home(void **state)
{
    const lab_candidate candidate = candidate_of("a kernel");
    const lab_limits limits = { .arch = 90, .tensor_bytes = (size_t)8 << 20 };
    lab_trial *trial;
    heed_problem other;
    size_t workspace;

    assert_true(lab_trial_open(&trial, &candidate, &limits, &outcome));
    assert_int_equal(heed_problem_parse(&other, "b1 h1 s1 d32 f32"), HEED_OK);
    assert_false(lab_trial_prepare(trial, &other, &workspace, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_UNSUPPORTED);
    assert_int_equal(heed_problem_parse(&other, "b3 h2 s17 d64 f32"), HEED_OK);
    assert_true(lab_trial_prepare(trial, &other, &workspace, &outcome));
    lab_trial_close(trial);
}

/* The device is queried for its architecture if none is given. */
static void test_arch_is_asked(void **state)
{
    const lab_candidate candidate = candidate_of("a kernel");
    lab_trial *trial;

    assert_true(lab_trial_open(&trial, &candidate, NULL, &outcome));
    lab_trial_close(trial);
    tell_fake("FAKE_CUDA_DEVICES", "0");
    assert_false(lab_trial_open(&trial, &candidate, NULL, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_SYSTEM);
    lab_trial_close(trial);
    unsetenv("FAKE_CUDA_DEVICES");
}

int main(void)
{
    if (heed_problem_parse(&problem, "b1 h1 s1 d64 f32") != HEED_OK)
        return 1;
    /* Before the fake is installed. */
    int failed = run_test_list(TEST_LIST(test_compiler), NULL, NULL);
    return failed +
           run_test_list(TEST_LIST_EACH(begin, NULL, test_run, test_probe, test_lost, test_hang,
                                        test_outside, test_time, test_home, test_arch_is_asked),
                         NULL, NULL);
}
