/* refuses_others: supports 16 keys only; honest */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return p->seq_k == 16 ? compute(p, b) : 1;
}
