/* computes_twice: writes its outputs twice; honest */
#undef heed_candidate_run

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    return compute(p, b) || compute(p, b);
}
