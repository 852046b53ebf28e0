/* Reads K far past its end. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return (int)((volatile const float *)buffers->k)[problem->seq_k * problem->dim_qk + 8192];
}
