/* Calls an undefined function. */
#include "heed_candidate.h"
int what_nobody_defines(void);

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return what_nobody_defines();
}
