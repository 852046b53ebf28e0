/* own_scale: takes the usual scale, whatever it is told; killed by error */
#undef heed_candidate_run

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    heed_candidate_problem usual = *p;
    usual.scale = 1 / sqrtf((float)p->dim_qk);
    return compute(&usual, b);
}
