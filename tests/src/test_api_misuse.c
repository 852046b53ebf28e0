/*
 * test_api_misuse.c - bad input for every public function and struct except heed_problem
 *
 * Each call must return the documented status and a message that names the field, the value and the
 * limit, and must leave the caller's objects unchanged. test_problem_misuse.c does this for
 * problems.
 */
#include "run_tests.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "contexts.h"
#include "expect.h"
#include "heed.h"

static const heed_problem valid = VALID_PROBLEM;

/* -------------------------------------------------------------------------- */
/* heed_options                                                               */
/* -------------------------------------------------------------------------- */

static void expect_bad_options(const heed_options *options, const char *const words[])
{
    heed_context *context = (heed_context *)&options;
    assert_true(
        is_refused(words[0], heed_context_create(&context, options), HEED_ERR_INVALID, words));
    assert_null(context);
}

static void test_options(void **state)
{
    static const int threads[] = { -1, 1025, INT_MAX, INT_MIN };
    for (size_t i = 0; i < COUNT(threads); i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", threads[i]);
        expect_bad_options(&(heed_options){ .size = sizeof(heed_options), .threads = threads[i] },
                           WORDS("threads", value, "1024"));
    }
    static const char *const cpus[] = { "sse2", "AVX2", "avx512 ", "avx" };
    for (size_t i = 0; i < COUNT(cpus); i++)
        expect_bad_options(&(heed_options){ .size = sizeof(heed_options), .cpu = cpus[i] },
                           WORDS("cpu", cpus[i], "amx"));
    char endless[5000];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    expect_bad_options(&(heed_options){ .size = sizeof(heed_options), .cpu = endless },
                       WORDS("cpu", "aaaa", "amx"));
    expect_bad_options(&(heed_options){ .size = sizeof(heed_options), .pool = endless },
                       WORDS("pool", "parallel", "NULL"));
    assert_true(is_refused("context", heed_context_create(NULL, NULL), HEED_ERR_INVALID,
                           WORDS("context", "NULL")));
    heed_context_destroy(NULL);
}

static void test_environment(void **state)
{
    const char *set = getenv("HEED_CPU");
    char *kept = set ? strdup(set) : NULL;
    assert_int_equal(setenv("HEED_CPU", "pentium", 1), 0);
    expect_bad_options(&(heed_options){ .size = sizeof(heed_options) },
                       WORDS("HEED_CPU", "pentium", "scalar"));
    heed_context *context = host_context_of(2, "scalar"); /* overrides the environment */
    assert_string_equal(heed_context_cpu(context), "scalar");
    heed_context_destroy(context);
    if (kept)
        setenv("HEED_CPU", kept, 1);
    else
        unsetenv("HEED_CPU");
    free(kept);
}

/* -------------------------------------------------------------------------- */
/* Plans and kernels                                                          */
/* -------------------------------------------------------------------------- */

static void test_plan_arguments(void **state)
{
    heed_context *context = host_context(2);
    heed_plan *plan = NULL;
    const char *kernel = heed_kernel_name(0);
    static const int efforts[] = { -1, 4, INT_MAX };
    for (size_t i = 0; i < COUNT(efforts); i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", efforts[i]);
        assert_true(is_refused("effort",
                               heed_plan_create(&plan, context, &valid, (heed_effort)efforts[i]),
                               HEED_ERR_INVALID, WORDS("effort", value, "3")));
        assert_null(plan);
    }
    assert_true(is_refused("plan", heed_plan_create(NULL, context, &valid, HEED_ESTIMATE),
                           HEED_ERR_INVALID, WORDS("plan", "NULL")));
    assert_true(is_refused("context", heed_plan_create(&plan, NULL, &valid, HEED_ESTIMATE),
                           HEED_ERR_INVALID, WORDS("context", "NULL")));
    assert_true(is_refused("problem", heed_plan_create(&plan, context, NULL, HEED_ESTIMATE),
                           HEED_ERR_INVALID, WORDS("problem", "NULL")));
    assert_true(is_refused("plan", heed_plan_create_named(NULL, context, &valid, kernel),
                           HEED_ERR_INVALID, WORDS("plan", "NULL")));
    assert_true(is_refused("context", heed_plan_create_named(&plan, NULL, &valid, kernel),
                           HEED_ERR_INVALID, WORDS("context", "NULL")));
    assert_true(is_refused("problem", heed_plan_create_named(&plan, context, NULL, kernel),
                           HEED_ERR_INVALID, WORDS("problem", "NULL")));
    assert_true(is_refused("kernel", heed_plan_create_named(&plan, context, &valid, NULL),
                           HEED_ERR_INVALID, WORDS("kernel", "NULL")));
    assert_true(is_refused("wisdom", heed_plan_create(&plan, context, &valid, HEED_WISDOM_ONLY),
                           HEED_ERR_NO_WISDOM, WORDS("b2 h4/2 s5/7 d8 f32")));
    assert_null(plan);
    heed_plan_destroy(NULL);
    heed_context_destroy(context);
}

/* Names of kernels that do not exist: each is @name followed by @tail. */
static void test_kernel_names(void **state)
{
    heed_context *context = host_context(2);
    char config[HEED_NAME_SIZE];
    char name[10000];
    static const char *const tails[] = {
        "x", "__", "__q1", "__b0", "__b-1", "__b99999999999999999999", "__b1b1b1b1b1b1"
    };
    assert_int_equal(heed_kernel_config(0, 0, config, sizeof config), HEED_OK);
    for (size_t i = 0; i < COUNT(tails); i++) {
        heed_plan *plan = NULL;
        snprintf(name, sizeof name, "%s%s", heed_kernel_name(0), tails[i]);
        assert_true(is_refused(name, heed_plan_create_named(&plan, context, &valid, name),
                               HEED_ERR_INVALID, WORDS(heed_kernel_name(0))));
        snprintf(name, sizeof name, "%s%s", config, tails[i]);
        assert_true(is_refused(name, heed_plan_create_named(&plan, context, &valid, name),
                               HEED_ERR_INVALID, WORDS(heed_kernel_name(0))));
        assert_null(plan);
    }
    heed_plan *plan = NULL;
    assert_true(is_refused("empty", heed_plan_create_named(&plan, context, &valid, ""),
                           HEED_ERR_INVALID, WORDS("kernel")));
    memset(name, 'k', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(is_refused("endless", heed_plan_create_named(&plan, context, &valid, name),
                           HEED_ERR_INVALID, WORDS("kernel", "kkkk")));
    heed_context_destroy(context);
}

/* Kernels that the restricted machine cannot run report this and are never chosen. */
static void test_unsupported_kernels(void **state)
{
    heed_context *context = host_context_of(2, "scalar");
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_plan *plan = NULL;
        heed_status status = heed_plan_create_named(&plan, context, &valid, heed_kernel_name(i));
        if (strstr(heed_kernel_name(i), "_scalar_"))
            assert_int_equal(status, HEED_OK);
        else
            assert_true(is_refused(heed_kernel_name(i), status, HEED_ERR_UNSUPPORTED,
                                   WORDS(heed_kernel_name(i))));
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
}

static void test_kernel_listing(void **state)
{
    char name[HEED_NAME_SIZE] = "untouched";
    size_t kernels = 0;
    while (heed_kernel_name(kernels)) {
        assert_non_null(heed_kernel_summary(kernels));
        kernels++;
    }
    assert_true(kernels > 0);
    assert_null(heed_kernel_summary(kernels));
    assert_null(heed_kernel_name(SIZE_MAX));
    assert_null(heed_kernel_summary(SIZE_MAX));
    char limit[32];
    snprintf(limit, sizeof limit, "%zu", kernels);
    assert_true(is_refused("kernel index", heed_kernel_config(kernels, 0, name, sizeof name),
                           HEED_ERR_INVALID, WORDS("index", limit)));
    assert_true(is_refused("config index", heed_kernel_config(0, SIZE_MAX, name, sizeof name),
                           HEED_ERR_INVALID, WORDS("config", "18446744073709551615")));
    assert_true(is_refused("name", heed_kernel_config(0, 0, NULL, sizeof name), HEED_ERR_INVALID,
                           WORDS("name", "NULL")));
    assert_true(is_refused("size", heed_kernel_config(0, 0, name, 5), HEED_ERR_INVALID,
                           WORDS("size", "5")));
    assert_true(is_refused("size", heed_kernel_config(0, 0, name, 0), HEED_ERR_INVALID,
                           WORDS("size", "0")));
}

static void test_candidates(void **state)
{
    heed_context *context = host_context(2);
    heed_plan *plan = NULL;
    heed_candidate candidate;
    assert_int_equal(heed_plan_create(&plan, context, &valid, HEED_ESTIMATE), HEED_OK);
    assert_true(is_refused("plan", heed_plan_candidate(NULL, 0, &candidate), HEED_ERR_INVALID,
                           WORDS("plan", "NULL")));
    assert_true(is_refused("candidate", heed_plan_candidate(plan, 0, NULL), HEED_ERR_INVALID,
                           WORDS("candidate", "NULL")));
    assert_true(is_refused("index", heed_plan_candidate(plan, SIZE_MAX, &candidate),
                           HEED_ERR_INVALID, WORDS("index", "18446744073709551615")));
    size_t length = heed_plan_explain(plan, NULL, 0);
    char *text = malloc(length + 1);
    assert_non_null(text);
    assert_int_equal(heed_plan_explain(plan, text, length + 1), length);
    assert_int_equal(strlen(text), length);
    free(text);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* heed_buffers                                                               */
/* -------------------------------------------------------------------------- */

/* Tensors of the valid problem, in blocks with room for a misaligned start. */
typedef struct tensors {
    heed_plan *plan;
    heed_buffers buffers;
    float inputs[3][2 * 7 * 4 * 8 + 1];
    float o[2 * 5 * 4 * 8 + 1];
    float lse[2 * 4 * 5 + 1];
} tensors;

#define POISON 0x7e

/* A plan that needs a workspace, with valid buffers. */
static tensors *make_tensors(heed_context *context)
{
    tensors *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_plan *plan = NULL;
        if (heed_plan_create_named(&plan, context, &valid, heed_kernel_name(i)) == HEED_OK &&
            heed_plan_workspace_size(plan) > 0) {
            heed_plan_destroy(t->plan);
            t->plan = plan;
        } else {
            heed_plan_destroy(plan);
        }
    }
    assert_non_null(t->plan);
    memset(t->o, POISON, sizeof t->o);
    memset(t->lse, POISON, sizeof t->lse);
    size_t size = heed_plan_workspace_size(t->plan);
    t->buffers = (heed_buffers){ .size = sizeof(heed_buffers),
                                 .q = t->inputs[0],
                                 .k = t->inputs[1],
                                 .v = t->inputs[2],
                                 .o = t->o,
                                 .lse = t->lse,
                                 .workspace_size = size };
    assert_int_equal(posix_memalign(&t->buffers.workspace, HEED_ALIGNMENT, size + HEED_ALIGNMENT),
                     0);
    return t;
}

static void free_tensors(tensors *t)
{
    heed_plan_destroy(t->plan);
    free(t->buffers.workspace);
    free(t);
}

static void expect_bad_buffers(const tensors *t, const heed_buffers *bad, const char *const words[])
{
    assert_true(is_refused(words[0], heed_execute(t->plan, bad), HEED_ERR_INVALID, words));
    for (size_t i = 0; i < sizeof t->o; i++)
        assert_int_equal(((const unsigned char *)t->o)[i], POISON);
    for (size_t i = 0; i < sizeof t->lse; i++)
        assert_int_equal(((const unsigned char *)t->lse)[i], POISON);
}

static void test_buffer_pointers(void **state)
{
    static const struct {
        const char *name;
        size_t offset;
        bool may_be_null;
        size_t alignment;
    } fields[] = {
        { "q", offsetof(heed_buffers, q), false, sizeof(float) },
        { "k", offsetof(heed_buffers, k), false, sizeof(float) },
        { "v", offsetof(heed_buffers, v), false, sizeof(float) },
        { "o", offsetof(heed_buffers, o), false, sizeof(float) },
        { "lse", offsetof(heed_buffers, lse), true, sizeof(float) },
        { "workspace", offsetof(heed_buffers, workspace), false, HEED_ALIGNMENT },
    };
    heed_context *context = host_context(2);
    tensors *t = make_tensors(context);
    for (size_t i = 0; i < COUNT(fields); i++) {
        heed_buffers bad = t->buffers;
        char *pointer = NULL;
        if (!fields[i].may_be_null) {
            memcpy((char *)&bad + fields[i].offset, &pointer, sizeof pointer);
            expect_bad_buffers(t, &bad, WORDS(fields[i].name, "NULL"));
        }
        for (size_t shift = 1; shift < fields[i].alignment; shift *= 2) {
            char value[32];
            char limit[32];
            memcpy(&pointer, (const char *)&t->buffers + fields[i].offset, sizeof pointer);
            pointer += shift;
            memcpy((char *)&bad + fields[i].offset, &pointer, sizeof pointer);
            snprintf(value, sizeof value, "%p", (void *)pointer);
            snprintf(limit, sizeof limit, "%zu bytes", fields[i].alignment);
            expect_bad_buffers(t, &bad, WORDS(fields[i].name, value, limit));
        }
    }
    free_tensors(t);
    heed_context_destroy(context);
}

/* An output at the address of an input, as to save memory. */
static void test_outputs_are_apart(void **state)
{
    heed_context *context = host_context(2);
    tensors *t = make_tensors(context);
    const void *const inputs[] = { t->buffers.q, t->buffers.k, t->buffers.v };
    static const char *const names[] = { "q", "k", "v" };
    for (int i = 0; i < 3; i++) {
        heed_buffers bad = t->buffers;
        bad.o = (void *)(uintptr_t)inputs[i];
        expect_bad_buffers(t, &bad, WORDS("o is", names[i], "overlap"));
        bad = t->buffers;
        bad.lse = (float *)(uintptr_t)inputs[i];
        expect_bad_buffers(t, &bad, WORDS("lse is", names[i], "overlap"));
    }
    free_tensors(t);
    heed_context_destroy(context);
}

/* After a heed_plan_create() whose status was ignored, the next call is heed_execute(), which
 * reports the error. */
static void test_nothing_to_ask(void **state)
{
    char text[8] = "full";
    assert_int_equal(heed_plan_workspace_size(NULL), 0);
    assert_int_equal(heed_plan_deterministic(NULL), 0);
    assert_string_equal(heed_plan_name(NULL), "");
    assert_null(heed_plan_problem(NULL));
    assert_int_equal(heed_plan_explain(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(heed_plan_explain(NULL, NULL, 0), 0);
    assert_int_equal(heed_context_threads(NULL), 0);
    assert_string_equal(heed_context_device(NULL), "");
    assert_string_equal(heed_context_backend(NULL), "");
    assert_string_equal(heed_context_cpu(NULL), "");
    assert_int_equal(heed_wisdom_export(NULL, NULL, 0), 0);
    heed_wisdom_forget(NULL);
    assert_int_equal(heed_problem_print(NULL, NULL, 0), 0);
    assert_true(heed_problem_flops(NULL) == 0 && heed_problem_bytes(NULL) == 0);
}

static void test_workspace_size(void **state)
{
    heed_context *context = host_context(2);
    tensors *t = make_tensors(context);
    const size_t sizes[] = { 0, 1, t->buffers.workspace_size / 2, t->buffers.workspace_size - 1 };
    char limit[32];
    snprintf(limit, sizeof limit, "%zu", t->buffers.workspace_size);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        heed_buffers bad = t->buffers;
        char value[32];
        bad.workspace_size = sizes[i];
        snprintf(value, sizeof value, "%zu", sizes[i]);
        expect_bad_buffers(t, &bad, WORDS("workspace_size", value, limit));
    }
    assert_true(is_refused("plan", heed_execute(NULL, &t->buffers), HEED_ERR_INVALID,
                           WORDS("plan", "NULL")));
    assert_true(is_refused("buffers", heed_execute(t->plan, NULL), HEED_ERR_INVALID,
                           WORDS("buffers", "NULL")));
    assert_int_equal(heed_execute(t->plan, &t->buffers), HEED_OK); /* nothing else was wrong */
    free_tensors(t);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Wisdom                                                                     */
/* -------------------------------------------------------------------------- */

static void test_wisdom_arguments(void **state)
{
    heed_context *context = host_context(2);
    size_t taken = 77;
    size_t skipped = 78;
    static const char *const texts[] = { "", "\n", "heed wisdom", "heed wisdom 99\n", "end 0 0\n" };
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_true(is_refused(texts[i], heed_wisdom_import(context, texts[i], &taken, &skipped),
                               HEED_ERR_CORRUPT, WORDS("line")));
    assert_true(is_refused("text", heed_wisdom_import(context, NULL, NULL, NULL), HEED_ERR_INVALID,
                           WORDS("text", "NULL")));
    assert_true(is_refused("context", heed_wisdom_import(NULL, "", NULL, NULL), HEED_ERR_INVALID,
                           WORDS("context", "NULL")));
    assert_true(is_refused("path", heed_wisdom_load(context, NULL, NULL, NULL), HEED_ERR_INVALID,
                           WORDS("path", "NULL")));
    assert_true(is_refused("context", heed_wisdom_load(NULL, "/dev/null", NULL, NULL),
                           HEED_ERR_INVALID, WORDS("context", "NULL")));
    assert_true(is_refused("path", heed_wisdom_save(context, NULL), HEED_ERR_INVALID,
                           WORDS("path", "NULL")));
    assert_true(is_refused("context", heed_wisdom_save(NULL, "/dev/null"), HEED_ERR_INVALID,
                           WORDS("context", "NULL")));
    heed_context_destroy(context);
}

static void test_wisdom_paths(void **state)
{
    static const char *const paths[] = { "/dev/null/wisdom", "/" }; /* none can be created */
    heed_context *context = host_context(2);
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_true(is_refused("load", heed_wisdom_load(context, paths[i], NULL, NULL),
                               HEED_ERR_SYSTEM, WORDS(paths[i])));
        assert_true(is_refused("save", heed_wisdom_save(context, paths[i]), HEED_ERR_SYSTEM,
                               WORDS(paths[i])));
    }
    heed_context_destroy(context);
}

RUN_TESTS(test_options, test_environment, test_plan_arguments, test_kernel_names,
          test_unsupported_kernels, test_kernel_listing, test_candidates, test_buffer_pointers,
          test_outputs_are_apart, test_nothing_to_ask, test_workspace_size, test_wisdom_arguments,
          test_wisdom_paths)
