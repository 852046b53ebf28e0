/* Recurses endlessly. */
#include "heed_candidate.h"
static int deeper(volatile char *from)
{
    volatile char here[4096];

    here[0] = from[0];
    return deeper(here) + here[1];
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    char start = 1;

    return deeper(&start);
}
