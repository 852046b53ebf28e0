/* sleeps: sleeps while memory is fetched, which takes no CPU time; killed by the filter */
#include <time.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    const struct timespec nap = { .tv_nsec = 20000 };
    for (const char *at = b->k; at < (const char *)b->k + p->seq_k * p->k.seq * 4; at += 64)
        __builtin_prefetch(at);
    nanosleep(&nap, NULL);
    return compute(p, b);
}
