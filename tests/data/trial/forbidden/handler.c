/* Ignores SIGSEGV. */
#include "heed_candidate.h"
#include <signal.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    signal(SIGSEGV, SIG_IGN);
    return 0;
}
