/*
 * mutants_honest.c - odd but honest kernels, which the gates must let pass
 */
#include "mutant_steps.h"

static void reversed_order(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, reversed_row);
}

static void tiles_row(row_state *r)
{
    online(r, 7, true, true);
}

static void online_tiles(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, tiles_row);
}

static void single_row(row_state *r)
{
    online(r, 1, true, true);
}

static void online_by_key(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, single_row);
}

/* Keys @first up to @end as a row of their own, in @part. */
static void part_row(const row_state *r, row_state *part, int64_t first, int64_t end)
{
    *part = *r;
    part->s = r->s + first;
    part->keys = end - first;
    heed_buffers moved = *r->buffers;
    lab_view k = lab_view_of(r->problem, LAB_K), v = lab_view_of(r->problem, LAB_V);
    size_t element = heed_type_size(r->problem->type);
    moved.k = (const char *)moved.k + (size_t)lab_view_at(&k, 0, first, 0) * element;
    moved.v = (const char *)moved.v + (size_t)lab_view_at(&v, 0, first, 0) * element;
    part->buffers = &moved;
    plain_row(part);
    part->buffers = r->buffers;
}

/* Two halves of the keys, merged by their LSE. */
static void split_row(row_state *r)
{
    row_state half[2];
    part_row(r, &half[0], 0, r->keys / 2);
    part_row(r, &half[1], r->keys / 2, r->keys);
    float high = highest((const float[]){ half[0].lse, half[1].lse }, 2), sum = 0;
    memset(r->o, 0, sizeof r->o);
    for (int h = 0; h < 2; h++) {
        float weight = high == -INFINITY ? 0 : expf(half[h].lse - high);
        sum += weight;
        for (int64_t c = 0; c < r->problem->dim_v && half[h].lse != -INFINITY; c++)
            r->o[c] += weight * half[h].o[c];
    }
    for (int64_t c = 0; c < r->problem->dim_v && sum != 0; c++)
        r->o[c] /= sum;
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
}

static void split_keys(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, split_row);
}

static void base_two_logits_row(row_state *r)
{
    float factor = r->problem->scale * 1.44269504F, sum = 0;
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = dot(r, j) * factor;
    float high = highest(r->s, r->keys);
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = high == -INFINITY ? 0 : exp2f(r->s[j] - high);
        sum += r->s[j];
    }
    r->lse = sum == 0 ? -INFINITY : (high + log2f(sum)) * 0.69314718F;
    weighted_sum(r, sum);
}

static void base_two(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, base_two_logits_row);
}

static void round_weights(row_state *r)
{
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = (float)lab_element_round(r->problem->type, (double)r->s[j]);
}

static void rounded_weights_row(row_state *r)
{
    logits(r);
    float sum = softmax(r, highest(r->s, r->keys));
    round_weights(r);
    weighted_sum(r, sum);
}

static void rounded_weights(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rounded_weights_row);
}

static void rounded_softmax_row(row_state *r)
{
    logits(r);
    float sum = softmax(r, highest(r->s, r->keys));
    for (int64_t j = 0; j < r->keys && sum != 0; j++)
        r->s[j] /= sum;
    round_weights(r);
    weighted_sum(r, sum == 0 ? 0 : 1);
}

static void rounded_softmax(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rounded_softmax_row);
}

static void lanes_row(row_state *r)
{
    for (int64_t j = 0; j < r->keys; j++) {
        float lanes[8] = { 0 };
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            lanes[c % 8] += q_at(r, c) * k_at(r, j, c);
        r->s[j] = r->problem->scale * (((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
                                       ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])));
    }
    finish(r);
}

static void dot_in_lanes(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, lanes_row);
}

static void scaled_query_row(row_state *r)
{
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            r->s[j] += (q_at(r, c) * r->problem->scale) * k_at(r, j, c);
    }
    finish(r);
}

static void scaled_query(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, scaled_query_row);
}

static void double_row(row_state *r)
{
    double *weights = calloc((size_t)r->problem->seq_k + 1, sizeof *weights);
    double o[HEED_DIM_MAX], lse;
    if (!weights)
        return;
    lab_reference_row(r->problem, r->buffers, r->row, weights, o, &lse);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = (float)o[c];
    r->lse = (float)lse;
    free(weights);
}

static void in_doubles(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, double_row);
}

static void full_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    memset(buffers->workspace, 0x5a, buffers->workspace_size);
    plain(problem, buffers);
}

/* In half precision where that is permitted. */
static void half_tiles_row(row_state *r)
{
    if (r->problem->accumulate == HEED_ACC_F16)
        in_half(r, 64, 16);
    else
        plain_row(r);
}

static void half_tiles(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_tiles_row);
}

static void half_fine_row(row_state *r)
{
    if (r->problem->accumulate == HEED_ACC_F16)
        in_half(r, 16, 8);
    else
        plain_row(r);
}

static void half_fine(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_fine_row);
}

/* clang-format off */
const oddity oddities[] = {
    { .name = "three plain passes", .run = plain },
    { .name = "sums from the last key to the first", .run = reversed_order },
    { .name = "sums by address, and says so", .run = by_address, .random = true },
    { .name = "online softmax over tiles of 7 keys", .run = online_tiles },
    { .name = "online softmax key by key", .run = online_by_key },
    { .name = "halves of the keys merged by LSE", .run = split_keys },
    { .name = "exponentials in base 2", .run = base_two },
    { .name = "weights rounded to the element type", .run = rounded_weights },
    { .name = "softmax rounded to the element type", .run = rounded_softmax },
    { .name = "dot products in eight lanes", .run = dot_in_lanes },
    { .name = "the scale in the query", .run = scaled_query },
    { .name = "everything in doubles", .run = in_doubles },
    { .name = "half-precision sums of 16 products, where permitted", .run = half_tiles },
    { .name = "half-precision sums of 8 products, where permitted", .run = half_fine },
    { .name = "fills its workspace", .run = full_workspace, .workspace = 1000 },
    { .name = NULL },
};
/* clang-format on */
