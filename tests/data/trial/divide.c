/* Divides by zero. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    volatile int zero = 0;

    return 7 / zero;
}
