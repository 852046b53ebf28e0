/* Writes KIB KiB past the start of O, wherever that is. */
#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    ((volatile float *)buffers->o)[KIB * 256] = 1;
    return 0;
}
