/* Calls abort(). */
#include "heed_candidate.h"
#include <stdlib.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    abort();
}
