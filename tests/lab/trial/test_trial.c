/*
 * test_trial.c - candidates that behave, and candidates with one fault each, in a separate process
 *
 * In addition to each verdict the test checks for the effects that the protection must prevent: a
 * file, a connection, a process.
 */
#include "run_tests.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold.h"
#include "problems.h"
#include "src/measure.h"
#include "trial_scene.h"

/* only x86 reports the address of these */
#ifdef __x86_64__
#define NO_ADDRESS "general protection fault"
#else
#define NO_ADDRESS NULL
#endif

static trial_scene scene;

/* A hang is cut off early, to keep the test short; the others have enough time for a busy
 * machine. */
static const lab_limits quick = { .run_seconds = 1,
                                  .compile_seconds = 20,
                                  .tensor_bytes = (size_t)16 << 20,
                                  .memory_bytes = (size_t)128 << 20 };
static const lab_limits patient = { .run_seconds = 20,
                                    .compile_seconds = 20,
                                    .tensor_bytes = (size_t)16 << 20,
                                    .memory_bytes = (size_t)128 << 20 };

/* No child is left, and no zombie. */
static void expect_no_children(const char *name)
{
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        fail_msg("%s has left a process behind", name);
}

static double seconds_since(int64_t start)
{
    return (double)(heed_clock_ns() - start) * 1e-9;
}

/* A correct candidate runs, and its result is right. Returns the seconds that this took. */
static double expect_next_trial(const char *after)
{
    lab_trial_outcome outcome;
    int64_t start = heed_clock_ns();

    if (!scene_try(&scene, "plain", 0, &patient, &outcome))
        fail_msg("after %s: %s", after, outcome.text);
    assert_true(scene_is_right(&scene));
    return seconds_since(start);
}

/* Returns the seconds that the trial took. */
static double try_once(const char *name, long long value, lab_trial_verdict verdict,
                       const char *words)
{
    const lab_limits *limits = verdict == LAB_TRIAL_HUNG ? &quick : &patient;
    lab_trial_outcome outcome;
    int64_t start = heed_clock_ns();
    bool well = scene_try(&scene, name, value, limits, &outcome);
    double seconds = seconds_since(start);

    if (outcome.verdict != verdict || (words && !strstr(outcome.text, words)))
        fail_msg("%s: %s: \"%s\" instead of %s: \"%s\"", name,
                 lab_trial_verdict_name(outcome.verdict), outcome.text,
                 lab_trial_verdict_name(verdict), words ? words : "");
    assert_int_equal(well, verdict == LAB_TRIAL_OK);
    expect_no_children(name);
    return seconds;
}

/* An action counts as prompt if one of three attempts is: a busy machine may delay one, but not
 * all. */
#define SOON_TRIES 3

static void expect(const char *name, long long value, lab_trial_verdict verdict, const char *words)
{
    double seconds = try_once(name, value, verdict, words);

    for (int i = 1; i < SOON_TRIES && seconds >= 10; i++)
        seconds = try_once(name, value, verdict, words);
    assert_true(seconds < 10);
}

static void expect_ones(void)
{
    for (int i = 0; i < SCENE_ELEMENTS; i++)
        assert_true(scene.o[i] == 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Honest ones                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static void test_honest(void **state)
{
    expect("plain", 0, LAB_TRIAL_OK, NULL);
    assert_true(scene_is_right(&scene));
    expect("workspace", 0, LAB_TRIAL_OK, NULL);
    expect_ones();
    expect("stack", 4096, LAB_TRIAL_OK, NULL); /* of 8 MiB */
    expect_ones();
    expect("allocate", 100, LAB_TRIAL_OK, NULL); /* of 128 */
    expect_ones();
}

/* Operands are passed to a candidate that declares support for them; another one cannot run such a
 * problem. */
static void test_operands(void **state)
{
    static float vectors[2 * 3 * 4], o[16], bias[] = { 0, 0, 0, 5 }, sinks[] = { 0, 6 };
    static int32_t array[] = { 0, 0, 0, 0, 9 };
    const uint32_t shown[] = { 4 };
    heed_buffers buffers = plain_buffers(vectors, vectors, vectors, o);
    buffers.bias = bias;
    buffers.sinks = sinks;
    buffers.shown = shown;
    buffers.arrays[0] = array;
    const float expected[] = { 2, 5, 6, 1, 9, 5 + 's', 10 + 600, 2 };
    lab_candidate candidate = scene_candidate(&scene, "operands", 0);
    heed_problem problem = parsed("b1 h2 s1/3 d4 f32 softcap=2 bias=f32:h sinks "
                                  "shown=bits: array=a:i32:5 score=s+a[k] "
                                  "products=bf16x3");
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    const lab_set set = lab_set_of(&problem, &buffers);
    assert_true(lab_trial_prepare(trial, &problem, &size, &outcome));
    assert_true(lab_trial_run(trial, &set, 1, 0, &outcome));
    assert_memory_equal(o, expected, sizeof expected);
    lab_trial_close(trial);

    candidate = scene_candidate(&scene, "plain", 0);
    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    assert_false(lab_trial_prepare(trial, &problem, &size, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_UNSUPPORTED);
    lab_trial_close(trial);
}

/* Sets are computed in order, in one process, which stays alive. */
static void test_many_sets(void **state)
{
    static float o[4][SCENE_ELEMENTS];
    const lab_candidate candidate = scene_candidate(&scene, "remember", 0);
    lab_set sets[4];
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    assert_true(lab_trial_prepare(trial, &scene.problem, &size, &outcome));
    for (int i = 0; i < 4; i++) {
        sets[i] = scene_set(&scene, NULL, 0);
        sets[i].span[LAB_O] = (lab_span){ .room = o[i],
                                          .room_size = sizeof o[i],
                                          .size = sizeof o[i] };
    }
    assert_true(lab_trial_run(trial, sets, 4, 0, &outcome));
    for (int i = 0; i < 4; i++)
        assert_true(o[i][SCENE_ELEMENTS - 1] == (float)(i + 1));
    int64_t start = heed_clock_ns();
    assert_true(lab_trial_run(trial, sets, 1, 0, &outcome));
    assert_true(outcome.seconds > 0 && outcome.seconds <= seconds_since(start));
    assert_true(o[0][0] == 5);
    assert_true(lab_trial_code(trial)->size > 1000);
    lab_trial_close(trial);
    expect_no_children("remember");
}

/* ---------------------------------------------------------------------------------------------- */
/* Evil ones                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

static void test_evils(void **state)
{
    static const text_code evils[] = {
        { "hang", LAB_TRIAL_HUNG, "1 s" },
        { "forbidden/sleep", LAB_TRIAL_FORBIDDEN, "nanosleep" },
        { "divide", LAB_TRIAL_CRASHED, "SIGFPE" },
        { "abort", LAB_TRIAL_CRASHED, "SIGABRT" },
        { "illegal", LAB_TRIAL_CRASHED, "SIGILL" },
        { "null", LAB_TRIAL_ILLEGAL_ACCESS, "null pointer" },
        { "impossible", LAB_TRIAL_ILLEGAL_ACCESS, NO_ADDRESS },
        { "misaligned", LAB_TRIAL_ILLEGAL_ACCESS, NO_ADDRESS },
        { "read_past", LAB_TRIAL_ILLEGAL_ACCESS, "past the end of K" },
        { "write_input", LAB_TRIAL_ILLEGAL_ACCESS, "wrote to the input Q at byte 12" },
        { "unlock_input", LAB_TRIAL_ILLEGAL_ACCESS, "wrote to the input Q at byte 12" },
        { "write_past", LAB_TRIAL_WROTE_OUTSIDE, "wrote past the end of O, within" },
        { "write_before", LAB_TRIAL_WROTE_OUTSIDE, "before the start of O" },
        { "write_far", LAB_TRIAL_ILLEGAL_ACCESS, "past the end of O" },
        { "hoard", LAB_TRIAL_OUT_OF_MEMORY, "refused memory" },
        { "huge", LAB_TRIAL_OUT_OF_MEMORY, NULL },
        { "deep", LAB_TRIAL_OUT_OF_MEMORY, "stack" },
        { "forbidden/print", LAB_TRIAL_GARBAGE, NULL },
        { "forbidden/flood", LAB_TRIAL_FLOODED, "255 bytes" },
        { "forbidden/flood_stderr", LAB_TRIAL_FLOODED, "64 KiB" },
        { "forbidden/fork", LAB_TRIAL_FORKED, "process" },
        { "forbidden/fork_raw", LAB_TRIAL_FORKED, "clone" },
        { "forbidden/thread", LAB_TRIAL_FORKED, "thread" },
        { "forbidden/exec", LAB_TRIAL_FORKED, "execve" },
        { "forbidden/read_file", LAB_TRIAL_FILE, "open" },
        { "forbidden/kill", LAB_TRIAL_FORBIDDEN, "kill" },
        { "forbidden/code", LAB_TRIAL_FORBIDDEN, "mmap" },
        { "forbidden/handler", LAB_TRIAL_FORBIDDEN, "rt_sigaction" },
        { "forbidden/fail_memory", LAB_TRIAL_FORBIDDEN, "madvise" },
        { "exit", LAB_TRIAL_EXITED, "status 0" },
        { "forbidden/early_fork", LAB_TRIAL_FORKED, NULL },
        { "refuse", LAB_TRIAL_UNSUPPORTED, NULL },
        { "greedy", LAB_TRIAL_OUT_OF_MEMORY, "workspace" },
    };

    for (size_t i = 0; i < sizeof evils / sizeof *evils; i++) {
        double next = 5;
        for (int j = 0; j < SOON_TRIES && next >= 5; j++) {
            expect(evils[i].given, 0, evils[i].code, evils[i].wanted);
            next = expect_next_trial(evils[i].given);
        }
        if (next >= 5)
            fail_msg("%.1f s for a trial after %s", next, evils[i].given);
    }
}

/* A write outside the outputs is reported, and can be inspected. */
static void test_outside_is_kept(void **state)
{
    expect("write_past", 0, LAB_TRIAL_WROTE_OUTSIDE, NULL);
    assert_true(scene.o[SCENE_ELEMENTS] == 1);
    assert_true(scene.o[SCENE_ELEMENTS + 1] == SCENE_POISON);
    assert_true(scene.o[-1] == SCENE_POISON);
}

static void expect_no_file(const char *name)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof path, "/tmp/heed-trial-evil-%d", (int)getpid());
    expect(name, getpid(), LAB_TRIAL_FILE, "open");
    assert_int_equal(lstat(path, &status), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_files(void **state)
{
    expect_no_file("forbidden/write_file");
    expect_no_file("forbidden/early");
    expect("forbidden/early_read", 0, LAB_TRIAL_FILE, "open");
}

static void test_network(void **state)
{
    int port = 0, fd = scene_listen(&port);
    struct pollfd caller = { .fd = fd, .events = POLLIN };

    if (fd < 0)
        skip();
    expect("forbidden/network", port, LAB_TRIAL_NETWORK, "socket");
    assert_int_equal(poll(&caller, 1, 100), 0);
    close(fd);
}

/* A candidate that reports "done" before its work is done is stopped, and its outputs at that time
 * are checked. */
static void test_forged_answer(void **state)
{
    const lab_candidate candidate = scene_candidate(&scene, "forbidden/forge", 0);
    const lab_set set = scene_set(&scene, NULL, 0);
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    scene_poison(&scene);
    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    assert_true(lab_trial_prepare(trial, &scene.problem, &size, &outcome));
    assert_true(lab_trial_run(trial, &set, 1, 0, &outcome));
    for (int i = 0; i < SCENE_ELEMENTS; i++)
        assert_true(scene.o[i] == SCENE_POISON);
    char path[64], state_of = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)scene_only_child());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %*s %c", &state_of), 1);
    fclose(file);
    assert_int_equal(state_of, 'T');
    assert_false(lab_trial_run(trial, &set, 1, 1, &outcome)); /* it no longer reads requests */
    assert_int_equal(outcome.verdict, LAB_TRIAL_HUNG);
    lab_trial_close(trial);
    expect_no_children("forbidden/forge");
}

/* Tensor memory of one run is inaccessible in the next. */
static void test_rooms_are_closed(void **state)
{
    static float large[1 << 18];
    const lab_candidate candidate = scene_candidate(&scene, "forbidden/reach", 512);
    lab_set set = scene_set(&scene, NULL, 0);
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    set.span[LAB_O] = (lab_span){ .room = large, .room_size = sizeof large, .size = sizeof large };
    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    assert_true(lab_trial_prepare(trial, &scene.problem, &size, &outcome));
    assert_true(lab_trial_run(trial, &set, 1, 0, &outcome));
    assert_true(large[512 * 256] == 1);
    set = scene_set(&scene, NULL, 0);
    assert_false(lab_trial_run(trial, &set, 1, 0, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_ILLEGAL_ACCESS);
    lab_trial_close(trial);
}

/* A lost process is replaced at the next call. */
static void test_goes_on(void **state)
{
    const lab_candidate candidate = scene_candidate(&scene, "divide", 0);
    const lab_set set = scene_set(&scene, NULL, 0);
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    assert_true(lab_trial_open(&trial, &candidate, &patient, &outcome));
    for (int i = 0; i < 3; i++) {
        assert_true(lab_trial_prepare(trial, &scene.problem, &size, &outcome));
        assert_false(lab_trial_run(trial, &set, 1, 0, &outcome));
        assert_int_equal(outcome.verdict, LAB_TRIAL_CRASHED);
    }
    lab_trial_close(trial);
    expect_no_children("divide");
}

static bool always(void)
{
    return true;
}

static void test_interrupt(void **state)
{
    lab_limits limits = patient;
    lab_trial_outcome outcome;

    limits.interrupted = always;
    assert_false(scene_try(&scene, "plain", 0, &limits, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_INTERRUPTED);
    expect_no_children("plain");
}

/* Tensors that do not fit are the caller's error, not the candidate's. */
static void test_too_large(void **state)
{
    static float large[1 << 20];
    const lab_candidate candidate = scene_candidate(&scene, "plain", 0);
    lab_limits limits = patient;
    lab_set set = scene_set(&scene, NULL, 0), sets[65] = { { { { 0 } } } };
    lab_trial_outcome outcome;
    lab_trial *trial;
    size_t size;

    limits.tensor_bytes = 1;
    assert_true(lab_trial_open(&trial, &candidate, &limits, &outcome));
    assert_true(lab_trial_prepare(trial, &scene.problem, &size, &outcome));
    for (int i = 0; i < 64; i++) {
        sets[i] = set;
        sets[i].span[LAB_Q] = (lab_span){ .room = large, .room_size = sizeof large, .size = 256 };
    }
    assert_false(lab_trial_run(trial, sets, 64, 0, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_UNSUPPORTED);
    assert_false(lab_trial_run(trial, sets, 65, 0, &outcome));
    assert_false(lab_trial_run(trial, sets, 0, 0, &outcome));
    assert_true(lab_trial_run(trial, &set, 1, 0, &outcome));
    assert_true(scene_is_right(&scene));
    lab_trial_close(trial);
}

static void test_names(void **state)
{
    for (int i = 0; i < LAB_TRIAL_VERDICTS; i++) {
        assert_true(lab_trial_verdict_name((lab_trial_verdict)i)[0] != '\0');
        for (int j = 0; j < i; j++)
            assert_string_not_equal(lab_trial_verdict_name((lab_trial_verdict)i),
                                    lab_trial_verdict_name((lab_trial_verdict)j));
    }
    assert_string_equal(lab_trial_verdict_name((lab_trial_verdict)LAB_TRIAL_VERDICTS), "unknown");
}

int main(void)
{
    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    trial_scene_open(&scene);
    return run_test_list(TEST_LIST(test_honest, test_operands, test_many_sets, test_evils,
                                   test_outside_is_kept, test_files, test_network,
                                   test_forged_answer, test_rooms_are_closed, test_goes_on,
                                   test_interrupt, test_too_large, test_names),
                         NULL, NULL);
}
