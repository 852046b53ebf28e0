/* weightless_lse: returns an LSE of -1e30 where all logits are -infinity; killed by finite */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    if (!failed)
        fill_weightless(p, b, 0, -1e30F);
    return failed;
}
