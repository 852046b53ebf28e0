/*
 * test_threads.c - calls from many threads at once
 *
 * All threads execute one plan, contexts come and go, wisdom is learnt and read, and a caller
 * provides a thread pool. Every result must have the same bits as one computed without concurrency.
 * The thread sanitizer's build of this test finds races.
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define THREADS 6
#define ROUNDS 40

/* Runs @body in THREADS threads, each with its own element of @items, and waits for all. */
static void in_threads(void *(*body)(void *), void *items, size_t item_size)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)items + i * item_size), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* -------------------------------------------------------------------------- */
/* Something to execute                                                       */
/* -------------------------------------------------------------------------- */

/* Grouped heads, uneven lengths and a mask; enough keys to be split among threads. */
static const char *const spec = "b2 h4/2 s37/300 d40/24 f32 causal=br";
#define Q_ELEMENTS (2 * 37 * 4 * 40)
#define K_ELEMENTS (2 * 300 * 2 * 40)
#define V_ELEMENTS (2 * 300 * 2 * 24)
#define O_ELEMENTS (2 * 37 * 4 * 24)
#define LSE_ELEMENTS (2 * 4 * 37)

static float inputs[Q_ELEMENTS + K_ELEMENTS + V_ELEMENTS];

/* The outputs and the workspace of one execution. */
typedef struct outputs {
    float o[O_ELEMENTS];
    float lse[LSE_ELEMENTS];
    void *workspace;
} outputs;

static void fill_inputs(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        state = state * 1664525u + 1013904223u;
        inputs[i] = (float)(state >> 8) / (float)(1 << 23) - 1.0f;
    }
}

/* Returns whether the execution succeeded. Runs in any thread, so it asserts nothing. */
static bool execute(const heed_plan *plan, outputs *out)
{
    heed_buffers buffers = plain_buffers(inputs, inputs + Q_ELEMENTS,
                                         inputs + Q_ELEMENTS + K_ELEMENTS, out->o);
    buffers.lse = out->lse;
    buffers.workspace = out->workspace;
    buffers.workspace_size = heed_plan_workspace_size(plan);
    memset(out->o, 0xff, sizeof out->o);
    memset(out->lse, 0xff, sizeof out->lse);
    return heed_execute(plan, &buffers) == HEED_OK;
}

static bool make_outputs(const heed_plan *plan, outputs *out)
{
    size_t size = heed_plan_workspace_size(plan);
    return posix_memalign(&out->workspace, HEED_ALIGNMENT, size ? size : 1) == 0;
}

static void free_outputs(outputs *out)
{
    free(out->workspace);
    out->workspace = NULL;
}

static bool same(const outputs *a, const outputs *b)
{
    return memcmp(a->o, b->o, sizeof a->o) == 0 && memcmp(a->lse, b->lse, sizeof a->lse) == 0;
}

static heed_plan *make_plan(heed_context *context, const char *kernel)
{
    heed_problem problem;
    heed_plan *plan = NULL;
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        return NULL;
    if (kernel)
        heed_plan_create_named(&plan, context, &problem, kernel);
    else
        heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    return plan;
}

static heed_context *make_context(int threads, heed_parallel_fn *parallel, void *pool)
{
    heed_options options = {
        .size = sizeof options, .threads = threads, .parallel = parallel, .pool = pool
    };
    heed_context *context = NULL;
    heed_context_create(&context, &options);
    return context;
}

/* -------------------------------------------------------------------------- */
/* One plan, many threads                                                     */
/* -------------------------------------------------------------------------- */

typedef struct executor {
    const heed_plan *plan;
    const outputs *wanted;
    int wrong;
} executor;

static void *execute_often(void *data)
{
    executor *self = data;
    outputs out;
    if (!make_outputs(self->plan, &out)) {
        self->wrong = ROUNDS;
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++)
        if (!execute(self->plan, &out) || !same(&out, self->wanted))
            self->wrong++;
    free_outputs(&out);
    return NULL;
}

static void execute_from_all(heed_context *context, const char *kernel)
{
    heed_plan *plan = make_plan(context, kernel);
    if (!plan)
        return; /* a kernel for another machine */
    static outputs wanted;
    executor executors[THREADS];
    assert_true(make_outputs(plan, &wanted));
    assert_true(execute(plan, &wanted));
    for (int i = 0; i < THREADS; i++)
        executors[i] = (executor){ .plan = plan, .wanted = &wanted };
    in_threads(execute_often, executors, sizeof *executors);
    for (int i = 0; i < THREADS; i++)
        if (executors[i].wrong)
            fail_msg("%s: %d of %d executions differ", heed_plan_name(plan), executors[i].wrong,
                     ROUNDS);
    free_outputs(&wanted);
    heed_plan_destroy(plan);
}

static void test_one_plan(void **state)
{
    heed_context *context = make_context(3, NULL, NULL);
    assert_non_null(context);
    for (size_t i = 0; heed_kernel_name(i); i++)
        execute_from_all(context, heed_kernel_name(i));
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* A context per thread                                                       */
/* -------------------------------------------------------------------------- */

static void *live_apart(void *data)
{
    executor *self = data;
    for (int i = 0; i < ROUNDS / 4; i++) {
        heed_context *context = make_context(2, NULL, NULL);
        heed_plan *plan = context ? make_plan(context, NULL) : NULL;
        outputs out = { .workspace = NULL };
        if (!plan || !make_outputs(plan, &out) || !execute(plan, &out))
            self->wrong++;
        free_outputs(&out);
        heed_plan_destroy(plan);
        heed_context_destroy(context);
    }
    return NULL;
}

static void test_contexts_come_and_go(void **state)
{
    executor executors[THREADS] = { { 0 } };
    in_threads(live_apart, executors, sizeof *executors);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(executors[i].wrong, 0);
}

/* -------------------------------------------------------------------------- */
/* One context's plans and wisdom                                             */
/* -------------------------------------------------------------------------- */

typedef struct learner {
    heed_context *context;
    int index;
    int wrong;
} learner;

static void *learn(void *data)
{
    learner *self = data;
    static _Thread_local char text[16384];
    for (int i = 0; i < 4; i++) {
        heed_problem problem = { .size = sizeof problem,
                                 .type = HEED_F32,
                                 .batch = 1,
                                 .heads_q = 1,
                                 .heads_kv = 1,
                                 .seq_q = 1 + i,
                                 .seq_k = 1 + self->index,
                                 .dim_qk = 4,
                                 .dim_v = 4 };
        heed_plan *plan = NULL;
        heed_effort effort = i == 0 ? HEED_MEASURE : HEED_ESTIMATE;
        if (heed_plan_create(&plan, self->context, &problem, effort) != HEED_OK)
            self->wrong++;
        heed_plan_destroy(plan);
        if (heed_wisdom_export(self->context, text, sizeof text) >= sizeof text ||
            heed_wisdom_import(self->context, text, NULL, NULL) != HEED_OK)
            self->wrong++;
    }
    return NULL;
}

static void test_shared_wisdom(void **state)
{
    heed_context *context = host_context_of(2, "scalar");
    learner learners[THREADS];
    for (int i = 0; i < THREADS; i++)
        learners[i] = (learner){ .context = context, .index = i };
    in_threads(learn, learners, sizeof *learners);
    for (int i = 0; i < THREADS; i++) {
        heed_problem problem = { .size = sizeof problem,
                                 .type = HEED_F32,
                                 .batch = 1,
                                 .heads_q = 1,
                                 .heads_kv = 1,
                                 .seq_q = 1,
                                 .seq_k = 1 + i,
                                 .dim_qk = 4,
                                 .dim_v = 4 };
        heed_plan *plan = NULL;
        assert_int_equal(learners[i].wrong, 0);
        assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY), HEED_OK);
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* The caller's own pool                                                      */
/* -------------------------------------------------------------------------- */

/* Counts the calls to a caller's pool. */
typedef struct own_pool {
    int calls;
    int largest;
    bool threaded;
} own_pool;

typedef struct piece {
    void (*body)(void *data, int index);
    void *data;
    int index;
} piece;

static void *run_piece(void *data)
{
    const piece *self = data;
    self->body(self->data, self->index);
    return NULL;
}

/* Last index first, each in a separate thread or all in the caller's. */
static void run_in_own_pool(void *pool, void (*body)(void *data, int index), void *data, int count)
{
    own_pool *self = pool;
    pthread_t threads[8];
    piece pieces[8];
    self->calls++;
    self->largest = count > self->largest ? count : self->largest;
    for (int i = count - 1; i >= 0; i--) {
        pieces[i] = (piece){ body, data, i };
        if (!self->threaded)
            run_piece(&pieces[i]);
        else
            pthread_create(&threads[i], NULL, run_piece, &pieces[i]);
    }
    for (int i = 0; self->threaded && i < count; i++)
        pthread_join(threads[i], NULL);
}

static void test_own_pool(void **state)
{
    for (int threaded = 0; threaded < 2; threaded++) {
        static outputs ours, theirs;
        own_pool pool = { .threaded = threaded };
        heed_context *context = make_context(5, NULL, NULL);
        heed_context *other = make_context(5, run_in_own_pool, &pool);
        assert_non_null(context);
        assert_non_null(other);
        assert_int_equal(heed_context_threads(other), 5);
        heed_plan *plan = make_plan(context, NULL);
        heed_plan *same_plan = make_plan(other, NULL);
        assert_string_equal(heed_plan_name(plan), heed_plan_name(same_plan));
        assert_true(make_outputs(plan, &ours));
        assert_true(make_outputs(same_plan, &theirs));
        assert_true(execute(plan, &ours));
        assert_true(execute(same_plan, &theirs));
        assert_true(same(&ours, &theirs));
        assert_true(pool.calls > 0 && pool.largest > 1 && pool.largest <= 5);
        free_outputs(&ours);
        free_outputs(&theirs);
        heed_plan_destroy(plan);
        heed_plan_destroy(same_plan);
        heed_context_destroy(context);
        heed_context_destroy(other);
    }
}

/* -------------------------------------------------------------------------- */
/* Messages                                                                   */
/* -------------------------------------------------------------------------- */

static void *fail_apart(void *data)
{
    learner *self = data;
    heed_problem problem = { .size = sizeof problem, .batch = -100 - self->index };
    char wanted[32];
    snprintf(wanted, sizeof wanted, "batch is %d;", -100 - self->index);
    self->wrong += *heed_message() != '\0'; /* nothing has failed in this thread yet */
    for (int i = 0; i < ROUNDS; i++) {
        heed_problem_check(&problem);
        self->wrong += !strstr(heed_message(), wanted);
    }
    return NULL;
}

static void test_messages(void **state)
{
    learner learners[THREADS];
    for (int i = 0; i < THREADS; i++)
        learners[i] = (learner){ .index = i };
    in_threads(fail_apart, learners, sizeof *learners);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(learners[i].wrong, 0);
}

int main(void)
{
    fill_inputs();
    return run_test_list(TEST_LIST(test_one_plan, test_contexts_come_and_go, test_shared_wisdom,
                                   test_own_pool, test_messages),
                         NULL, NULL);
}
