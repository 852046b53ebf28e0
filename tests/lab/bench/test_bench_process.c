/*
 * test_bench_process.c - timing of a candidate: no two calls have the same values, and outputs are
 * checked
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "run_tests.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "hold.h"
#include "lab/bench/duels.h"
#include "lab/bench/process.h"
#include "problems.h"
#include "src/measure.h"
#include "trial_scene.h"

/* Behaviour of a source that is correct at first and cheats from its fourth call on: */
enum {
    STAYS_HONEST,
    KEEPS_ANSWER, /* returns the answer of the third call */
    DOES_NOTHING,
    BY_TURNS /* does nothing in every other call */
};

static const char cheat[] =
    "\n#undef heed_candidate_run\n"
    "#include <string.h>\n"
    "__attribute__((visibility(\"default\")))\n"
    "int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
    "{\n"
    "    static float kept[4096];\n"
    "    static int calls;\n"
    "    size_t bytes = (size_t)p->seq_q * (size_t)p->dim_v * sizeof *kept;\n"
    "    if (++calls <= 3 || ID == 0 || (ID == 3 && calls % 2)) {\n"
    "        int failed = compute(p, b);\n"
    "        memcpy(kept, b->o, bytes);\n"
    "        return failed;\n"
    "    }\n"
    "    if (ID == 1)\n"
    "        memcpy(b->o, kept, bytes);\n"
    "    return 0;\n"
    "}\n";

static trial_scene scene;

/* Opens a trial of the correct source, in which the cheat runs. */
static void open_cheat(lab_bench_process *process, long long id)
{
    static char source[sizeof scene.source + sizeof cheat + 64];
    lab_candidate candidate = scene_candidate(&scene, "plain", id);

    snprintf(source, sizeof source, "#define heed_candidate_run compute\n%s%s", scene.source,
             cheat);
    candidate.source = source;
    candidate.source_size = strlen(source);
    process->limits = (lab_limits){ .run_seconds = 5, .tensor_bytes = (size_t)16 << 20 };
    if (!lab_trial_open(&process->trial, &candidate, &process->limits, &process->outcome))
        fail_msg("%s", process->outcome.text);
}

/* The objects that a process needs for a problem. */
typedef struct held_process {
    heed_context *context;
    lab_bench_tensors tensors;
    pid_t pid; /* of the process */
} held_process;

static void open_process(held_process *held, lab_bench_process *process, long long id,
                         const char *spec)
{
    lab_bench_source source = { .label = "" };

    held->context = host_context(1);
    source.problem = parsed(spec);
    assert_int_equal(lab_bench_tensors_create(&held->tensors, held->context, &source, 7, 0),
                     HEED_OK);
    *process = (lab_bench_process){ .trial = NULL };
    open_cheat(process, id);
    assert_true(lab_bench_process_take(process, &held->tensors));
    lab_bench_process_size(process, 1e-5, 8e-5);
    assert_int_equal(process->calls.count, 8);
    held->pid = scene_only_child();
}

static void close_process(held_process *held, lab_bench_process *process)
{
    lab_bench_process_close(process);
    lab_bench_tensors_free(&held->tensors);
    heed_context_destroy(held->context);
}

static heed_status run_blocks(lab_bench_process *process, long long id, const char *spec,
                              int blocks)
{
    held_process held;
    double seconds = 0;
    heed_status status = HEED_OK;

    open_process(&held, process, id, spec);
    for (int i = 0; i < blocks && status == HEED_OK; i++)
        status = lab_bench_process_block(process, &seconds);
    close_process(&held, process);
    return status;
}

static void test_honest(void **state)
{
    static const char *const specs[] = { "b1 h1 s40 d24 f32", "b2 h4/2 s17/33 d5/3 f32 causal=br",
                                         "b2 h2 s11 d7 f32 q=300:20:8 k=0:21:9 v=350:22:10" };
    lab_bench_process process;

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (run_blocks(&process, STAYS_HONEST, specs[i], 20) != HEED_OK)
            fail_msg("%s: %s", specs[i], process.outcome.text);
        assert_true(process.worst > 0 && process.worst <= 1);
        assert_int_equal(process.blocks, 20);
    }
}

static void test_cheats(void **state)
{
    lab_bench_process process;

    for (long long id = KEEPS_ANSWER; id <= BY_TURNS; id++) {
        assert_int_equal(run_blocks(&process, id, "b1 h1 s40 d24 f32", 60), HEED_ERR_UNSUPPORTED);
        assert_true(process.worst > 1);
        assert_non_null(strstr(process.outcome.text, "while it was timed is wrong"));
    }
}

/* The CPU to which a process is bound; -1: several. */
static int only_cpu(pid_t pid)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(pid, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            return CPU_COUNT(&set) == 1 ? cpu : -1;
    return -1;
}

/* Each stretch of a duel has a new process, bound to the CPU drawn for both sides, and CPUs
 * alternate. When compared with a side that is timed by the clock it is not bound. */
static void test_renew(void **state)
{
    cpu_set_t allowed;
    lab_bench_process process;
    held_process held;
    int used[CPU_SETSIZE] = { 0 }, cpus = 0;

    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    open_process(&held, &process, STAYS_HONEST, "b1 h1 s40 d24 f32");
    lab_side side = lab_bench_process_side(&process);
    for (uint64_t common = 0; common < 12; common++) {
        double seconds = 0;
        assert_int_equal(side.renew(side.data, common, 3 * common), HEED_OK);
        pid_t now = scene_only_child();
        int cpu = only_cpu(now);
        assert_true(now != held.pid && cpu >= 0 && CPU_ISSET((size_t)cpu, &allowed));
        assert_int_equal(side.fn(side.data, &seconds), HEED_OK);
        assert_true(seconds > 0 && seconds <= process.outcome.seconds / process.calls.count * 1.01);
        assert_int_equal(scene_only_child(), now); /* that of the whole stretch */
        assert_int_equal(side.renew(side.data, common, 7), HEED_OK);
        assert_int_equal(only_cpu(scene_only_child()), cpu);
        cpus += used[cpu]++ == 0;
        held.pid = now;
    }
    assert_true(cpus > 1 || CPU_COUNT(&allowed) == 1);
    process.by_clock = true;
    assert_int_equal(side.renew(side.data, 1, 1), HEED_OK);
    assert_true(only_cpu(scene_only_child()) < 0 || CPU_COUNT(&allowed) == 1);
    held.pid = scene_only_child();
    close_process(&held, &process);
}

/* A process that someone else resumed is not trusted, even if it is stopped again. */
static void test_stands_still(void **state)
{
    static const int signals[][2] = { { SIGCONT, 0 }, { SIGCONT, SIGSTOP } };

    for (int i = 0; i < 2; i++) {
        lab_bench_process process;
        held_process held;
        double seconds = 0;
        open_process(&held, &process, STAYS_HONEST, "b1 h1 s40 d24 f32");
        assert_int_equal(lab_bench_process_block(&process, &seconds), HEED_OK);
        for (int j = 0; j < 2 && signals[i][j]; j++)
            assert_int_equal(kill(held.pid, signals[i][j]), 0);
        assert_int_equal(lab_bench_process_block(&process, &seconds), HEED_ERR_UNSUPPORTED);
        assert_non_null(strstr(process.outcome.text, "computed while it was stopped"));
        close_process(&held, &process);
    }
}

static bool always(void)
{
    return true;
}

/* Duels of a source end when their context is stopped, even without a sink. */
static void test_duels_end(void **state)
{
    (void)state;
    heed_context *context;
    lab_error error;
    const lab_candidate candidate = scene_candidate(&scene, "plain", 0);
    const lab_bench_source source = { .problem = scene.problem };
    assert_int_equal(heed_context_create(&context, &(heed_options){ .size = sizeof(heed_options),
                                                                    .device = "cpu",
                                                                    .threads = 1 }),
                     HEED_OK);
    const lab_bench bench = { .context = context, .seed = 1, .seconds = 0.01, .host_threads = 1 };
    lab_bench_duels duels = { .bench = &bench,
                              .source = &source,
                              .name = "plain",
                              .text = candidate.source,
                              .time_limit = 60,
                              .wanted = 1000 };
    heed_context_stop(context, always);
    assert_int_equal(lab_bench_duels_run(&duels, &error), HEED_ERR_SYSTEM);
    assert_true(duels.count <= 1);
    assert_int_equal(duels.outcome, LAB_BENCH_OK);
    lab_bench_duels_free(&duels);
    heed_context_destroy(context);
}

int main(void)
{
    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    trial_scene_open(&scene);
    return run_test_list(
        TEST_LIST(test_honest, test_cheats, test_renew, test_stands_still, test_duels_end), NULL,
        NULL);
}
