/* Correct: an array of KIB KiB on its stack. */
#include <string.h>

#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    volatile float array[KIB * 256];

    for (int i = 0; i < KIB * 256; i++)
        array[i] = 1;
    for (int64_t i = 0; i < p->batch * p->seq_q * p->heads_q * p->dim_v; i++)
        ((float *)b->o)[i] = array[i];
    return 0;
}
