/*
 * arrivals.h - counters in device memory, by which the last of several blocks knows that it is
 *
 * Each block adds one when it has done; the kernel's atomic wraps, so between executions a counter
 * is zero again. Executions that may run at the same time need counters of their own. Their
 * workspaces tell them apart, which they may not share either; so counters come in sets, and a set
 * belongs to a workspace, by its address, from the first execution with it on. A captured graph
 * therefore has the right set for as long as its workspace.
 */
#ifndef HEED_CUDA_ARRIVALS_H
#define HEED_CUDA_ARRIVALS_H

#include <stddef.h>

#include "driver/device.h"

/* How many workspaces of a plan get a set. */
#define HEED_CUDA_ARRIVAL_SETS 64

typedef struct heed_cuda_arrivals heed_cuda_arrivals;

/* heed_cuda_arrivals_create() makes sets of @count counters on @cuda, all zero. NULL is ignored by
 * heed_cuda_arrivals_destroy(). */
heed_status heed_cuda_arrivals_create(heed_cuda_arrivals **arrivals, heed_cuda *cuda, size_t count);
void heed_cuda_arrivals_destroy(heed_cuda_arrivals *arrivals);

/* heed_cuda_arrivals_of() returns the counters for executions with @workspace, the same at every
 * call; NULL if all sets belong to others. Any thread, without a lock. */
unsigned *heed_cuda_arrivals_of(heed_cuda_arrivals *arrivals, const void *workspace);

#endif /* HEED_CUDA_ARRIVALS_H */
