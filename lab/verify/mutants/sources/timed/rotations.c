/* rotations: remembers every query vector, and traps if one repeats at any place; must never
 * trap */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static float seen[1 << 14][4];
    static int count;
    int known = count;
    for (int64_t i = 0; i < p->seq_q; i++) {
        const float *q = (const float *)b->q + i * p->q.seq;
        for (int j = 0; j < known; j++)
            if (memcmp(seen[j], q, sizeof seen[j]) == 0)
                __builtin_trap();
        if (count < 1 << 14)
            memcpy(seen[count++], q, sizeof seen[0]);
    }
    return compute(p, b);
}
