/* Writes to stderr endlessly. */
#include "heed_candidate.h"
#include <stdio.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    for (;;)
        fputs("look at me\n", stderr);
}
