/* leaves_group: leaves the group of processes that is stopped; killed by the filter */
#undef heed_candidate_run
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    setpgid(0, 0);
    return compute(p, b);
}
