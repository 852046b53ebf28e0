/* Honest in itself: O is how often it was called, which only shows whose memory it is. */
#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;

    ++calls;
    for (int64_t i = 0; i < p->batch * p->seq_q * p->heads_q * p->dim_v; i++)
        ((float *)b->o)[i] = (float)calls;
    return 0;
}
