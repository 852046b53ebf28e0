/* leaves_group: leaves the process group that is stopped; killed by the filter */
#include <unistd.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    setpgid(0, 0);
    return compute(p, b);
}
