/*
 * test_alloc_failure.c - every allocation, thread creation and file operation fails once
 *
 * The linker routes the library's calls through the wrappers below (--wrap). A run that creates and
 * uses contexts, plans and wisdom first counts the calls, and is then repeated for each of them
 * with that call failing. The function that hit the failure must report it in its status and
 * succeed when called again. At the end of a run every block has been freed and no file is left.
 */
#include "run_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heed.h"
#include "problems.h"

/* -------------------------------------------------------------------------- */
/* The wrappers                                                               */
/* -------------------------------------------------------------------------- */

static struct {
    bool on;            /* count, and fail */
    int calls;          /* calls so far */
    int target;         /* the call that fails; 0: none */
    const char *failed; /* its name, once it has failed */
    heed_status wanted; /* status that the library must return */
    atomic_int live;    /* blocks allocated and not freed */
} faults;

static bool fails(const char *name, heed_status wanted)
{
    if (!faults.on || ++faults.calls != faults.target)
        return false;
    faults.failed = name;
    faults.wanted = wanted;
    return true;
}

static void *counted(void *block)
{
    if (block && faults.on)
        atomic_fetch_add(&faults.live, 1);
    return block;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails("malloc", HEED_ERR_NO_MEMORY) ? NULL : counted(__real_malloc(size));
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return fails("calloc", HEED_ERR_NO_MEMORY) ? NULL : counted(__real_calloc(count, size));
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
    if (fails("realloc", HEED_ERR_NO_MEMORY))
        return NULL;
    bool fresh = !block;
    void *moved = __real_realloc(block, size);
    return fresh ? counted(moved) : moved;
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails("aligned_alloc", HEED_ERR_NO_MEMORY)
               ? NULL
               : counted(__real_aligned_alloc(alignment, size));
}

int __real_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails("posix_memalign", HEED_ERR_NO_MEMORY))
        return ENOMEM;
    int error = __real_posix_memalign(block, alignment, size);
    if (!error)
        counted(*block);
    return error;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (block && faults.on)
        atomic_fetch_sub(&faults.live, 1);
    __real_free(block);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return fails("pthread_create", HEED_ERR_SYSTEM)
               ? EAGAIN
               : __real_pthread_create(thread, attributes, start, argument);
}

/* Fails a system call: returns -1 and sets errno. */
static bool system_fails(const char *name, int error)
{
    if (!fails(name, HEED_ERR_SYSTEM))
        return false;
    errno = error;
    return true;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return system_fails("open", EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __real_fstat(int file, struct stat *info);
int __wrap_fstat(int file, struct stat *info);
int __wrap_fstat(int file, struct stat *info)
{
    return system_fails("fstat", EIO) ? -1 : __real_fstat(file, info);
}

ssize_t __real_read(int file, void *bytes, size_t size);
ssize_t __wrap_read(int file, void *bytes, size_t size);
ssize_t __wrap_read(int file, void *bytes, size_t size)
{
    return system_fails("read", EIO) ? -1 : __real_read(file, bytes, size);
}

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    return system_fails("write", ENOSPC) ? -1 : __real_write(file, bytes, size);
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file)
{
    return system_fails("fsync", ENOSPC) ? -1 : __real_fsync(file);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return system_fails("rename", EACCES) ? -1 : __real_rename(from, to);
}

/* -------------------------------------------------------------------------- */
/* One life                                                                   */
/* -------------------------------------------------------------------------- */

/* The objects of one run, and the directory in which its wisdom is saved. */
typedef struct life {
    heed_context *context;
    heed_context *other; /* learns from the first one's wisdom */
    heed_plan *estimated;
    heed_plan *measured;
    heed_plan *named;
    heed_plan *appending;
    char text[4096];
    char path[64];
} life;

static const heed_options options = { .size = sizeof options, .threads = 3, .cpu = "scalar" };

static heed_problem problem(void)
{
    return parsed("b1 h2/1 s3/4 d5/6 f16");
}

static heed_status create_context(life *l)
{
    return heed_context_create(&l->context, &options);
}

static heed_status create_other(life *l)
{
    return heed_context_create(&l->other, &options);
}

static heed_status plan_by_estimate(life *l)
{
    heed_problem p = problem();
    return heed_plan_create(&l->estimated, l->context, &p, HEED_ESTIMATE);
}

static heed_status plan_by_name(life *l)
{
    heed_problem p = problem();
    return heed_plan_create_named(&l->named, l->context, &p, heed_plan_name(l->estimated));
}

static heed_status plan_by_measuring(life *l)
{
    heed_problem p = problem();
    return heed_plan_create(&l->measured, l->context, &p, HEED_MEASURE);
}

/* Executing and explaining allocate nothing. */
static heed_status use_plan(life *l)
{
    static uint16_t inputs[3][64], o[64];
    static float lse[16];
    static _Alignas(HEED_ALIGNMENT) unsigned char workspace[1 << 20];
    heed_buffers buffers = plain_buffers(inputs[0], inputs[1], inputs[2], o);
    buffers.lse = lse;
    buffers.workspace = workspace;
    buffers.workspace_size = sizeof workspace;
    int calls = faults.calls;
    heed_status status = heed_execute(l->estimated, &buffers);
    heed_plan_explain(l->estimated, l->text, sizeof l->text);
    assert_int_equal(faults.calls, calls);
    return status;
}

static heed_status plan_appending(life *l)
{
    heed_problem p;
    heed_status status = heed_problem_parse(
        &p, "b2 h1 s1/4 d8 f16 lengths causal=br append=1 rotary=8");
    return status == HEED_OK ? heed_plan_create(&l->appending, l->context, &p, HEED_ESTIMATE)
                             : status;
}

static heed_status append(life *l)
{
    static uint16_t q[16], k[64], v[64], k_new[16], v_new[16], o[16];
    static float turns[16];
    static const int32_t lengths[2] = { 1, 4 };
    static _Alignas(HEED_ALIGNMENT) unsigned char workspace[1 << 23];
    heed_buffers buffers = plain_buffers(q, k, v, o);
    buffers.k_new = k_new;
    buffers.v_new = v_new;
    buffers.lengths = lengths;
    buffers.rotary_cos = turns;
    buffers.rotary_sin = turns;
    buffers.workspace = workspace;
    buffers.workspace_size = sizeof workspace;
    int calls = faults.calls;
    heed_status status = heed_execute(l->appending, &buffers);
    assert_int_equal(faults.calls, calls);
    return status;
}

static heed_status export_wisdom(life *l)
{
    assert_true(heed_wisdom_export(l->context, l->text, sizeof l->text) < sizeof l->text);
    return HEED_OK;
}

static heed_status import_wisdom(life *l)
{
    size_t taken = 0;
    heed_status status = heed_wisdom_import(l->other, l->text, &taken, NULL);
    assert_int_equal(taken, status == HEED_OK ? 1 : 0);
    return status;
}

static heed_status save_wisdom(life *l)
{
    return heed_wisdom_save(l->context, l->path);
}

static heed_status load_wisdom(life *l)
{
    heed_wisdom_forget(l->other);
    return heed_wisdom_load(l->other, l->path, NULL, NULL);
}

static const struct {
    const char *name;
    heed_status (*run)(life *l);
} stages[] = {
    { "create a context", create_context },
    { "create another", create_other },
    { "plan by estimate", plan_by_estimate },
    { "plan by name", plan_by_name },
    { "use the plan", use_plan },
    { "plan what appends", plan_appending },
    { "append", append },
    { "plan by measuring", plan_by_measuring },
    { "export", export_wisdom },
    { "import", import_wisdom },
    { "save", save_wisdom },
    { "load", load_wisdom },
};

static void end_life(life *l)
{
    heed_plan_destroy(l->estimated);
    heed_plan_destroy(l->measured);
    heed_plan_destroy(l->named);
    heed_plan_destroy(l->appending);
    heed_context_destroy(l->context);
    heed_context_destroy(l->other);
}

/* Performs a run in which call number @target fails; 0: none. */
static void lead_life(const char *folder, int target)
{
    static life l;
    memset(&l, 0, sizeof l);
    snprintf(l.path, sizeof l.path, "%s/wisdom", folder);
    faults.calls = 0;
    faults.target = target;
    faults.failed = NULL;
    faults.on = true;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        bool had_failed = faults.failed;
        heed_status status = stages[i].run(&l);
        if (!had_failed && faults.failed) {
            if (status != faults.wanted || !*heed_message())
                fprintf(stderr, "%s, with %s (call %d) failing: \"%s\", says \"%s\"\n",
                        stages[i].name, faults.failed, target, heed_status_name(status),
                        heed_message());
            assert_int_equal(status, faults.wanted);
            status = stages[i].run(&l);
        }
        if (status != HEED_OK)
            fprintf(stderr, "%s, after call %d: %s\n", stages[i].name, target, heed_message());
        assert_int_equal(status, HEED_OK);
    }
    end_life(&l);
    faults.on = false;
    assert_int_equal(faults.live, 0);
    unlink(l.path);
}

static void test_every_failure(void **state)
{
    char folder[] = "/tmp/heed-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    lead_life(folder, 0);
    int calls = faults.calls;
    assert_true(calls > 20);
    for (int target = 1; target <= calls; target++) {
        lead_life(folder, target);
        assert_non_null(faults.failed);
    }
    assert_int_equal(rmdir(folder), 0); /* no file was left behind */
}

RUN_TESTS(test_every_failure)
