/* Executes an illegal instruction. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    __builtin_trap();
}
