/* busy_size: computes when its workspace size is queried; killed by the time limit of calls that
 * compute nothing */
#include <time.h>

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    struct timespec now = { 0 }, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    while (now.tv_sec < end.tv_sec + 4)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (size_t)p->dim_v * 4;
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return compute(p, b);
}
