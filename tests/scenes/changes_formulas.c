/*
 * changes_formulas.c - the formulas of heed.h in double precision, independent of the library's
 * steps
 */
#include "changes_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "problem/operand.h"

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t position_of(const changes_scene *s, int64_t b, int64_t i)
{
    const heed_problem *p = &s->problem;
    int64_t keys = changes_length(s, b);
    bool right = p->mask != HEED_MASK_NONE ? p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT
                                           : p->align == HEED_ALIGN_BOTTOM_RIGHT;
    return right ? i + keys - p->seq_q : i;
}

static double doc_at(const changes_scene *s, int64_t b, int64_t i)
{
    return ((const int32_t *)s->buffers.arrays[1])[b * 600 + (i < 599 ? i : 599)];
}

bool changes_sees(const changes_scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const heed_problem *p = &s->problem;
    int64_t at = position_of(s, b, i);
    bool seen = p->mask == HEED_MASK_NONE || j <= at;
    seen = seen && j < changes_length(s, b);
    if (p->window.sides & HEED_WINDOW_LEFT)
        seen = seen && j >= at - p->window.left;
    if (p->window.sides & HEED_WINDOW_RIGHT)
        seen = seen && j <= at + p->window.right;
    if (p->chunk)
        seen = seen && floor_div(j, p->chunk) == floor_div(at, p->chunk);
    if (changes_has(s, HEED_OPERAND_STARTS))
        seen = seen && (double)j >= changes_operand_at(s, HEED_OPERAND_STARTS, b, h, i, j);
    if (changes_has(s, HEED_OPERAND_SHOWN))
        seen = seen && changes_operand_at(s, HEED_OPERAND_SHOWN, b, h, i, j) != 0;
    if (strstr(p->visible, "doc"))
        seen = seen && doc_at(s, b, i) == doc_at(s, b, j);
    if (strstr(p->visible, "130"))
        seen = seen && i / 130 == j / 130;
    if (strstr(p->visible, "head"))
        seen = seen && (h % 2 == 0 || j / 50 % 3 == i / 50 % 3);
    if (strstr(p->visible, "k%50"))
        seen = seen && j % 50 != 7;
    if (strstr(p->visible, "q+9"))
        seen = seen && j <= i + 9;
    return seen;
}

static double logit_of(const changes_scene *s, double dot, int64_t b, int64_t h, int64_t i,
                       int64_t j)
{
    const heed_problem *p = &s->problem;
    double t = (double)p->scale * dot;
    if (p->softcap != 0)
        t = (double)p->softcap * tanh(t / (double)p->softcap);
    if (changes_has(s, HEED_OPERAND_BIAS))
        t += changes_operand_at(s, HEED_OPERAND_BIAS, b, h, i, j);
    if (changes_has(s, HEED_OPERAND_SLOPES))
        t -= changes_operand_at(s, HEED_OPERAND_SLOPES, b, h, i, j) *
             fabs((double)(position_of(s, b, i) - j));
    if (strstr(p->score, "tanh")) /* j % 0 is j */
        t = 20 * tanh((t + (double)(i % 3 ? j % (i % 3) : j)) / 20) -
            0.1 * (double)(position_of(s, b, i) - j) / 2;
    else if (p->score[0])
        t -= (double)((const float *)s->buffers.arrays[0])[h] * fabs((double)(i - j));
    return t;
}

/* Computes the row of query @i of head @h. */
void changes_define_row(const changes_scene *s, int64_t b, int64_t h, int64_t i)
{
    const heed_problem *p = &s->problem;
    int64_t row = (b * p->heads_q + h) * p->seq_q + i, kv = h / (p->heads_q / p->heads_kv);
    double *o = s->o + ((b * p->seq_q + i) * p->heads_q + h) * p->dim_v, top = -INFINITY, sum = 0;
    double *logits = test_calloc((size_t)p->seq_k, sizeof *logits);
    double sink = changes_has(s, HEED_OPERAND_SINKS)
                      ? changes_operand_at(s, HEED_OPERAND_SINKS, b, h, i, 0)
                      : -INFINITY;
    for (int64_t j = 0; j < p->seq_k; j++) {
        double dot = 0;
        logits[j] = -INFINITY;
        if (!s->seen[row * p->seq_k + j])
            continue;
        for (int64_t d = 0; d < p->dim_qk; d++)
            dot += s->q[((b * p->seq_q + i) * p->heads_q + h) * p->dim_qk + d] *
                   s->k[changes_key_vector(s, b, kv, j) * p->dim_qk + d];
        logits[j] = logit_of(s, dot, b, h, i, j);
        top = fmax(top, logits[j]);
    }
    bool none = top == -INFINITY;
    top = fmax(top, sink);
    sum = sink == -INFINITY ? 0 : exp(sink - top);
    for (int64_t j = 0; j < p->seq_k && !none; j++) {
        if (!s->seen[row * p->seq_k + j])
            continue;
        double weight = exp(logits[j] - top);
        sum += weight;
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] += weight * s->v[changes_key_vector(s, b, kv, j) * s->v_pitch + d];
    }
    for (int64_t d = 0; d < p->dim_v && !none; d++)
        o[d] /= sum;
    s->lse[row] = top == -INFINITY ? -INFINITY : top + log(sum);
    test_free(logits);
}
