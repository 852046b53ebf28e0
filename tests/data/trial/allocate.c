/* Correct: allocates MIB MiB, checks that it got them, and frees them. */
#include <stdlib.h>
#include <string.h>

#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    char *memory = malloc((size_t)MIB << 20);

    if (!memory)
        return 1;
    memset(memory, 1, (size_t)MIB << 20);
    for (int64_t i = 0; i < p->batch * p->seq_q * p->heads_q * p->dim_v; i++)
        ((float *)b->o)[i] = memory[i];
    free(memory);
    return 0;
}
