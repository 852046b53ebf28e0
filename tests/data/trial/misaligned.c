/* Stores a vector at a misaligned address; on other machines, to unmapped memory. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
#ifdef __x86_64__
    __asm__ volatile("movaps %%xmm0, 4(%0)" : : "r"(buffers->o) : "memory");
#else
    *(volatile float *)((uintptr_t)1 << 63) = 1;
#endif
    return 0;
}
