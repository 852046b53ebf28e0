/* Makes Q writable, if allowed, and changes it. */
#include "heed_candidate.h"
#include <sys/mman.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    void *page = (void *)((uintptr_t)buffers->q & ~(uintptr_t)4095);

    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    ((volatile float *)buffers->q)[3] = 0;
    return 0;
}
