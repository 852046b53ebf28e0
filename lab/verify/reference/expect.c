/*
 * expect.c - the correct result for some rows of a problem, and the error allowed to a kernel
 */
#include "lab/verify/reference/expect.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/model.h"
#include "lab/verify/reference/reference.h"

#define ROWS_MIN 4

/* ---------------------------------------------------------------------------------------------- */
/* Which rows                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

static int64_t sample_size(const heed_problem *problem, const lab_sampling *sampling)
{
    int64_t rows = lab_rows(problem);
    int64_t cost = lab_keys(problem) * (problem->dim_qk + problem->dim_v);
    int64_t least = sampling->least > 0 ? sampling->least : ROWS_MIN;
    int64_t count = sampling->work / cost;
    if (count < least)
        count = least;
    return count < rows ? count : rows;
}

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Fills expect->rows with at most @count rows and that of @sampling: the ends of the first and the
 * last head, where kernels fail first, and random ones. At least half are random, as the others are
 * predictable. */
static void choose_rows(lab_expect *expect, const heed_problem *problem,
                        const lab_sampling *sampling, int64_t count)
{
    int64_t rows = lab_rows(problem), queries = lab_queries(problem);
    const int64_t first[] = {
        rows - 1, 0, queries / 2, rows - queries / 2 - 1, queries - 1, rows - queries,
    };
    int64_t known = (int64_t)(sizeof first / sizeof first[0]);
    known = known < count / 2 ? known : count / 2;
    for (int64_t i = 0; i < count; i++) {
        if (count == rows)
            expect->rows[i] = i;
        else if (i < known)
            expect->rows[i] = first[i];
        else
            expect->rows[i] = lab_random_below(sampling->seed, (uint64_t)i, rows);
    }
    if (sampling->also > 0)
        expect->rows[count++] = sampling->also - 1;
    qsort(expect->rows, (size_t)count, sizeof expect->rows[0], compare_rows);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || expect->rows[i] != expect->rows[expect->count - 1])
            expect->rows[expect->count++] = expect->rows[i];
}

/* ---------------------------------------------------------------------------------------------- */
/* Where sums in half precision may overflow                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* The largest number of f16. */
#define HALF_MAX 65504.0

/* Keys of less weight than this are harmless. */
#define WEIGHT_HARMLESS 1e-20

/* True if a sum of these terms can overflow. Infinite terms do not depend on the precision. */
static bool overflows(double sum)
{
    return sum > HALF_MAX && isfinite(sum);
}

/* True if the logit of a key can overflow with an effect. Far below all others it has none. */
static bool logit_overflows(const heed_problem *problem, const double *query, const double *key,
                            double weight)
{
    double up = 0, down = 0;
    for (int64_t c = 0; c < problem->dim_qk; c++) {
        double term = (problem->scale < 0 ? -1 : 1) * query[c] * key[c];
        up += fmax(term, 0);
        down += fmax(-term, 0);
    }
    return overflows(up) || (overflows(down) && weight > WEIGHT_HARMLESS);
}

/* True if a kernel that accumulates both matrix products of @problem in half precision may overflow
 * on
 * @row: terms of one sum can add up to more than 65504. @weights is the softmax, as
 * lab_reference_row() writes it. */
static bool half_overflows(const heed_problem *problem, const heed_buffers *data, lab_row row,
                           const double *weights)
{
    const lab_reads reads = lab_row_reads(problem, data, row);
    const lab_range keys = reads.keys;
    double query[HEED_DIM_MAX], key[HEED_DIM_MAX], value[HEED_DIM_MAX];
    double sums[HEED_DIM_MAX] = { 0 }, heaviest = 0;
    lab_doubt doubt = { 0 };
    lab_logits logits;

    lab_logits_begin(&logits, problem, data);
    lab_reads_load(&reads, LAB_Q, row.query, query);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        if (!lab_logits_shows(&logits, row, j, &doubt))
            continue;
        lab_reads_load(&reads, LAB_K, j, key);
        if (logit_overflows(problem, query, key, weights[j]))
            return true;
        lab_reads_load(&reads, LAB_V, j, value);
        for (int64_t c = 0; c < problem->dim_v; c++)
            sums[c] += weights[j] > 0 ? weights[j] * fabs(value[c]) : 0;
        heaviest = fmax(heaviest, weights[j]);
    }
    for (int64_t c = 0; c < problem->dim_v; c++)
        if (overflows(sums[c] / heaviest))
            return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------- */
/* One row                                                                                        */
/* ---------------------------------------------------------------------------------------------- */
double lab_row_norm(const double *a, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += a[c] * a[c];
    return sqrt(sum);
}

double lab_row_distance(const double *a, const double *b, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += isfinite(b[c]) ? (a[c] - b[c]) * (a[c] - b[c]) : 0;
    return sqrt(sum);
}

/* A naive error that is not finite is ignored: the row is finite, so the naive sum overflowed. */
static double larger(double naive, double model)
{
    return isfinite(naive) && naive > model ? naive : model;
}

/* Errors of a row: the larger of its model's and of a naive computation's. */
typedef struct row_errors {
    double o;
    double lse;
} row_errors;

/* A tie of @reach explains that much of the distance from @o. */
static void add_naive(row_errors *errors, const heed_problem *problem, const heed_buffers *data,
                      lab_row row, const lab_row_scratch *scratch, bool cut, double reach,
                      const double *o, double lse)
{
    double naive[HEED_DIM_MAX], naive_lse;
    lab_naive_row(problem, data, row, scratch->part, cut, scratch->singles, naive, &naive_lse);
    double off = fmax(0, lab_row_distance(naive, o, problem->dim_v) - reach);
    errors->o = larger(off, errors->o);
    errors->lse = larger(fabs(naive_lse - lse), errors->lse);
}

static bool has_expressions(const heed_problem *problem)
{
    return problem->score[0] || problem->visible[0];
}

static void expect_row(lab_expect *expect, const heed_problem *problem, const heed_buffers *data,
                       int64_t i, const lab_row_scratch *scratch)
{
    lab_row row = lab_row_at(problem, expect->rows[i]);
    double *o = expect->o + i * expect->dim;

    lab_reference_row(problem, data, row, scratch->weights, o, &expect->lse[i]);
    lab_row_model model = lab_model_row(problem, data, row, scratch, o, expect->lse[i]);
    row_errors errors = { model.o, model.lse };
    const int ways = problem->products == HEED_PRODUCTS_TF32 ? 2 : 1;
    for (int cut = 0; cut < ways; cut++)
        add_naive(&errors, problem, data, row, scratch, cut, model.reach, o, expect->lse[i]);

    double unit = lab_type_unit(problem->type), single = lab_type_unit(HEED_F32);
    bool empty = expect->lse[i] == -INFINITY; /* nothing to round: zeros, exactly */
    expect->o_budget[i] = empty ? 0 : 2 * errors.o + unit * lab_norm(o, expect->dim) + model.reach;
    expect->lse_budget[i] = empty ? 0
                                  : 2 * errors.lse + single * fabs(expect->lse[i]) + model.above;
    expect->tied[i] = model.tied;
    if (model.more > 0 || model.less > 0) {
        double rest = 1 - model.less;
        expect->o_budget[i] = (expect->o_budget[i] * (1 + model.more) + model.moved) / rest;
        expect->lse_budget[i] += fmax(log1p(model.more), -log(rest));
    }
    bool either = empty && !scratch->own && model.seen > 0;
    if (either || (problem->accumulate == HEED_ACC_F16 &&
                   half_overflows(problem, data, row, scratch->weights)))
        expect->o_budget[i] = expect->lse_budget[i] = INFINITY;
    if (model.doubtful && has_expressions(problem)) {
        expect->o_budget[i] = expect->lse_budget[i] = INFINITY;
        expect->lse[i] = NAN;
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* All rows, on several threads                                                                   */
/* ---------------------------------------------------------------------------------------------- */

typedef struct worker {
    lab_expect *expect;
    const heed_problem *problem;
    const heed_buffers *data;
    lab_row_scratch scratch;
    int64_t first; /* takes the rows first, first + step, ... */
    int64_t step;
    pthread_t thread;
    bool started;
} worker;

static void *work(void *data)
{
    worker *self = data;
    for (int64_t i = self->first; i < self->expect->count; i += self->step)
        expect_row(self->expect, self->problem, self->data, i, &self->scratch);
    return NULL;
}

/* If a thread cannot be started, its rows are computed here. */
static void run_workers(worker *workers, int64_t count)
{
    for (int64_t t = 1; t < count; t++)
        workers[t].started = pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0;
    for (int64_t t = 0; t < count; t++)
        if (!workers[t].started)
            work(&workers[t]);
    for (int64_t t = 1; t < count; t++)
        if (workers[t].started)
            pthread_join(workers[t].thread, NULL);
}

static heed_status compute_rows(lab_expect *expect, const heed_problem *problem,
                                const heed_buffers *data, const lab_sampling *sampling)
{
    int64_t count = sampling->threads < expect->count ? sampling->threads : expect->count;
    worker *workers = calloc((size_t)count, sizeof *workers);
    bool complete = workers != NULL;
    for (int64_t t = 0; complete && t < count; t++) {
        worker *w = &workers[t];
        *w = (worker){ .expect = expect, .problem = problem, .data = data };
        w->first = t;
        w->step = count;
        w->scratch.own = sampling->own;
        w->scratch.part = sampling->own ? LAB_PART : INT64_MAX;
        w->scratch.weights = calloc((size_t)lab_keys(problem), sizeof(double));
        w->scratch.singles = calloc((size_t)lab_keys(problem), sizeof(float));
        complete = w->scratch.weights && w->scratch.singles;
    }
    if (complete)
        run_workers(workers, count);
    for (int64_t t = 0; workers && t < count; t++) {
        free(workers[t].scratch.weights);
        free(workers[t].scratch.singles);
    }
    free(workers);
    return complete ? HEED_OK : HEED_ERR_NO_MEMORY;
}

lab_expect *lab_expect_blank(int64_t count, int64_t dim)
{
    const size_t rows = (size_t)count;
    lab_expect *expect = calloc(1, sizeof *expect);
    if (!expect)
        return NULL;
    expect->dim = dim;
    expect->rows = calloc(rows, sizeof *expect->rows);
    expect->o = calloc(rows, sizeof *expect->o * (size_t)dim);
    expect->lse = calloc(rows, sizeof *expect->lse);
    expect->o_budget = calloc(rows, sizeof *expect->o_budget);
    expect->lse_budget = calloc(rows, sizeof *expect->lse_budget);
    expect->tied = calloc(rows, sizeof *expect->tied);
    if (expect->rows && expect->o && expect->lse && expect->o_budget && expect->lse_budget &&
        expect->tied)
        return expect;
    lab_expect_destroy(expect);
    return NULL;
}

heed_status lab_expect_create(lab_expect **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling)
{
    int64_t count = sample_size(problem, sampling);
    lab_expect *expect = lab_expect_blank(count + 1, problem->dim_v);
    *result = expect;
    if (!expect)
        return HEED_ERR_NO_MEMORY;
    choose_rows(expect, problem, sampling, count);
    heed_status status = compute_rows(expect, problem, data, sampling);
    for (int64_t i = 0; i < expect->count && has_expressions(problem); i++)
        expect->left_out += isinf(expect->o_budget[i]) && isnan(expect->lse[i]);
    if (status != HEED_OK) {
        lab_expect_destroy(expect);
        *result = NULL;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- */
/* NaN and infinities                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* The budgets are 0 if the row sees no key, or if the kernel must keep heed's promise. */
bool lab_expect_weightless(const lab_expect *expect, int64_t i)
{
    return expect->lse[i] == -INFINITY && isinf(expect->o_budget[i]);
}

bool lab_expect_undefined(const lab_expect *expect, int64_t i)
{
    return isnan(expect->lse[i]) || expect->lse[i] == INFINITY;
}

static bool is_lse_misplaced(double lse, double expected, bool weightless)
{
    if (weightless && isnan(lse))
        return false;
    if (isfinite(expected))
        return !isfinite(lse);
    return expected == -INFINITY ? lse != -INFINITY : isfinite(lse);
}

int64_t lab_expect_misplaced(const lab_expect *expect, int64_t i, const double *o, const float *lse)
{
    const double *reference = expect->o + i * expect->dim;
    bool weightless = lab_expect_weightless(expect, i);
    if (isinf(expect->o_budget[i]) && !weightless)
        return expect->dim;
    if (lse && is_lse_misplaced((double)*lse, expect->lse[i], weightless))
        return -1;
    for (int64_t c = 0; c < expect->dim; c++)
        if (weightless ? !isnan(o[c]) && o[c] != 0 : !isfinite(o[c]) != !isfinite(reference[c]))
            return c;
    return expect->dim;
}

void lab_expect_destroy(lab_expect *expect)
{
    if (!expect)
        return;
    free(expect->rows);
    free(expect->o);
    free(expect->lse);
    free(expect->o_budget);
    free(expect->lse_budget);
    free(expect->tied);
    free(expect);
}
