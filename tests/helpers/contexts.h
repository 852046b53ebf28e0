/*
 * contexts.h - CPU contexts for tests, and executions on them
 */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include <stdbool.h>

#include "heed.h"

/* host_context() returns a CPU context with @threads threads, or the default number if that is 0;
 * host_context_of() returns one that uses only the features of @cpu, or all if that is NULL. Both
 * fail the test on an error. */
heed_context *host_context(int threads);
heed_context *host_context_of(int threads, const char *cpu);

/* host_plan() returns a plan for @problem by estimate, or fails the test. */
heed_plan *host_plan(heed_context *context, const heed_problem *problem);

/* host_try() executes @plan on @buffers, with a workspace of its own, and returns the status. */
heed_status host_try(const heed_plan *plan, heed_buffers buffers);

/* host_execute() executes @plan on @buffers, with a workspace of its own, and host_compute() does
 * so with a plan of @kernel for @problem; false if that kernel cannot. Both fail the test at any
 * other error. */
void host_execute(const heed_plan *plan, heed_buffers buffers);
bool host_compute(heed_context *context, const heed_problem *problem, const char *kernel,
                  heed_buffers buffers);

#endif /* CONTEXTS_H */
