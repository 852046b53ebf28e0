/* read_past: reads ID bytes past K from its fourth call on; killed by the walls after the tensors
 * of timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    const volatile char *end = (const char *)b->k + p->seq_k * p->dim_qk * (int64_t)sizeof(float);
    if (++calls > 3)
        (void)end[ID - 1];
    return compute(p, b);
}
