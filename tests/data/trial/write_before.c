/* Writes one element before the first one of O. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    ((volatile float *)buffers->o)[-1] = 1;
    return 0;
}
