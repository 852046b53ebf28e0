/*
 * view.h - where the elements of one tensor of a problem lie
 */
#ifndef LAB_VIEW_H
#define LAB_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef enum lab_role {
    LAB_Q,
    LAB_K,
    LAB_V,
    LAB_O
} lab_role;
#define LAB_ROLES 4
#define LAB_INPUTS 3 /* come first */

/* A tensor [batch, seq, heads, dim] at element strides; the dim is contiguous. */
typedef struct lab_view {
    heed_type type;
    int64_t batch;
    int64_t seq;
    int64_t heads;
    int64_t dim;
    heed_strides strides;
} lab_view;

/* lab_view_of() returns the view of one tensor of @problem, which must be normalized. */
lab_view lab_view_of(const heed_problem *problem, lab_role role);

/* lab_view_at() returns the index of the first element of a head vector. */
int64_t lab_view_at(const lab_view *view, int64_t batch, int64_t seq, int64_t head);

/* lab_view_extent() returns the elements from the first to the last one, both included. */
int64_t lab_view_extent(const lab_view *view);

/* lab_view_vectors() returns the number of head vectors, batch * heads * seq. lab_view_vector()
 * returns the index of the first element of the @n-th of them, counted [batch, head, seq]: for O, n
 * is a row of the LSE. */
int64_t lab_view_vectors(const lab_view *view);
int64_t lab_view_vector(const lab_view *view, int64_t n);

/* lab_role_name() returns "Q", "K", "V" or "O". */
const char *lab_role_name(lab_role role);

#endif /* LAB_VIEW_H */
