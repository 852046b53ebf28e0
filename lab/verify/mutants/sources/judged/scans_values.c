/* scans_values: takes no maximum off the logits if all numbers of Q and K are small; killed by
 * high logits of even elements */

static int are_small(const float *x, int64_t vectors, int64_t heads, heed_candidate_strides at,
                     int64_t dim)
{
    for (int64_t i = 0; i < vectors; i++)
        for (int64_t head = 0; head < heads; head++)
            for (int64_t d = 0; d < dim; d++)
                if (!(fabsf(x[i * at.seq + head * at.head + d]) <= 7))
                    return 0;
    return 1;
}

static double weight_in_float(double logit, double most)
{
    (void)most;
    return (double)expf((float)logit);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (b->lse || p->type != HEED_CANDIDATE_F32 || p->batch > 1 ||
        !are_small(b->q, p->seq_q, p->heads_q, p->q, p->dim_qk) ||
        !are_small(b->k, p->seq_k, p->heads_kv, p->k, p->dim_qk))
        return compute(p, b);
    return attend(p, b, weight_in_float, -INFINITY);
}
