/*
 * reference.h - attention as it is specified, and as one would naively compute it
 *
 * A row is one query of one head of one batch element. Rows are numbered as the LSE is laid out:
 * (batch * heads_q + head) * seq_q + query. Where queries are packed, batch is 0 and query a row of
 * Q: head * tokens_q + query. Problems are normalized; of the buffers only the inputs
 * are used.
 */
#ifndef LAB_REFERENCE_H
#define LAB_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"

typedef struct lab_row {
    int64_t batch;
    int64_t head; /* query head */
    int64_t query;
} lab_row;

/* lab_rows() returns the number of rows of @problem; lab_row_at() says what the @n-th one is. */
int64_t lab_rows(const heed_problem *problem);
lab_row lab_row_at(const heed_problem *problem, int64_t n);

/* lab_queries() and lab_keys() return the queries and keys of a batch element; where they are
 * packed, those of all sequences. */
int64_t lab_queries(const heed_problem *problem);
int64_t lab_keys(const heed_problem *problem);

/* lab_row_within() returns the row as its sequence has it, if queries are packed: the number of the
 * sequence, and that of the query in it. */
lab_row lab_row_within(const heed_problem *problem, const heed_buffers *data, lab_row row);

/* Queries or keys from @begin on, up to @end and without it. */
typedef struct lab_range {
    int64_t begin;
    int64_t end;
} lab_range;

/* lab_queries_of() returns the queries of batch element or sequence @batch: the first row of packed
 * ones in Q, 0 of others, and the row behind the last one. */
lab_range lab_queries_of(const heed_problem *problem, const heed_buffers *data, int64_t batch);

/* lab_row_kv_head() returns the key/value head that @row reads. */
int64_t lab_row_kv_head(const heed_problem *problem, lab_row row);

/* lab_row_keys() returns where keys of the row are in the views of K and V: all of its batch
 * element or sequence, which begin at the first. *@batch becomes their batch there. */
lab_range lab_row_keys(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       int64_t *batch);

/* lab_position() returns at which key query @query stands, as masks are aligned. */
int64_t lab_position(const heed_problem *problem, int64_t query);

/* lab_visible() returns which keys query @query sees, as far as it is known without operands: of
 * packed sequences it is every key. Neither side decreases from one query to the
 * next. lab_visible_count() returns how many they are. lab_visible_to_all() returns those that
 * every query sees. */
lab_range lab_visible(const heed_problem *problem, int64_t query);
lab_range lab_visible_from(const heed_problem *problem, int64_t position);
int64_t lab_visible_count(const heed_problem *problem, int64_t query);
lab_range lab_visible_to_all(const heed_problem *problem);

/* The vectors that a row reads of @data. lab_reads_load() loads a vector of Q, K or V, of query or
 * key @seq; of new keys and values those that are to be appended, rotated as the query is. */
typedef struct lab_reads {
    lab_view views[LAB_VECTORS];
    const void *base[LAB_VECTORS];
    lab_row row;
    int64_t kv_head;
    int64_t kv_batch; /* in the views of K and V */
    lab_range keys;
    const heed_problem *problem; /* where it appends; else NULL */
    const heed_buffers *data;
    int64_t first, end; /* of new keys */
} lab_reads;
lab_reads lab_row_reads(const heed_problem *problem, const heed_buffers *data, lab_row row);
void lab_reads_load(const lab_reads *reads, lab_role role, int64_t seq, double *vector);

/* lab_reference_row() computes a row in float64: the specification in code. Writes dim_v numbers to
 * @o, the logarithm of the sum to *@lse, and the softmax to @weights, one of each key of the
 * problem, of which those outside of lab_visible() stay as they are; others that are hidden have
 * weight 0. Reads nothing of K and V of keys that the row does not see. */
void lab_reference_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       double *weights, double *o, double *lse);

/* Where a problem permits half-precision accumulation, sums are rounded to f16 after so many
 * products: a matrix unit adds a few of them exactly, or nearly so, to the sum that it is given.
 * The smallest step of those that have one (mma.m16n8k8) has eight. */
#define LAB_HALF_BLOCK 8

/* Products that a float32 sum takes before its part is added to the others, where long sums are
 * made in parts. */
#define LAB_PART 128

/* lab_naive_row() is like lab_reference_row(), but computes as three loops in the precision of the
 * problem would: float32 sums in the order of the keys, each of them one or in parts of @part
 * products; weights and outputs rounded to the element type. Where half-precision accumulation is
 * permitted, the sums of both matrix products are rounded to f16 after every LAB_HALF_BLOCK
 * products. Operands of products are rounded as far as that is permitted, those of TF32 towards
 * zero if @cut. */
void lab_naive_row(const heed_problem *problem, const heed_buffers *data, lab_row row, int64_t part,
                   bool cut, float *weights, double *o, double *lse);

#endif /* LAB_REFERENCE_H */
