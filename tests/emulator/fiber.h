/*
 * fiber.h - coroutines with separate stacks
 */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H

#include <setjmp.h>
#include <stddef.h>

typedef struct fiber {
    jmp_buf place; /* where it continues */
    const void *stack;
    size_t size;
    void *shadow; /* fake stack of the address sanitizer */
} fiber;

/* fiber_create() makes a fiber that, when it is first switched to, calls body(data), which must
 * never return. @stack belongs to the caller and must outlive it. */
void fiber_create(fiber *self, void *stack, size_t size, void (*body)(void *data), void *data);

/* fiber_switch() leaves @from, the running fiber, and continues with @to. A zeroed fiber represents
 * the caller's own stack. */
void fiber_switch(fiber *from, fiber *to);

/* fiber_forget() is called when no fiber on @stack will run again, before it is freed. */
void fiber_forget(const void *stack, size_t size);

#endif /* EMULATOR_FIBER_H */
