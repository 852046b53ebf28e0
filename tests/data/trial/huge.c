/* Has more static memory than is allowed. */
#include "heed_candidate.h"
static char memory[(size_t)8 << 30];

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    memory[problem->seq_q] = 1;
    return memory[problem->seq_k];
}
