/* Sleeps forever. */
#include "heed_candidate.h"
#include <unistd.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    for (;;)
        usleep(1000000);
}
