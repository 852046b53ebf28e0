/* keeps: returns the result of its third call from then on; killed by the rows of timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    return compute_or_repeat(p, b, ++calls <= 3);
}
