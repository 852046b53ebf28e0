/* Reads a file. */
#include "heed_candidate.h"
#include <fcntl.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return open("/etc/passwd", O_RDONLY) < 0;
}
