/* careless_start: takes -1e4 as the lowest logit if no LSE is requested; killed by rows of low
 * logits, which timed calls without a mask do not have */

static double weight_from_start(double logit, double most)
{
    return exp(logit - fmax(most, -1e4));
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, weight_from_start, -INFINITY);
}
