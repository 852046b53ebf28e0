/*
 * kernels.c - the kernels that emulated.cmake compiles for the emulator
 */
#include "emulator/kernels/kernel.h"

#include <stddef.h>

extern const emulated_kernel mma_d1, mma_d32, mma_d40_80, mma_d64, mma_d64_groups, mma_d96_40,
    mma_d128, mma_d128_groups, mma_d192_128, mma_d256, mma_d64_half, mma_d96_40_half;
extern const emulated_kernel mma_d1_unaligned, mma_d32_unaligned, mma_d40_80_unaligned,
    mma_d64_unaligned, mma_d64_groups_unaligned, mma_d96_40_unaligned, mma_d128_unaligned,
    mma_d128_groups_unaligned, mma_d192_128_unaligned, mma_d256_unaligned, mma_d64_half_unaligned,
    mma_d96_40_half_unaligned;
extern const emulated_kernel shared_d72_64, shared_d72_64_unaligned, shared_d64_groups,
    shared_d64_groups_unaligned, shared_d160_144, shared_d160_144_unaligned;
extern const emulated_kernel wide_d72, wide_d72_unaligned, wide_d40_136, wide_d40_136_unaligned,
    wide_d64_parts, wide_d64_parts_unaligned, wide_d64_window, wide_d64_window_unaligned,
    wide_d576_512, wide_d576_512_unaligned, wide_d264_520, wide_d264_520_unaligned, wide_d520_64,
    wide_d520_64_unaligned;
extern const emulated_kernel single_d16_1, single_d16_1_unaligned, single_d40_80,
    single_d40_80_unaligned, single_d64, single_d64_unaligned, single_d64_groups,
    single_d64_groups_unaligned, single_d77_33, single_d77_33_unaligned, single_d128,
    single_d128_unaligned, single_d64_window, single_d64_window_unaligned, single_wide_d72,
    single_wide_d72_unaligned, single_wide_d136_264, single_wide_d136_264_unaligned,
    single_shared_d72_64, single_shared_d72_64_unaligned, single_shared_d40,
    single_shared_d40_unaligned;
extern const emulated_kernel mla_d576_512, mla_d576_512_unaligned, mla_d576_512_masked,
    mla_d576_512_masked_unaligned, mla_d520_264, mla_d520_264_unaligned;
extern const emulated_kernel apart_d512, apart_d512_unaligned, apart_d264_328,
    apart_d264_328_unaligned, apart_d1024, apart_d1024_unaligned, whole_d1024,
    whole_d1024_unaligned, whole_d584_768, whole_d584_768_unaligned;
extern const emulated_kernel single_d264_520, single_d264_520_unaligned, single_d520_264,
    single_d520_264_unaligned, single_d1024, single_d1024_unaligned;
extern const emulated_kernel mma_d64_window, mma_d64_window_unaligned, mma_d40_80_window,
    mma_d40_80_window_unaligned, naive_window, candidate_window;
extern const emulated_kernel wgmma_d64_window, wgmma_d64_window_unaligned,
    wgmma_d64_window_negative, wgmma_d64_window_groups, wgmma_d64_window_groups_unaligned,
    wgmma_d64_window_groups_negative, wgmma_d128_window, wgmma_d128_window_unaligned,
    wgmma_d128_window_negative, wgmma_d64_window_pair, wgmma_d64_window_pair_unaligned,
    wgmma_d64_window_pair_negative;
extern const emulated_kernel naive_f32, naive_f16, naive_bf16, naive_d576_520;
extern const emulated_kernel candidate_f32, candidate_f16;
extern const emulated_kernel wgmma_d64_cut, wgmma_d64_cut_unaligned, wgmma_d64_cut_negative,
    wgmma_d64_cut_late, wgmma_d64_cut_late_unaligned, wgmma_d64_cut_late_negative;
extern const emulated_kernel wgmma_d64_two, wgmma_d64_two_unaligned, wgmma_d64_two_negative;
extern const emulated_kernel wgmma_d64_early, wgmma_d64_early_unaligned, wgmma_d64_early_negative,
    wgmma_d128_early, wgmma_d128_early_unaligned, wgmma_d128_early_negative;
extern const emulated_kernel wgmma_d64_pair, wgmma_d64_pair_unaligned, wgmma_d64_pair_negative,
    wgmma_d96_40_pair, wgmma_d96_40_pair_unaligned, wgmma_d96_40_pair_negative;
extern const emulated_kernel wgmma_d64_groups_turns, wgmma_d64_groups_turns_unaligned,
    wgmma_d64_groups_turns_negative;
extern const emulated_kernel wgmma_d64_40_groups, wgmma_d64_40_groups_unaligned,
    wgmma_d64_40_groups_negative;
extern const emulated_kernel wgmma_d64, wgmma_d64_turns, wgmma_d64_groups, wgmma_d128,
    wgmma_d128_late, wgmma_d256, wgmma_d96, wgmma_d192_128, wgmma_d64_unaligned,
    wgmma_d64_turns_unaligned, wgmma_d64_groups_unaligned, wgmma_d128_unaligned,
    wgmma_d128_late_unaligned, wgmma_d256_unaligned, wgmma_d96_unaligned, wgmma_d192_128_unaligned,
    wgmma_d64_negative, wgmma_d64_turns_negative, wgmma_d64_groups_negative, wgmma_d128_negative,
    wgmma_d128_late_negative, wgmma_d256_negative, wgmma_d96_negative, wgmma_d192_128_negative;

const emulated_config emulated_configs[] = {
    { &mma_d1, &mma_d1_unaligned, NULL },
    { &mma_d32, &mma_d32_unaligned, NULL },
    { &mma_d40_80, &mma_d40_80_unaligned, NULL },
    { &mma_d64, &mma_d64_unaligned, NULL },
    { &mma_d64_groups, &mma_d64_groups_unaligned, NULL },
    { &mma_d96_40, &mma_d96_40_unaligned, NULL },
    { &mma_d128, &mma_d128_unaligned, NULL },
    { &mma_d128_groups, &mma_d128_groups_unaligned, NULL },
    { &mma_d192_128, &mma_d192_128_unaligned, NULL },
    { &mma_d256, &mma_d256_unaligned, NULL },
    { &mma_d64_half, &mma_d64_half_unaligned, NULL },
    { &mma_d96_40_half, &mma_d96_40_half_unaligned, NULL },
    { &shared_d72_64, &shared_d72_64_unaligned, NULL },
    { &shared_d64_groups, &shared_d64_groups_unaligned, NULL },
    { &shared_d160_144, &shared_d160_144_unaligned, NULL },
    { &wide_d72, &wide_d72_unaligned, NULL },
    { &wide_d40_136, &wide_d40_136_unaligned, NULL },
    { &wide_d64_parts, &wide_d64_parts_unaligned, NULL },
    { &wide_d64_window, &wide_d64_window_unaligned, NULL },
    { &wide_d576_512, &wide_d576_512_unaligned, NULL },
    { &wide_d264_520, &wide_d264_520_unaligned, NULL },
    { &wide_d520_64, &wide_d520_64_unaligned, NULL },
    { &single_d16_1, &single_d16_1_unaligned, NULL },
    { &single_d40_80, &single_d40_80_unaligned, NULL },
    { &single_d64, &single_d64_unaligned, NULL },
    { &single_d64_groups, &single_d64_groups_unaligned, NULL },
    { &single_d77_33, &single_d77_33_unaligned, NULL },
    { &single_d128, &single_d128_unaligned, NULL },
    { &single_d64_window, &single_d64_window_unaligned, NULL },
    { &single_wide_d72, &single_wide_d72_unaligned, NULL },
    { &single_wide_d136_264, &single_wide_d136_264_unaligned, NULL },
    { &single_shared_d72_64, &single_shared_d72_64_unaligned, NULL },
    { &single_shared_d40, &single_shared_d40_unaligned, NULL },
    { &naive_f32, &naive_f32, NULL },
    { &naive_f16, &naive_f16, NULL },
    { &naive_bf16, &naive_bf16, NULL },
    { &naive_d576_520, &naive_d576_520, NULL },
    { &candidate_f32, &candidate_f32, NULL },
    { &candidate_f16, &candidate_f16, NULL },
    { &wgmma_d64, &wgmma_d64_unaligned, &wgmma_d64_negative },
    { &wgmma_d64_turns, &wgmma_d64_turns_unaligned, &wgmma_d64_turns_negative },
    { &wgmma_d64_cut, &wgmma_d64_cut_unaligned, &wgmma_d64_cut_negative },
    { &wgmma_d64_cut_late, &wgmma_d64_cut_late_unaligned, &wgmma_d64_cut_late_negative },
    { &wgmma_d64_two, &wgmma_d64_two_unaligned, &wgmma_d64_two_negative },
    { &wgmma_d64_pair, &wgmma_d64_pair_unaligned, &wgmma_d64_pair_negative },
    { &wgmma_d96_40_pair, &wgmma_d96_40_pair_unaligned, &wgmma_d96_40_pair_negative },
    { &wgmma_d64_groups, &wgmma_d64_groups_unaligned, &wgmma_d64_groups_negative },
    { &wgmma_d64_groups_turns, &wgmma_d64_groups_turns_unaligned,
      &wgmma_d64_groups_turns_negative },
    { &wgmma_d64_40_groups, &wgmma_d64_40_groups_unaligned, &wgmma_d64_40_groups_negative },
    { &wgmma_d128, &wgmma_d128_unaligned, &wgmma_d128_negative },
    { &wgmma_d128_late, &wgmma_d128_late_unaligned, &wgmma_d128_late_negative },
    { &wgmma_d64_early, &wgmma_d64_early_unaligned, &wgmma_d64_early_negative },
    { &wgmma_d128_early, &wgmma_d128_early_unaligned, &wgmma_d128_early_negative },
    { &wgmma_d256, &wgmma_d256_unaligned, &wgmma_d256_negative },
    { &wgmma_d96, &wgmma_d96_unaligned, &wgmma_d96_negative },
    { &wgmma_d192_128, &wgmma_d192_128_unaligned, &wgmma_d192_128_negative },
    { &mma_d64_window, &mma_d64_window_unaligned, NULL },
    { &mma_d40_80_window, &mma_d40_80_window_unaligned, NULL },
    { &naive_window, &naive_window, NULL },
    { &candidate_window, &candidate_window, NULL },
    { &wgmma_d64_window, &wgmma_d64_window_unaligned, &wgmma_d64_window_negative },
    { &wgmma_d64_window_groups, &wgmma_d64_window_groups_unaligned,
      &wgmma_d64_window_groups_negative },
    { &wgmma_d128_window, &wgmma_d128_window_unaligned, &wgmma_d128_window_negative },
    { &wgmma_d64_window_pair, &wgmma_d64_window_pair_unaligned, &wgmma_d64_window_pair_negative },
    { &mla_d576_512, &mla_d576_512_unaligned, NULL },
    { &mla_d576_512_masked, &mla_d576_512_masked_unaligned, NULL },
    { &mla_d520_264, &mla_d520_264_unaligned, NULL },
    { &apart_d512, &apart_d512_unaligned, NULL },
    { &apart_d264_328, &apart_d264_328_unaligned, NULL },
    { &apart_d1024, &apart_d1024_unaligned, NULL },
    { &whole_d1024, &whole_d1024_unaligned, NULL },
    { &whole_d584_768, &whole_d584_768_unaligned, NULL },
    { &single_d264_520, &single_d264_520_unaligned, NULL },
    { &single_d520_264, &single_d520_264_unaligned, NULL },
    { &single_d1024, &single_d1024_unaligned, NULL },
    { NULL, NULL, NULL },
};
