/*
 * sample.c - a few rows of a problem whose expected result changes from call to call: chooses the
 * element to touch, and updates the expected rows
 */
#include "lab/verify/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/append.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/products.h"
#include "lab/verify/reference/reference.h"

/* Drops the rows that cannot be judged. */
static void keep_judged(lab_expect *expect)
{
    int64_t kept = 0, dim = expect->dim;
    for (int64_t i = 0; i < expect->count; i++) {
        bool judged = isfinite(expect->lse[i]) && isfinite(expect->o_budget[i]) && !expect->tied[i];
        for (int64_t c = 0; c < dim; c++)
            judged = judged && isfinite(expect->o[i * dim + c]);
        if (!judged)
            continue;
        expect->rows[kept] = expect->rows[i];
        expect->lse[kept] = expect->lse[i];
        expect->o_budget[kept] = expect->o_budget[i];
        expect->lse_budget[kept] = expect->lse_budget[i];
        expect->tied[kept] = false;
        memmove(&expect->o[kept * dim], &expect->o[i * dim], (size_t)dim * sizeof *expect->o);
        kept++;
    }
    expect->count = kept;
}

static heed_status compute_weights(lab_sample *sample)
{
    const heed_problem *problem = &sample->problem;
    double o[HEED_DIM_MAX], lse;
    sample->logits = calloc((size_t)lab_keys(problem), sizeof *sample->logits);
    sample->weights = calloc((size_t)sample->base->count, sizeof *sample->weights);
    if (!sample->logits || !sample->weights)
        return HEED_ERR_NO_MEMORY;
    for (int64_t i = 0; i < sample->base->count; i++) {
        double *weights = calloc((size_t)lab_keys(problem), sizeof *weights);
        if (!weights)
            return HEED_ERR_NO_MEMORY;
        sample->weights[i] = weights;
        lab_row row = lab_row_at(problem, sample->base->rows[i]);
        lab_reference_row(problem, &sample->data, row, weights, o, &lse);
    }
    return HEED_OK;
}

heed_status lab_sample_create(lab_sample **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling)
{
    lab_sample *sample = calloc(1, sizeof *sample);
    *result = NULL;
    if (!sample)
        return HEED_ERR_NO_MEMORY;
    sample->problem = *problem;
    sample->data = *data;
    sample->undo.index = -1;
    heed_status status = lab_expect_create(&sample->base, problem, data, sampling);
    if (status == HEED_OK) {
        keep_judged(sample->base);
        status = sample->base->count > 0 ? compute_weights(sample) : HEED_ERR_UNSUPPORTED;
    }
    if (status == HEED_OK) {
        sample->expect = lab_expect_blank(sample->base->count, sample->base->dim);
        status = sample->expect ? HEED_OK : HEED_ERR_NO_MEMORY;
    }
    if (status == HEED_OK)
        lab_sample_reset(sample);
    if (status == HEED_OK)
        *result = sample;
    else
        lab_sample_destroy(sample);
    return status;
}

void lab_sample_destroy(lab_sample *sample)
{
    if (!sample)
        return;
    for (int64_t i = 0; sample->weights && i < sample->base->count; i++)
        free(sample->weights[i]);
    free(sample->weights);
    free(sample->logits);
    lab_expect_destroy(sample->base);
    lab_expect_destroy(sample->expect);
    free(sample);
}

void lab_sample_reset(lab_sample *sample)
{
    const lab_expect *from = sample->base;
    lab_expect *to = sample->expect;
    size_t count = (size_t)from->count, dim = (size_t)from->dim;
    to->count = from->count;
    memcpy(to->rows, from->rows, count * sizeof *to->rows);
    memcpy(to->o, from->o, count * dim * sizeof *to->o);
    memcpy(to->lse, from->lse, count * sizeof *to->lse);
    memcpy(to->o_budget, from->o_budget, count * sizeof *to->o_budget);
    memcpy(to->lse_budget, from->lse_budget, count * sizeof *to->lse_budget);
}

int lab_sample_restore(lab_sample *sample, lab_touch touches[LAB_TOUCHES])
{
    lab_sample_reset(sample);
    if (sample->undo.index < 0)
        return 0;
    touches[0] = sample->undo;
    sample->undo.index = -1;
    return 1;
}

void lab_touch_write(const lab_touch *touch, heed_type type, void *base)
{
    lab_element_set(type, base, touch->index, touch->value);
}

static double ratio_of(double error, double allowed)
{
    double ratio = error == 0 ? 0 : error / allowed;
    return isnan(ratio) ? INFINITY : ratio;
}

double lab_sample_error(const lab_sample *sample, const void *o, const float *lse)
{
    const lab_expect *expect = sample->expect;
    lab_view view = lab_view_of(&sample->problem, LAB_O);
    double row[HEED_DIM_MAX], worst = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        lab_elements_load(view.type, o, lab_view_vector(&view, expect->rows[i]), view.dim, row);
        for (int64_t c = 0; c < view.dim; c++)
            row[c] -= expect->o[i * expect->dim + c];
        worst = fmax(worst, ratio_of(lab_row_norm(row, view.dim), expect->o_budget[i]));
        if (lse)
            worst = fmax(worst, ratio_of(fabs((double)lse[expect->rows[i]] - expect->lse[i]),
                                         expect->lse_budget[i]));
    }
    return worst;
}

/* A touch moves its target row by this multiple of the allowed error, or as much as possible. */
#define VISIBLE 64.0

/* Larger values are not written: sums of a few of them must fit in f16, which ends at 65504. */
#define VALUE_MAX 512.0

/* Logits move by up to this. */
#define LOGIT_STEP 8.0

/* If one key has nearly all the weight of a row, rounding hides the others. */
#define REST_MIN 1e-6

/* ---------------------------------------------------------------------------------------------- */
/* The effect of a touch on a row                                                                 */
/* ---------------------------------------------------------------------------------------------- */

static void load(const lab_sample *sample, lab_role role, int64_t at, double *vector)
{
    lab_view view = lab_view_of(&sample->problem, role);
    lab_elements_load(view.type, lab_buffers_get(&sample->data, role), at, view.dim, vector);
}

/* The index of the row's vector in Q, or of its key @j in K or V. */
static int64_t vector_of(const lab_sample *sample, lab_role role, int64_t i, int64_t j)
{
    const heed_problem *problem = &sample->problem;
    lab_view view = lab_view_of(problem, role);
    lab_row row = lab_row_at(problem, sample->base->rows[i]);
    lab_view_bind(&view, problem, sample->data.table);
    if (role == LAB_Q)
        return lab_view_at(&view, row.batch, row.query, row.head);
    int64_t batch;
    lab_row_keys(problem, &sample->data, row, &batch);
    return lab_view_at(&view, batch, j, lab_row_kv_head(problem, row));
}

static lab_range keys_of(const lab_sample *sample, int64_t i)
{
    lab_row row = lab_row_at(&sample->problem, sample->base->rows[i]);
    return lab_visible(&sample->problem, row.query);
}

static bool has_key(const lab_sample *sample, int64_t i, int64_t j)
{
    lab_range keys = keys_of(sample, i);
    return keys.begin <= j && j < keys.end;
}

/* A touch, and facts about it. */
typedef struct change {
    lab_touch touch;
    int64_t vector; /* start of its vector ... */
    int64_t column; /* ... and its index there */
    int64_t key;    /* of K and V */
    double step;    /* the change of the element */
} change;

/* Adds the extra rounding error of the changed row, which has weights of up to @weight on values of
 * norm @size, and logits of about @logit. */
static void widen(lab_sample *sample, int64_t i, double weight, double size, double logit)
{
    const heed_problem *problem = &sample->problem;
    bool half = problem->accumulate == HEED_ACC_F16;
    double unit = lab_type_unit(problem->type), single = lab_type_unit(half ? HEED_F16 : HEED_F32);
    lab_range keys = keys_of(sample, i);
    double sums = sqrt((double)(keys.end - keys.begin));
    double logits = sqrt((double)problem->dim_qk) * (1 + fabs(logit));
    double operands = 2 * lab_products_unit(problem->products); /* of a product */
    double moved = single * (sums + logits) + operands * (1 + fabs(logit));
    sample->expect->o_budget[i] += 6 * (unit + operands + moved) * weight * size;
    sample->expect->lse_budget[i] += 6 * moved;
}

/* Updates the row for changed logits: @moved has the change of each logit. */
static void renew_row(lab_sample *sample, int64_t i, const change *it,
                      double (*moved)(const lab_sample *, int64_t, int64_t, const change *))
{
    lab_range keys = keys_of(sample, i);
    int64_t dim = sample->base->dim;
    double *o = sample->expect->o + i * dim, values[HEED_DIM_MAX];
    double high = -INFINITY, rest = 1, heaviest = 0;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        double weight = sample->weights[i][j]; /* 0 for a hidden key, which may hold anything */
        sample->logits[j] = weight > 0 ? log(weight) + moved(sample, i, j, it) : -INFINITY;
        high = fmax(high, sample->logits[j]);
        rest -= weight;
    }
    double sum = lab_has_sinks(&sample->problem) ? fmax(0, rest) * exp(-high) : 0;
    for (int64_t c = 0; c < dim; c++)
        o[c] = 0;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        double weight = exp(sample->logits[j] - high);
        sum += weight;
        if (weight == 0)
            continue;
        load(sample, LAB_V, vector_of(sample, LAB_V, i, j), values);
        for (int64_t c = 0; c < dim; c++)
            o[c] += weight * values[c];
        heaviest = fmax(heaviest, sqrt(weight) * lab_row_norm(values, dim));
    }
    for (int64_t c = 0; c < dim; c++)
        o[c] /= sum;
    sample->expect->lse[i] = sample->base->lse[i] + high + log(sum);
    widen(sample, i, 1, lab_row_norm(o, dim) + heaviest / sqrt(sum), sample->expect->lse[i]);
}

static double moved_by_query(const lab_sample *sample, int64_t i, int64_t j, const change *it)
{
    lab_view k = lab_view_of(&sample->problem, LAB_K);
    int64_t at = vector_of(sample, LAB_K, i, j) + it->column;
    return (double)sample->problem.scale * it->step * lab_element_get(k.type, sample->data.k, at);
}

static double moved_by_key(const lab_sample *sample, int64_t i, int64_t j, const change *it)
{
    lab_view q = lab_view_of(&sample->problem, LAB_Q);
    int64_t at = vector_of(sample, LAB_Q, i, 0) + it->column;
    if (j != it->key)
        return 0;
    return (double)sample->problem.scale * it->step * lab_element_get(q.type, sample->data.q, at);
}

static void move_query(lab_sample *sample, const change *it, int64_t i)
{
    if (vector_of(sample, LAB_Q, i, 0) == it->vector)
        renew_row(sample, i, it, moved_by_query);
}

static void move_key(lab_sample *sample, const change *it, int64_t i)
{
    int64_t dim = sample->base->dim;
    double *o = sample->expect->o + i * dim, values[HEED_DIM_MAX];
    if (!has_key(sample, i, it->key) || vector_of(sample, LAB_K, i, it->key) != it->vector)
        return;
    double weight = sample->weights[i][it->key], rise = moved_by_key(sample, i, it->key, it);
    if (1 - weight < REST_MIN || rise > 300) {
        renew_row(sample, i, it, moved_by_key);
        return;
    }
    double sum = 1 - weight + weight * exp(rise), share = weight * exp(rise) / sum;
    load(sample, LAB_V, vector_of(sample, LAB_V, i, it->key), values);
    for (int64_t c = 0; c < dim; c++)
        o[c] = (o[c] - weight * values[c]) / sum + share * values[c];
    sample->expect->lse[i] += log(sum);
    widen(sample, i, 1, lab_row_norm(o, dim) + sqrt(share) * lab_row_norm(values, dim),
          sample->expect->lse[i]);
}

static void move_value(lab_sample *sample, const change *it, int64_t i)
{
    double weight = sample->weights[i][it->key], values[HEED_DIM_MAX];
    if (!has_key(sample, i, it->key) || vector_of(sample, LAB_V, i, it->key) != it->vector)
        return;
    load(sample, LAB_V, it->vector, values);
    values[it->column] += it->step;
    sample->expect->o[i * sample->base->dim + it->column] += weight * it->step;
    widen(sample, i, weight, lab_row_norm(values, sample->base->dim), 0);
}

/* ---------------------------------------------------------------------------------------------- */
/* Which element, and by how much                                                                 */
/* ---------------------------------------------------------------------------------------------- */

/* A random key of row @i, chosen with the probability of its weight. */
static int64_t draw_key(const lab_sample *sample, int64_t i, uint64_t seed)
{
    lab_range keys = keys_of(sample, i);
    int64_t j = keys.begin;
    double left = (double)lab_random_below(seed, 1, 1 << 30) / (1 << 30), all = 0;
    for (int64_t key = keys.begin; key < keys.end; key++)
        all += sample->weights[i][key]; /* less than 1 with a sink */
    left *= all;
    while (j < keys.end - 1 && (left -= sample->weights[i][j]) > 0)
        j++;
    return j;
}

/* Sets the change of the element at it->vector + it->column to @step, or as close as possible. */
static void set_step(const lab_sample *sample, change *it, double step)
{
    heed_type type = sample->problem.type;
    int64_t at = it->vector + it->column;
    double old = lab_element_get(type, lab_buffers_get(&sample->data, it->touch.role), at);
    double most = fmin(VALUE_MAX, lab_type_largest(type));
    double value = fmax(-most, fmin(most, old + step));
    it->touch.index = at;
    it->touch.value = lab_element_round(type, value);
    it->step = it->touch.value - old;
}

static void choose_value(const lab_sample *sample, change *it, int64_t i, uint64_t seed)
{
    it->key = draw_key(sample, i, seed);
    it->vector = vector_of(sample, LAB_V, i, it->key);
    it->column = lab_random_below(seed, 2, sample->problem.dim_v);
    double sign = lab_random_below(seed, 3, 2) ? 1 : -1;
    double size = VISIBLE * sample->base->o_budget[i] / sample->weights[i][it->key];
    set_step(sample, it, sign * size);
}

/* The column where @vector is largest. */
static int64_t largest(const double *vector, int64_t dim)
{
    int64_t best = 0;
    for (int64_t c = 1; c < dim; c++)
        if (fabs(vector[c]) > fabs(vector[best]))
            best = c;
    return best;
}

/* Chooses a key: a light one becomes heavy, and a heavy one light. */
static void choose_key(const lab_sample *sample, change *it, int64_t i, uint64_t seed)
{
    double query[HEED_DIM_MAX];
    it->key = draw_key(sample, i, seed);
    it->vector = vector_of(sample, LAB_K, i, it->key);
    load(sample, LAB_Q, vector_of(sample, LAB_Q, i, 0), query);
    it->column = largest(query, sample->problem.dim_qk);
    double weight = sample->weights[i][it->key];
    double rise = weight < 0.5 ? fmin(LOGIT_STEP, -log(weight)) : -LOGIT_STEP;
    set_step(sample, it, rise / ((double)sample->problem.scale * query[it->column]));
}

static void choose_query(const lab_sample *sample, change *it, int64_t i, uint64_t seed)
{
    double key[HEED_DIM_MAX];
    it->key = draw_key(sample, i, seed);
    it->vector = vector_of(sample, LAB_Q, i, 0);
    load(sample, LAB_K, vector_of(sample, LAB_K, i, it->key), key);
    it->column = largest(key, sample->problem.dim_qk);
    set_step(sample, it, -LOGIT_STEP / 2 / ((double)sample->problem.scale * key[it->column]));
}

/* The kinds of touches: how an element is chosen, and its effect on a row. */
static const struct {
    lab_role role;
    void (*choose)(const lab_sample *sample, change *it, int64_t i, uint64_t seed);
    void (*move)(lab_sample *sample, const change *it, int64_t i);
} kinds[] = {
    { LAB_V, choose_value, move_value },
    { LAB_K, choose_key, move_key },
    { LAB_Q, choose_query, move_query },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* True if row @i has moved so far that an old result fails. */
static bool is_visible(const lab_sample *sample, int64_t i)
{
    const lab_expect *now = sample->expect, *before = sample->base;
    double difference[HEED_DIM_MAX];
    for (int64_t c = 0; c < now->dim; c++)
        difference[c] = now->o[i * now->dim + c] - before->o[i * now->dim + c];
    return lab_row_norm(difference, now->dim) > 4 * (now->o_budget[i] + before->o_budget[i]);
}

/* Touches a kind of element for row @i, and updates all affected rows. */
static bool try_touch(lab_sample *sample, size_t kind, int64_t i, uint64_t seed, change *it)
{
    *it = (change){ .touch.role = kinds[kind].role };
    lab_sample_reset(sample);
    kinds[kind].choose(sample, it, i, seed);
    if (it->step == 0 || !isfinite(it->step))
        return false;
    for (int64_t n = 0; n < sample->base->count; n++)
        kinds[kind].move(sample, it, n);
    return is_visible(sample, i);
}

/* Only a query can be touched where V is a part of K and each element has two effects, where the
 * kernel writes to K and V, and where batch elements share keys. If only values may be touched
 * (@values), an element is written unchanged. */
static void touch_shared(lab_sample *sample, bool values, int64_t i, uint64_t seed, change *it)
{
    if (!values && try_touch(sample, KINDS - 1, i, seed, it))
        return;
    lab_sample_reset(sample);
    *it = (change){ .touch = { .role = LAB_Q } };
    it->touch.value = lab_element_get(sample->problem.type, sample->data.q, 0);
}

/* Only values are touched where half-precision sums of large logits may overflow, where logits are
 * changed by more than additions, and where columns of queries are rotated. */
int lab_sample_touch(lab_sample *sample, uint64_t seed, lab_touch touches[LAB_TOUCHES])
{
    uint64_t stream = lab_random_stream(seed, (uint64_t)sample->calls);
    int64_t i = lab_random_below(stream, 0, sample->base->count);
    bool values = sample->problem.accumulate == HEED_ACC_F16 || sample->problem.rotary > 0 ||
                  lab_append_repeats(&sample->problem) || !lab_adds_to_logits(&sample->problem);
    size_t kind = values ? 0 : (size_t)(sample->calls % (int64_t)KINDS);
    int count = lab_sample_restore(sample, touches);
    change it;
    sample->calls++;
    if (sample->problem.shared || sample->problem.append || sample->problem.prefix) {
        touch_shared(sample, values, i, stream, &it);
    } else if (!try_touch(sample, kind, i, stream, &it) && kind != 0) {
        try_touch(sample, 0, i, stream, &it);
    }
    sample->undo = it.touch;
    sample->undo.value = lab_element_get(
        sample->problem.type, lab_buffers_get(&sample->data, it.touch.role), it.touch.index);
    touches[count] = it.touch;
    return count + 1;
}
