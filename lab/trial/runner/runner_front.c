/*
 * runner_front.c - replacements for functions of the C library
 *
 * The dynamic linker prefers the program's definitions. Allocators record failures, to distinguish
 * a candidate without memory from a wrong one. Functions that create threads and processes are
 * reported at once: the C library would block all signals first, and the filter would then kill the
 * process without a message. The filter reports direct system calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/trial/runner/runner.h"

#define FRONT __attribute__((visibility("default")))

static volatile sig_atomic_t exhausted;

bool runner_exhausted(void)
{
    return exhausted;
}

static void *noted(void *memory)
{
    if (!memory)
        exhausted = 1;
    return memory;
}

/* The C library's function. */
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

FRONT void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (!real)
        *(void **)&real = next("malloc");
    return noted(real(size));
}

FRONT void *realloc(void *ptr, size_t size)
{
    static void *(*real)(void *, size_t);
    if (!real)
        *(void **)&real = next("realloc");
    void *moved = real(ptr, size);
    return size > 0 ? noted(moved) : moved;
}

FRONT void *calloc(size_t nmemb, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (!real)
        *(void **)&real = next("calloc");
    return noted(real(nmemb, size));
}

FRONT void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (!real)
        *(void **)&real = next("aligned_alloc");
    return noted(real(alignment, size));
}

FRONT int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    static int (*real)(void **, size_t, size_t);
    if (!real)
        *(void **)&real = next("posix_memalign");
    int error = real(memptr, alignment, size);
    if (error == ENOMEM)
        exhausted = 1;
    return error;
}

static _Noreturn void refuse_process(void)
{
    runner_line line = { .length = 0 };

    runner_add(&line, "trapped ");
    runner_add_number(&line, __NR_clone, 10);
    runner_say(&line);
    _exit(1);
}

FRONT int pthread_create(pthread_t *newthread, const pthread_attr_t *attr,
                         void *(*start_routine)(void *), void *arg)
{
    (void)newthread;
    (void)attr;
    (void)start_routine;
    (void)arg;
    refuse_process();
}

FRONT pid_t fork(void)
{
    refuse_process();
}

FRONT int system(const char *command)
{
    (void)command;
    refuse_process();
}
