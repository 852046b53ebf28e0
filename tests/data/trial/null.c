/* Writes to a null pointer. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    *(volatile float *)0 = 1;
    return 0;
}
