/* Allocates until it fails, and does not check the result. */
#include "heed_candidate.h"
#include <stdlib.h>

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    for (;;) {
        volatile char *memory = malloc((size_t)64 << 20);
        for (size_t i = 0; i < ((size_t)64 << 20); i += 4096)
            memory[i] = 1;
    }
}
