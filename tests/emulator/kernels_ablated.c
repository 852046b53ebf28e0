/*
 * kernels_ablated.c - kernels that are worse on purpose (ablate.cuh), in the place of kernels.c
 */
#include "emulator/kernel.h"

#include <stddef.h>

/* Other tensors than they are about are left to kernels as they are. */
extern const emulated_kernel mma_d64_unaligned, wgmma_d64_turns_unaligned, wgmma_d64_turns_negative;
extern const emulated_kernel mma_divergent, mma_extra_barrier, mma_strided, mma_unswizzled,
    mma_no_overlap, mma_delay, mma_wrong_no_exp, mma_wrong_no_products, mma_wrong_no_loads,
    wgmma_divergent, wgmma_extra_barrier, wgmma_delay, wgmma_wrong_no_exp, wgmma_wrong_no_products,
    wgmma_wrong_no_loads;

const emulated_config emulated_configs[] = {
    { &mma_divergent, &mma_d64_unaligned, NULL },
    { &mma_extra_barrier, &mma_d64_unaligned, NULL },
    { &mma_strided, &mma_d64_unaligned, NULL },
    { &mma_unswizzled, &mma_d64_unaligned, NULL },
    { &mma_no_overlap, &mma_d64_unaligned, NULL },
    { &mma_delay, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_exp, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_products, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_loads, &mma_d64_unaligned, NULL },
    { &wgmma_divergent, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_extra_barrier, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_delay, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_exp, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_products, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_loads, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { NULL, NULL, NULL },
};
