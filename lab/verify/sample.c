/*
 * sample.c - a few rows of a problem whose expected result changes from call to call
 */
#include "lab/verify/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"
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

/* Copies @from to @to; both have room for the same rows. */
static void copy_expect(lab_expect *to, const lab_expect *from)
{
    size_t count = (size_t)from->count, dim = (size_t)from->dim;
    to->count = from->count;
    memcpy(to->rows, from->rows, count * sizeof *to->rows);
    memcpy(to->o, from->o, count * dim * sizeof *to->o);
    memcpy(to->lse, from->lse, count * sizeof *to->lse);
    memcpy(to->o_budget, from->o_budget, count * sizeof *to->o_budget);
    memcpy(to->lse_budget, from->lse_budget, count * sizeof *to->lse_budget);
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
        copy_expect(sample->expect, sample->base);
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
    copy_expect(sample->expect, sample->base);
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
