/*
 * naive_peer.c - the rival naive: textbook attention, three plain loops per head, heads distributed
 * over threads
 *
 * It is the formula in C, compiled with optimization. 16-bit types are converted to float in every
 * call, and O is rounded at the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "team.h"

typedef struct naive {
    peer_team *team;
    int threads;
    peer_problem problem;
    float *memory; /* per thread: a head of Q, K, V and O in float, and one row of scores */
    size_t per_thread;
    const peer_tensors *tensors;
} naive;

static float f16_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31;
    float mantissa = (float)(half & 1023);
    float magnitude = exponent == 0 ? ldexpf(mantissa, -24)
                                    : ldexpf(mantissa + 1024, exponent - 25);

    if (exponent == 31)
        magnitude = mantissa > 0 ? NAN : INFINITY;
    return half & 0x8000 ? -magnitude : magnitude;
}

static uint16_t float_to_f16(float value)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    float magnitude = fabsf(value);
    int exponent;

    if (isnan(value))
        return 0x7e00;
    if (magnitude >= 65520)
        return (uint16_t)(sign | 0x7c00);
    frexpf(magnitude, &exponent);
    if (exponent < -13)
        exponent = -13;
    /* The mantissa includes its leading one, which adds 1 to the exponent; a mantissa that is
     * rounded up to the next power of two correctly adds another 1. */
    long mantissa = lrintf(ldexpf(magnitude, 11 - exponent));
    return (uint16_t)(sign + (unsigned)((exponent + 13) << 10) + (unsigned)mantissa);
}

static float bf16_to_float(uint16_t upper)
{
    uint32_t bits = (uint32_t)upper << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t float_to_bf16(float value)
{
    uint32_t bits;

    if (isnan(value))
        return 0x7fc0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Converts @count elements, from @index on, to floats in @to. */
static void widen(peer_type type, const void *from, int64_t index, int64_t count, float *to)
{
    const uint16_t *halves = (const uint16_t *)from + index;

    if (type == PEER_F32)
        memcpy(to, (const float *)from + index, (size_t)count * sizeof *to);
    for (int64_t i = 0; type == PEER_F16 && i < count; i++)
        to[i] = f16_to_float(halves[i]);
    for (int64_t i = 0; type == PEER_BF16 && i < count; i++)
        to[i] = bf16_to_float(halves[i]);
}

static void narrow(peer_type type, const float *from, int64_t count, void *to, int64_t index)
{
    uint16_t *halves = (uint16_t *)to + index;

    if (type == PEER_F32)
        memcpy((float *)to + index, from, (size_t)count * sizeof *from);
    for (int64_t i = 0; type == PEER_F16 && i < count; i++)
        halves[i] = float_to_f16(from[i]);
    for (int64_t i = 0; type == PEER_BF16 && i < count; i++)
        halves[i] = float_to_bf16(from[i]);
}

/* Computes one row of O: scores, softmax, weighted sum. */
static void attend(const peer_problem *p, int64_t keys, const float *q, const float *k,
                   const float *v, float *scores, float *o)
{
    float max = -INFINITY;
    float sum = 0;

    for (int64_t j = 0; j < keys; j++) {
        float dot = 0;
        for (int64_t d = 0; d < p->dim_qk; d++)
            dot += q[d] * k[j * p->dim_qk + d];
        scores[j] = p->scale * dot;
        max = fmaxf(max, scores[j]);
    }
    for (int64_t j = 0; j < keys; j++) {
        scores[j] = expf(scores[j] - max);
        sum += scores[j];
    }
    for (int64_t d = 0; d < p->dim_v; d++)
        o[d] = 0;
    for (int64_t j = 0; j < keys; j++)
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] += scores[j] / sum * v[j * p->dim_v + d];
}

static void head_task(void *data, int64_t index, int thread)
{
    const naive *self = data;
    const peer_problem *p = &self->problem;
    int64_t kv = index / p->heads_q * p->heads_kv + index % p->heads_q / (p->heads_q / p->heads_kv);
    float *q = self->memory + (size_t)thread * self->per_thread;
    float *k = q + p->seq_q * p->dim_qk;
    float *v = k + p->seq_k * p->dim_qk;
    float *o = v + p->seq_k * p->dim_v;
    float *scores = o + p->seq_q * p->dim_v;

    widen(p->type, self->tensors->q, index * p->seq_q * p->dim_qk, p->seq_q * p->dim_qk, q);
    widen(p->type, self->tensors->k, kv * p->seq_k * p->dim_qk, p->seq_k * p->dim_qk, k);
    widen(p->type, self->tensors->v, kv * p->seq_k * p->dim_v, p->seq_k * p->dim_v, v);
    for (int64_t i = 0; i < p->seq_q; i++) {
        peer_range seen = peer_visible(p, i);
        attend(p, seen.end - seen.begin, q + i * p->dim_qk, k + seen.begin * p->dim_qk,
               v + seen.begin * p->dim_v, scores, o + i * p->dim_v);
    }
    narrow(p->type, o, p->seq_q * p->dim_v, self->tensors->o, index * p->seq_q * p->dim_v);
}

static peer_answer setup(void *state, int threads, char *detail, char *reason)
{
    naive *self = state;

    self->threads = threads;
    self->team = peer_team_create(threads);
    snprintf(detail, PEER_REASON_SIZE, "three loops per head in C, heads shared out over threads");
    if (self->team)
        return PEER_OK;
    snprintf(reason, PEER_REASON_SIZE, "cannot start %d threads", threads);
    return PEER_ERROR;
}

static peer_answer prepare(void *state, const peer_problem *problem, char *reason)
{
    naive *self = state;
    const peer_problem *p = problem;

    self->problem = *problem;
    self->per_thread = (size_t)((p->seq_q + p->seq_k) * (p->dim_qk + p->dim_v) + p->seq_k);
    self->memory = peer_allocate((size_t)self->threads * self->per_thread, sizeof(float));
    if (self->memory)
        return PEER_OK;
    snprintf(reason, PEER_REASON_SIZE, "no memory for a head per thread");
    return PEER_ERROR;
}

static void run(void *state, const peer_tensors *tensors)
{
    naive *self = state;

    self->tensors = tensors;
    peer_team_run(self->team, head_task, self, self->problem.batch * self->problem.heads_q);
}

static void release(void *state)
{
    naive *self = state;

    free(self->memory);
    self->memory = NULL;
}

static void finish(void *state)
{
    naive *self = state;

    peer_team_destroy(self->team);
}

int main(void)
{
    static const peer_methods naive_peer = {
        .name = "naive",
        .version = "1",
        .types = 1u << PEER_F32 | 1u << PEER_F16 | 1u << PEER_BF16,
        .state_size = sizeof(naive),
        .setup = setup,
        .prepare = prepare,
        .run = run,
        .release = release,
        .finish = finish,
    };

    return peer_main(&naive_peer);
}
