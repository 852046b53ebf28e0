/*
 * view.h - the memory layout of a problem's tensors
 */
#ifndef LAB_VIEW_H
#define LAB_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* The tensors of a problem: inputs, of which most problems have only the first three, and O. */
typedef enum lab_role {
    LAB_Q,
    LAB_K,
    LAB_V,
    LAB_BIAS, /* the operands */
    LAB_SLOPES,
    LAB_SINKS,
    LAB_STARTS,
    LAB_SHOWN,
    LAB_LENGTHS,
    LAB_TABLE, /* of pages */
    LAB_CU_Q,  /* cumulative lengths of packed sequences */
    LAB_CU_K,
    LAB_COS, /* of rotary embeddings */
    LAB_SIN,
    LAB_K_NEW, /* appended to K and V, of the problem's type */
    LAB_V_NEW,
    LAB_ARRAYS, /* the first of the arrays for expressions */
    LAB_O = LAB_ARRAYS + HEED_ARRAYS_MAX
} lab_role;
#define LAB_VECTORS 3 /* Q, K and V, of the problem's type, come first */
#define LAB_INPUTS 20 /* come first */
#define LAB_ROLES 21

/* LSE and workspace come after the tensors of lab_role. */
#define LAB_LSE LAB_ROLES
#define LAB_WORKSPACE (LAB_ROLES + 1)
#define LAB_BLOCKS (LAB_ROLES + 2)

/* A tensor [batch, seq, heads, dim] at element strides; the dim is contiguous. For an operand seq
 * is that of queries and dim that of keys; sizes along which it is broadcast are 1. Packed Q and O,
 * or K and V, have one batch element, with the rows of all sequences. */
typedef struct lab_view {
    heed_type type; /* of floating-point elements */
    int64_t batch;
    int64_t seq;
    int64_t heads;
    int64_t dim;
    heed_strides strides;
    heed_data kind; /* of the elements; HEED_DATA_NONE: the problem has no such tensor */
    size_t element; /* size of one in bytes; of a word for bits */

    /* K or V in pages: batch and seq are still those of keys, but the batch stride is that of
     * pages. */
    int64_t page;         /* keys in a page, or 0 */
    int64_t pages;        /* number of pages */
    const int32_t *table; /* locates keys, see lab_view_bind(); NULL: pages are in order */
    int64_t table_stride; /* of the table */
    int64_t prefix;       /* shared key prefix of K or V: keys of the first batch element */
} lab_view;

/* lab_view_of() returns the view of one tensor of @problem, which must be normalized; if the
 * problem does not have it, a view without elements. */
lab_view lab_view_of(const heed_problem *problem, lab_role role);

/* lab_view_bind() sets the page table of the view of K or V of @problem; does not change others. */
void lab_view_bind(lab_view *view, const heed_problem *problem, const void *table);

/* lab_view_at() returns the index of the first element of a head vector. */
int64_t lab_view_at(const lab_view *view, int64_t batch, int64_t seq, int64_t head);

/* lab_view_pair() returns the index of an operand's element for a query head, a query and a key;
 * for bits, 32 times the index of the word plus the number of the bit. */
int64_t lab_view_pair(const lab_view *view, int64_t batch, int64_t head, int64_t query,
                      int64_t key);

/* lab_view_extent() returns the number of elements from the first to the last, inclusive. */
int64_t lab_view_extent(const lab_view *view);

/* lab_view_vectors() returns the number of head vectors, batch * heads * seq. lab_view_vector()
 * returns the index of the first element of the @n-th one, in the order [batch, head, seq]: for O,
 * n is a row of the LSE. */
int64_t lab_view_vectors(const lab_view *view);
int64_t lab_view_vector(const lab_view *view, int64_t n);

/* lab_view_bytes() returns the bytes from the first to the last element; 0 without elements. */
size_t lab_view_bytes(const lab_view *view);

/* lab_view_splits() returns true if vectors of @view can be changed one by one: no two share an
 * element, unless they share all, along batch or heads; with @seq set, they may not share along the
 * sequence. */
bool lab_view_splits(const lab_view *view, bool seq);

/* lab_role_name() returns "Q", "K", "V", "O", the field's name of an operand, or "arrays[0]" and so
 * on. */
const char *lab_role_name(lab_role role);

/* lab_block_name() is lab_role_name(), or returns "LSE" or "workspace"; "nothing" for another
 * index. */
const char *lab_block_name(int index);

/* lab_buffers_set() sets the address of a tensor in @buffers; lab_buffers_get() returns it. */
void lab_buffers_set(heed_buffers *buffers, lab_role role, const void *data);
const void *lab_buffers_get(const heed_buffers *buffers, lab_role role);

#endif /* LAB_VIEW_H */
