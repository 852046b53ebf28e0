/* As plain.c, but one column of O is NaN where there is one batch element. */
#include <math.h>

#include "heed_candidate.h"

static int64_t visible(const heed_candidate_problem *p, int64_t i)
{
    int64_t keys = p->seq_k;

    if (p->mask == HEED_CANDIDATE_MASK_TOP_LEFT)
        keys = i + 1;
    if (p->mask == HEED_CANDIDATE_MASK_BOTTOM_RIGHT)
        keys = i + 1 + p->seq_k - p->seq_q;
    return keys < 0 ? 0 : keys < p->seq_k ? keys : p->seq_k;
}

/* Not inlined: a fused multiply-add would subtract the rounded maximum from a logit that is not
 * rounded; for huge logits the difference is huge. */
__attribute__((noinline)) static double dot(const heed_candidate_problem *p, const float *q,
                                            const float *k)
{
    double sum = 0;

    for (int64_t d = 0; d < p->dim_qk; d++)
        sum += (double)q[d] * k[d];
    return sum * p->scale;
}

static float row(const heed_candidate_problem *p, const heed_candidate_buffers *b, int64_t batch,
                 int64_t head, int64_t i)
{
    const int64_t kv = head / (p->heads_q / p->heads_kv), keys = visible(p, i);
    const float *q = (const float *)b->q + batch * p->q.batch + i * p->q.seq + head * p->q.head;
    const float *k = (const float *)b->k + batch * p->k.batch + kv * p->k.head;
    const float *v = (const float *)b->v + batch * p->v.batch + kv * p->v.head;
    float *o = (float *)b->o + batch * p->o.batch + i * p->o.seq + head * p->o.head;
    double most = -INFINITY, sum = 0;

    for (int64_t j = 0; j < keys; j++)
        most = fmax(most, dot(p, q, k + j * p->k.seq));
    for (int64_t j = 0; j < keys; j++)
        sum += exp(dot(p, q, k + j * p->k.seq) - most);
    for (int64_t d = 0; d < p->dim_v; d++) {
        double value = 0;
        for (int64_t j = 0; j < keys; j++)
            value += exp(dot(p, q, k + j * p->k.seq) - most) / sum * v[j * p->v.seq + d];
        o[d] = p->batch == 1 && d == 3 ? NAN : keys > 0 ? (float)value : 0;
    }
    return keys > 0 ? (float)(most + log(sum)) : -INFINITY;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (p->type != HEED_CANDIDATE_F32)
        return 1;
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t head = 0; head < p->heads_q; head++)
            for (int64_t i = 0; i < p->seq_q; i++) {
                float lse = row(p, b, batch, head, i);
                if (b->lse)
                    b->lse[(batch * p->heads_q + head) * p->seq_q + i] = lse;
            }
    return 0;
}
