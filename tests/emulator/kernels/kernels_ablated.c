/*
 * kernels_ablated.c - degraded builds of kernels (ablate.cuh)
 */
#include "emulator/kernels/kernel.h"

#include <stddef.h>

/* Tensors outside the scope of a degraded build use the regular kernels. */
extern const emulated_kernel mma_d64_unaligned, mma_d40_80_unaligned, wgmma_d64_turns_unaligned,
    wgmma_d64_turns_negative, wgmma_d192_128_unaligned, wgmma_d192_128_negative,
    wgmma_d64_pair_unaligned, wgmma_d64_pair_negative;
extern const emulated_kernel mma_divergent, mma_extra_barrier, mma_strided, mma_unswizzled,
    mma_no_staging, mma_no_staging_ahead, mma_no_overlap, mma_masked, mma_delay, mma_wrong_no_exp,
    mma_wrong_no_products, mma_wrong_no_loads;
extern const emulated_kernel wgmma_divergent, wgmma_extra_barrier, wgmma_strided,
    wgmma_strided_wide, wgmma_unswizzled, wgmma_unswizzled_wide, wgmma_no_overlap,
    wgmma_no_overlap_pair, wgmma_masked, wgmma_delay, wgmma_wrong_no_exp, wgmma_wrong_no_products,
    wgmma_wrong_no_loads;
extern const emulated_kernel mla_d576_512_masked_unaligned, mla_divergent, mla_extra_barrier,
    mla_masked, mla_delay, mla_wrong_no_exp, mla_wrong_no_products, mla_wrong_no_loads;
extern const emulated_kernel single_d264_520_unaligned, single_wrong_no_exp,
    single_wrong_no_products, single_unswizzled, single_no_overlap, single_wrong_no_loads;
extern const emulated_kernel apart_d512_unaligned, apart_extra_barrier, apart_wrong_no_exp,
    apart_wrong_no_products, apart_wrong_no_loads;
extern const emulated_kernel naive_divergent, naive_extra_barrier, naive_strided, naive_delay,
    naive_wrong_no_exp, naive_wrong_no_products, naive_wrong_no_loads;

const emulated_config emulated_ablated[] = {
    { &mma_divergent, &mma_d64_unaligned, NULL },
    { &mma_extra_barrier, &mma_d64_unaligned, NULL },
    { &mma_strided, &mma_d64_unaligned, NULL },
    { &mma_unswizzled, &mma_d64_unaligned, NULL },
    { &mma_no_staging, &mma_d64_unaligned, NULL },
    { &mma_no_staging_ahead, &mma_d40_80_unaligned, NULL },
    { &mma_no_overlap, &mma_d64_unaligned, NULL },
    { &mma_masked, &mma_d64_unaligned, NULL },
    { &mma_delay, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_exp, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_products, &mma_d64_unaligned, NULL },
    { &mma_wrong_no_loads, &mma_d64_unaligned, NULL },
    { &wgmma_divergent, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_extra_barrier, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_strided, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_strided_wide, &wgmma_d192_128_unaligned, &wgmma_d192_128_negative },
    { &wgmma_unswizzled, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_unswizzled_wide, &wgmma_d192_128_unaligned, &wgmma_d192_128_negative },
    { &wgmma_no_overlap, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_no_overlap_pair, &wgmma_d64_pair_unaligned, &wgmma_d64_pair_negative },
    { &wgmma_masked, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_delay, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_exp, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_products, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_wrong_no_loads, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &mla_divergent, &mla_d576_512_masked_unaligned, NULL },
    { &mla_extra_barrier, &mla_d576_512_masked_unaligned, NULL },
    { &mla_delay, &mla_d576_512_masked_unaligned, NULL },
    { &mla_masked, &mla_d576_512_masked_unaligned, NULL },
    { &mla_wrong_no_exp, &mla_d576_512_masked_unaligned, NULL },
    { &mla_wrong_no_products, &mla_d576_512_masked_unaligned, NULL },
    { &mla_wrong_no_loads, &mla_d576_512_masked_unaligned, NULL },
    { &single_wrong_no_exp, &single_d264_520_unaligned, NULL },
    { &single_wrong_no_products, &single_d264_520_unaligned, NULL },
    { &single_unswizzled, &single_d264_520_unaligned, NULL },
    { &single_no_overlap, &single_d264_520_unaligned, NULL },
    { &single_wrong_no_loads, &single_d264_520_unaligned, NULL },
    { &apart_extra_barrier, &apart_d512_unaligned, NULL },
    { &apart_wrong_no_exp, &apart_d512_unaligned, NULL },
    { &apart_wrong_no_products, &apart_d512_unaligned, NULL },
    { &apart_wrong_no_loads, &apart_d512_unaligned, NULL },
    { &naive_divergent, &naive_divergent, NULL },
    { &naive_extra_barrier, &naive_extra_barrier, NULL },
    { &naive_strided, &naive_strided, NULL },
    { &naive_delay, &naive_delay, NULL },
    { &naive_wrong_no_exp, &naive_wrong_no_exp, NULL },
    { &naive_wrong_no_products, &naive_wrong_no_products, NULL },
    { &naive_wrong_no_loads, &naive_wrong_no_loads, NULL },
    { NULL, NULL, NULL },
};
