/* no_maximum: does not subtract the maximum; killed by finite */

static double float_weight(double logit, double most)
{
    (void)most;
    return expf((float)logit);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return compute(p, b) || attend(p, b, float_weight, -INFINITY);
}
