/* careless_tails: leaves out keys of little weight if no LSE is requested; killed by the light
 * keys of timed calls */

static double heavy_weight(double logit, double most)
{
    return logit < most - 11 ? 0 : exp(logit - most);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, heavy_weight, -INFINITY);
}
