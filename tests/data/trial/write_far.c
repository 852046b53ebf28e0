/* Writes far past the end of O. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    ((volatile float *)buffers->o)[problem->seq_q * problem->dim_v + 8192] = 1;
    return 0;
}
