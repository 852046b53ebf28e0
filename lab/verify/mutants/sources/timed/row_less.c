/* row_less: writes the result of row 6 to row 7 as well; killed by the rows of timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    float *o = b->o;
    if (p->seq_q > 7)
        memcpy(o + 7 * p->o.seq, o + 6 * p->o.seq, (size_t)p->dim_v * sizeof *o);
    return failed;
}
