/* Changes Q. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    ((volatile float *)buffers->q)[3] = 0;
    return 0;
}
