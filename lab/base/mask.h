/*
 * mask.h - properties of a problem's mask, pages and operands
 */
#ifndef LAB_MASK_H
#define LAB_MASK_H

#include <stdbool.h>

#include "heed.h"

/* True if queries or keys are packed. Then views of Q and O, or of K and V, have one batch element
 * with the rows of all sequences, and the interval of keys that a row sees is not known. */
static inline bool lab_packed(const heed_problem *problem)
{
    return problem->tokens_q > 0 || problem->tokens_k > 0;
}

/* True if positions of queries follow from the lengths. Then the interval of keys that they see is
 * not known. */
static inline bool lab_follows_lengths(const heed_problem *problem)
{
    return (problem->lengths.type != HEED_DATA_NONE || lab_packed(problem)) &&
           (problem->mask == HEED_MASK_NONE ? problem->align == HEED_ALIGN_BOTTOM_RIGHT
                                            : problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT);
}

/* True if the known interval hides a key from some query. */
static inline bool lab_masked(const heed_problem *problem)
{
    if (lab_follows_lengths(problem) || lab_packed(problem))
        return false;
    return problem->mask != HEED_MASK_NONE || problem->window.sides != 0 || problem->chunk != 0;
}

/* True if the mask hides keys before those that a query sees. */
static inline bool lab_hides_first(const heed_problem *problem)
{
    if (lab_follows_lengths(problem) || lab_packed(problem))
        return false;
    return (problem->window.sides & HEED_WINDOW_LEFT) != 0 || problem->chunk != 0;
}

/* True if both problems have the same kind of mask. */
static inline bool lab_masks_alike(const heed_problem *a, const heed_problem *b)
{
    return lab_masked(a) == lab_masked(b) && lab_hides_first(a) == lab_hides_first(b) &&
           (a->chunk != 0 && lab_masked(a)) == (b->chunk != 0 && lab_masked(b));
}

/* True if anything other than an interval of keys changes logits or hides keys, or if there are
 * sinks. */
static inline bool lab_has_operands(const heed_problem *p)
{
    return p->softcap != 0 || p->bias.type || p->slopes.type || p->sinks.type || p->starts.type ||
           p->shown.type || p->lengths.type || p->table.type || lab_packed(p) || p->score[0] ||
           p->visible[0];
}

/* Number of entries in the page tables of @problem; pages of a shared prefix count once. */
static inline int64_t lab_pages_named(const heed_problem *problem)
{
    const int64_t pages = problem->seq_k / problem->page, prefix = problem->prefix / problem->page;
    return prefix + problem->batch * (pages - prefix);
}

/* The same problem with dense tensors K and V that are not in pages. */
static inline heed_problem lab_without_pages(const heed_problem *problem)
{
    heed_problem dense = *problem;
    if (problem->page == 0)
        return dense;
    dense.page = dense.pages = 0;
    dense.table = (heed_operand){ 0 };
    const int64_t k = problem->heads_kv * problem->dim_qk, v = problem->heads_kv * problem->dim_v;
    dense.k = (heed_strides){ problem->seq_k * k, k, problem->dim_qk };
    dense.v = (heed_strides){ problem->seq_k * v, v, problem->dim_v };
    if (problem->append > 0 && problem->shared) /* there are no new values */
        dense.v = dense.k;
    else
        dense.shared = 0;
    return dense;
}

#endif /* LAB_MASK_H */
