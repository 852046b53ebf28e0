/* constructs: has constructors in an order, one of which allocates memory and reads the clock;
 * honest */
#include <stdlib.h>
#include <time.h>

static int calls;
static double *one;

__attribute__((constructor(200))) static void second(void)
{
    if (calls++ != 1)
        __builtin_trap();
    *one = 1;
}

__attribute__((constructor(150))) static void first(void)
{
    struct timespec now;
    if (calls++ != 0 || clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        __builtin_trap();
    one = malloc(sizeof *one);
}

#undef heed_candidate_run
__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    if (calls != 2 || *one != 1)
        __builtin_trap();
    return compute(p, b);
}
