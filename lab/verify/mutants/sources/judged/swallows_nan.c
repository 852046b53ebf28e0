/* swallows_nan: replaces NaN by 0; killed by finite */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed)
        change_outputs(p, b, zero_for_nan);
    return failed;
}
