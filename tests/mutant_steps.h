/*
 * mutant_steps.h - attention in float32, a row at a time, in steps that mutants vary
 */
#ifndef MUTANT_STEPS_H
#define MUTANT_STEPS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference.h"
#include "mutants.h"

/* One row at work. */
typedef struct row_state {
    const heed_problem *problem;
    const heed_buffers *buffers;
    lab_row row;
    int64_t kv_head;
    int64_t keys; /* that it sees */
    float *s;     /* [seq_k + PADDING]: logits, then weights */
    float o[HEED_DIM_MAX];
    float lse;
} row_state;

#define PADDING 64

typedef void row_fn(row_state *state);

/* Elements, as float32. */
float q_at(const row_state *r, int64_t c);
float k_at(const row_state *r, int64_t j, int64_t c);
float v_at(const row_state *r, int64_t j, int64_t c);

/* dot() is that of the query and key j; logits() fills s with the logits. */
float dot(const row_state *r, int64_t j);
void logits(row_state *r);

/* The largest of some logits; NaN if there is one. */
float highest(const float *s, int64_t keys);

/* softmax() turns the logits in s into weights that are not normalized, fills lse, and returns
 * their sum. weighted_sum() fills o. finish() does both. */
float softmax(row_state *r, float high);
void weighted_sum(row_state *r, float sum);
void finish(row_state *r);

/* plain_row() is logits() and finish(). mistaken_row() is like it, but takes the logits for those
 * of the problem @other. reversed_row() is like it too, but sums from the last key on. online() is
 * online softmax over tiles of @tile keys: when a larger maximum comes, the sum and the output must
 * be scaled down; @scale_sum and @scale_output say whether they are. */
void plain_row(row_state *r);
void mistaken_row(row_state *r, const heed_problem *other);
void reversed_row(row_state *r);
void online(row_state *r, int64_t tile, bool scale_sum, bool scale_output);

/* in_half() is online softmax over tiles of @tile keys with both matrix products accumulated in
 * f16, rounded after every @step products. */
void in_half(row_state *r, int64_t tile, int64_t step);

/* Computes and stores the rows @first to @end - 1, or all. */
void run_rows(const heed_problem *problem, const heed_buffers *buffers, row_fn *row_of,
              int64_t first, int64_t end);
void run_all(const heed_problem *problem, const heed_buffers *buffers, row_fn *row_of);

/* Whole kernels that are honest, and more than that. */
mutant_fn plain;
mutant_fn by_address; /* the order of the sums depends on where Q lies */

#endif /* MUTANT_STEPS_H */
