/* Requests more workspace than there is memory. */
#include "heed_candidate.h"
size_t heed_candidate_workspace(const heed_candidate_problem *problem)
{
    return (size_t)1 << 40;
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return 0;
}
