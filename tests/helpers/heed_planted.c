/*
 * heed_planted.c - the program heed with a regression planted into it
 *
 * Linked with --wrap, so that what is asked of libheed comes here first. It is of another build
 * than the heed beside it, and executes problems of one batch element HEED_PLANTED percent more
 * slowly (25 if that is not set), those of two wrongly, and others as they should be.
 */
#include <stdlib.h>
#include <time.h>

#include "heed.h"

heed_status __real_heed_execute(const heed_plan *plan, const heed_buffers *buffers);
heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers);
const char *__wrap_heed_wisdom_build(void);

/* Of this thread: what others take of a busy machine is no part of the regression. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Executes, and then works for as much of the time that took as HEED_PLANTED says. */
static heed_status execute_slowly(const heed_plan *plan, const heed_buffers *buffers)
{
    const char *percent = getenv("HEED_PLANTED");
    double start = seconds();
    heed_status status = __real_heed_execute(plan, buffers);
    double end = seconds() + (seconds() - start) * (percent ? atof(percent) : 25) / 100;
    while (seconds() < end)
        ;
    return status;
}

/* Problems that are executed as they should be read no clock: that of a thread is a system
 * call, and three of them are 1.5 percent of 0.2 ms. */
heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers)
{
    int64_t batch = heed_plan_problem(plan)->batch;
    if (batch == 1)
        return execute_slowly(plan, buffers);
    heed_status status = __real_heed_execute(plan, buffers);
    if (status == HEED_OK && batch == 2)
        *(float *)buffers->o += 1;
    return status;
}

const char *__wrap_heed_wisdom_build(void)
{
    return "planted";
}
