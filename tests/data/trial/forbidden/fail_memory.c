/* Makes the page of its output fail, with the superuser's MADV_HWPOISON. */
#include "heed_candidate.h"
#include <sys/mman.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    madvise((void *)((uintptr_t)buffers->o / 4096 * 4096), 4096, 100);
    return 0;
}
