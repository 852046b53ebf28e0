/*
 * test_shared.c - problems whose V is a part of K: errors, their normal form, and the results of
 * every kernel
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "problems.h"

#define SPEC "b2 h4/2 s5/40 d24/16 f32 shared causal=br"

static void assert_refused(const heed_problem *problem, const char *message)
{
    assert_int_equal(heed_problem_check(problem), HEED_ERR_INVALID);
    if (!strstr(heed_message(), message))
        fail_msg("\"%s\" instead of \"%s\"", heed_message(), message);
}

static void test_limits(void **state)
{
    heed_problem problem = parsed("b1 h2 s3 d8/5 f16");
    problem.shared = 2;
    assert_refused(&problem, "shared is 2; it must be 0, or 1 where V is a part of K");
    problem.shared = -1;
    assert_refused(&problem, "shared is -1");
    problem.shared = 1;
    assert_refused(&problem, "shared is 1 and v strides are 30:10:5; they must be those of k, "
                             "48:16:8, or be left out");
    problem.v = problem.k;
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    memset(&problem.v, 0, sizeof problem.v);
    assert_int_equal(heed_problem_check(&problem), HEED_OK);
    problem.dim_v = 9;
    memset(&problem.o, 0, sizeof problem.o);
    assert_refused(&problem, "shared is 1 and dim_v is 9; it must be dim_qk, which is 8, or less");
}

/* The strides of V are those of K, whatever the layout, and are not printed. */
static void test_normal_form(void **state)
{
    static const text_pair specs[] = {
        { "b2 h4/2 s5 d8/5 f16 shared", "b2 h4/2 s5 d8/5 f16 shared" },
        { "shared b2 h4/2 s5 d8/5 f16 layout=bhsd", "b2 h4/2 s5 d8/5 f16 shared layout=bhsd" },
        { "b2 h4/2 s5 d8/5 f16 shared v=80:16:8", "b2 h4/2 s5 d8/5 f16 shared" },
        { "b2 h4/2 s5 d8/5 f16 shared k=200:40:20", "b2 h4/2 s5 d8/5 f16 shared k=200:40:20" },
        { "b2 h2 s8 d8/5 f16 shared paged=4 lengths",
          "b2 h2 s8 d8/5 f16 shared lengths=b paged=4" },
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char text[HEED_SPEC_SIZE];
        heed_problem problem = parsed(specs[i].given);
        heed_problem_print(&problem, text, sizeof text);
        assert_string_equal(text, specs[i].wanted);
        assert_int_equal(problem.v.seq, problem.k.seq);
        assert_int_equal(problem.v.head, problem.k.head);
        heed_problem again = parsed(text);
        assert_true(heed_problem_equal(&again, &problem));
        again.shared = 0;
        assert_false(heed_problem_equal(&again, &problem));
    }
}

/* K is read once. */
static void test_bytes(void **state)
{
    heed_problem shared = parsed("b1 h4/1 s3/100 d24/16 f16 shared"), own = shared;
    own.shared = 0;
    assert_true(heed_problem_bytes(&own) - heed_problem_bytes(&shared) == 100 * 16 * 2);
    assert_true(heed_problem_flops(&own) == heed_problem_flops(&shared));
}

typedef struct scene {
    heed_problem problem;
    float *q, *k, *o;
    void *workspace;
} scene;

static heed_status execute(const scene *s, const heed_plan *plan, const float *v)
{
    heed_buffers buffers = plain_buffers(s->q, s->k, v, s->o);
    buffers.workspace = s->workspace;
    buffers.workspace_size = heed_plan_workspace_size(plan);
    return heed_execute(plan, &buffers);
}

static size_t o_count(const heed_problem *p)
{
    return (size_t)(p->batch * p->seq_q * p->heads_q * p->dim_v);
}

/* The same bits with V as a separate tensor at K's address and with the word, whether v is given or
 * NULL. */
static void run_kernel(scene *s, heed_context *context, const char *kernel)
{
    heed_plan *shared, *own;
    heed_problem as_own = s->problem;
    as_own.shared = 0;
    heed_status status = heed_plan_create_named(&shared, context, &s->problem, kernel);
    if (status == HEED_ERR_UNSUPPORTED)
        return;
    assert_int_equal(status, HEED_OK);
    assert_int_equal(heed_plan_create_named(&own, context, &as_own, kernel), HEED_OK);
    const size_t count = o_count(&s->problem), size = heed_plan_workspace_size(shared);
    float *expected = malloc(count * sizeof *expected);
    assert_non_null(expected);
    s->workspace = aligned_alloc(64, size / 64 * 64 + 64);
    assert_non_null(s->workspace);
    assert_int_equal(execute(s, own, s->k), HEED_OK);
    memcpy(expected, s->o, count * sizeof *expected);
    for (int said = 0; said < 2; said++) {
        memset(s->o, 0xff, count * sizeof *s->o);
        assert_int_equal(execute(s, shared, said ? s->k : NULL), HEED_OK);
        assert_memory_equal(s->o, expected, count * sizeof *expected);
    }
    assert_int_equal(execute(s, shared, s->k + 1), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "it must be NULL or k"));
    assert_int_equal(execute(s, own, NULL), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "v is NULL"));
    free(s->workspace);
    free(expected);
    heed_plan_destroy(shared);
    heed_plan_destroy(own);
}

static void test_kernels(void **state)
{
    scene s = { .problem = parsed(SPEC) };
    const heed_problem *p = &s.problem;
    size_t q = (size_t)(p->batch * p->seq_q * p->heads_q * p->dim_qk);
    size_t k = (size_t)(p->batch * p->seq_k * p->heads_kv * p->dim_qk);
    heed_context *context;
    s.q = malloc(q * sizeof *s.q);
    s.k = malloc(k * sizeof *s.k);
    s.o = malloc(o_count(p) * sizeof *s.o);
    assert_true(s.q && s.k && s.o);
    for (size_t i = 0; i < q; i++)
        s.q[i] = (float)(i * 7 % 23) / 11 - 1;
    for (size_t i = 0; i < k; i++)
        s.k[i] = (float)(i * 5 % 31) / 15 - 1;
    assert_int_equal(heed_context_create(&context, NULL), HEED_OK);
    for (size_t i = 0; heed_kernel_name(i); i++)
        run_kernel(&s, context, heed_kernel_name(i));
    heed_context_destroy(context);
    free(s.q);
    free(s.k);
    free(s.o);
}

RUN_TESTS(test_limits, test_normal_form, test_bytes, test_kernels)
