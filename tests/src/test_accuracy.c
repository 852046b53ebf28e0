/*
 * test_accuracy.c - errors of the CPU kernels in float32, compared with those of a matrix library
 *
 * The limits are twice the RMS errors of OpenBLAS 0.3.21 (sgemm, softmax, sgemm) on the same
 * values, using the better of its core types SkylakeX and Haswell. With large logits the weights of
 * nearly all rows are exact, and the whole error of O comes from the few rows whose two largest
 * logits nearly tie, so the mean needs many draws.
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "contexts.h"
#include "heed.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"
#include "lab/verify/inputs.h"
#include "lab/verify/reference/reference.h"
#include "problems.h"

#define KEYS_MAX 2048
#define KERNELS_MAX 16

typedef struct accuracy {
    const char *spec;
    const char *inputs;
    uint64_t draws; /* seeds, from 1 on */
    double query;   /* Q is multiplied by this */
    double value;   /* V is value + spread * V */
    double spread;
    double o_limit;   /* RMS of |o - reference| / |reference|, in units of 2^-24 */
    double lse_limit; /* RMS error of the LSE, in units of 2^-24 */
} accuracy;

#define SMALL "b1 h4 s64 d64 f32"

static const accuracy cases[] = {
    { "b1 h8 s8/2048 d64 f32", "normal", 1, 1, 1, 0.1, 2 * 2.60, 2 * 4.98 },
    { "b1 h8 s8/2048 d64 f32", "normal", 1, 1e-4, 0, 1, 2 * 6.39, 2 * 3.32 },
    { "b1 h4 s256 d8 f32", "normal", 1, 1, 1, 0.1, 2 * 1.12, 2 * 3.18 },
    { "b1 h8 s4/300 d128 f32", "rising", 1, 1, 0, 1, 2 * 27.0, 2 * 19.4 },
    { "b1 h2 s256 d64 f32", "needle", 1, 3.3, 0, 1, 0.01, 2 * 203.0 },
    /* Every kind of finite values. */
    { SMALL, "normal", 20, 1, 0, 1, 2 * 4.69, 2 * 3.57 },
    { SMALL, "needle", 20, 1, 0, 1, 2 * 0.753, 2 * 56.0 },
    { SMALL, "impulse", 20, 1, 0, 1, 2 * 4.01, 2 * 3.57 },
    { SMALL, "exact", 20, 1, 0, 1, 0, 2 * 0.128 },
    { SMALL, "large", 200, 1, 0, 1, 2 * 270.0, 2 * 18859.0 },
    { SMALL, "equal", 20, 1, 0, 1, 2 * 2.46, 2 * 2.96 },
    { SMALL, "rising", 20, 1, 0, 1, 2 * 47.8, 2 * 40.4 },
    { SMALL, "tiny", 20, 1, 0, 1, 2 * 4.69, 2 * 3.57 },
    { SMALL, "near", 20, 1, 0, 1, 2 * 3.90, 2 * 3.09 },
    { SMALL, "tails", 20, 1, 0, 1, 2 * 5.18, 2 * 4.86 },
    { SMALL, "vast", 20, 1, 0, 1, 2 * 4.69, 2 * 3.57 },
    { SMALL, "huge", 20, 1, 0, 1, 0, 2 * 1.86e37 },
    { SMALL, "low", 20, 1, 0, 1, 0, 2 * 1.28e37 },
};

typedef struct scene {
    lab_values values;
    double *o, *lse; /* the reference */
    float *out, *out_lse;
} scene;

static void change(scene *s, lab_role role, double factor, double offset)
{
    const lab_view *view = &s->values.block[role].view;
    void *data = lab_values_data(&s->values, role);
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0, at = lab_view_vector(view, n); c < view->dim; c++) {
            double x = lab_element_get(HEED_F32, data, at + c);
            lab_element_set(HEED_F32, data, at + c, offset + factor * x);
        }
}

static void make(scene *s, const accuracy *a, uint64_t seed)
{
    heed_problem problem = parsed(a->spec);
    static double weights[KEYS_MAX];
    assert_int_equal(lab_values_create(&s->values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find(a->inputs), &s->values, seed);
    change(s, LAB_Q, a->query, 0);
    change(s, LAB_V, a->spread, a->value);
    int64_t rows = lab_rows(&problem);
    s->o = calloc((size_t)(rows * problem.dim_v), sizeof *s->o);
    s->lse = calloc((size_t)rows, sizeof *s->lse);
    s->out = calloc((size_t)(rows * problem.dim_v), sizeof *s->out);
    s->out_lse = calloc((size_t)rows, sizeof *s->out_lse);
    assert_true(s->o && s->lse && s->out && s->out_lse);
    heed_buffers data = lab_values_buffers(&s->values);
    for (int64_t n = 0; n < rows; n++)
        lab_reference_row(&problem, &data, lab_row_at(&problem, n), weights,
                          s->o + n * problem.dim_v, &s->lse[n]);
}

static void done(scene *s)
{
    lab_values_destroy(&s->values);
    free(s->o);
    free(s->lse);
    free(s->out);
    free(s->out_lse);
}

/* Sums over draws of mean squared errors per row, and the number of draws. */
typedef struct errors {
    double o, lse;
    uint64_t draws;
} errors;

static void add_errors(errors *sum, const scene *s)
{
    const heed_problem *p = &s->values.problem;
    const lab_view o = lab_view_of(p, LAB_O);
    int64_t rows = lab_rows(p);
    for (int64_t n = 0; n < rows; n++) {
        lab_row row = lab_row_at(p, n);
        int64_t at = lab_view_at(&o, row.batch, row.query, row.head);
        double error = 0, size = 0, lse = (double)s->out_lse[n] - s->lse[n];
        for (int64_t c = 0; c < p->dim_v; c++) {
            double reference = s->o[n * p->dim_v + c], off = (double)s->out[at + c] - reference;
            error += off * off;
            size += reference * reference;
        }
        sum->o += error / size / (double)rows;
        sum->lse += lse * lse / (double)rows;
    }
    sum->draws++;
}

static void judge(const errors *sum, const accuracy *a, const char *kernel)
{
    double o = sqrt(sum->o / (double)sum->draws) * 0x1p24;
    double lse = sqrt(sum->lse / (double)sum->draws) * 0x1p24;
    if (!(o <= a->o_limit))
        fail_msg("%s %s, %s: error of O %.3g, limit %.3g", a->spec, a->inputs, kernel, o,
                 a->o_limit);
    if (!(lse <= a->lse_limit))
        fail_msg("%s %s, %s: error of the LSE %.3g, limit %.3g", a->spec, a->inputs, kernel, lse,
                 a->lse_limit);
}

static bool run(scene *s, heed_context *context, const char *kernel)
{
    heed_buffers buffers = lab_values_buffers(&s->values);
    buffers.o = s->out;
    buffers.lse = s->out_lse;
    return host_compute(context, &s->values.problem, kernel, buffers);
}

static void test_errors_are_those_of_a_matrix_library(void **state)
{
    heed_context *context = host_context(1);
    int runs = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errors sums[KERNELS_MAX] = { { .draws = 0 } };
        for (uint64_t seed = 1; seed <= cases[i].draws; seed++) {
            scene s;
            make(&s, &cases[i], seed);
            for (size_t k = 0; heed_kernel_name(k); k++)
                if (run(&s, context, heed_kernel_name(k)))
                    add_errors(&sums[k], &s);
            done(&s);
        }
        for (size_t k = 0; heed_kernel_name(k); k++) {
            if (sums[k].draws > 0)
                judge(&sums[k], &cases[i], heed_kernel_name(k));
            runs += sums[k].draws > 0;
        }
    }
    heed_context_destroy(context);
    assert_true(runs >= (int)(sizeof cases / sizeof *cases));
}

RUN_TESTS(test_errors_are_those_of_a_matrix_library)
