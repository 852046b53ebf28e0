/*
 * problem_work.c - amount of work in a problem
 */
#include "operand.h"
#include "problem.h"

/* The mean number of keys of batch elements that fill a pool of pages, or seq_k if there is more
 * room. */
static int64_t keys_in_pool(const heed_problem *problem)
{
    int64_t own = problem->pages - problem->prefix / problem->page;
    int64_t keys = problem->prefix + heed_div_up(own > 1 ? own : 1, problem->batch) * problem->page;
    return keys < problem->seq_k ? keys : problem->seq_k;
}

heed_problem heed_problem_typical(const heed_problem *problem)
{
    heed_problem typical = *problem;
    if (problem->tokens_q > 0)
        typical.seq_q = heed_div_up(problem->tokens_q, problem->batch);
    if (problem->tokens_k > 0)
        typical.seq_k = heed_div_up(problem->tokens_k, problem->batch);
    if (problem->tokens_k > 0) /* keep the information that lengths differ */
        typical.lengths = (heed_operand){ HEED_DATA_I32, HEED_ALONG_BATCH, { .batch = 1 } };
    if (problem->page > 0 && heed_problem_varies_k(problem)) {
        if (problem->pages > 0)
            typical.seq_k = keys_in_pool(problem);
        typical.pages = 0; /* as many as these keys need */
    }
    typical.tokens_q = typical.tokens_k = 0;
    typical.cu_seqlens_q = typical.cu_seqlens_k = (heed_operand){ .type = HEED_DATA_NONE };
    return typical;
}

const heed_problem *heed_problem_planned(const heed_problem *problem, heed_problem *room)
{
    if (!problem->invariant)
        return problem;
    *room = *problem;
    room->batch = HEED_INVARIANT_BATCH;
    if (problem->tokens_q > 0)
        room->tokens_q = room->batch * problem->seq_q;
    if (problem->tokens_k > 0)
        room->tokens_k = room->batch * problem->seq_k;
    room->pages = 0;
    for (int i = 0; i < HEED_ALL_TENSORS; i++)
        heed_problem_set_strides(room, i, (heed_strides){ 0 });
    for (int i = 0; i < HEED_OPERANDS; i++) {
        heed_operand *operand = heed_problem_operand_of(room, i);
        operand->strides = (heed_strides){ 0 };
        if (operand->type != HEED_DATA_NONE) /* a batch of one has no operands of its own */
            operand->along |= heed_operand_rows[i].may & HEED_ALONG_BATCH;
    }
    heed_problem_normalize_own(room);
    return room;
}

double heed_problem_flops_own(const heed_problem *own)
{
    const heed_problem typical = heed_problem_typical(own), *problem = &typical;
    double heads = (double)problem->batch * (double)problem->heads_q;
    double per_pair = 2.0 * (double)(problem->dim_qk + problem->dim_v);
    return heads * per_pair * (double)heed_problem_pairs(problem);
}

/* The fraction of a tensor that is read: the prefix of K and V only once, and only those pages of a
 * pool that keys may be in. */
static double used_share(const heed_problem *problem, const heed_tensor *tensor)
{
    double needed = (double)problem->batch * (double)(problem->seq_k - problem->prefix) +
                    (double)problem->prefix;
    double there = (double)tensor->batch * (double)tensor->seq;
    bool keys = tensor->role->seq == HEED_PART_SEQ_K && tensor->strides.batch != 0;
    return keys && needed < there ? needed / there : 1;
}

double heed_problem_bytes_own(const heed_problem *problem)
{
    double elements = 0;
    for (int i = 0; i < HEED_ALL_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        const heed_strides strides = heed_strides_normal(&tensor, tensor.strides);
        tensor.strides = strides;
        bool part = (i == HEED_ROLE_V && problem->shared) || !heed_problem_has(problem, i);
        double distinct = part ? 0 : (double)tensor.dim;
        distinct *= strides.batch == 0 ? 1.0 : (double)tensor.batch;
        distinct *= strides.seq == 0 ? 1.0 : (double)tensor.seq;
        distinct *= used_share(problem, &tensor);
        distinct *= strides.head == 0 ? 1.0 : (double)tensor.heads;
        elements += distinct;
    }
    return elements * (double)heed_type_size(problem->type) + heed_operands_bytes(problem);
}

double heed_problem_flops(const heed_problem *problem)
{
    heed_problem own;
    return heed_problem_read_checked(&own, problem) == HEED_OK ? heed_problem_flops_own(&own) : 0;
}

double heed_problem_bytes(const heed_problem *problem)
{
    heed_problem own;
    return heed_problem_read_checked(&own, problem) == HEED_OK ? heed_problem_bytes_own(&own) : 0;
}
