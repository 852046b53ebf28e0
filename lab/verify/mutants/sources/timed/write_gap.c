/* write_gap: writes between the rows of O from its fourth call on; killed by the check of forbidden
 * writes */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    int failed = compute(p, b);
    if (++calls > 3 && p->o.seq > p->dim_v)
        ((float *)b->o)[p->dim_v] = 1;
    return failed;
}
