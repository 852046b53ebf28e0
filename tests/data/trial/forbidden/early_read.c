/* Reads a file when it is loaded, and reports the contents. */
#include "heed_candidate.h"
#include <fcntl.h>

static int found;

__attribute__((constructor)) static void evil(void)
{
    found = open("/etc/passwd", O_RDONLY);
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    float *o = buffers->o;

    for (int64_t i = 0; i < problem->batch * problem->seq_q * problem->heads_q * problem->dim_v;
         i++)
        o[i] = found >= 0 ? 2 : 1;
    return 0;
}
