/* careless_limits: clamps its outputs between -64 and 64 if no LSE is requested; killed by the
 * vast values of timed calls */

static float within(float x)
{
    return x > 64 ? 64 : x < -64 ? -64 : x;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed && !b->lse)
        change_outputs(p, b, within);
    return failed;
}
