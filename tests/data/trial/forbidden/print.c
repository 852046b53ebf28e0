/* Prints to stdout. */
#include "heed_candidate.h"
#include <stdio.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    printf("hello\n");
    fflush(stdout);
    return 0;
}
