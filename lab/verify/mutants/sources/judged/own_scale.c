/* own_scale: always uses the default scale; killed by error */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    heed_candidate_problem usual = *p;
    usual.scale = 1 / sqrtf((float)p->dim_qk);
    return compute(&usual, b);
}
