/* write_past: writes an element past O from its fourth call on; killed by the walls and the bytes
 * around O */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    int failed = compute(p, b);
    if (++calls > 3)
        ((float *)b->o)[p->seq_q * p->dim_v] = 1;
    return failed;
}
