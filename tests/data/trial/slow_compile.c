/* Takes forever to compile. */
#include "heed_candidate.h"
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(x)))
#define C(x) B(B(x))

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    int n = 0;
    C(C(n += n * 3;))
    return n;
}
