/* careless_mask: masks by a logit of -1e4 if no LSE is requested; killed by the low logits of
 * timed calls */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, usual_weight, -1e4);
}
