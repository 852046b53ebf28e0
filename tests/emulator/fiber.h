/*
 * fiber.h - coroutines with stacks of their own
 */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H

#include <setjmp.h>
#include <stddef.h>

typedef struct fiber {
    jmp_buf place; /* where it goes on */
    const void *stack;
    size_t size;
    void *shadow; /* the address sanitizer's */
} fiber;

/* fiber_create() makes a fiber that, when it is first switched to, calls body(data), which must
 * never return. @stack belongs to the caller and must outlive it. */
void fiber_create(fiber *self, void *stack, size_t size, void (*body)(void *data), void *data);

/* fiber_switch() leaves @from, the running fiber, and goes on with @to. A zeroed fiber will do for
 * the caller's own stack. */
void fiber_switch(fiber *from, fiber *to);

/* fiber_forget() is called when fibers on @stack will never run again, before it is freed. */
void fiber_forget(const void *stack, size_t size);

#endif /* EMULATOR_FIBER_H */
