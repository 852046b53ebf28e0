/* Forks when it is loaded. */
#include "heed_candidate.h"
#include <unistd.h>

__attribute__((constructor)) static void evil(void)
{
    fork();
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return 0;
}
