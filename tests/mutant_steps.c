/*
 * mutant_steps.c - attention in float32, a row at a time, in steps that mutants vary
 */
#include "mutant_steps.h"

static float get(const heed_problem *problem, lab_role role, const void *base, int64_t b, int64_t s,
                 int64_t h, int64_t c)
{
    lab_view view = lab_view_of(problem, role);
    return (float)lab_element_get(view.type, base, lab_view_at(&view, b, s, h) + c);
}

float q_at(const row_state *r, int64_t c)
{
    return get(r->problem, LAB_Q, r->buffers->q, r->row.batch, r->row.query, r->row.head, c);
}

float k_at(const row_state *r, int64_t j, int64_t c)
{
    return get(r->problem, LAB_K, r->buffers->k, r->row.batch, j, r->kv_head, c);
}

float v_at(const row_state *r, int64_t j, int64_t c)
{
    return get(r->problem, LAB_V, r->buffers->v, r->row.batch, j, r->kv_head, c);
}

/* -------------------------------------------------------------------------- */
/* Steps                                                                      */
/* -------------------------------------------------------------------------- */

float dot(const row_state *r, int64_t j)
{
    float sum = 0;
    for (int64_t c = 0; c < r->problem->dim_qk; c++)
        sum += q_at(r, c) * k_at(r, j, c);
    return sum;
}

void logits(row_state *r)
{
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = r->problem->scale * dot(r, j);
}

float highest(const float *s, int64_t keys)
{
    float high = -INFINITY;
    for (int64_t j = 0; j < keys; j++)
        if (s[j] > high || isnan(s[j]))
            high = s[j];
    return high;
}

/* Weights in s, their sum as the result. */
float softmax(row_state *r, float high)
{
    float sum = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = high == -INFINITY ? 0 : expf(r->s[j] - high);
        sum += r->s[j];
    }
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
    return sum;
}

void weighted_sum(row_state *r, float sum)
{
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys && sum != 0; j++)
            r->o[c] += r->s[j] * v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

void finish(row_state *r)
{
    weighted_sum(r, softmax(r, highest(r->s, r->keys)));
}

void plain_row(row_state *r)
{
    logits(r);
    finish(r);
}

void mistaken_row(row_state *r, const heed_problem *other)
{
    const heed_problem *whole = r->problem;
    r->problem = other;
    logits(r);
    r->problem = whole;
    finish(r);
}

static void store(const row_state *r)
{
    const heed_problem *p = r->problem;
    lab_view o = lab_view_of(p, LAB_O);
    int64_t at = lab_view_at(&o, r->row.batch, r->row.query, r->row.head);
    for (int64_t c = 0; c < p->dim_v; c++)
        lab_element_set(p->type, r->buffers->o, at + c, (double)r->o[c]);
    if (r->buffers->lse)
        r->buffers->lse[(r->row.batch * p->heads_q + r->row.head) * p->seq_q + r->row.query] =
            r->lse;
}

/* Rows @first to @end - 1, with one function for all that comes before the store. */
void run_rows(const heed_problem *problem, const heed_buffers *buffers, row_fn *row_of,
              int64_t first, int64_t end)
{
    float *s = calloc((size_t)problem->seq_k + PADDING, sizeof *s);
    for (int64_t n = first; n < end && s; n++) {
        row_state r = { .problem = problem, .buffers = buffers, .s = s };
        r.row = lab_row_at(problem, n);
        r.kv_head = lab_row_kv_head(problem, r.row);
        r.keys = lab_visible(problem, r.row.query);
        row_of(&r);
        store(&r);
    }
    free(s);
}

void run_all(const heed_problem *problem, const heed_buffers *buffers, row_fn *row_of)
{
    run_rows(problem, buffers, row_of, 0, lab_rows(problem));
}

void plain(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, plain_row);
}

void online(row_state *r, int64_t tile, bool scale_sum, bool scale_output)
{
    int64_t dim = r->problem->dim_v;
    float high = -INFINITY, sum = 0;
    logits(r);
    memset(r->o, 0, (size_t)dim * sizeof *r->o);
    for (int64_t first = 0; first < r->keys; first += tile) {
        int64_t count = r->keys - first < tile ? r->keys - first : tile;
        float now = highest(r->s + first, count);
        now = now > high || isnan(now) ? now : high;
        if (now == -INFINITY)
            continue;
        float rescale = expf(high - now);
        sum *= scale_sum ? rescale : 1;
        for (int64_t c = 0; c < dim; c++)
            r->o[c] *= scale_output ? rescale : 1;
        for (int64_t j = first; j < first + count; j++) {
            float weight = expf(r->s[j] - now);
            sum += weight;
            for (int64_t c = 0; c < dim; c++)
                r->o[c] += weight * v_at(r, j, c);
        }
        high = now;
    }
    for (int64_t c = 0; c < dim; c++)
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
}

static float half(float x)
{
    return (float)lab_element_round(HEED_F16, (double)x);
}

static float half_dot(const row_state *r, int64_t j, int64_t step)
{
    float sum = 0;
    for (int64_t first = 0; first < r->problem->dim_qk; first += step) {
        float block = 0;
        for (int64_t c = first; c < first + step && c < r->problem->dim_qk; c++)
            block += q_at(r, c) * k_at(r, j, c);
        sum = half(sum + block);
    }
    return sum;
}

/* Adds keys @first to @end - 1, whose weights are in s, to the output. */
static void half_add(row_state *r, int64_t first, int64_t end)
{
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        float block = 0;
        for (int64_t j = first; j < end; j++)
            block += half(r->s[j]) * v_at(r, j, c);
        r->o[c] = half(r->o[c] + block);
    }
}

void in_half(row_state *r, int64_t tile, int64_t step)
{
    int64_t dim = r->problem->dim_v;
    float high = -INFINITY, sum = 0;
    memset(r->o, 0, (size_t)dim * sizeof *r->o);
    for (int64_t first = 0, end; first < r->keys; first = end) {
        end = r->keys - first < tile ? r->keys : first + tile;
        for (int64_t j = first; j < end; j++)
            r->s[j] = r->problem->scale * half_dot(r, j, step);
        float now = highest(r->s + first, end - first);
        now = now > high || isnan(now) ? now : high;
        if (now == -INFINITY)
            continue;
        sum *= expf(high - now);
        for (int64_t c = 0; c < dim; c++)
            r->o[c] = half(r->o[c] * expf(high - now));
        for (int64_t j = first; j < end; j++)
            sum += r->s[j] = expf(r->s[j] - now);
        for (int64_t j = first; j < end; j += step)
            half_add(r, j, j + step < end ? j + step : end);
        high = now;
    }
    for (int64_t c = 0; c < dim; c++)
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
}

void reversed_row(row_state *r)
{
    logits(r);
    float high = highest(r->s, r->keys), sum = 0;
    for (int64_t j = r->keys - 1; j >= 0; j--)
        sum += r->s[j] == -INFINITY ? 0 : expf(r->s[j] - high);
    softmax(r, high);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = r->keys - 1; j >= 0 && sum != 0; j--)
            r->o[c] += r->s[j] * v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

/* The order of the sums depends on where Q lies. */
void by_address(const heed_problem *problem, const heed_buffers *buffers)
{
    bool odd = ((uintptr_t)buffers->q / 64) % 64 != 0;
    run_all(problem, buffers, odd ? reversed_row : plain_row);
}
