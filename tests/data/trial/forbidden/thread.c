/* Starts a thread. */
#include "heed_candidate.h"
#include <pthread.h>

static void *work(void *data)
{
    return data;
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, work, NULL);
}
