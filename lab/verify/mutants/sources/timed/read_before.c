/* read_before: reads a byte before V from its fourth call on; killed by the walls before the
 * tensors of timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    if (++calls > 3)
        (void)((const volatile char *)b->v)[-1];
    return compute(p, b);
}
