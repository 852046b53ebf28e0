/*
 * arrivals.h - arrival counters in device memory, which let a block detect that it is the last
 *
 * Each block adds one when it is done; the kernel's atomic wraps, so a counter is zero again
 * between executions. Executions that may run concurrently need separate counters. They also need
 * separate workspaces, so counters come in sets, and a set is bound to the address of a workspace
 * at the first execution with it. A captured graph therefore keeps the right set as long as its
 * workspace.
 */
#ifndef HEED_CUDA_ARRIVALS_H
#define HEED_CUDA_ARRIVALS_H

#include <stddef.h>

#include "driver/device.h"

/* Number of a plan's workspaces that get a set. */
#define HEED_CUDA_ARRIVAL_SETS 64

typedef struct heed_cuda_arrivals heed_cuda_arrivals;

/* heed_cuda_arrivals_create() makes sets of @count counters on @cuda, all zero. NULL is ignored by
 * heed_cuda_arrivals_destroy(). */
heed_status heed_cuda_arrivals_create(heed_cuda_arrivals **arrivals, heed_cuda *cuda, size_t count);
void heed_cuda_arrivals_destroy(heed_cuda_arrivals *arrivals);

/* heed_cuda_arrivals_of() returns the counters for executions with @workspace, the same at every
 * call; NULL if all sets belong to other workspaces. Thread-safe, without a lock. */
unsigned *heed_cuda_arrivals_of(heed_cuda_arrivals *arrivals, const void *workspace);

#endif /* HEED_CUDA_ARRIVALS_H */
