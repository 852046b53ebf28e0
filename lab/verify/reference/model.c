/*
 * model.c - the model of a row's errors: see the head of expect.h
 */
#include "lab/verify/reference/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/expect.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/products.h"

/* Keys of less weight than this are negligible in a model that needs two digits. */
#define WEIGHT_NEGLIGIBLE 1e-20

/* The number of standard errors in a model: see the head of expect.h. */
#define MODEL_MARGIN 1.5

/* The most decisions in doubt about a key, and the largest part of the weights that may depend on
 * them. Beyond these there are too many outcomes, or they are too far apart. */
#define DOUBTS_MAX 3
#define LESS_MAX 0.9

/* In sums above this a subnormal float32 is negligible beside the rounding errors. */
#define FLUSHED_SUM ((double)FLT_MIN * 0x1p24)

static double square(double x)
{
    return x * x;
}

/* ---------------------------------------------------------------------------------------------- */
/* The roundings of partial sums                                                                  */
/* ---------------------------------------------------------------------------------------------- */

/* Squares of standard errors, in units of the unit roundoff of float32: see the head of expect.h.
 */

/* Rounding of a sum of products: to @type after every @block products. */
typedef struct sum_rounding {
    int64_t block;
    heed_type type;
} sum_rounding;

static sum_rounding rounding_of(const heed_problem *problem)
{
    if (problem->accumulate == HEED_ACC_F16)
        return (sum_rounding){ .block = LAB_HALF_BLOCK, .type = HEED_F16 };
    return (sum_rounding){ .block = 1, .type = HEED_F32 };
}

/* The square of the unit roundoff of the accumulators of @problem's matrix products. */
static double rounding_square(const heed_problem *problem)
{
    return square(lab_type_unit(rounding_of(problem).type) / lab_type_unit(HEED_F32));
}

/* The number of roundings in a sum of @terms. */
static int64_t rounding_count(const heed_problem *problem, int64_t terms)
{
    int64_t block = rounding_of(problem).block;
    return (terms + block - 1) / block;
}

/* Partial sums of a sum whose terms are added one after another. */
typedef struct partial_sums {
    double terms;
    double sum;
    double squares; /* of the terms */
    double ordered; /* of the partial sums, in the order of the terms */
} partial_sums;

static void add_term(partial_sums *sums, double term)
{
    sums->terms++;
    sums->sum += term;
    sums->squares += square(term);
    sums->ordered += square(sums->sum);
}

/* The sum of the squares of the partial sums, each of which is rounded: in the order of the terms
 * or in the mean over all orders, whichever is larger. */
static double rounded_squares(const partial_sums *sums)
{
    double mean = (sums->terms + 1) * (sums->squares / 6 + square(sums->sum) / 3);
    return fmax(sums->ordered, mean);
}

/* The square of the error of a sum of products from the roundings of their operands, given the sum
 * of squares of the products and the square of their sum. */
static double rounding_of_operands(const heed_problem *problem, double squares, double whole)
{
    double unit = lab_products_unit(problem->products) / lab_type_unit(HEED_F32);
    if (unit == 0)
        return 0; /* however large the products are */
    return square(unit) * (lab_products_errors(problem->products) * squares + whole);
}

/* The square of the error of the logit of two vectors. *@dot becomes their dot product. */
static double rounding_of_logit(const heed_problem *problem, const double *query, const double *key,
                                double *dot)
{
    int64_t block = rounding_of(problem).block, dim = problem->dim_qk;
    partial_sums sums = { 0 };
    for (int64_t first = 0; first < dim; first += block) {
        double term = 0;
        for (int64_t c = first; c < first + block && c < dim; c++)
            term += query[c] * key[c];
        add_term(&sums, term);
    }
    *dot = sums.sum;
    return square((double)problem->scale) *
           (rounded_squares(&sums) * rounding_square(problem) +
            rounding_of_operands(problem, sums.squares, square(sums.sum)));
}

/* The square of the error of a sum of the weights of @keys keys in parts of @part: the effect of
 * rounding a sum of weighted values where the values are alike. */
static double rounding_of_weights(const double *weights, int64_t keys, int64_t part)
{
    partial_sums all = { 0 };
    double squares = 0;
    for (int64_t j = 0; j < keys;) {
        partial_sums open = { 0 };
        for (int64_t end = j + part; j < end && j < keys; j++)
            add_term(&open, isfinite(weights[j]) ? weights[j] : 0);
        squares += rounded_squares(&open);
        add_term(&all, open.sum);
    }
    return squares + rounded_squares(&all);
}

/* ---------------------------------------------------------------------------------------------- */
/* The roundings of the query, which all logits of a row share                                    */
/* ---------------------------------------------------------------------------------------------- */

/* Applies only where products of rounded operands are permitted. With d_c the relative error of
 * q_c, the logits move by scale * sum d_c q_c k_jc, and so O by the sum over the keys j of p_j (v_j
 * - o) times that: see the head of expect.h. A few choices of d_c are tried: one with all d_c
 * equal, and some with random signs, whose mean square is that of independent errors.
 *
 * All in units of the unit roundoff of float32. */
#define TRIES 5

/* One row; in the first try all errors are equal. */
typedef struct common_error {
    const heed_problem *problem;
    double query[TRIES][HEED_DIM_MAX]; /* d_c q_c and the scale */
    double moved[TRIES][HEED_DIM_MAX];
} common_error;

static bool rounds_operands(const heed_problem *problem)
{
    return lab_products_unit(problem->products) > 0;
}

/* Begins a row with @query. */
static void common_begin(common_error *common, const heed_problem *problem, const double *query)
{
    common->problem = problem;
    if (!rounds_operands(problem))
        return;
    memset(common->moved, 0, sizeof common->moved);
    for (uint64_t t = 0; t < TRIES; t++)
        for (int64_t c = 0; c < problem->dim_qk; c++) {
            bool negative = t > 0 && lab_random_below(t, (uint64_t)c, 2);
            common->query[t][c] = (double)problem->scale * (negative ? -query[c] : query[c]);
        }
}

/* Adds a key of @weight, whose logit moves @slope times as much as the product does; columns where
 * @o is not finite are left out. */
static void common_add(common_error *common, const double *key, const double *value, double weight,
                       double slope, const double *o)
{
    const heed_problem *problem = common->problem;
    for (int t = 0; rounds_operands(problem) && t < TRIES; t++) {
        double moved = 0;
        for (int64_t c = 0; c < problem->dim_qk; c++)
            moved += common->query[t][c] * key[c];
        moved *= weight * slope;
        for (int64_t c = 0; c < problem->dim_v && isfinite(moved); c++)
            common->moved[t][c] += isfinite(o[c]) ? moved * (value[c] - o[c]) : 0;
    }
}

/* The square of the standard error. */
static double common_square_of(const common_error *common)
{
    const heed_problem *problem = common->problem;
    double unit = lab_products_unit(problem->products) / lab_type_unit(HEED_F32), sum = 0;
    for (int t = 0; rounds_operands(problem) && t < TRIES; t++)
        for (int64_t c = 0; c < problem->dim_v; c++)
            sum += common->moved[t][c] * common->moved[t][c] / (t > 0 ? TRIES - 1 : 1);
    return unit * unit * sum;
}

/* ---------------------------------------------------------------------------------------------- */
/* The row                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

#define SINK (-1)

/* A row's logits that may each be the highest, if there are at least two: see the head of expect.h.
 * The sink is one, with the value 0. */
typedef struct row_tie {
    lab_number top; /* the highest one, */
    int64_t key;    /* and its key, or SINK */
    int64_t members;
    double reach;   /* the largest distance of a member's value from o */
    double highest; /* upper bound of a member's logit */
    double free;    /* the sum of p^2 (1 + r^2) |v - o|^2 over the members, */
    double held;    /* and with errors of 1 at most */
} row_tie;

/* Sums over the keys of a row. */
typedef struct row_sums {
    double weighted; /* of p^2 |v|^2 */
    double shifted;  /* of p^2 (1 + r^2) |v - o|^2 */
    double logits;   /* of p (1 + r^2)^(1/2): equal keys have equal errors */
    double heaviest; /* largest p */
    double flushed;  /* of the loss if subnormal float32 numbers are flushed to 0 */
    double common;   /* the squared effect of the common error of all logits */
    int64_t seen;    /* keys */
    double moved;    /* of |v - o| times the change of p by decisions in doubt; */
    double more;     /* and of their additions to p, */
    double less;     /* and subtractions from it, */
    bool doubtful;   /* or the change is unknown */
    row_tie tie;
    double absolute[HEED_DIM_MAX];
} row_sums;

/* The largest loss of a product in a sum: all of it if it is subnormal, or a subnormal partial sum
 * where sums are so small that this matters. */
static double flushed_of(double product)
{
    return product < FLUSHED_SUM ? fmin(product, (double)FLT_MIN) : 0;
}

/* True if @t, the logit of @key, is in the tie. */
static bool is_tied(const row_tie *tie, int64_t key, lab_number t)
{
    double error = LAB_DOUBT * hypot(tie->top.error, t.error);
    if (!isfinite(tie->top.value))
        return false;
    return key == tie->key || (error > 1 && tie->top.value - t.value <= error);
}

/* A key, and facts about it. */
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

/* Adds a key, with the logit @t, to the sums. The error of a tied key is counted in the tie. */
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

double lab_norm(const double *a, int64_t dim)
{
    double sum = 0;
    for (int64_t c = 0; c < dim; c++)
        sum += isfinite(a[c]) ? square(a[c]) : 0;
    return sqrt(sum);
}

/* The logit of two vectors, before the steps that change it. */
static lab_number product_of(const heed_problem *problem, const double *query, const double *key)
{
    double dot, squares = rounding_of_logit(problem, query, key, &dot);
    return (lab_number){ (double)problem->scale * dot, lab_type_unit(HEED_F32) * sqrt(squares) };
}

/* A tie with only the highest logit of the row, among its keys and the sink. */
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

/* Keys of less weight than this are negligible. Beside a sink all keys may be light. */
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

/* Adds the change of a key's weight that @doubt, its decisions in doubt, can cause one by one and
 * together. */
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
    common_error common;

    lab_logits_begin(&logits, problem, data);
    lab_reads_load(&reads, LAB_Q, row.query, query);
    common_begin(&common, problem, query);
    sums.tie.top.value = INFINITY;
    if (isfinite(lse))
        sums.tie = top_of(&logits, &reads, query, weights);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        lab_doubt doubt = { 0 };
        bool light = !(weights[j] > least), seen = lab_logits_shows(&logits, row, j, &doubt);
        sums.seen += seen;
        if (seen && weights[j] > 0 && weights[j] < (double)FLT_MIN) {
            lab_reads_load(&reads, LAB_V, j, value);
            sums.flushed += weights[j] * lab_norm(value, problem->dim_v);
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
            common_add(&common, key, value, weights[j],
                       product.error > 0 ? t.error / product.error : 1, o);
    }
    sums.common = common_square_of(&common);
    return sums;
}

/* Adds the sink to the tie. @norm is that of o, the distance of a sink's value from it. */
static void join_sink(row_tie *tie, double sink, double norm)
{
    if (!is_tied(tie, SINK, (lab_number){ sink, 0 }))
        return;
    tie->members++;
    tie->reach = fmax(tie->reach, norm);
}

/* The excess of the LSE of a tie over that of its top, which has an error as well. */
static double above_top(const row_tie *tie)
{
    double top = tie->top.value + LAB_DOUBT * tie->top.error;
    return fmax(0, tie->highest - top) + log((double)tie->members);
}

/* The square of the common error of weights, in float32 units: see the head of expect.h. */
static double common_square(const lab_row_scratch *scratch, double lse)
{
    return scratch->own || !(fabs(lse) <= LAB_LSE_FAR) ? 0 : square(lse);
}

lab_row_model lab_model_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                            const lab_row_scratch *scratch, const double *o, double lse)
{
    const double *weights = scratch->weights;
    row_sums sums = sum_keys(problem, data, row, weights, o, lse);
    lab_range seen = lab_visible(problem, row.query);
    int64_t keys = seen.end - seen.begin;
    bool half = problem->accumulate == HEED_ACC_F16;
    bool parts = scratch->part < keys;
    double adding = parts ? rounding_of_weights(weights + seen.begin, keys, scratch->part)
                          : (double)keys;
    double roundings = half ? (double)rounding_count(problem, keys) : adding;
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
    return (lab_row_model){
        .o = MODEL_MARGIN *
             sqrt(element * (norm + sums.weighted) +
                  single * (rounding_square(problem) * (roundings * norm + absolute) +
                            rounding_of_operands(problem, sums.weighted, norm) + sums.shifted +
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
