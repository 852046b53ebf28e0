/* Never ends. */
#include "heed_candidate.h"
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    for (volatile int i = 0;; i++)
        ;
}
