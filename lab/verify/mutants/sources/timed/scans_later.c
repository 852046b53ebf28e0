/* scans_later: does not subtract the maximum if all numbers of Q and K are small, from its CALLS-th
 * call on; killed by the high logits from even elements in timed calls */
#define CALLS 100

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    if (++calls < CALLS || b->lse || p->type != HEED_CANDIDATE_F32 || p->batch > 1 ||
        !are_small(b->q, p->seq_q, p->heads_q, p->q, p->dim_qk) ||
        !are_small(b->k, p->seq_k, p->heads_kv, p->k, p->dim_qk))
        return compute(p, b);
    return attend(p, b, weight_in_float, -INFINITY);
}
