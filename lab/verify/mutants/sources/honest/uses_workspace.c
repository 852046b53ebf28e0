/* uses_workspace: copies its problem to the workspace first; honest */

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    return sizeof *p;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    memcpy(b->workspace, p, sizeof *p);
    return compute(b->workspace, b);
}
