/*
 * arrivals.c - assigns arrival counters to workspaces
 */
#include "arrivals.h"

#include <stdatomic.h>
#include <stdlib.h>

struct heed_cuda_arrivals {
    heed_cuda *cuda;
    unsigned *counters; /* [HEED_CUDA_ARRIVAL_SETS][count], in device memory */
    size_t count;
    /* The owner of a set, 0: free. Sets are assigned in order and never released. */
    atomic_uintptr_t owner[HEED_CUDA_ARRIVAL_SETS];
};

static heed_status make_counters(heed_cuda_arrivals *arrivals)
{
    size_t size = HEED_CUDA_ARRIVAL_SETS * arrivals->count * sizeof(unsigned);
    void *memory = NULL;
    heed_status status = heed_cuda_allocate(arrivals->cuda, size, &memory);
    arrivals->counters = memory;
    if (status == HEED_OK)
        status = heed_cuda_clear(arrivals->cuda, memory, size);
    return status;
}

heed_status heed_cuda_arrivals_create(heed_cuda_arrivals **arrivals, heed_cuda *cuda, size_t count)
{
    heed_cuda_arrivals *made = calloc(1, sizeof *made);
    *arrivals = NULL;
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    made->cuda = cuda;
    made->count = count;
    heed_status status = make_counters(made);
    if (status != HEED_OK)
        heed_cuda_arrivals_destroy(made);
    else
        *arrivals = made;
    return status;
}

void heed_cuda_arrivals_destroy(heed_cuda_arrivals *arrivals)
{
    if (!arrivals)
        return;
    heed_cuda_free(arrivals->cuda, arrivals->counters);
    free(arrivals);
}

unsigned *heed_cuda_arrivals_of(heed_cuda_arrivals *arrivals, const void *workspace)
{
    uintptr_t mine = (uintptr_t)workspace;
    for (size_t i = 0; i < HEED_CUDA_ARRIVAL_SETS; i++) {
        uintptr_t owner = atomic_load_explicit(&arrivals->owner[i], memory_order_relaxed);
        if (owner == 0 && atomic_compare_exchange_strong(&arrivals->owner[i], &owner, mine))
            owner = mine;
        if (owner == mine)
            return arrivals->counters + i * arrivals->count;
    }
    return NULL;
}
