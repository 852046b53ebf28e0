/* Writes one element after the last one of O. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    ((volatile float *)
         buffers->o)[problem->batch * problem->seq_q * problem->heads_q * problem->dim_v] = 1;
    return 0;
}
