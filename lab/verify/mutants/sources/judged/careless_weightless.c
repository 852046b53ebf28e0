/* careless_weightless: gives the mean of V where all logits are -infinity and no LSE is asked for;
 * killed by such rows, which calls do not have while they are timed */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed && !b->lse)
        fill_weightless(p, b, 1, -INFINITY);
    return failed;
}
