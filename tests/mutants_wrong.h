/*
 * mutants_wrong.h - the wrong kernels of the table in mutants_wrong.c
 *
 * They vary steps of one plain implementation: which keys, logits, softmax, weighted sum, store.
 * What is wrong with each is said in the table.
 */
#ifndef MUTANTS_WRONG_H
#define MUTANTS_WRONG_H

#include "mutant_steps.h"

/* mutants_scores.c */
mutant_fn dropped_keys, one_key_less, one_key_more, other_corner, interleaved_heads, unmasked_tail,
    mean_of_values, half_the_logits, scale_of_dim_v, positive_scale, dim_tail_dropped,
    position_bias, capped_logits, no_maximum, stale_output, stale_sum, base_two_lse,
    lse_without_maximum, rough_exponential, nan_for_empty, masked_by_zero, peeking_maximum,
    swallowed_nan;

/* mutants_output.c */
mutant_fn half_unasked, sums_in_f16, f32_in_bf16, flushed_to_zero, stretched_output, zeros,
    bent_output, batch_dependent, other_without_lse, slightly_off;

/* mutants_memory.c */
mutant_fn dense_strides, last_row_missing, columns_missing, empty_rows_missing, lse_missing,
    past_the_end, before_the_start, into_the_gap, past_the_workspace, reads_past_the_end,
    scales_in_place, dirty_workspace, narrow_offsets, lse_always, rounded_pointers, endless;

#endif /* MUTANTS_WRONG_H */
