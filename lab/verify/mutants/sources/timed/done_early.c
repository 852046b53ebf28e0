/* done_early: reports completion and continues; killed by what is left unwritten */
#include <unistd.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    if (++calls > 3) {
        write(1, "done 0\n", 7);
        for (;;)
            compute(p, b);
    }
    return compute(p, b);
}
