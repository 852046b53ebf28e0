/*
 * kernels_changed.c - kernels for problems whose logits change, whose keys are hidden by steps, or
 * that have sinks, with the words that CMakeLists.txt compiles them for
 */
#include "emulator/kernel.h"

#include <stddef.h>

extern const emulated_kernel changed_naive_all, changed_naive_words, changed_mma_bias,
    changed_mma_bias_unaligned, changed_mma_softcap, changed_mma_softcap_unaligned,
    changed_mma_open, changed_mma_open_unaligned, changed_mma_starts, changed_mma_starts_unaligned,
    changed_mma_words, changed_mma_words_unaligned, changed_mma_half, changed_mma_half_unaligned,
    changed_mma_sinks, changed_mma_sinks_unaligned, changed_wgmma_bias,
    changed_wgmma_bias_unaligned, changed_wgmma_bias_negative, changed_wgmma_shown,
    changed_wgmma_shown_unaligned, changed_wgmma_shown_negative, changed_wgmma_pair,
    changed_wgmma_pair_unaligned, changed_wgmma_pair_negative, changed_wgmma_starts,
    changed_wgmma_starts_unaligned, changed_wgmma_starts_negative, changed_wgmma_words,
    changed_wgmma_words_unaligned, changed_wgmma_words_negative, changed_wgmma_open,
    changed_wgmma_open_unaligned, changed_wgmma_open_negative, changed_wgmma_two,
    changed_wgmma_two_unaligned, changed_wgmma_two_negative;

const emulated_change emulated_changed[] = {
    { { &changed_naive_all, &changed_naive_all, NULL },
      "changed_naive_all",
      "causal softcap=2 bias=f32:bhq alibi=bh sinks=bh starts=bq shown=bytes:hq" },
    { { &changed_naive_words, &changed_naive_words, NULL },
      "changed_naive_words",
      "window=40:9 array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) "
      "visible=doc[batch,q]==doc[batch,k] shown=bits:b" },
    { { &changed_mma_bias, &changed_mma_bias_unaligned, NULL },
      "changed_mma_bias",
      "causal bias=f16:bhq alibi sinks" },
    { { &changed_mma_softcap, &changed_mma_softcap_unaligned, NULL },
      "changed_mma_softcap",
      "window=30:5 softcap=1.5 sinks=bh shown=bits:bq" },
    { { &changed_mma_open, &changed_mma_open_unaligned, NULL },
      "changed_mma_open",
      "alibi=bh bias=bf16" },
    { { &changed_mma_starts, &changed_mma_starts_unaligned, NULL },
      "changed_mma_starts",
      "causal starts shown=bytes:h bias=f32:q" },
    { { &changed_mma_words, &changed_mma_words_unaligned, NULL },
      "changed_mma_words",
      "array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) "
      "visible=doc[batch,q]==doc[batch,k]&&k<=q+9" },
    { { &changed_mma_half, &changed_mma_half_unaligned, NULL },
      "changed_mma_half",
      "causal softcap=2 sinks" },
    { { &changed_mma_sinks, &changed_mma_sinks_unaligned, NULL }, "changed_mma_sinks", "sinks=bh" },
    { { &changed_wgmma_bias, &changed_wgmma_bias_unaligned, &changed_wgmma_bias_negative },
      "changed_wgmma_bias",
      "causal bias=bf16:hq alibi" },
    { { &changed_wgmma_shown, &changed_wgmma_shown_unaligned, &changed_wgmma_shown_negative },
      "changed_wgmma_shown",
      "shown=bytes:bhq sinks" },
    { { &changed_wgmma_pair, &changed_wgmma_pair_unaligned, &changed_wgmma_pair_negative },
      "changed_wgmma_pair",
      "causal shown=bits:q softcap=2 sinks=bh" },
    { { &changed_wgmma_starts, &changed_wgmma_starts_unaligned, &changed_wgmma_starts_negative },
      "changed_wgmma_starts",
      "causal starts sinks bias=f32:bhq" },
    { { &changed_wgmma_words, &changed_wgmma_words_unaligned, &changed_wgmma_words_negative },
      "changed_wgmma_words",
      "chunk=70 array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) "
      "visible=doc[batch,q]==doc[batch,k]" },
    { { &changed_wgmma_open, &changed_wgmma_open_unaligned, &changed_wgmma_open_negative },
      "changed_wgmma_open",
      "alibi=bh bias=f16" },
    { { &changed_wgmma_two, &changed_wgmma_two_unaligned, &changed_wgmma_two_negative },
      "changed_wgmma_two",
      "starts=q shown=bits:hq" },
    { { NULL, NULL, NULL }, NULL, NULL },
};
