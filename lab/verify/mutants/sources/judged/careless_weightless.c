/* careless_weightless: returns the mean of V where all logits are -infinity and no LSE is
 * requested; killed by such rows, which timed calls do not have */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed && !b->lse)
        fill_weightless(p, b, 1, -INFINITY);
    return failed;
}
