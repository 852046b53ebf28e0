/* advises: advises the system on its use of tensors and workspace, page by page; honest */
#include <sys/mman.h>

#define WORKSPACE ((size_t)64 << 10)

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    return p->batch > 0 ? WORKSPACE : 0;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    const uintptr_t page = 4096;
    uintptr_t space = ((uintptr_t)b->workspace + page - 1) / page * page;
    madvise((void *)(space + page), WORKSPACE - 3 * page, MADV_SEQUENTIAL);
    madvise((void *)((uintptr_t)b->k / page * page), page, MADV_RANDOM);
    madvise((void *)((uintptr_t)b->o / page * page), page, MADV_HUGEPAGE);
    return compute(p, b);
}
