/*
 * inputs_hard.c - distributions of input values at the limits of the number formats
 */
#include <math.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/inputs_fill.h"
#include "lab/verify/reference/products.h"

static double sign_of(double x)
{
    return x < 0 ? -1 : 1;
}

/* ---------------------------------------------------------------------------------------------- */
/* Huge logits                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

/* Every vector of K is one number repeated: a logit is that number times the sum of the query and
 * the scale. The numbers are multiples of a 64th of the largest, and the highest logit of a row is
 * far above the next one, or equal to it: float32 rounding cannot swap them. Keys 1, 2, 4, 8 and so
 * on set records, so only one key that a row sees is the highest. */
#define LEVELS 64
#define LEVEL_MIDDLE 32

/* Products and logits stay below this: the largest number of float32 is 3.40e38, and kernels count
 * in base 2, where a logit is 1.44 times as large. */
#define PRODUCT_MAX 2.3e38

/* The largest number of K, and the largest mean of a vector of Q, by type; of a narrow one, as
 * shares of its largest number. */
#define KEY_SHARE (60000 / 65504.0)
#define QUERY_SHARE (48000 / 65504.0)
typedef struct span {
    double key;
    double query;
} span;

static span span_of(const heed_problem *problem)
{
    double most = PRODUCT_MAX * fmin(1, 1 / fabs((double)problem->scale));
    if (lab_type_is_narrow(problem->type))
        return (span){ .key = KEY_SHARE * lab_type_largest(problem->type),
                       .query = QUERY_SHARE * lab_type_largest(problem->type) };
    return (span){ .key = 0x1p60, .query = most / 0x1p60 / (double)problem->dim_qk };
}

/* The exponent of the largest numbers of @type, which is narrow, less room for sums. */
#define ROOM 3
static int exponent_below(heed_type type)
{
    return ilogb(lab_type_largest(type)) - ROOM;
}

/* The exponent of @j if it is a power of two, else -1. */
static int power_of(int64_t j)
{
    return j > 0 && (j & (j - 1)) == 0 ? __builtin_ctzll((unsigned long long)j) : -1;
}

/* The level of key @j, of either sign: a power of two sets a record, and the key after it sets one
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

/* Rows differ in magnitude: from the largest possible logits to those just too large for a 32-bit
 * integer, within the range of the type. */
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
/* Even                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* The largest logits: expf() is infinite from 89 on, and products are sums of equal terms, none of
 * which is large. Sums in half precision lack the digits for that. */
#define EVEN_LOGIT 120.0
#define EVEN_LOGIT_HALF 24.0

/* The magnitude of each logit is at least this fraction of the largest. */
#define EVEN_LEAST 0.8
#define EVEN_SIZES 64

void lab_fill_even(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    uint64_t sizes = lab_random_stream(seed, LAB_FILL_SIZE);
    double logit = problem->accumulate == HEED_ACC_F16 ? EVEN_LOGIT_HALF : EVEN_LOGIT;
    double most = lab_type_is_narrow(problem->type) ? ldexp(1, exponent_below(problem->type))
                                                    : 0x1p50;
    double size = fmin(sqrt(logit / fabs(lab_fill_logit_of_ones(problem))), most);
    lab_fill_normal(values, seed, LAB_V, 0, 1);
    for (int64_t n = 0; n < lab_view_vectors(q); n++)
        lab_fill_uneven(values, seed, LAB_Q, n, n % 2 ? -size : size);
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        double lot = (double)lab_random_below(sizes, (uint64_t)n, EVEN_SIZES + 1) / EVEN_SIZES;
        double part = EVEN_LEAST + (1 - EVEN_LEAST) * lot;
        bool below = lab_random_below(choice, (uint64_t)n, 2);
        lab_fill_uneven(values, seed, LAB_K, n, below ? -size * part : size * part);
    }
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
    lab_fill_normals(values, seed, 1, 1);
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

/* Key 0 is the heaviest. The logits of the others are lower by up to this, and their values larger
 * by its exponential, so that a key that is left out shows however small its weight. In f16 weights
 * of e^-9 are still normal numbers. */
#define TAIL 16.0
#define TAIL_F16 8.5
#define TAIL_VALUE 1.35 /* more than all values before that */

static double tail_part(uint64_t choice, int64_t n, int64_t seq)
{
    return n % seq ? (double)lab_random_below(choice, (uint64_t)n, 65) / 128 + 0.5 : 0;
}

void lab_fill_tails(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view;
    const lab_view *k = &values->block[LAB_K].view, *v = &values->block[LAB_V].view;
    uint64_t noise = lab_random_stream(seed, LAB_FILL_NOISE);
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    double most = log(lab_type_largest(problem->type) / TAIL_VALUE);
    double tail = fmin(lab_type_is_narrow(problem->type) ? TAIL_F16 : TAIL, most);
    double slope = fmin(tail / fabs(lab_fill_logit_of_ones(problem)), 1e4);
    double sign = sign_of((double)problem->scale);
    for (int64_t n = 0; n < lab_view_vectors(q); n++)
        lab_fill_vector(values, LAB_Q, n, 1);
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        lab_fill_uneven(values, seed, LAB_K, n, -sign * slope * tail_part(choice, n, k->seq));
    }
    for (int64_t n = 0; n < lab_view_vectors(v); n++) {
        int64_t head = n - n % v->seq;
        double gap = tail_part(choice, n, v->seq) *
                     fmin(tail, slope * fabs(lab_fill_logit_of_ones(problem)));
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
    const heed_type type = values->problem.type;
    double size = lab_type_is_narrow(type) ? ldexp(0.5, ilogb(lab_type_largest(type))) : 0x1p100;
    if (values->problem.accumulate == HEED_ACC_F16)
        size = 0x1p6; /* long sums may reach the largest number before the last term */
    lab_fill_normals(values, seed, 1, size);
}

/* ---------------------------------------------------------------------------------------------- */
/* Sizes                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Exponents of a row's logits, to base 2, in one of three ranges; the middle one is drawn twice as
 * often as others. Between it and the last range the gap of the highest two would be so small that
 * the rounding of an LSE spoils weights computed from it (LAB_LSE_FAR). */
static const struct {
    int64_t least;
    int64_t most;
} sizes[] = { { -30, -1 }, { 0, 11 }, { 0, 11 }, { 36, 90 } };

/* Keys come in groups of four. The second is longer than the first by one part in 2^FINE, and the
 * other two are longer than these by one part in 2^COARSE. The highest two logits of a row then
 * differ by one part in 2^FINE, whether the row's logits are high or low. */
#define GROUP 4
#define FINE_LEAST 10
#define FINE_MOST 14
#define COARSE_LEAST 1
#define COARSE_MOST 7

/* Headroom of sums of products below the largest number. */
#define SIZE_ROOM 64

static int64_t draw_between(uint64_t stream, int64_t n, int64_t low, int64_t high)
{
    return low + lab_random_below(stream, (uint64_t)n, high - low + 1);
}

/* Where products are summed in half precision, or their operands rounded, logits are off by at most
 * this: beyond small errors, the errors of weights are not proportional to those of logits. */
#define OFF_MOST 0x1p-6

/* The largest exponent of a row's logits. */
static int64_t exponent_most(const heed_problem *problem)
{
    double unit = problem->accumulate == HEED_ACC_F16 ? lab_type_unit(HEED_F16)
                                                      : lab_products_unit(problem->products);
    return unit > 0 ? ilogb(OFF_MOST / unit) : INT64_MAX;
}

/* The magnitude of a row's elements of Q. It takes three random numbers for each row. */
static double query_size(const heed_problem *problem, uint64_t choice, int64_t row)
{
    bool narrow = lab_type_is_narrow(problem->type);
    double most = narrow ? ldexp(1, exponent_below(problem->type))
                         : span_of(problem).query * 0x1p60 / SIZE_ROOM;
    int64_t range = draw_between(choice, 3 * row, 0, sizeof sizes / sizeof *sizes - 1);
    int64_t exponent = draw_between(choice, 3 * row + 1, sizes[range].least, sizes[range].most);
    if (exponent > exponent_most(problem))
        exponent = exponent_most(problem);
    double size = ldexp(1, (int)exponent) / fabs(lab_fill_logit_of_ones(problem));
    return fmax(fmin(size, most), narrow ? lab_type_normal(problem->type) : 0x1p-100);
}

/* The logits of a row are all high, all low, or of either sign. */
static void fill_queries(lab_values *values, uint64_t seed)
{
    const lab_view *q = &values->block[LAB_Q].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    uint64_t noise = lab_random_stream(seed, LAB_Q);
    for (int64_t n = 0; n < lab_view_vectors(q); n++) {
        double size = query_size(&values->problem, choice, n);
        double mean = 2 * (double)draw_between(choice, 3 * n + 2, -1, 1);
        for (int64_t c = 0, at = lab_view_vector(q, n); c < q->dim; c++)
            lab_fill_set(values, LAB_Q, at + c,
                         size * (mean + lab_random_normal(noise, (uint64_t)(n * q->dim + c))));
    }
}

/* The length of key @j of the group that begins with vector @first, relative to that vector's. */
static double length_in_group(uint64_t choice, int64_t first, int64_t j)
{
    double fine = ldexp(1, -(int)draw_between(choice, first, FINE_LEAST, FINE_MOST));
    double coarse = ldexp(1, -(int)draw_between(choice, first + 1, COARSE_LEAST, COARSE_MOST));
    return 1 + (j % 2 ? fine : 0) + (j / 2 ? coarse : 0);
}

static void fill_groups(lab_values *values, uint64_t seed)
{
    const lab_view *k = &values->block[LAB_K].view;
    uint64_t noise = lab_random_stream(seed, LAB_K);
    uint64_t choice = lab_random_stream(seed, LAB_FILL_NOISE);
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        int64_t j = n % k->seq % GROUP, first = n - j;
        double length = length_in_group(choice, first, j);
        for (int64_t c = 0, at = lab_view_vector(k, n); c < k->dim; c++) {
            double value = 1 + 0.25 * lab_random_normal(noise, (uint64_t)(first * k->dim + c));
            lab_fill_set(values, LAB_K, at + c, value * length);
        }
    }
}

void lab_fill_sizes(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *v = &values->block[LAB_V].view;
    uint64_t noise = lab_random_stream(seed, LAB_V);
    uint64_t choice = lab_random_stream(seed, LAB_FILL_SIZE);
    bool narrow = lab_type_is_narrow(problem->type);
    int64_t least = narrow ? ilogb(lab_type_normal(problem->type)) : -99;
    int64_t most = problem->accumulate == HEED_ACC_F16 ? 6
                   : narrow                            ? exponent_below(problem->type)
                                                       : 99;
    fill_queries(values, seed);
    fill_groups(values, seed);
    for (int64_t n = 0; n < lab_view_vectors(v); n++) {
        double size = ldexp(1, (int)draw_between(choice, n / v->seq, least, most));
        for (int64_t c = 0, at = lab_view_vector(v, n); c < v->dim; c++)
            lab_fill_set(values, LAB_V, at + c,
                         size * lab_random_normal(noise, (uint64_t)(n * v->dim + c)));
    }
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
    lab_fill_normals(values, seed, 1, 1);
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
