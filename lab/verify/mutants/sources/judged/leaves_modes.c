/* leaves_modes: flushes subnormal numbers from its first call on; killed by a check of the modes */
#include <fenv.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
#ifdef __SSE__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#else
    fesetround(FE_UPWARD);
#endif
    return failed;
}
