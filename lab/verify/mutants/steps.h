/*
 * steps.h - attention in float32, row by row, in steps that the kernels of the suite vary
 */
#ifndef LAB_STEPS_H
#define LAB_STEPS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"
#include "lab/verify/append.h"
#include "lab/verify/mutants/suite.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"

/* A row being computed. */
struct mutant_row {
    const heed_problem *problem;
    const heed_buffers *buffers;
    lab_view q, k, v; /* the layouts */
    lab_row row;
    int64_t number; /* of the row */
    int64_t kv_head, kv_batch;
    int64_t first;                  /* first visible key; key indices start here */
    int64_t keys;                   /* the number of keys */
    const lab_behaviour *behaviour; /* NULL: none */
    float by;                       /* lab_behaviour.by, or 0 */
    float high;                     /* for lab_behaviour.logit: the largest right logit */
    bool sinkless;                  /* the sink is added elsewhere */
    const lab_logits *logits;       /* the operations on a logit */
    float *s;                       /* [keys + MUTANT_PADDING]: logits, then weights */
    float o[HEED_DIM_MAX];
    float lse;
};

#define MUTANT_PADDING 64

/* mutant_see_all() lets the row see every key of the problem. */
void mutant_see_all(mutant_row *r);

/* Elements as float32; elements of V are 0 for keys hidden by an operand or expression. */
float mutant_q_at(const mutant_row *r, int64_t c);
float mutant_k_at(const mutant_row *r, int64_t j, int64_t c);
float mutant_v_at(const mutant_row *r, int64_t j, int64_t c);

/* mutant_shows() returns true if no operand or expression hides key j. mutant_changed() returns its
 * logit @t after all changes: -infinity if it is hidden. mutant_sink() returns the row's sink, or
 * -infinity; mutant_sink_weight() its weight beside weights exp(logit - high). */
bool mutant_shows(const mutant_row *r, int64_t j);
float mutant_changed(const mutant_row *r, int64_t j, float t);
float mutant_sink(const mutant_row *r);
float mutant_sink_weight(const mutant_row *r, float high);

/* mutant_dot() returns the dot product of the query and key j; mutant_logits() fills s with the
 * logits. */
float mutant_dot(const mutant_row *r, int64_t j);
void mutant_logits(mutant_row *r);

/* The largest of @keys logits; NaN if any is NaN. */
float mutant_highest(const float *s, int64_t keys);

/* The largest logit of the row, or its sink if that is larger and the row has any logit. */
float mutant_high(const mutant_row *r);

/* mutant_softmax() turns the logits in s into weights that are not normalized, fills lse, and
 * returns their sum. mutant_weights() does so for the right logits, relative to the largest.
 * mutant_weighted_sum() fills o. mutant_finish() does both. */
float mutant_softmax(mutant_row *r, float high);
float mutant_weights(mutant_row *r);
void mutant_weighted_sum(mutant_row *r, float sum);
void mutant_finish(mutant_row *r);

/* mutant_plain_row() is mutant_logits() and mutant_finish(). mutant_mean_row() is the mean of V.
 * mutant_mistaken_row() is like it, but
 * computes the logits of the problem @other. mutant_reversed_row() is like it too, but sums from
 * the last key on. mutant_online() is online softmax over tiles of @tile keys: when the maximum
 * rises, the sum and the output must be rescaled; @scale_sum and @scale_output choose whether they
 * are. mutant_in_half() is online softmax with both matrix products accumulated in f16, rounded
 * after every @step products. mutant_in_products() is three plain passes whose operands are rounded
 * as @products, one of heed_products, permits, towards zero if @cut; if @scaled, the query is
 * multiplied by the scale first. */
void mutant_plain_row(mutant_row *r);
void mutant_mean_row(mutant_row *r);
void mutant_mistaken_row(mutant_row *r, const heed_problem *other);
void mutant_reversed_row(mutant_row *r);
void mutant_online(mutant_row *r, int64_t tile, bool scale_sum, bool scale_output);
void mutant_in_half(mutant_row *r, int64_t tile, int64_t step);
void mutant_in_products(mutant_row *r, int64_t products, bool cut, bool scaled);

/* mutant_part() computes the keys @first to @end - 1 of @r as a separate row, in @part. */
void mutant_part(const mutant_row *r, mutant_row *part, int64_t first, int64_t end);

/* Computes and stores the rows @first to @end - 1, or all, those of mutant_run_by() with the
 * function of @behaviour that is for a row or a part of one. */
void mutant_run_rows(const heed_problem *problem, const heed_buffers *buffers,
                     mutant_row_fn *row_of, int64_t first, int64_t end);
void mutant_run_all(const heed_problem *problem, const heed_buffers *buffers,
                    mutant_row_fn *row_of);
void mutant_run_by(const heed_problem *problem, const heed_buffers *buffers,
                   const lab_behaviour *behaviour);

/* The problem that is left once new keys and values are in place, with rotated queries: free
 * @queries. */
typedef struct mutant_rest {
    heed_problem problem;
    heed_buffers buffers;
    void *queries;
} mutant_rest;

/* mutant_append() writes new keys and values to K and V of @buffers, and mutant_turn() rotates the
 * queries. */
void mutant_append(mutant_rest *rest, const heed_problem *problem, const heed_buffers *buffers);
void mutant_turn(mutant_rest *rest, const heed_problem *problem, const heed_buffers *buffers);

/* Complete correct kernels. */
void mutant_plain(const heed_problem *problem, const heed_buffers *buffers);
void mutant_by_address(const heed_problem *problem, const heed_buffers *buffers);

/* ---------------------------------------------------------------------------------------------- */
/* Memories of a kernel                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Zero at first, except for the behaviour's role and the call in progress. O and LSE are those of
 * the last mutant_remember(). */
struct mutant_memory {
    const heed_problem *problem; /* of this call */
    const heed_buffers *buffers; /* likewise */
    int64_t calls;               /* before this one */
    int64_t since;               /* those since the problem was prepared */
    heed_buffers last;           /* of the last mutant_remember() */
    uint64_t print;              /* free for use */
    lab_role role;               /* that of the behaviour */
    void *o;                     /* [row][dim_v] in the element type; NULL: nothing is stored */
    float *lse;                  /* [row]; NULL: not requested */
    int64_t rows, dim;           /* of the stored outputs */
    heed_type type;
};

/* mutant_remember() stores the outputs of this call. mutant_recall() writes the stored ones to
 * those of this call, and returns false if none are stored for a problem of this size. */
void mutant_remember(mutant_memory *memory);
bool mutant_recall(const mutant_memory *memory);

#endif /* LAB_STEPS_H */
