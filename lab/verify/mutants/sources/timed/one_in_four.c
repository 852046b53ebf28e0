/* one_in_four: computes one call in four and repeats its result for the others; killed by the rows
 * of timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static unsigned calls;
    return compute_or_repeat(p, b, calls++ % 4 == 0);
}
