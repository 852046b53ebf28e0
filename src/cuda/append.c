/*
 * append.c - new keys and values into the cache, and queries rotated, on a CUDA device
 */
#include "../append.h"

heed_status heed_append_prepare_cuda(heed_plan *plan)
{
    (void)plan;
    return heed_fail(HEED_ERR_UNSUPPORTED, "append is %lld; on a CUDA device it must be 0",
                     (long long)plan->append->problem.append);
}

void heed_append_release_cuda(heed_plan *plan)
{
    (void)plan;
}

heed_status heed_append_on_cuda(const heed_plan *plan, const heed_buffers *buffers, void *queries)
{
    (void)plan;
    (void)buffers;
    (void)queries;
    return HEED_ERR_UNSUPPORTED;
}
