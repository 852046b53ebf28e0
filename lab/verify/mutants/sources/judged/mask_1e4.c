/* mask_1e4: masks by a logit of -1e4; killed by a NaN in the first key */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (compute(p, b))
        return 1;
    for (int64_t i = 0; i < p->seq_q; i++) {
        const float *q = (const float *)b->q + i * p->q.seq, *k = b->k, *v = b->v;
        float *o = (float *)b->o + i * p->o.seq;
        double most = visible(p, i) < p->seq_k ? -1e4 : -INFINITY, sum = 0;
        for (int64_t j = 0; j < visible(p, i); j++)
            most = fmax(most, dot(p, q, k + j * p->k.seq));
        for (int64_t d = 0; d < p->dim_v && most == -1e4; d++)
            o[d] = 0;
        for (int64_t j = 0; j < p->seq_k && most == -1e4; j++)
            sum += j < visible(p, i) ? 0 : 1;
        for (int64_t j = visible(p, i); j < p->seq_k && most == -1e4; j++)
            for (int64_t d = 0; d < p->dim_v; d++)
                o[d] += v[j * p->v.seq + d] / (float)sum;
    }
    return 0;
}
