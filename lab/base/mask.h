/*
 * mask.h - facts about a problem's mask, and its kind of those that kernels are compiled for
 */
#ifndef LAB_MASK_H
#define LAB_MASK_H

#include <stdbool.h>

#include "heed.h"

/* Are queries or keys packed? Then views of Q and O, or of K and V, have one batch element with the
 * rows of all sequences, and no interval is known of what a row sees. */
static inline bool lab_packed(const heed_problem *problem)
{
    return problem->tokens_q > 0 || problem->tokens_k > 0;
}

/* Do the lengths say where queries stand? Then no interval is known of what they see. */
static inline bool lab_follows_lengths(const heed_problem *problem)
{
    return (problem->lengths.type != HEED_DATA_NONE || lab_packed(problem)) &&
           (problem->mask == HEED_MASK_NONE ? problem->align == HEED_ALIGN_BOTTOM_RIGHT
                                            : problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT);
}

/* Does any query not see all keys, by an interval that is known? */
static inline bool lab_masked(const heed_problem *problem)
{
    if (lab_follows_lengths(problem) || lab_packed(problem))
        return false;
    return problem->mask != HEED_MASK_NONE || problem->window.sides != 0 || problem->chunk != 0;
}

/* Does the mask hide keys ahead of those that a query sees? */
static inline bool lab_hides_first(const heed_problem *problem)
{
    if (lab_follows_lengths(problem) || lab_packed(problem))
        return false;
    return (problem->window.sides & HEED_WINDOW_LEFT) != 0 || problem->chunk != 0;
}

/* Have both problems the same kind of mask? */
static inline bool lab_masks_alike(const heed_problem *a, const heed_problem *b)
{
    return lab_masked(a) == lab_masked(b) && lab_hides_first(a) == lab_hides_first(b) &&
           (a->chunk != 0 && lab_masked(a)) == (b->chunk != 0 && lab_masked(b));
}

/* Does anything change logits or hide keys, other than an interval of keys does, or add sinks? */
static inline bool lab_has_operands(const heed_problem *p)
{
    return p->softcap != 0 || p->bias.type || p->slopes.type || p->sinks.type || p->starts.type ||
           p->shown.type || p->lengths.type || p->table.type || lab_packed(p) || p->score[0] ||
           p->visible[0];
}

/* Pages that the tables of @problem name, a prefix being in one of them. */
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
