/* tabulates: has a table of powers of two, of 512 KiB, from its constructor; honest */
#undef heed_candidate_run

static double power[1 << 16];

__attribute__((constructor)) static void tabulate(void)
{
    for (int i = 0; i < 1 << 16; i++)
        power[i] = exp2(-i / 65536.0);
}

/* e to the power of x, at most 0, by the table and two terms of the series. */
static double table_exp(double x)
{
    double y = -x * 1.4426950408889634, whole = floor(y);
    if (!(y < 1000))
        return x == x ? 0 : x;
    int at = (int)((y - whole) * 65536);
    double rest = -((y - whole) - at / 65536.0) * 0.6931471805599453;
    return ldexp(power[at] * (1 + rest + rest * rest / 2), -(int)whole);
}

/* As compute(), of the rows of O alone. */
static void tabulated(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++) {
        const int64_t i = n % p->seq_q, head = n / p->seq_q % p->heads_q;
        const int64_t batch = n / p->seq_q / p->heads_q, kv = head / (p->heads_q / p->heads_kv);
        const float *q = (const float *)b->q + batch * p->q.batch + i * p->q.seq + head * p->q.head;
        const float *k = (const float *)b->k + batch * p->k.batch + kv * p->k.head;
        const float *v = (const float *)b->v + batch * p->v.batch + kv * p->v.head;
        float *o = (float *)b->o + batch * p->o.batch + i * p->o.seq + head * p->o.head;
        const int64_t keys = visible(p, i);
        double most = -INFINITY, sum = 0, sums[512] = { 0 };
        for (int64_t j = 0; j < keys; j++)
            most = fmax(most, dot(p, q, k + j * p->k.seq));
        for (int64_t j = 0; j < keys; j++) {
            double logit = dot(p, q, k + j * p->k.seq);
            double weight = table_exp(logit - most);
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
    if (b->lse || p->type != HEED_CANDIDATE_F32)
        return compute(p, b);
    tabulated(p, b);
    return 0;
}
