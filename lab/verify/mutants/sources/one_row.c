/* one_row: is off by a thousandth in its twelfth row; killed by error */
#undef heed_candidate_run

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed && p->seq_q > 11)
        ((float *)b->o)[11 * p->o.seq] *= 1.001f;
    return failed;
}
