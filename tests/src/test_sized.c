/*
 * test_sized.c - callers that were compiled with an older or a newer heed.h
 *
 * An older caller is simulated with the first sized version of the struct, at the end of a page
 * that is followed by unmapped memory: an access past it crashes the test. A newer one has a field
 * that the library does not have.
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contexts.h"
#include "expect.h"
#include "heed.h"
#include "problems.h"

/* The first heed_problem, before it had a pass. */
typedef struct first_problem {
    size_t size;
    heed_type type;
    heed_mask mask;
    int64_t batch, heads_q, heads_kv, seq_q, seq_k, dim_qk, dim_v;
    float scale;
    heed_accumulate accumulate;
    heed_strides q, k, v, o;
} first_problem;

/* heed_options before kernels could be compiled in the background. */
typedef struct first_options {
    size_t size;
    const char *device;
    int threads;
    const char *cpu;
    heed_parallel_fn *parallel;
    void *pool;
} first_options;

typedef struct later_problem {
    heed_problem known;
    uint64_t unknown;
} later_problem;

typedef struct later_options {
    heed_options known;
    uint64_t unknown;
} later_options;

typedef struct later_buffers {
    heed_buffers known;
    uint64_t unknown;
} later_buffers;

static const char spec[] = "b1 h2 s3 d4 f32 causal";

/* Returns room for @size bytes just before inaccessible memory. */
static void *page_end(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return pages + page - size;
}

static void page_end_free(void *room, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap((char *)room + size - page, 2 * page);
}

static void test_the_first_layout_is_kept(void **state)
{
    assert_int_equal(sizeof(first_problem), offsetof(heed_problem, pass));
    assert_int_equal(offsetof(first_problem, batch), offsetof(heed_problem, batch));
    assert_int_equal(offsetof(first_problem, scale), offsetof(heed_problem, scale));
    assert_int_equal(offsetof(first_problem, q), offsetof(heed_problem, q));
    assert_int_equal(offsetof(first_problem, o), offsetof(heed_problem, o));
    assert_int_equal(sizeof(first_options), offsetof(heed_options, compile));
    (void)state;
}

static void test_older_caller(void **state)
{
    heed_context *context = host_context(1);
    first_problem *old = page_end(sizeof *old), *normal = page_end(sizeof *normal);
    heed_problem *as_now = (heed_problem *)(void *)old;
    char text[HEED_SPEC_SIZE];
    heed_plan *plan = NULL;

    assert_int_equal(heed_problem_parse_sized(as_now, sizeof *old, spec), HEED_OK);
    assert_int_equal(old->size, sizeof *old);
    assert_int_equal(old->dim_v, 4);
    assert_int_equal(heed_problem_check(as_now), HEED_OK);
    assert_true(heed_problem_flops(as_now) > 0);
    assert_true(heed_problem_bytes(as_now) > 0);
    heed_problem_print(as_now, text, sizeof text);
    assert_string_equal(text, spec);
    old->scale = 0;
    assert_int_equal(heed_problem_normalize((heed_problem *)(void *)normal, as_now), HEED_OK);
    assert_int_equal(normal->size, sizeof *old);
    assert_true(normal->scale == 0.5F);

    assert_int_equal(heed_plan_create(&plan, context, as_now, HEED_ESTIMATE), HEED_OK);
    const heed_problem *planned = heed_plan_problem(plan);
    assert_int_equal(planned->size, sizeof *old);
    assert_int_equal(planned->pass, HEED_FORWARD);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    page_end_free(old, sizeof *old);
    page_end_free(normal, sizeof *normal);
    (void)state;
}

static void test_older_options(void **state)
{
    heed_context *context = NULL;
    first_options *old = page_end(sizeof *old);
    *old = (first_options){ .size = sizeof *old, .device = "cpu", .threads = 1 };
    assert_int_equal(heed_context_create(&context, (heed_options *)(void *)old), HEED_OK);
    heed_context_destroy(context);
    page_end_free(old, sizeof *old);
    (void)state;
}

static void test_newer_caller(void **state)
{
    heed_context *context = host_context(1);
    later_problem problem = { .unknown = 7 }, normal;
    heed_plan *plan = NULL;
    memset(&normal, 0x5a, sizeof normal);
    assert_int_equal(heed_problem_parse_sized(&problem.known, sizeof problem, spec), HEED_OK);
    assert_int_equal(problem.known.size, sizeof problem);
    assert_int_equal(problem.unknown, 0);
    assert_int_equal(heed_problem_normalize(&normal.known, &problem.known), HEED_OK);
    assert_memory_equal(&normal, &problem, sizeof normal);
    assert_int_equal(heed_plan_create(&plan, context, &problem.known, HEED_ESTIMATE), HEED_OK);
    const heed_problem *planned = heed_plan_problem(plan); /* a struct of the library's version */
    assert_int_equal(planned->size, sizeof *planned);
    assert_int_equal(heed_problem_check(planned), HEED_OK);
    heed_plan_destroy(plan);
    assert_int_equal(heed_plan_create_named(&plan, context, &problem.known, heed_kernel_name(0)),
                     HEED_OK);
    heed_plan_destroy(plan);

    problem.unknown = 1;
    const char *const words[] = { "heed_problem", "not zero", HEED_VERSION_STRING, NULL };
    assert_true(is_refused("problem", heed_problem_check(&problem.known), HEED_ERR_INVALID, words));
    assert_true(is_refused("problem", heed_plan_create(&plan, context, &problem.known, 0),
                           HEED_ERR_INVALID, words));
    assert_true(heed_problem_flops(&problem.known) == 0);

    later_options options = { .known = { .size = sizeof options, .device = "cpu", .threads = 1 } };
    heed_context *other = NULL;
    assert_int_equal(heed_context_create(&other, &options.known), HEED_OK);
    heed_context_destroy(other);
    options.unknown = 1;
    assert_true(is_refused("options", heed_context_create(&other, &options.known), HEED_ERR_INVALID,
                           WORDS("heed_options", "not zero")));
    heed_context_destroy(context);
    (void)state;
}

static void test_buffers(void **state)
{
    heed_context *context = host_context(1);
    heed_plan *plan = NULL;
    float q[24] = { 0 }, k[24] = { 0 }, v[24], o[24] = { 0 };
    for (int i = 0; i < 24; i++)
        v[i] = 2;
    heed_problem problem = parsed(spec);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    size_t room = heed_plan_workspace_size(plan);
    void *workspace = room ? aligned_alloc(HEED_ALIGNMENT, (room + 63) / 64 * 64) : NULL;
    later_buffers buffers = { .known = { .size = sizeof buffers,
                                         .q = q,
                                         .k = k,
                                         .v = v,
                                         .o = o,
                                         .workspace = workspace,
                                         .workspace_size = room } };
    assert_int_equal(heed_execute(plan, &buffers.known), HEED_OK);
    assert_true(o[23] == 2);
    buffers.unknown = 1;
    assert_true(is_refused("buffers", heed_execute(plan, &buffers.known), HEED_ERR_INVALID,
                           WORDS("heed_buffers", "not zero")));
    free(workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    (void)state;
}

/* A caller without operands: neither its problem nor its buffers have room for them. */
static void test_caller_without_operands(void **state)
{
    size_t least = offsetof(heed_buffers, bias);
    heed_context *context = host_context(1);
    heed_plan *plan = NULL;
    float q[24] = { 0 }, k[24] = { 0 }, v[24] = { 0 }, o[24];
    heed_buffers *old = page_end(least);
    const heed_buffers first = { .size = least, .q = q, .k = k, .v = v, .o = o };
    memset(o, 0xff, sizeof o);
    heed_problem problem = parsed(spec);
    assert_int_equal(heed_plan_create_named(&plan, context, &problem, "fwd_any_scalar_row"),
                     HEED_OK);
    memcpy(old, &first, least);
    size_t room = heed_plan_workspace_size(plan);
    old->workspace = room ? aligned_alloc(HEED_ALIGNMENT, (room + 63) / 64 * 64) : NULL;
    old->workspace_size = room;
    assert_int_equal(heed_execute(plan, old), HEED_OK);
    assert_true(o[23] == 0);
    free(old->workspace);
    page_end_free(old, least);
    heed_plan_destroy(plan);
    heed_context_destroy(context);

    static const char *const words[] = { "softcap=5",  "bias=f32",    "sinks",
                                         "shown=bits", "starts",      "alibi align=tl",
                                         "score=s+1",  "visible=k<3", "products=tf32" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s %s", spec, words[i]);
        assert_true(is_refused(text,
                               heed_problem_parse_sized(&problem, sizeof(first_problem), text),
                               HEED_ERR_INVALID, WORDS("heed_problem", "needs more than")));
    }
    (void)state;
}

/* Sizes that no version had. */
static void test_wrong_sizes(void **state)
{
    static const size_t sizes[] = { 0, 1, sizeof(size_t), SIZE_MAX };
    heed_context *context = host_context(1), *other = NULL;
    heed_problem problem = parsed(spec);
    heed_plan *plan = NULL;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char size[32], text[8] = "full";
        snprintf(size, sizeof size, "%zu", sizes[i]);
        heed_options options = { .size = sizes[i] };
        heed_buffers buffers = { .size = sizes[i] };
        assert_true(is_refused("options", heed_context_create(&other, &options), HEED_ERR_INVALID,
                               WORDS("heed_options", size, "sizeof")));
        assert_true(is_refused("buffers", heed_execute(plan, &buffers), HEED_ERR_INVALID,
                               WORDS("heed_buffers", size, "sizeof")));
        assert_true(is_refused("size", heed_problem_parse_sized(&problem, sizes[i], spec),
                               HEED_ERR_INVALID, WORDS("heed_problem", size, "sizeof")));
        problem.size = sizes[i];
        assert_true(is_refused("problem", heed_problem_check(&problem), HEED_ERR_INVALID,
                               WORDS("heed_problem", size, "sizeof")));
        assert_int_equal(heed_problem_print(&problem, text, sizeof text), 0);
        assert_string_equal(text, "");
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    (void)state;
}

static void test_candidates_of_any_size(void **state)
{
    heed_context *context = host_context(1);
    heed_plan *plan = NULL;
    struct {
        heed_candidate known;
        char unknown[8];
    } later;
    heed_problem problem = parsed(spec);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    memset(&later, 0x5a, sizeof later);
    assert_int_equal(heed_plan_candidate_sized(plan, 0, &later.known, sizeof later), HEED_OK);
    assert_memory_equal(later.known.name, heed_kernel_name(0), strlen(heed_kernel_name(0)));
    assert_int_equal(later.unknown[7], 0);
    size_t first = offsetof(heed_candidate, measured);
    heed_candidate *old = page_end(first);
    assert_int_equal(heed_plan_candidate_sized(plan, 0, old, first), HEED_OK);
    assert_ptr_equal(old->name, later.known.name);
    page_end_free(old, first);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    (void)state;
}

RUN_TESTS(test_the_first_layout_is_kept, test_older_caller, test_older_options, test_newer_caller,
          test_buffers, test_caller_without_operands, test_wrong_sizes, test_candidates_of_any_size)
