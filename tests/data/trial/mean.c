/* Wrong: the mean of V, whatever Q and K are; right if the weights are equal. */
#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (p->type != HEED_CANDIDATE_F32 || p->mask != HEED_CANDIDATE_MASK_NONE)
        return 1;
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t head = 0; head < p->heads_q; head++)
            for (int64_t i = 0; i < p->seq_q; i++)
                for (int64_t d = 0; d < p->dim_v; d++) {
                    const float *v = (const float *)b->v + batch * p->v.batch +
                                     head / (p->heads_q / p->heads_kv) * p->v.head;
                    float sum = 0;
                    for (int64_t j = 0; j < p->seq_k; j++)
                        sum += v[j * p->v.seq + d];
                    ((float *)b->o)[batch * p->o.batch + i * p->o.seq + head * p->o.head + d] =
                        sum / (float)p->seq_k;
                }
    return 0;
}
