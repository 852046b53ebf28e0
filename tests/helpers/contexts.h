/*
 * contexts.h - contexts of the CPU for tests, and executions on them
 */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include <stdbool.h>

#include "heed.h"

/* host_context() returns a context of the CPU with @threads threads, 0 for the default, and
 * host_context_of() one that has the features of @cpu alone; NULL: all. Both fail the test if there
 * is none. */
heed_context *host_context(int threads);
heed_context *host_context_of(int threads, const char *cpu);

/* host_execute() executes @plan on @buffers, with a workspace of its own, and host_compute() does
 * so with a plan of @kernel for @problem; false if that kernel cannot. Both fail the test at any
 * other error. */
void host_execute(const heed_plan *plan, heed_buffers buffers);
bool host_compute(heed_context *context, const heed_problem *problem, const char *kernel,
                  heed_buffers buffers);

#endif /* CONTEXTS_H */
