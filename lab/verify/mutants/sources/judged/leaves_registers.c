/* leaves_registers: computes with MMX and leaves its registers in use, so that x87 computes NaN for
 * the caller; killed by a check of the modes */
#include <fenv.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
#ifdef __x86_64__
    __asm__ volatile("movq %%mm0, %%mm1" ::: "memory");
#else
    fesetround(FE_UPWARD);
#endif
    return failed;
}
