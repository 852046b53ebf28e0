/*
 * inputs_hard.c - distributions of input values at the ends of what numbers can be
 */
#include <math.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/inputs_fill.h"

static double sign_of(double x)
{
    return x < 0 ? -1 : 1;
}

/* ---------------------------------------------------------------------------------------------- */
/* Huge logits                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

/* Every vector of K is one number repeated: a logit is that number times the sum of the query and
 * the scale. The numbers are multiples of a 64th of the largest, so that the highest logit of a
 * row is far above the next one, or equal to it: no rounding of float32 takes one for the other.
 * Keys 1, 2, 4, 8 and so on set records, so that the highest key that a row sees is alone. */
#define LEVELS 64
#define LEVEL_MIDDLE 32

/* Products and logits stay below this: the largest number of float32 is 3.40e38, and kernels count
 * in base 2, where a logit is 1.44 times as large. */
#define PRODUCT_MAX 2.3e38

/* The largest number of K, and the largest mean of a vector of Q, by type. */
typedef struct span {
    double key;
    double query;
} span;

static span span_of(const heed_problem *problem)
{
    double most = PRODUCT_MAX * fmin(1, 1 / fabs((double)problem->scale));
    if (lab_type_is_narrow(problem->type))
        return (span){ .key = 60000, .query = 48000 };
    return (span){ .key = 0x1p60, .query = most / 0x1p60 / (double)problem->dim_qk };
}

/* The power of two that @j is, or -1. */
static int power_of(int64_t j)
{
    return j > 0 && (j & (j - 1)) == 0 ? __builtin_ctzll((unsigned long long)j) : -1;
}

/* The level of key @j, of either sign: a power of two sets a record, and what follows one another
 * below zero. */
static int64_t level_of_either_sign(uint64_t choice, int64_t j)
{
    int64_t level = 1 + lab_random_below(choice, (uint64_t)j, LEVEL_MIDDLE - 1);
    if (power_of(j) >= 0)
        return LEVEL_MIDDLE + power_of(j);
    if (power_of(j - 1) >= 0)
        return -LEVEL_MIDDLE - power_of(j - 1);
    return j % 2 ? level : -level;
}

/* The same, all above zero: records are low. */
static int64_t level_above_zero(uint64_t choice, int64_t j)
{
    if (power_of(j) >= 0)
        return LEVEL_MIDDLE - power_of(j);
    return LEVEL_MIDDLE + 1 + lab_random_below(choice, (uint64_t)j, LEVEL_MIDDLE - 1);
}

/* Rows differ in size: from the largest possible logits to those that just do not fit in an integer
 * of 32 bits, as far as the type has numbers for it. */
static double size_of(heed_type type, int64_t row)
{
    static const double wide[] = { 1, 0x1p-30, 0x1p-60, 0x1p-85 };
    static const double narrow[] = { 1, 0.5, 0.75, 0.625 };
    return (lab_type_is_narrow(type) ? narrow : wide)[row % 4];
}

static void fill_extremes(lab_values *values, uint64_t seed, bool low)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    double sign = sign_of((double)problem->scale);
    span most = span_of(problem);
    lab_fill_normal(values, seed, LAB_V, 0, 1);
    for (int64_t n = 0; n < lab_view_vectors(q); n++) {
        int64_t row = n % q->seq + n / q->seq;
        double size = size_of(problem->type, row) * most.query;
        lab_fill_uneven(values, seed, LAB_Q, n, (low || row / 4 % 2 ? -sign : sign) * size);
    }
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        int64_t j = n % k->seq;
        int64_t level = low ? level_above_zero(choice, j) : level_of_either_sign(choice, j);
        lab_fill_vector(values, LAB_K, n, most.key * (double)level / LEVELS);
    }
}

void lab_fill_huge(lab_values *values, uint64_t seed)
{
    fill_extremes(values, seed, false);
}

void lab_fill_low(lab_values *values, uint64_t seed)
{
    fill_extremes(values, seed, true);
}

/* ---------------------------------------------------------------------------------------------- */
/* Near                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Keys are one vector and a little noise. */
#define NEAR_NOISE 0.1

void lab_fill_near(lab_values *values, uint64_t seed)
{
    const lab_view *k = &values->block[LAB_K].view;
    uint64_t noise = lab_random_stream(seed, LAB_FILL_NOISE);
    lab_fill_normal(values, seed, LAB_Q, 0, 1);
    lab_fill_normal(values, seed, LAB_K, 0, 1);
    lab_fill_normal(values, seed, LAB_V, 0, 1);
    for (int64_t n = 0; n < lab_view_vectors(k); n++)
        for (int64_t c = 0, at = lab_view_vector(k, n); c < k->dim; c++) {
            int64_t first = lab_view_vector(k, n - n % k->seq) + c;
            double value = lab_fill_get(values, LAB_K, first);
            if (n % k->seq)
                value += NEAR_NOISE * lab_random_normal(noise, (uint64_t)(n * k->dim + c));
            lab_fill_set(values, LAB_K, at + c, value);
        }
}

/* ---------------------------------------------------------------------------------------------- */
/* Tails                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Key 0 is the heaviest; the logits of the others are lower by up to this, and their values larger
 * by the exponential of it, so that what is left out shows however little it weighs. In f16 weights
 * of e^-9 are still normal numbers. */
#define TAIL 16.0
#define TAIL_F16 8.5

void lab_fill_tails(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view;
    const lab_view *k = &values->block[LAB_K].view, *v = &values->block[LAB_V].view;
    uint64_t noise = lab_random_stream(seed, LAB_FILL_NOISE);
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    double tail = lab_type_is_narrow(problem->type) ? TAIL_F16 : TAIL;
    double slope = fmin(tail / fabs(lab_fill_logit_of_ones(problem)), 1e4);
    double sign = sign_of((double)problem->scale);
    for (int64_t n = 0; n < lab_view_vectors(q); n++)
        lab_fill_vector(values, LAB_Q, n, 1);
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        double part = n % k->seq ? (double)lab_random_below(choice, (uint64_t)n, 65) / 128 + 0.5
                                 : 0;
        lab_fill_uneven(values, seed, LAB_K, n, -sign * slope * part);
    }
    for (int64_t n = 0; n < lab_view_vectors(v); n++) {
        int64_t head = n - n % v->seq;
        double part = n % v->seq ? (double)lab_random_below(choice, (uint64_t)n, 65) / 128 + 0.5
                                 : 0;
        double gap = part * fmin(tail, slope * fabs(lab_fill_logit_of_ones(problem)));
        for (int64_t c = 0, at = lab_view_vector(v, n); c < v->dim; c++) {
            double u = 1 + 0.1 * lab_random_normal(noise, (uint64_t)(n * v->dim + c));
            lab_fill_set(values, LAB_V, at + c, (head / v->seq % 2 ? -1 : 1) * u * exp(gap));
        }
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* Vast                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

void lab_fill_vast(lab_values *values, uint64_t seed)
{
    double size = lab_type_is_narrow(values->problem.type) ? 0x1p14 : 0x1p100;
    if (values->problem.accumulate == HEED_ACC_F16)
        size = 0x1p6; /* sums of many may reach the largest number, whatever the last one is */
    lab_fill_normal(values, seed, LAB_Q, 0, 1);
    lab_fill_normal(values, seed, LAB_K, 0, 1);
    lab_fill_normal(values, seed, LAB_V, 0, size);
}

/* ---------------------------------------------------------------------------------------------- */
/* Weightless                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

/* Elements of K are above this, so that an infinity in Q makes all logits of its row infinite. */
#define KEY_LEAST 0x1p-4

/* About half of the rows, and the last one of each head, have logits of -infinity alone. */
void lab_fill_weightless(lab_values *values, uint64_t seed)
{
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    uint64_t column = lab_random_stream(seed, LAB_FILL_NOISE);
    double sign = sign_of((double)values->problem.scale);
    lab_fill_normal(values, seed, LAB_Q, 0, 1);
    lab_fill_normal(values, seed, LAB_K, 0, 1);
    lab_fill_normal(values, seed, LAB_V, 0, 1);
    for (int64_t n = 0; n < lab_view_vectors(k); n++)
        for (int64_t c = 0, at = lab_view_vector(k, n); c < k->dim; c++)
            lab_fill_set(values, LAB_K, at + c,
                         fmax(fabs(lab_fill_get(values, LAB_K, at + c)), KEY_LEAST));
    for (int64_t n = 0; n < lab_view_vectors(q); n++) {
        bool last = n % q->seq == q->seq - 1;
        int64_t at = lab_view_vector(q, n) + lab_random_below(column, (uint64_t)n, q->dim);
        if (last || lab_random_below(choice, (uint64_t)n, 2))
            lab_fill_set(values, LAB_Q, at, -sign * INFINITY);
    }
}
