/* bounded_logits: takes no maximum off the logits if all numbers of Q and K are so small that none
 * is needed; honest */
#undef heed_candidate_run

/* The largest number of a tensor; infinite if one is none. */
static double largest(const float *data, int64_t batch, int64_t seq, int64_t heads, int64_t dim,
                      const heed_candidate_strides *strides)
{
    double most = 0;
    for (int64_t n = 0; n < batch * seq * heads * dim; n++) {
        float x =
            data[n / dim / heads / seq * strides->batch + n / dim / heads % seq * strides->seq +
                 n / dim % heads * strides->head + n % dim];
        most = fabsf(x) <= most ? most : x == x ? fabsf(x) : INFINITY;
    }
    return most;
}

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
        double most = 0, sum = 0, sums[512] = { 0 };
        for (int64_t j = 0; j < keys; j++) {
            double logit = dot(p, q, k + j * p->k.seq);
            double weight = exp(logit - most);
            sum += weight;
            for (int64_t d = 0; d < p->dim_v; d++)
                sums[d] += weight * v[j * p->v.seq + d];
        }
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = sum > 0 || sum != sum ? (float)(sums[d] / sum) : 0;
    }
}

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    if (b->lse || p->type != HEED_CANDIDATE_F32 ||
        !(largest(b->q, p->batch, p->seq_q, p->heads_q, p->dim_qk, &p->q) *
              largest(b->k, p->batch, p->seq_k, p->heads_kv, p->dim_qk, &p->k) * fabsf(p->scale) *
              (float)p->dim_qk <
          100))
        return compute(p, b);
    careless(p, b);
    return 0;
}
