/*
 * delay.cuh - prolongs a block by HEED_DELAY / 65536 of its time, only in builds with that ablation
 * (ablation.h)
 *
 * Clocks are counted in 32 bits, so a block may take up to two seconds.
 */
#ifndef HEED_DELAY_CUH
#define HEED_DELAY_CUH

#include "ablation.h"
#include "ptx.cuh"

/* Called when the block begins. */
HEED_DEVICE u32 delay_begin(void)
{
    return ABLATED(ABLATE_DELAY) ? ptx_clock() : 0;
}

/* Called when the thread has done its work, which began at @begin. */
HEED_DEVICE void delay_end(u32 begin)
{
#if HEED_ABLATE == ABLATE_DELAY
    u32 end = ptx_clock(), stay = (u32)((u64)(end - begin) * HEED_DELAY >> 16);
    while (ptx_clock() - end < stay)
        ;
#else
    (void)begin;
#endif
}

#endif /* HEED_DELAY_CUH */
