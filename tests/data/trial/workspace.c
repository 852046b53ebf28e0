/* Correct: uses the whole workspace. */
#include <string.h>

#include "heed_candidate.h"

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    return (size_t)(p->batch * p->seq_q * p->heads_q * p->dim_v) * sizeof(float);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    float *work = b->workspace;
    size_t size = heed_candidate_workspace(p);

    if (b->workspace_size < size || (uintptr_t)work % 64 != 0)
        return 1;
    for (size_t i = 0; i < size / sizeof(float); i++)
        work[i] = 1;
    memcpy(b->o, work, size);
    return 0;
}
