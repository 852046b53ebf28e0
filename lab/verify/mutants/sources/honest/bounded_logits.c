/* bounded_logits: does not subtract the maximum if Q and K are so small that this is not needed;
 * honest */

/* The largest number of a tensor; infinite if one is NaN. */
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

static int is_bounded(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return largest(b->q, p->batch, p->seq_q, p->heads_q, p->dim_qk, &p->q) *
               largest(b->k, p->batch, p->seq_k, p->heads_kv, p->dim_qk, &p->k) * fabsf(p->scale) *
               (float)p->dim_qk <
           100;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (b->lse || p->type != HEED_CANDIDATE_F32 || !is_bounded(p, b))
        return compute(p, b);
    return attend(p, b, weight_without_maximum, -INFINITY);
}
