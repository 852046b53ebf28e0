/*
 * sequences.c - the sequences of a problem with lengths, and their work
 */
#include "lab/bench/sequences.h"

#include <math.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"

/* The rows of packed sequence @b, or @usual if not packed. */
static int64_t packed_rows(const heed_operand *operand, const void *data, int64_t b, int64_t usual)
{
    if (operand->type == HEED_DATA_NONE)
        return usual;
    return (int64_t)(lab_data_get(operand->type, data, b + 1) -
                     lab_data_get(operand->type, data, b));
}

static int64_t keys_of(const heed_problem *problem, const heed_buffers *data, int64_t b)
{
    const lab_view lengths = lab_view_of(problem, LAB_LENGTHS);
    if (lengths.kind != HEED_DATA_NONE)
        return (int64_t)lab_data_get(lengths.kind, data->lengths, lab_view_at(&lengths, b, 0, 0));
    return packed_rows(&problem->cu_seqlens_k, data->cu_seqlens_k, b, problem->seq_k);
}

/* The sequence as a separate problem, without operands: their bytes do not belong to the sequence.
 */
static heed_problem alone(const heed_problem *problem, int64_t queries, int64_t keys)
{
    heed_problem one = { .size = sizeof one };
    one.type = problem->type;
    one.mask = problem->mask;
    one.batch = 1;
    one.heads_q = problem->heads_q;
    one.heads_kv = problem->heads_kv;
    one.seq_q = queries;
    one.seq_k = keys;
    one.dim_qk = problem->dim_qk;
    one.dim_v = problem->dim_v;
    one.scale = problem->scale;
    one.window = problem->window;
    one.chunk = problem->chunk;
    one.align = problem->align;
    one.shared = problem->shared;
    return one;
}

/* Bytes of a shared prefix that all but the first sequence save. */
static double spared_bytes(const heed_problem *problem)
{
    const int64_t values = problem->shared ? 0 : problem->dim_v;
    return (double)(problem->batch - 1) * (double)problem->prefix * (double)problem->heads_kv *
           (double)(problem->dim_qk + values) * (double)heed_type_size(problem->type);
}

/* True if values of operands, other than lengths, hide keys. */
static bool hides_more(const heed_problem *problem)
{
    return problem->starts.type || problem->shown.type || problem->visible[0];
}

lab_bench_sequences lab_bench_sequences_of(const heed_problem *problem, const heed_buffers *data)
{
    lab_bench_sequences all = { .count = problem->batch, .shortest = INT64_MAX };
    if (problem->lengths.type == HEED_DATA_NONE && !lab_packed(problem))
        return (lab_bench_sequences){ 0 };
    for (int64_t b = 0; b < problem->batch; b++) {
        const int64_t keys = keys_of(problem, data, b);
        const int64_t queries = packed_rows(&problem->cu_seqlens_q, data->cu_seqlens_q, b,
                                            problem->seq_q);
        heed_problem one = alone(problem, queries, keys);
        all.queries += queries;
        all.keys += keys;
        all.shortest = keys < all.shortest ? keys : all.shortest;
        all.longest = keys > all.longest ? keys : all.longest;
        if (queries == 0 || keys == 0 || heed_problem_normalize(&one, &one) != HEED_OK)
            continue;
        const lab_work work = lab_roofline_work(&one);
        all.work.flops += work.flops;
        all.work.pairs += work.pairs;
        all.work.bytes += work.bytes;
    }
    all.flops = all.work.flops;
    all.work.bytes -= spared_bytes(problem);
    all.work.bytes = fmin(all.work.bytes, heed_problem_bytes(problem)); /* pages may be shared */
    if (hides_more(problem))
        all.work = lab_roofline_work(problem);
    return all;
}
