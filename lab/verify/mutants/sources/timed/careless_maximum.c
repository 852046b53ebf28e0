/* careless_maximum: does not subtract the maximum if no LSE is requested, as in timed calls;
 * killed by the high logits among them */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, weight_without_maximum, -INFINITY);
}
