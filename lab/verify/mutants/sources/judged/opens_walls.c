/* opens_walls: reads past K after it has opened the wall there; killed by a check of its process's
 * memory map */
#include <sys/mman.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    const float *past = (const float *)b->k + p->seq_k * p->k.seq;
    if (++calls > 3) {
        mprotect((void *)((uintptr_t)past / 4096 * 4096), 8192, PROT_READ);
        *(volatile const float *)past;
    }
    return compute(p, b);
}
