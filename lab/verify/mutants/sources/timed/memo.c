/* memo: remembers every call by a hash of Q, K and V, and traps if one repeats; must never trap */

static uint64_t hash(const float *x, int64_t count)
{
    uint64_t sum = 1469598103934665603u;
    uint32_t word;
    for (int64_t i = 0; i < count; i++) {
        memcpy(&word, x + i, sizeof word);
        sum = (sum ^ word) * 1099511628211u;
    }
    return sum;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static uint64_t seen[1 << 14];
    static int count;
    uint64_t key = hash(b->q, p->seq_q * p->dim_qk) + 3 * hash(b->k, p->seq_k * p->dim_qk) +
                   5 * hash(b->v, p->seq_k * p->dim_v);
    for (int i = 0; i < count; i++)
        if (seen[i] == key)
            __builtin_trap();
    if (count < 1 << 14)
        seen[count++] = key;
    return compute(p, b);
}
