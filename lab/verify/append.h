/*
 * append.h - new keys and values in the laboratory
 *
 * Values have all keys in K and V, the new ones among them as they are before they are rotated, and
 * the new ones once more in tensors of their own. A stage has no new ones in K and V but NaN, which
 * the kernel has to write over: the expected answer reads them from their own tensors, and rotates
 * by its own definition.
 */
#ifndef LAB_APPEND_H
#define LAB_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/reference.h"

/* lab_append_first() returns the first new key of batch element @batch, as lengths say; one that
 * there never is where nothing is appended. lab_append_count() returns how many new ones it has,
 * lab_append_at() where the @n-th one is in @view, the tensor of new keys or values. */
int64_t lab_append_first(const heed_problem *problem, const heed_buffers *data, int64_t batch);
int64_t lab_append_count(const heed_problem *problem, const heed_buffers *data, int64_t batch);
int64_t lab_append_at(const heed_problem *problem, const heed_buffers *data, const lab_view *view,
                      int64_t batch, int64_t n, int64_t head);

/* lab_rotate() rotates a vector of Q or of a new key as it is at @position, to numbers that are of
 * the problem's type. lab_rotate_query() rotates that of @row, which is packed where queries are.
 */
void lab_rotate(const heed_problem *problem, const heed_buffers *data, int64_t position,
                double *vector);
void lab_rotate_query(const heed_problem *problem, const heed_buffers *data, lab_row row,
                      double *vector);

/* lab_append_derive() writes the new keys or values @role, LAB_K_NEW or LAB_V_NEW, to @to: those
 * that K or V of @data has where they belong. */
void lab_append_derive(const heed_problem *problem, const heed_buffers *data, lab_role role,
                       void *to);

/* lab_append_return() writes them back, where several keys or batch elements have the same.
 * lab_append_repeats() says whether any have. */
void lab_append_return(const heed_problem *problem, const heed_buffers *data);
bool lab_append_repeats(const heed_problem *problem);

/* lab_append_blank() writes NaN to where new ones belong in K and V of @data. */
void lab_append_blank(const heed_problem *problem, const heed_buffers *data);

/* lab_append_complete() writes the new ones there, rotated. */
void lab_append_complete(const heed_problem *problem, const heed_buffers *data);

/* lab_append_rest() returns the problem once they are there; its queries are those of @problem
 * rotated, at the same strides. */
heed_problem lab_append_rest(const heed_problem *problem);

#endif /* LAB_APPEND_H */
