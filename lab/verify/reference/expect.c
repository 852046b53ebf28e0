/*
 * expect.c - the right answer on some rows of a problem, and how far a kernel may be off
 */
#include "lab/verify/reference/expect.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/common.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"
#include "lab/verify/reference/rounding.h"

#define ROWS_MIN 4

/* Keys of this part of the weight add nothing to a model that needs two digits. */
#define WEIGHT_NEGLIGIBLE 1e-20

/* Standard errors that a model is made of: see the head of expect.h. */
#define MODEL_MARGIN 1.5

/* Decisions about a key that may be in doubt, and how much of the weights may depend on them: of
 * more there are too many outcomes, or they are too far apart. */
#define DOUBTS_MAX 3
#define LESS_MAX 0.9

/* In sums beyond this a number that is not normal in float32 is lost among the roundings. */
#define FLUSHED_SUM ((double)FLT_MIN * 0x1p24)

static double square(double x)
{
    return x * x;
}

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

/* Fills expect->rows with at most @count rows and that of @sampling: where kernels go wrong first -
 * the ends of the first and the last head - and random ones, which are half of them at least, as
 * the others are known to everybody. */
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
/* One row                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* Arguments of a worker that computes rows. */
typedef struct row_scratch {
    double *weights; /* [keys] */
    float *singles;  /* [keys] */
    int64_t part;    /* products in a part of a float32 sum */
    bool own;        /* as in lab_sampling */
} row_scratch;

/* Standard errors of a row. */
typedef struct row_model {
    double o;
    double lse;
    bool tied; /* logits are: as in row_tie, with */
    double reach;
    double above; /* how far the LSE may be beyond its error, as they are */
    int64_t seen; /* keys */
    double more;  /* the effect of decisions in doubt on the row: as in row_sums */
    double less;
    double moved;
    bool doubtful; /* no errors are known */
} row_model;

#define SINK (-1)

/* Logits of a row any of which may be the highest, if there are two of them: see the head of
 * expect.h. The sink is one of them, with the value 0. */
typedef struct row_tie {
    lab_number top; /* the highest one, */
    int64_t key;    /* and whose it is; SINK */
    int64_t members;
    double reach;   /* the farthest that a member's value is from o */
    double highest; /* that a member may be */
    double free;    /* the sum of p^2 (1 + r^2) |v - o|^2 over the members, */
    double held;    /* and with errors of 1 at most */
} row_tie;

/* Sums over the keys of a row. */
typedef struct row_sums {
    double weighted; /* of p^2 |v|^2 */
    double shifted;  /* of p^2 (1 + r^2) |v - o|^2 */
    double logits;   /* of p (1 + r^2)^(1/2): keys that are alike err alike */
    double heaviest; /* largest p */
    double flushed;  /* of what is lost if numbers that are not normal in float32 become 0 */
    double common;   /* the square of the effect of what all logits have in common */
    int64_t seen;    /* keys */
    double moved;    /* of |v - o| times what decisions in doubt change of p; */
    double more;     /* and of what they add to it, */
    double less;     /* and take off, */
    bool doubtful;   /* or that is not known */
    row_tie tie;
    double absolute[HEED_DIM_MAX];
} row_sums;

/* The most of a product that a sum may lose: all of it if it is not a normal number, and a partial
 * sum that is not where sums are so small that it shows. */
static double flushed_of(double product)
{
    return product < FLUSHED_SUM ? fmin(product, (double)FLT_MIN) : 0;
}

/* Is @t, the logit of @key, one of the tie? */
static bool is_tied(const row_tie *tie, int64_t key, lab_number t)
{
    double error = LAB_DOUBT * hypot(tie->top.error, t.error);
    if (!isfinite(tie->top.value))
        return false;
    return key == tie->key || (error > 1 && tie->top.value - t.value <= error);
}

/* A key, and what is known of it. */
typedef struct key_facts {
    lab_row row;
    int64_t key;
    double product; /* of query, key and scale */
    double weight;
    const double *value;
} key_facts;

/* @t is the logit of the key. */
static void join_tie(row_tie *tie, lab_number t, const key_facts *it, const double *o, int64_t dim)
{
    double unit = lab_type_unit(HEED_F32), distance = 0;
    double squares = square(t.error / unit), most = square(1 / unit);
    for (int64_t c = 0; c < dim; c++)
        distance += isfinite(o[c]) ? square(it->value[c] - o[c]) : 0;
    tie->members++;
    tie->reach = fmax(tie->reach, sqrt(distance));
    tie->highest = fmax(tie->highest, t.value + LAB_DOUBT * t.error);
    tie->free += square(it->weight) * (1 + squares) * distance;
    tie->held += square(it->weight) * (1 + fmin(squares, most)) * distance;
}

/* @t is the logit of the key. The tie has the effect on O of the error of one that is tied. */
static void add_key(row_sums *sums, lab_number t, bool tied, const key_facts *it, const double *o,
                    int64_t dim)
{
    double norm = 0, distance = 0, flushed = 0, weight = it->weight;
    const double *value = it->value;
    for (int64_t c = 0; c < dim; c++) {
        if (!isfinite(o[c]))
            continue;
        norm += square(value[c]);
        distance += square(value[c] - o[c]);
        sums->absolute[c] += weight * fabs(value[c]);
        flushed += square(flushed_of(weight * fabs(value[c])));
    }
    sums->flushed += weight < (double)FLT_MIN ? 0 : sqrt(flushed);
    double logit = square(weight) * (1 + square(t.error / lab_type_unit(HEED_F32)));
    sums->weighted += square(weight) * norm;
    sums->shifted += tied ? 0 : logit * distance;
    sums->logits += sqrt(logit);
    sums->heaviest = fmax(sums->heaviest, weight);
}

static double norm(const double *a, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += isfinite(a[c]) ? square(a[c]) : 0;
    return sqrt(sum);
}

/* The logit of two vectors, before the steps that change it. */
static lab_number product_of(const heed_problem *problem, const double *query, const double *key)
{
    double dot, squares = lab_rounding_of_logit(problem, query, key, &dot);
    return (lab_number){ (double)problem->scale * dot, lab_type_unit(HEED_F32) * sqrt(squares) };
}

/* A tie of the highest logit of the row alone, of its keys and the sink. */
static row_tie top_of(const lab_logits *logits, const lab_reads *reads, const double *query,
                      const double *weights)
{
    double key[HEED_DIM_MAX];
    row_tie tie = { .top.value = lab_sink(logits->problem, logits->data, reads->row), .key = SINK };
    int64_t best = reads->keys.begin;
    lab_doubt doubt = { 0 };
    for (int64_t j = reads->keys.begin; j < reads->keys.end; j++)
        best = weights[j] > weights[best] ? j : best;
    if (best == reads->keys.end || !(weights[best] > 0))
        return tie;
    lab_reads_load(reads, LAB_K, best, key);
    lab_number t = product_of(logits->problem, query, key);
    if (logits->changes)
        t = lab_logits_change(logits, reads->row, best, t, false, &doubt);
    if (t.value > tie.top.value) {
        tie.top = t;
        tie.key = best;
    }
    return tie;
}

/* Keys of less weight than this add nothing. Beside a sink all keys may be light. */
static double negligible(const heed_problem *problem, const double *weights, lab_range keys)
{
    double heaviest = 0;
    for (int64_t j = keys.begin; j < keys.end && lab_has_sinks(problem); j++)
        heaviest = fmax(heaviest, weights[j]);
    return WEIGHT_NEGLIGIBLE * (lab_has_sinks(problem) ? heaviest : 1);
}

/* The weight of a key with the decisions @doubt taken the other way. */
static double turned_weight(const lab_logits *logits, const key_facts *it, double lse,
                            lab_doubt *doubt)
{
    lab_number t = { it->product, 0 };
    if (!lab_logits_shows(logits, it->row, it->key, doubt))
        return 0;
    if (logits->changes)
        t = lab_logits_change(logits, it->row, it->key, t, false, doubt);
    return exp(t.value - lse);
}

/* Adds how far @doubt, the decisions about a key that are in doubt, can move its weight, one by one
 * and together. */
static void add_doubt(row_sums *sums, const lab_logits *logits, const key_facts *it, double lse,
                      lab_doubt doubt, const double *o)
{
    double low = 0, high = 0, far = 0;
    sums->doubtful |= doubt.open || doubt.count > DOUBTS_MAX || !isfinite(lse);
    for (unsigned turned = 1; !sums->doubtful && turned < 1U << doubt.count; turned++) {
        lab_doubt other = { .turned = turned };
        double change = turned_weight(logits, it, lse, &other) - it->weight;
        sums->doubtful |= other.open || !isfinite(change);
        low = fmin(low, change);
        high = fmax(high, change);
    }
    for (int64_t c = 0; c < logits->problem->dim_v; c++)
        far += isfinite(o[c]) ? square(it->value[c] - o[c]) : 0;
    sums->moved += fmax(-low, high) * sqrt(far);
    sums->more += high;
    sums->less -= low;
}

static row_sums sum_keys(const heed_problem *problem, const heed_buffers *data, lab_row row,
                         const double *weights, const double *o, double lse)
{
    const lab_reads reads = lab_row_reads(problem, data, row);
    const lab_range keys = reads.keys;
    double query[HEED_DIM_MAX], key[HEED_DIM_MAX], value[HEED_DIM_MAX];
    double least = negligible(problem, weights, keys);
    row_sums sums = { 0 };
    lab_logits logits;
    lab_common common;

    lab_logits_begin(&logits, problem, data);
    lab_reads_load(&reads, LAB_Q, row.query, query);
    lab_common_begin(&common, problem, query);
    sums.tie.top.value = INFINITY;
    if (isfinite(lse))
        sums.tie = top_of(&logits, &reads, query, weights);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        lab_doubt doubt = { 0 };
        bool light = !(weights[j] > least), seen = lab_logits_shows(&logits, row, j, &doubt);
        sums.seen += seen;
        if (seen && weights[j] > 0 && weights[j] < (double)FLT_MIN) {
            lab_reads_load(&reads, LAB_V, j, value);
            sums.flushed += weights[j] * norm(value, problem->dim_v);
        }
        if (!seen && doubt.count == 0 && !doubt.open)
            continue;
        lab_reads_load(&reads, LAB_K, j, key);
        lab_number product = product_of(problem, query, key), t = product;
        key_facts it = { row, j, t.value, weights[j], value };
        if (seen && logits.changes)
            t = lab_logits_change(&logits, row, j, t, false, &doubt);
        bool doubted = doubt.count > 0 || doubt.open, tied = seen && is_tied(&sums.tie, j, t);
        if (light && !doubted && !tied)
            continue;
        lab_reads_load(&reads, LAB_V, j, value);
        if (doubted)
            add_doubt(&sums, &logits, &it, lse, doubt, o);
        if (tied)
            join_tie(&sums.tie, t, &it, o, problem->dim_v);
        if (!light)
            add_key(&sums, t, tied, &it, o, problem->dim_v);
        if (!light && !tied)
            lab_common_add(&common, key, value, weights[j],
                           product.error > 0 ? t.error / product.error : 1, o);
    }
    sums.common = lab_common_square(&common);
    return sums;
}

/* @norm is that of o, which is how far the value of a sink is from it. */
static void join_sink(row_tie *tie, double sink, double norm)
{
    if (!is_tied(tie, SINK, (lab_number){ sink, 0 }))
        return;
    tie->members++;
    tie->reach = fmax(tie->reach, norm);
}

/* How much higher the LSE of a tie may be than that of its top, which may be off itself. */
static double above_top(const row_tie *tie)
{
    double top = tie->top.value + LAB_DOUBT * tie->top.error;
    return fmax(0, tie->highest - top) + log((double)tie->members);
}

/* The square of what weights may be off together, in float32 units: see the head of expect.h. */
static double common_square(const row_scratch *scratch, double lse)
{
    return scratch->own || !(fabs(lse) <= LAB_LSE_FAR) ? 0 : square(lse);
}

static row_model model_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                           const row_scratch *scratch, const double *o, double lse)
{
    const double *weights = scratch->weights;
    row_sums sums = sum_keys(problem, data, row, weights, o, lse);
    lab_range seen = lab_visible(problem, row.query);
    int64_t keys = seen.end - seen.begin;
    bool half = problem->accumulate == HEED_ACC_F16;
    bool parts = scratch->part < keys;
    double adding = parts ? lab_rounding_of_weights(weights + seen.begin, keys, scratch->part)
                          : (double)keys;
    double roundings = half ? (double)lab_rounding_count(problem, keys) : adding;
    double norm = 0, absolute = 0;
    for (int64_t c = 0; c < problem->dim_v; c++) {
        norm += isfinite(o[c]) ? square(o[c]) : 0;
        absolute += square(sums.absolute[c]);
    }
    double element = square(lab_type_unit(problem->type));
    double single = square(lab_type_unit(HEED_F32));
    double tiny = square(lab_type_quantum(problem->type)) * (double)problem->dim_v;
    if (half)
        tiny *= 1 + roundings; /* sums can be subnormal too */
    double highest = sums.heaviest > 0 ? lse + log(sums.heaviest) : 0; /* logit */
    double sink = lab_has_sinks(problem) ? exp(lab_sink(problem, data, row) - lse) : 0;
    sums.shifted += square(sink) * norm; /* a key of value 0 */
    sums.logits += sink;
    join_sink(&sums.tie, lab_sink(problem, data, row), sqrt(norm));
    bool tied = sums.tie.members > 1;
    sums.shifted += tied ? sums.tie.held : sums.tie.free;
    return (row_model){
        .o = MODEL_MARGIN *
             sqrt(element * (norm + sums.weighted) +
                  single * (lab_rounding_square(problem) * (roundings * norm + absolute) +
                            lab_rounding_of_operands(problem, sums.weighted, norm) + sums.shifted +
                            sums.common + common_square(scratch, lse) * norm) +
                  tiny + square(sums.flushed)),
        .lse = MODEL_MARGIN *
               sqrt(single * (square(lse) + square(highest) + adding + square(sums.logits))),
        .tied = tied,
        .reach = tied ? sums.tie.reach : 0,
        .above = tied ? above_top(&sums.tie) : 0,
        .seen = sums.seen,
        .more = sums.more,
        .less = sums.less,
        .moved = sums.moved,
        .doubtful = sums.doubtful || sums.less > LESS_MAX || !isfinite(sums.logits),
    };
}

/* The norm of @a - @b over the columns where @b is finite. */
static double distance(const double *a, const double *b, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += isfinite(b[c]) ? square(a[c] - b[c]) : 0;
    return sqrt(sum);
}

/* A naive error that is not finite - the row is, so it overflowed - says nothing. */
static double larger(double naive, double model)
{
    return isfinite(naive) && naive > model ? naive : model;
}

/* Errors of a row: of its model, or of a naive computation if that has more. */
typedef struct row_errors {
    double o;
    double lse;
} row_errors;

/* A tie of @reach explains that much of what is off @o. */
static void add_naive(row_errors *errors, const heed_problem *problem, const heed_buffers *data,
                      lab_row row, const row_scratch *scratch, bool cut, double reach,
                      const double *o, double lse)
{
    double naive[HEED_DIM_MAX], naive_lse;
    lab_naive_row(problem, data, row, scratch->part, cut, scratch->singles, naive, &naive_lse);
    double off = fmax(0, distance(naive, o, problem->dim_v) - reach);
    errors->o = larger(off, errors->o);
    errors->lse = larger(fabs(naive_lse - lse), errors->lse);
}

static bool has_expressions(const heed_problem *problem)
{
    return problem->score[0] || problem->visible[0];
}

static void expect_row(lab_expect *expect, const heed_problem *problem, const heed_buffers *data,
                       int64_t i, const row_scratch *scratch)
{
    lab_row row = lab_row_at(problem, expect->rows[i]);
    double *o = expect->o + i * expect->dim;

    lab_reference_row(problem, data, row, scratch->weights, o, &expect->lse[i]);
    row_model model = model_row(problem, data, row, scratch, o, expect->lse[i]);
    row_errors errors = { model.o, model.lse };
    const int ways = problem->products == HEED_PRODUCTS_TF32 ? 2 : 1;
    for (int cut = 0; cut < ways; cut++)
        add_naive(&errors, problem, data, row, scratch, cut, model.reach, o, expect->lse[i]);

    double unit = lab_type_unit(problem->type), single = lab_type_unit(HEED_F32);
    bool empty = expect->lse[i] == -INFINITY; /* nothing to round: zeros, exactly */
    expect->o_budget[i] = empty ? 0 : 2 * errors.o + unit * norm(o, expect->dim) + model.reach;
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
                   lab_half_overflows(problem, data, row, scratch->weights)))
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
    row_scratch scratch;
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

/* A thread that cannot be started is no reason to fail: its rows are computed here. */
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

heed_status lab_expect_create(lab_expect **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling)
{
    int64_t count = sample_size(problem, sampling);
    lab_expect *expect = calloc(1, sizeof *expect);
    *result = NULL;
    if (!expect)
        return HEED_ERR_NO_MEMORY;
    expect->dim = problem->dim_v;
    expect->rows = calloc((size_t)count + 1, sizeof *expect->rows);
    expect->o = calloc((size_t)count + 1, sizeof *expect->o * (size_t)expect->dim);
    expect->lse = calloc((size_t)count + 1, sizeof *expect->lse);
    expect->o_budget = calloc((size_t)count + 1, sizeof *expect->o_budget);
    expect->lse_budget = calloc((size_t)count + 1, sizeof *expect->lse_budget);
    expect->tied = calloc((size_t)count + 1, sizeof *expect->tied);

    heed_status status = HEED_ERR_NO_MEMORY;
    if (expect->rows && expect->o && expect->lse && expect->o_budget && expect->lse_budget &&
        expect->tied) {
        choose_rows(expect, problem, sampling, count);
        status = compute_rows(expect, problem, data, sampling);
        for (int64_t i = 0; i < expect->count && has_expressions(problem); i++)
            expect->left_out += isinf(expect->o_budget[i]) && isnan(expect->lse[i]);
    }
    if (status == HEED_OK)
        *result = expect;
    else
        lab_expect_destroy(expect);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */
/* NaN and infinities                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* The budgets are 0 if the row sees no key, or if heed's promise is to be kept. */
bool lab_expect_weightless(const lab_expect *expect, int64_t i)
{
    return expect->lse[i] == -INFINITY && isinf(expect->o_budget[i]);
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
