/*
 * controls.c - unusual but correct kernels, which the gates must accept
 */
#include <fenv.h>
#include <pthread.h>

#include "lab/verify/mutants/steps.h"

/* ---------------------------------------------------------------------------------------------- */
/* Orders and precisions                                                                          */
/* ---------------------------------------------------------------------------------------------- */

static void tiles(mutant_row *r)
{
    mutant_online(r, 7, true, true);
}

static void key_by_key(mutant_row *r)
{
    mutant_online(r, 1, true, true);
}

/* Two halves of the keys, merged by their LSE. */
static void split_keys(mutant_row *r)
{
    mutant_row half[2];
    mutant_part(r, &half[0], 0, r->keys / 2);
    mutant_part(r, &half[1], r->keys / 2, r->keys);
    float high = mutant_highest((const float[]){ half[0].lse, half[1].lse }, 2), sum = 0;
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

static void base_two(mutant_row *r)
{
    const float base = 1.44269504F;
    float factor = r->problem->scale * base, sink = mutant_sink(r) * base;
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = r->logits->changes || r->logits->hides
                      ? mutant_changed(r, j, mutant_dot(r, j) * r->problem->scale) * base
                      : mutant_dot(r, j) * factor;
    float high = mutant_highest(r->s, r->keys);
    high = high != -INFINITY && sink > high ? sink : high;
    float sum = high == -INFINITY || sink == -INFINITY ? 0 : exp2f(sink - high);
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = high == -INFINITY ? 0 : exp2f(r->s[j] - high);
        sum += r->s[j];
    }
    r->lse = sum == 0 ? mutant_sink(r) : (high + log2f(sum)) * 0.69314718F;
    mutant_weighted_sum(r, sum);
}

static void round_weights(mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = (float)lab_element_round(r->problem->type, (double)r->s[j]);
}

static void rounded_weights(mutant_row *r)
{
    float sum = mutant_weights(r);
    round_weights(r);
    mutant_weighted_sum(r, sum);
}

static void rounded_softmax(mutant_row *r)
{
    float sum = mutant_weights(r);
    for (int64_t j = 0; j < r->keys && sum != 0; j++)
        r->s[j] /= sum;
    round_weights(r);
    mutant_weighted_sum(r, sum == 0 ? 0 : 1);
}

static void dot_in_lanes(mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++) {
        float lanes[8] = { 0 };
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            lanes[c % 8] += mutant_q_at(r, c) * mutant_k_at(r, j, c);
        float dot = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
                    ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
        r->s[j] = mutant_changed(r, j, r->problem->scale * dot);
    }
    mutant_finish(r);
}

static void scaled_query(mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            r->s[j] += (mutant_q_at(r, c) * r->problem->scale) * mutant_k_at(r, j, c);
        r->s[j] = mutant_changed(r, j, r->s[j]);
    }
    mutant_finish(r);
}

static void in_doubles(mutant_row *r)
{
    double *weights = calloc((size_t)lab_keys(r->problem) + 1, sizeof *weights);
    double o[HEED_DIM_MAX], lse;
    if (!weights)
        return;
    lab_reference_row(r->problem, r->buffers, r->row, weights, o, &lse);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = (float)o[c];
    r->lse = (float)lse;
    free(weights);
}

/* Adds odd keys first, then even ones. */
static void odd_keys_first(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_high(r), sum = mutant_sink_weight(r, high);
    bool empty = mutant_softmax(r, high) == 0;
    memset(r->o, 0, sizeof r->o);
    for (int64_t first = 1; first >= 0 && !empty; first--)
        for (int64_t j = first; j < r->keys; j += 2) {
            sum += r->s[j];
            for (int64_t c = 0; c < r->problem->dim_v; c++)
                r->o[c] += r->s[j] * mutant_v_at(r, j, c);
        }
    for (int64_t c = 0; c < r->problem->dim_v && !empty; c++)
        r->o[c] /= sum;
}

/* A maximum that is a little too large, such as one rounded up or kept from a block. */
static void loose_maximum(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    mutant_weighted_sum(r, mutant_softmax(r, isfinite(high) ? ceilf(high) + 1 : high));
}

/* In half precision where that is permitted. */
static void half_tiles(mutant_row *r)
{
    if (r->problem->accumulate == HEED_ACC_F16)
        mutant_in_half(r, 64, 16);
    else
        mutant_plain_row(r);
}

static void half_fine(mutant_row *r)
{
    if (r->problem->accumulate == HEED_ACC_F16)
        mutant_in_half(r, 16, 8);
    else
        mutant_plain_row(r);
}

/* Products of rounded operands where they are permitted. */
static void rounded_operands(mutant_row *r)
{
    mutant_in_products(r, r->problem->products, false, false);
}

static void cut_operands(mutant_row *r)
{
    mutant_in_products(r, r->problem->products, true, false);
}

static void rounded_scaled_query(mutant_row *r)
{
    mutant_in_products(r, r->problem->products, false, true);
}

/* ---------------------------------------------------------------------------------------------- */
/* Memory                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void full_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    memset(buffers->workspace, 0x5a, buffers->workspace_size);
    mutant_plain(problem, buffers);
}

/* Copies its keys densely to the workspace in every call. */
static void packed_keys(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem dense = *problem;
    heed_buffers packed = *buffers;
    memset(&dense.k, 0, sizeof dense.k);
    heed_problem_normalize(&dense, &dense);
    lab_view from = lab_view_of(problem, LAB_K), to = lab_view_of(&dense, LAB_K);
    size_t element = heed_type_size(to.type);
    lab_view_bind(&from, problem, buffers->table);
    lab_view_bind(&to, &dense, buffers->table);
    if ((size_t)lab_view_extent(&to) * element > buffers->workspace_size) {
        mutant_plain(problem, buffers);
        return;
    }
    for (int64_t n = 0; n < lab_view_vectors(&to); n++)
        memcpy((char *)buffers->workspace + (size_t)lab_view_vector(&to, n) * element,
               (const char *)buffers->k + (size_t)lab_view_vector(&from, n) * element,
               (size_t)to.dim * element);
    packed.k = buffers->workspace;
    mutant_plain(&dense, &packed);
}

/* Flushes subnormal results to zero while it computes, as fast code does, and restores the caller's
 * modes. */
static void flushes_meanwhile(const heed_problem *problem, const heed_buffers *buffers)
{
    fenv_t kept;
    fegetenv(&kept);
#ifdef __SSE__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000);
#endif
    mutant_plain(problem, buffers);
    fesetenv(&kept);
}

/* Outputs are scratch until they are written for the last time. */
static void written_twice(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_all(problem, buffers, mutant_reversed_row);
    mutant_plain(problem, buffers);
}

static void rows_backwards(const heed_problem *problem, const heed_buffers *buffers)
{
    for (int64_t n = lab_rows(problem) - 1; n >= 0; n--)
        mutant_run_rows(problem, buffers, mutant_plain_row, n, n + 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Calls                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* A kernel may remember facts about the problem: here, the order that was faster when tried. */
static void tuned_at_first(mutant_memory *m)
{
    if (m->since == 0) {
        mutant_run_all(m->problem, m->buffers, mutant_reversed_row);
        m->print = (uint64_t)(m->problem->seq_k % 2);
    }
    mutant_run_all(m->problem, m->buffers, m->print ? mutant_reversed_row : mutant_plain_row);
}

/* Terms of atomic sums come in any order, and the kernel declares that. */
static void any_order(mutant_memory *m)
{
    mutant_run_all(m->problem, m->buffers, m->calls % 2 ? mutant_reversed_row : mutant_plain_row);
}

typedef struct share {
    const heed_problem *problem;
    const heed_buffers *buffers;
} share;

static void *first_half(void *data)
{
    const share *work = data;
    mutant_run_rows(work->problem, work->buffers, mutant_plain_row, 0, lab_rows(work->problem) / 2);
    return NULL;
}

/* Starts a thread, which ends before the call returns. */
static void two_threads(const heed_problem *problem, const heed_buffers *buffers)
{
    share work = { problem, buffers };
    int64_t rows = lab_rows(problem);
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, first_half, &work) == 0;
    if (!started)
        first_half(&work);
    mutant_run_rows(problem, buffers, mutant_plain_row, rows / 2, rows);
    if (started)
        pthread_join(thread, NULL);
}

/* clang-format off */
const lab_mutant lab_controls[] = {
    { .name = "plain", .does = "three plain passes", .behaviour.run = mutant_plain },
    { .name = "reversed", .does = "sums from the last key to the first", .behaviour.row = mutant_reversed_row },
    { .name = "by-address-said", .does = "sums in an order that depends on addresses, and says so",
      .behaviour = { .run = mutant_by_address, .random = true } },
    { .name = "any-order", .does = "sums in another order every time, and says so",
      .behaviour = { .call = any_order, .random = true } },
    { .name = "online-tiles", .does = "online softmax over tiles of 7 keys", .behaviour.row = tiles },
    { .name = "online-keys", .does = "online softmax key by key", .behaviour.row = key_by_key },
    { .name = "split-keys", .does = "halves of the keys merged by LSE", .behaviour.row = split_keys },
    { .name = "base-2", .does = "exponentials in base 2", .behaviour.row = base_two },
    { .name = "loose-maximum", .does = "subtracts more than the maximum", .behaviour.row = loose_maximum },
    { .name = "rounded-weights", .does = "rounds weights to the element type", .behaviour.row = rounded_weights },
    { .name = "rounded-softmax", .does = "rounds the softmax to the element type", .behaviour.row = rounded_softmax },
    { .name = "lanes", .does = "dot products in eight lanes", .behaviour.row = dot_in_lanes },
    { .name = "scaled-query", .does = "multiplies the query by the scale", .behaviour.row = scaled_query },
    { .name = "doubles", .does = "everything in doubles", .behaviour.row = in_doubles },
    { .name = "half-tiles", .does = "half-precision sums of 16 products where permitted", .behaviour.row = half_tiles },
    { .name = "half-fine", .does = "half-precision sums of 8 products where permitted", .behaviour.row = half_fine },
    { .name = "rounded-operands", .does = "rounds operands of products where permitted", .behaviour.row = rounded_operands },
    { .name = "cut-operands", .does = "truncates operands of products where permitted", .behaviour.row = cut_operands },
    { .name = "rounded-scaled-query", .does = "rounds operands, after multiplying the query by the scale", .behaviour.row = rounded_scaled_query },
    { .name = "full-workspace", .does = "fills its workspace", .behaviour = { .run = full_workspace, .workspace = 1000 } },
    { .name = "odd-keys-first", .does = "sums odd keys first", .behaviour.row = odd_keys_first },
    { .name = "packed-keys", .does = "copies its keys to the workspace in every call",
      .behaviour = { .run = packed_keys, .workspace = 65536 } },
    { .name = "flushes-meanwhile", .does = "flushes denormal results to zero while it computes", .behaviour.run = flushes_meanwhile },
    { .name = "written-twice", .does = "writes its outputs twice", .behaviour.run = written_twice },
    { .name = "rows-backwards", .does = "computes the last row first", .behaviour.run = rows_backwards },
    { .name = "tuned-at-first", .does = "tries two orders in its first call and keeps one", .behaviour.call = tuned_at_first },
    { .name = "two-threads", .does = "starts a thread and waits for it", .behaviour.run = two_threads },
    { .name = NULL },
};
/* clang-format on */
