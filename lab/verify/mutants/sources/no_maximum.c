/* no_maximum: takes no maximum off the logits; killed by finite */
#undef heed_candidate_run

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    if (compute(p, b))
        return 1;
    for (int64_t i = 0; i < p->seq_q; i++) {
        const float *q = (const float *)b->q + i * p->q.seq, *k = b->k, *v = b->v;
        float *o = (float *)b->o + i * p->o.seq, sum = 0;
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = 0;
        for (int64_t j = 0; j < visible(p, i); j++) {
            float weight = expf((float)dot(p, q, k + j * p->k.seq));
            sum += weight;
            for (int64_t d = 0; d < p->dim_v; d++)
                o[d] += weight * v[j * p->v.seq + d];
        }
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = visible(p, i) ? o[d] / sum : 0;
    }
    return 0;
}
