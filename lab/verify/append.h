/*
 * append.h - appending new keys and values to the KV cache, as the laboratory expects it
 *
 * Values hold all keys in K and V, including the new ones before rotation, and hold the new ones
 * again in separate tensors. In the K and V of a stage the new ones are NaN, which the kernel must
 * overwrite. The expected answer reads the new ones from the separate tensors, and rotates them by
 * its own definition.
 */
#ifndef LAB_APPEND_H
#define LAB_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/reference.h"

/* lab_append_first() returns the index of the first new key of batch element @batch, by its length;
 * where nothing is appended, no key has that index. lab_append_count() returns the number of its
 * new keys, and lab_append_at() the offset of new key @n in @view, the tensor of new keys or
 * values. */
int64_t lab_append_first(const heed_problem *problem, const heed_buffers *data, int64_t batch);
int64_t lab_append_count(const heed_problem *problem, const heed_buffers *data, int64_t batch);
int64_t lab_append_at(const heed_problem *problem, const heed_buffers *data, const lab_view *view,
                      int64_t batch, int64_t n, int64_t head);

/* lab_rotate() rotates a vector of Q or of a new key for @position, and rounds it to the problem's
 * type. lab_rotate_query() rotates the query vector of @row, which is packed if queries are. */
void lab_rotate(const heed_problem *problem, const heed_buffers *data, int64_t position,
                double *vector);
void lab_rotate_query(const heed_problem *problem, const heed_buffers *data, lab_row row,
                      double *vector);

/* lab_append_derive() copies the new keys or values (@role is LAB_K_NEW or LAB_V_NEW) from their
 * places in K or V of @data to @to. */
void lab_append_derive(const heed_problem *problem, const heed_buffers *data, lab_role role,
                       void *to);

/* lab_append_return() writes them back where several keys or batch elements share memory.
 * lab_append_repeats() returns whether any do. */
void lab_append_return(const heed_problem *problem, const heed_buffers *data);
bool lab_append_repeats(const heed_problem *problem);

/* lab_append_blank() writes NaN to the places of new keys and values in K and V of @data. */
void lab_append_blank(const heed_problem *problem, const heed_buffers *data);

/* lab_append_complete() writes the new ones to these places, rotated. */
void lab_append_complete(const heed_problem *problem, const heed_buffers *data);

/* lab_append_rest() returns the problem that is left once they are in place. Its queries are those
 * of @problem, rotated, at the same strides. */
heed_problem lab_append_rest(const heed_problem *problem);

#endif /* LAB_APPEND_H */
