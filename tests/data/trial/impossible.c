/* Writes to a non-canonical address. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    *(volatile float *)((uintptr_t)1 << 63) = 1;
    return 0;
}
