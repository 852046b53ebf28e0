/* computes_twice: writes its outputs twice; honest */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return compute(p, b) || compute(p, b);
}
