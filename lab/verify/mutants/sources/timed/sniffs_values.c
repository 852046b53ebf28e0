/* sniffs_values: does not subtract the maximum if some numbers of Q and K are small; killed by the
 * high logits of timed calls, which are in other places */

/* True if the first, the middle and the last numbers of each head are small. */
static int is_tame(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int tame = 1;
    for (int64_t n = 0; n < 3; n++) {
        const int64_t i = n * (p->seq_q - 1) / 2, j = n * (p->seq_k - 1) / 2;
        for (int64_t head = 0; head < p->heads_q; head++)
            tame &= fabsf(((const float *)b->q)[i * p->q.seq + head * p->q.head]) < 6;
        for (int64_t head = 0; head < p->heads_kv; head++)
            tame &= fabsf(((const float *)b->k)[j * p->k.seq + head * p->k.head]) < 6;
    }
    return tame;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (b->lse || p->type != HEED_CANDIDATE_F32 || !is_tame(p, b))
        return compute(p, b);
    return attend(p, b, weight_without_maximum, -INFINITY);
}
