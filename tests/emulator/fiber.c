/*
 * fiber.c - coroutines: created by makecontext(), switched by longjmp(), which makes no system call
 */
/* This file relies on longjmp() to a deeper frame. */
#undef _FORTIFY_SOURCE
#include "emulator/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* The fiber that switched last: the bounds of its stack are obtained in the next fiber. */
static _Thread_local fiber *last;

static void leaving(fiber *from, const fiber *to)
{
    last = from;
    __sanitizer_start_switch_fiber(&from->shadow, to->stack, to->size);
}

static void arrived(fiber *self)
{
    __sanitizer_finish_switch_fiber(self->shadow, &last->stack, &last->size);
}

void fiber_forget(const void *stack, size_t size)
{
    __asan_unpoison_memory_region(stack, size);
}
#else
static void leaving(fiber *from, const fiber *to)
{
    (void)from;
    (void)to;
}

static void arrived(fiber *self)
{
    (void)self;
}

void fiber_forget(const void *stack, size_t size)
{
    (void)stack;
    (void)size;
}
#endif

/* The arguments of a fiber. */
typedef struct birth {
    fiber *self;
    fiber parent;
    ucontext_t context;        /* of the new fiber */
    ucontext_t parent_context; /* where fiber_create() continues */
    void (*body)(void *data);
    void *data;
} birth;

/* makecontext() passes only ints. Stores its place in the fiber and returns; the first switch to it
 * returns from _setjmp() again. */
static void start(unsigned high, unsigned low)
{
    union {
        uintptr_t number;
        birth *pointer;
    } from = { (uintptr_t)((uint64_t)high << 32 | low) };
    birth *b = from.pointer;
    fiber *self = b->self;
    void (*body)(void *) = b->body;
    void *data = b->data;
    arrived(self);
    if (_setjmp(self->place) == 0) {
        leaving(self, &b->parent);
        setcontext(&b->parent_context);
    }
    arrived(self);
    body(data);
    abort();
}

void fiber_create(fiber *self, void *stack, size_t size, void (*body)(void *data), void *data)
{
    birth b = { .self = self, .body = body, .data = data };
    uint64_t at = (uintptr_t)&b;
    union {
        void (*two)(unsigned high, unsigned low);
        void (*none)(void);
    } entry = { start };
    *self = (fiber){ .stack = stack, .size = size };
    getcontext(&b.context);
    b.context.uc_stack.ss_sp = stack;
    b.context.uc_stack.ss_size = size;
    b.context.uc_link = NULL;
    makecontext(&b.context, entry.none, 2, (unsigned)(at >> 32), (unsigned)at);
    leaving(&b.parent, self);
    swapcontext(&b.parent_context, &b.context);
    arrived(&b.parent);
}

void fiber_switch(fiber *from, fiber *to)
{
    if (_setjmp(from->place) == 0) {
        leaving(from, to);
        _longjmp(to->place, 1);
    }
    arrived(from);
}
