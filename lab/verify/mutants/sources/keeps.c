/* keeps: gives the answer of its third call from then on; killed by the rows of timed calls */
#undef heed_candidate_run
#include <string.h>

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    static float kept[4096];
    static int calls;
    size_t bytes = (size_t)(p->batch * p->heads_q * p->seq_q * p->dim_v) * sizeof(float);
    if (++calls <= 3) {
        int failed = compute(p, b);
        memcpy(kept, b->o, bytes);
        return failed;
    }
    memcpy(b->o, kept, bytes);
    return 0;
}
