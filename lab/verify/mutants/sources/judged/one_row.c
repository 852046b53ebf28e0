/* one_row: is off by a thousandth in its twelfth row; killed by error */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed && p->seq_q > 11)
        ((float *)b->o)[11 * p->o.seq] *= 1.001f;
    return failed;
}
