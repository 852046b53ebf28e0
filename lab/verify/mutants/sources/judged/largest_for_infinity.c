/* largest_for_infinity: replaces infinities by the largest number; killed by finite */

static float largest_for_infinity(float x)
{
    return isinf(x) ? copysignf(0x1.fffffep127f, x) : x;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed)
        change_outputs(p, b, largest_for_infinity);
    return failed;
}
