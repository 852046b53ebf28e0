/* as_asked: is right for 16 keys, and for half of them; killed by error */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    heed_candidate_problem other = *p;
    if (p->seq_k != 16 && p->seq_k != 8 && p->seq_k > 1)
        other.seq_k--;
    return compute(&other, b);
}
