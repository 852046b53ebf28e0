/*
 * reference.h - attention as specified, in float64, and a naive computation in the problem's
 * precision
 *
 * A row is one query of one head of one batch element. Rows are numbered in the order of the LSE:
 * (batch * heads_q + head) * seq_q + query. Where queries are packed, batch is 0 and query is a row
 * of Q: head * tokens_q + query. Problems are normalized; only the inputs of the buffers are used.
 */
#ifndef LAB_REFERENCE_H
#define LAB_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"

static inline int64_t lab_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

typedef struct lab_row {
    int64_t batch;
    int64_t head; /* query head */
    int64_t query;
} lab_row;

/* lab_rows() returns the number of rows of @problem; lab_row_at() returns the @n-th one. */
int64_t lab_rows(const heed_problem *problem);
lab_row lab_row_at(const heed_problem *problem, int64_t n);

/* lab_queries() and lab_keys() return the queries and keys of a batch element; where they are
 * packed, those of all sequences. */
int64_t lab_queries(const heed_problem *problem);
int64_t lab_keys(const heed_problem *problem);

/* lab_row_within() returns the row relative to its sequence, if queries are packed: the index of
 * the sequence, and of the query in it. */
lab_row lab_row_within(const heed_problem *problem, const heed_buffers *data, lab_row row);

/* Queries or keys from @begin up to @end, exclusive. */
typedef struct lab_range {
    int64_t begin;
    int64_t end;
} lab_range;

/* lab_queries_of() returns the queries of batch element or sequence @batch: its rows of Q if they
 * are packed, else 0 to seq_q. */
lab_range lab_queries_of(const heed_problem *problem, const heed_buffers *data, int64_t batch);

/* lab_row_kv_head() returns the key/value head that @row reads. */
int64_t lab_row_kv_head(const heed_problem *problem, lab_row row);

/* lab_row_keys() returns the range of the row's keys in the views of K and V: all keys of its batch
 * element or sequence. *@batch becomes their batch index there. */
lab_range lab_row_keys(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       int64_t *batch);

/* lab_position() returns the key position of query @query, by the alignment of the mask. */
int64_t lab_position(const heed_problem *problem, int64_t query);

/* lab_visible() returns the keys that query @query sees, as far as that is known without operands:
 * with packed sequences every key. Neither end decreases from one query to the next.
 * lab_visible_count() returns their number. lab_visible_to_all() returns the keys that every query
 * sees. */
lab_range lab_visible(const heed_problem *problem, int64_t query);
lab_range lab_visible_from(const heed_problem *problem, int64_t position);
int64_t lab_visible_count(const heed_problem *problem, int64_t query);
lab_range lab_visible_to_all(const heed_problem *problem);

/* The vectors of @data that a row reads. lab_reads_load() loads the vector of Q, K or V of query or
 * key @seq. New keys and values are loaded from the tensors to append; keys are rotated, and so is
 * the query. */
typedef struct lab_reads {
    lab_view views[LAB_VECTORS];
    const void *base[LAB_VECTORS];
    lab_row row;
    int64_t kv_head;
    int64_t kv_batch; /* in the views of K and V */
    lab_range keys;
    const heed_problem *problem; /* if it appends; else NULL */
    const heed_buffers *data;
    int64_t first, end; /* of new keys */
} lab_reads;
lab_reads lab_row_reads(const heed_problem *problem, const heed_buffers *data, lab_row row);
void lab_reads_load(const lab_reads *reads, lab_role role, int64_t seq, double *vector);

/* lab_reference_row() computes a row in float64: the specification in code. Writes dim_v numbers to
 * @o, the logarithm of the sum to *@lse, and the softmax to @weights, one for each key of the
 * problem. Weights outside lab_visible() are left unchanged; other hidden keys get weight 0. Never
 * reads K and V of keys that the row does not see. */
void lab_reference_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       double *weights, double *o, double *lse);

/* Where a problem permits half-precision accumulation, sums are rounded to f16 after this many
 * products: a matrix unit adds a few products to its accumulator exactly, or nearly so. Its
 * smallest step (mma.m16n8k8) has eight. */
#define LAB_HALF_BLOCK 8

/* Products in a partial float32 sum, where long sums are computed in parts. */
#define LAB_PART 128

/* lab_naive_row() is like lab_reference_row(), but computes like three plain loops in the precision
 * of the problem: float32 sums in the order of the keys, whole or in parts of @part products;
 * weights and outputs rounded to the element type. Where half-precision accumulation is permitted,
 * the sums of both matrix products are rounded to f16 after every LAB_HALF_BLOCK products. Operands
 * of products are rounded as far as that is permitted, those of TF32 towards zero if @cut. */
void lab_naive_row(const heed_problem *problem, const heed_buffers *data, lab_row row, int64_t part,
                   bool cut, float *weights, double *o, double *lse);

#endif /* LAB_REFERENCE_H */
