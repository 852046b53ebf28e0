/*
 * test_fork.c - a context inherited across fork()
 *
 * The child has neither the threads nor the device, and locks that another thread held stay held.
 * Every call in the child must return: CPU plans continue on the single thread, everything else
 * returns an error, and destroying works. A child that hangs is killed by its alarm, which fails
 * the test.
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contexts.h"
#include "cuda_trial.h"

#define PATIENCE_S 60
#define FORKS 40
#define SPEC "b1 h4 s64/512 d32 f32"
#define ROWS (4 * 64 * 32)
#define KEYS (4 * 512 * 32)

/* A CPU plan and its result before any fork. */
typedef struct cpu_scene {
    heed_context *context;
    heed_plan *plan;
    heed_buffers buffers;
    float q[ROWS], k[KEYS], v[KEYS], o[ROWS], expected[ROWS];
} cpu_scene;

static void scene_fill(float *values, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / (float)(1 << 23) - 1.0F;
    }
}

static cpu_scene *cpu_begin(void)
{
    const heed_problem problem = parsed(SPEC);
    cpu_scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->context = host_context(4);
    assert_int_equal(heed_plan_create(&s->plan, s->context, &problem, HEED_ESTIMATE), HEED_OK);
    scene_fill(s->q, ROWS, 1);
    scene_fill(s->k, KEYS, 2);
    scene_fill(s->v, KEYS, 3);
    size_t size = heed_plan_workspace_size(s->plan);
    s->buffers = (heed_buffers){
        .size = sizeof(heed_buffers), .q = s->q, .k = s->k, .v = s->v, .o = s->o
    };
    s->buffers.workspace_size = size;
    if (size)
        assert_int_equal(posix_memalign(&s->buffers.workspace, HEED_ALIGNMENT, size), 0);
    assert_int_equal(heed_execute(s->plan, &s->buffers), HEED_OK);
    memcpy(s->expected, s->o, sizeof s->o);
    return s;
}

static void cpu_end(cpu_scene *s)
{
    heed_plan_destroy(s->plan);
    heed_context_destroy(s->context);
    free(s->buffers.workspace);
    free(s);
}

/* Reports in a child's exit status which step failed; a child must not assert. */
#define STEP(number, holds) \
    do {                    \
        if (!(holds))       \
            _exit(number);  \
    } while (0)

static _Noreturn void use_in_child(cpu_scene *s)
{
    heed_plan *plan = NULL;
    heed_context *own = NULL;
    char text[4096];
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1 };
    const heed_problem problem = *heed_plan_problem(s->plan);
    alarm(PATIENCE_S);
    memset(s->o, 0xff, sizeof s->o);
    STEP(1, heed_execute(s->plan, &s->buffers) == HEED_OK);
    STEP(2, memcmp(s->o, s->expected, sizeof s->o) == 0);
    STEP(3, heed_plan_create(&plan, s->context, &problem, HEED_ESTIMATE) == HEED_ERR_INVALID);
    STEP(4, !plan && strstr(heed_message(), "fork()"));
    STEP(5, heed_plan_create_named(&plan, s->context, &problem, heed_plan_name(s->plan)) ==
                HEED_ERR_INVALID);
    STEP(6, heed_wisdom_import(s->context, "", NULL, NULL) == HEED_ERR_INVALID);
    STEP(7, heed_wisdom_load(s->context, "/dev/null", NULL, NULL) == HEED_ERR_INVALID);
    STEP(8, heed_wisdom_save(s->context, "/dev/null") == HEED_ERR_INVALID);
    STEP(9, heed_wisdom_export(s->context, text, sizeof text) == 0);
    heed_wisdom_forget(s->context);
    heed_plan_destroy(s->plan);
    heed_context_destroy(s->context);
    STEP(10, heed_context_create(&own, &options) == HEED_OK);
    STEP(11, heed_plan_create(&plan, own, &problem, HEED_ESTIMATE) == HEED_OK);
    heed_plan_destroy(plan);
    heed_context_destroy(own);
    _exit(0);
}

static void expect_good_end(pid_t child)
{
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child was killed by signal %d%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    if (WEXITSTATUS(status) != 0)
        fail_msg("step %d of the child failed", WEXITSTATUS(status));
}

static void test_sleeping(void **state)
{
    cpu_scene *s = cpu_begin();
    usleep(20000); /* the workers sleep by then */
    pid_t child = fork();
    if (child == 0)
        use_in_child(s);
    expect_good_end(child);
    assert_int_equal(heed_execute(s->plan, &s->buffers), HEED_OK); /* those of the parent exist */
    cpu_end(s);
}

/* Work and wisdom in other threads, which take every lock again and again. */
typedef struct rush {
    cpu_scene *scene;
    atomic_bool over;
} rush;

static void *hurry(void *argument)
{
    rush *all = argument;
    static float o[ROWS];
    heed_buffers buffers = all->scene->buffers;
    void *workspace = NULL;
    char text[256];
    buffers.o = o;
    if (buffers.workspace_size &&
        posix_memalign(&workspace, HEED_ALIGNMENT, buffers.workspace_size) != 0)
        return NULL;
    buffers.workspace = workspace;
    for (int i = 0; !atomic_load(&all->over); i++) {
        heed_execute(all->scene->plan, &buffers);
        for (int j = 0; j < 20; j++)
            heed_wisdom_export(all->scene->context, text, sizeof text);
        if (i % 8 == 0)
            usleep(300); /* so that workers fall asleep and are woken */
    }
    free(workspace);
    return NULL;
}

static void test_busy(void **state)
{
    rush all = { .scene = cpu_begin() };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hurry, &all), 0);
    for (int i = 0; i < FORKS; i++) {
        usleep((useconds_t)(100 + 37 * i));
        pid_t child = fork();
        if (child == 0)
            use_in_child(all.scene);
        expect_good_end(child);
    }
    atomic_store(&all.over, true);
    pthread_join(thread, NULL);
    cpu_end(all.scene);
}

/* CUDA refuses to work in a child; heed must not wait for it or touch the parent's device. */
static void test_cuda(void **state)
{
    trial t = trial_make(PLAIN);
    pid_t child = fork();
    if (child == 0) {
        heed_plan *plan;
        alarm(PATIENCE_S);
        STEP(1, heed_execute(t.plan, &t.buffers) == HEED_ERR_INVALID);
        STEP(2, strstr(heed_message(), "forked") != NULL);
        STEP(3, heed_plan_create(&plan, t.context, heed_plan_problem(t.plan), HEED_ESTIMATE) ==
                    HEED_ERR_INVALID);
        heed_context *own;
        const heed_options options = { .size = sizeof options, .device = "cuda" };
        STEP(4, heed_context_create(&own, &options) == HEED_ERR_INVALID);
        STEP(5, strstr(heed_message(), "was forked after CUDA was used") != NULL);
        heed_plan_destroy(t.plan);
        heed_context_destroy(t.context);
        _exit(0);
    }
    expect_good_end(child);
    assert_true(trial_execute(&t, &t.buffers) > 0);
    trial_end(&t);
}

RUN_SCENE_TESTS(scene_begin, test_sleeping, test_busy, test_cuda)
