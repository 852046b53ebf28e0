/* private_output: maps other memory over O; killed by what is left unwritten */
#include <sys/mman.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    if (++calls > 3) {
        uintptr_t page = (uintptr_t)b->o / 4096 * 4096;
        mmap((void *)page, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
    }
    return compute(p, b);
}
