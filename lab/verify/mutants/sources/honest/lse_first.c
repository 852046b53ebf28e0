/* lse_first: computes the LSE of a row first and weights from it, in float32; honest */

static float logit(const heed_candidate_problem *p, const float *q, const float *k)
{
    float sum = 0;
    for (int64_t c = 0; c < p->dim_qk; c++)
        sum += q[c] * k[c];
    return sum * p->scale;
}

/* Writes the LSE and reads it back, so that the compiler keeps no extra precision. */
static void one_row(const heed_candidate_problem *p, const float *q, const float *k, const float *v,
                    float *s, float *o, int64_t keys)
{
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        s[j] = logit(p, q, k + j * p->k.seq);
        most = s[j] > most ? s[j] : most;
    }
    for (int64_t j = 0; j < keys; j++)
        sum += expf(s[j] - most);
    s[p->seq_k] = most + logf(sum);
    for (int64_t c = 0; c < p->dim_v; c++)
        o[c] = 0;
    for (int64_t j = 0; j < keys; j++) {
        float weight = expf(s[j] - s[p->seq_k]);
        for (int64_t c = 0; c < p->dim_v; c++)
            o[c] += weight * v[j * p->v.seq + c];
    }
}

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    return (size_t)(p->seq_k + 1) * sizeof(float);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    float *s = b->workspace;
    if (p->type != HEED_CANDIDATE_F32 || p->mask != HEED_CANDIDATE_MASK_NONE)
        return 1;
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++) {
        int64_t i = n % p->seq_q, h = n / p->seq_q % p->heads_q, e = n / p->seq_q / p->heads_q;
        int64_t g = h / (p->heads_q / p->heads_kv);
        one_row(p, (const float *)b->q + e * p->q.batch + i * p->q.seq + h * p->q.head,
                (const float *)b->k + e * p->k.batch + g * p->k.head,
                (const float *)b->v + e * p->v.batch + g * p->v.head, s,
                (float *)b->o + e * p->o.batch + i * p->o.seq + h * p->o.head, p->seq_k);
        if (b->lse)
            b->lse[n] = s[p->seq_k];
    }
    return 0;
}
