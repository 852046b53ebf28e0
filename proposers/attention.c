/*
 * attention.c - a plain kernel in C, the default start of `heed evolve --proposer`
 *
 * One pass over the keys with a running maximum. Marked regions have alternative texts, from which
 * heed-propose-regions chooses; a proposer that writes code may change anything.
 */
#include <math.h>
#include <string.h>

#include "heed_candidate.h"

/* Keys of a tile. */
/* heed:region keys */
#define KEYS 16
/* heed:or
#define KEYS 32
*/
/* heed:or
#define KEYS 64
*/
/* heed:or
#define KEYS 128
*/
/* heed:end */

/* The product of two head vectors. */
/* heed:region dot */
static float dot(const float *a, const float *b, int64_t size)
{
    float sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}
/* heed:or
static float dot(const float *a, const float *b, int64_t size)
{
    float sums[4] = { 0 }, sum = 0;
    int64_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (int lane = 0; lane < 4; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < size; i++)
        sum += a[i] * b[i];
    return sum + (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
*/
/* heed:or
static float dot(const float *a, const float *b, int64_t size)
{
    float sums[16] = { 0 }, sum = 0;
    int64_t i = 0;
    for (; i + 16 <= size; i += 16)
        for (int lane = 0; lane < 16; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < size; i++)
        sum += a[i] * b[i];
    for (int lane = 0; lane < 16; lane++)
        sum += sums[lane];
    return sum;
}
*/
/* heed:end */

/* e to the power of x, which is 0 or less. */
/* heed:region power */
static float power(float x)
{
    return expf(x);
}
/* heed:or
static float power(float x)
{
    float near = x < -87.0f ? -87.0f : x;
    int32_t whole = (int32_t)(near * 1.44269504f - 0.5f);
    float rest = near - (float)whole * 0.693359375f + (float)whole * 2.12194440e-4f;
    float series = 1.0f / 720 + rest * (1.0f / 5040);
    int32_t bits = (whole + 127) * 8388608;
    float factor;
    series = 1.0f / 24 + rest * (1.0f / 120 + rest * series);
    series = 1.0f + rest * (1.0f + rest * (0.5f + rest * (1.0f / 6 + rest * series)));
    memcpy(&factor, &bits, sizeof factor);
    return x < -87.0f ? 0.0f : series * factor;
}
*/
/* heed:end */

/* The number of keys that a row sees. */
static int64_t visible(const heed_candidate_problem *p, int64_t row)
{
    int64_t count = p->seq_k;
    if (p->mask == HEED_CANDIDATE_MASK_TOP_LEFT)
        count = row + 1;
    if (p->mask == HEED_CANDIDATE_MASK_BOTTOM_RIGHT)
        count = row + 1 + p->seq_k - p->seq_q;
    return count < 0 ? 0 : count > p->seq_k ? p->seq_k : count;
}

/* The state of a row after some keys. */
typedef struct row_state {
    float top; /* the largest logit */
    float sum; /* of exp(logit - top) */
    float *o;  /* the weighted sum of the values, not yet divided by the sum */
} row_state;

/* Adds the values of a tile, weighted. */
/* heed:region values */
static void add_values(const float *weights, int count, const float *v, int64_t stride,
                       int64_t size, float *o)
{
    for (int j = 0; j < count; j++)
        for (int64_t d = 0; d < size; d++)
            o[d] += weights[j] * v[j * stride + d];
}
/* heed:or
static void add_values(const float *weights, int count, const float *v, int64_t stride,
                       int64_t size, float *o)
{
    int j = 0;
    for (; j + 4 <= count; j += 4) {
        const float *a = v + j * stride, *b = a + stride, *c = b + stride, *e = c + stride;
        for (int64_t d = 0; d < size; d++)
            o[d] += weights[j] * a[d] + weights[j + 1] * b[d] + weights[j + 2] * c[d] +
                    weights[j + 3] * e[d];
    }
    for (; j < count; j++)
        for (int64_t d = 0; d < size; d++)
            o[d] += weights[j] * v[j * stride + d];
}
*/
/* heed:end */

static void add_tile(const heed_candidate_problem *p, row_state *state, const float *q,
                     const float *k, const float *v, int count)
{
    float weights[KEYS], top = state->top;
    for (int j = 0; j < count; j++) {
        weights[j] = p->scale * dot(q, k + j * p->k.seq, p->dim_qk);
        top = weights[j] > top ? weights[j] : top;
    }
    float fade = state->sum > 0 ? power(state->top - top) : 0;
    state->sum *= fade;
    for (int j = 0; j < count; j++) {
        weights[j] = power(weights[j] - top);
        state->sum += weights[j];
    }
    for (int64_t d = 0; fade != 1 && d < p->dim_v; d++)
        state->o[d] *= fade;
    state->top = top;
    add_values(weights, count, v, p->v.seq, p->dim_v, state->o);
}

static void do_row(const heed_candidate_problem *p, const heed_candidate_buffers *b, int64_t batch,
                   int64_t head, int64_t row)
{
    int64_t head_kv = head / (p->heads_q / p->heads_kv), keys = visible(p, row);
    const float *q = (const float *)b->q + batch * p->q.batch + row * p->q.seq + head * p->q.head;
    const float *k = (const float *)b->k + batch * p->k.batch + head_kv * p->k.head;
    const float *v = (const float *)b->v + batch * p->v.batch + head_kv * p->v.head;
    float *o = (float *)b->o + batch * p->o.batch + row * p->o.seq + head * p->o.head;
    row_state state = { -INFINITY, 0, b->workspace };
    memset(state.o, 0, (size_t)p->dim_v * sizeof(float));
    for (int64_t j = 0; j < keys; j += KEYS)
        add_tile(p, &state, q, k + j * p->k.seq, v + j * p->v.seq,
                 keys - j < KEYS ? (int)(keys - j) : KEYS);
    for (int64_t d = 0; d < p->dim_v; d++)
        o[d] = keys > 0 ? state.o[d] / state.sum : 0;
    if (b->lse)
        b->lse[(batch * p->heads_q + head) * p->seq_q + row] = keys > 0
                                                                   ? state.top + logf(state.sum)
                                                                   : -INFINITY;
}

size_t heed_candidate_workspace(const heed_candidate_problem *p)
{
    return (size_t)p->dim_v * sizeof(float);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    if (p->type != HEED_CANDIDATE_F32)
        return 1;
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t head = 0; head < p->heads_q; head++)
            for (int64_t row = 0; row < p->seq_q; row++)
                do_row(p, b, batch, head, row);
    return 0;
}
