/*
 * hard.c - hard values at random places, against kernels that are fast only on tame values
 */
#include "lab/bench/hard.h"

#include <math.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/products.h"
#include "lab/verify/reference/reference.h"

/* Maximum of an element; in a narrow type, as a share of its largest number. */
#define ELEMENT_SHARE (60000 / 65504.0)
#define ELEMENT_MAX 1e15

/* The logit of a high key, times up to 4^3 where sums are not in half precision and rounding of
 * operands changes it by at most OFF_MOST; in a masked row, the logit of its only key. */
#define HIGH_LOGIT 250.0
#define HIGH_SIZES 4
#define OFF_MOST 0.125
#define LOW_LOGIT (-30000.0)

/* The logit of a high key with all elements as small as possible: expf() is infinite from 89 on. */
#define EVEN_LOGIT 92
#define EVEN_LOGITS 32
#define EVEN_MOST 1.25 /* times the size they would have if they were equal */
#define EVEN_DIGITS (1 << 20)

/* Distance of a light key's logit below the others, which are about 0. */
#define LIGHT_LEAST 5
#define LIGHT_MOST 18
#define LIGHT_MOST_F16 7

/* Distance of the next logit below a high one. */
#define NEXT_LOGIT 1.5

/* Indices of the random draws. */
enum {
    LOT_ROW,
    LOT_KEY,
    LOT_COLUMN,
    LOT_SIZE,
    LOT_NEXT,
    LOT_SELDOM,
    LOT_DIGITS
};

/* A kernel that checks for a NaN in a key can skip the work of all rows that see it, and the calls
 * are timed. If more than one row in this many could be skipped, the NaN is used only in one of
 * this many turns. */
#define SPARED 16
#define SELDOM 8

/* A row, and a key that it sees. */
typedef struct place {
    const heed_problem *problem;
    void *const *data;
    const heed_buffers *operands; /* that locate keys, if any */
    uint64_t lot;
    int64_t row;
    int64_t query; /* index of the first element of the row's vector of Q ... */
    int64_t key;   /* ... of the key's of K ... */
    int64_t value; /* ... and of V */
    int64_t next;  /* of another key that the row sees, or of the same one */
} place;

static double largest_of(const heed_problem *problem)
{
    const heed_type type = problem->type;
    return lab_type_is_narrow(type) ? ELEMENT_SHARE * lab_type_largest(type) : ELEMENT_MAX;
}

/* Sets elements at @to of tensor @to_role to those at @from, times @factor. Returns false, with
 * nothing changed, if one is not finite or becomes too large. */
static bool scale(const place *at, lab_role from_role, int64_t from, lab_role to_role, int64_t to,
                  int64_t count, double factor, double most)
{
    heed_type type = at->problem->type;
    for (int64_t c = 0; c < count; c++)
        if (!(fabs(factor * lab_element_get(type, at->data[from_role], from + c)) <= most))
            return false;
    for (int64_t c = 0; c < count; c++)
        lab_element_set(type, at->data[to_role], to + c,
                        factor * lab_element_get(type, at->data[from_role], from + c));
    return true;
}

/* The factor that makes the scaled product of a vector with itself @logit. */
static double factor_of(const place *at, lab_role role, int64_t from, double logit)
{
    double sum = 0;
    for (int64_t c = 0; c < at->problem->dim_qk; c++) {
        double x = lab_element_get(at->problem->type, at->data[role], from + c);
        sum += x * x;
    }
    return logit / (sum * (double)at->problem->scale);
}

/* Makes the vector @key of K a multiple of the query, so that their logit is @logit. */
static bool aim(const place *at, int64_t key, double logit)
{
    return scale(at, LAB_Q, at->query, LAB_K, key, at->problem->dim_qk,
                 factor_of(at, LAB_Q, at->query, logit), largest_of(at->problem));
}

/* Number of sizes of high logits. */
static int high_sizes(const heed_problem *problem)
{
    double unit = lab_products_unit(problem->products);
    int count = 1;
    while (count < HIGH_SIZES && ldexp(unit * HIGH_LOGIT, 2 * count) <= OFF_MOST)
        count++;
    return problem->accumulate == HEED_ACC_F16 ? 1 : count;
}

/* A softcap would make two high logits equal. */
static bool put_high(const place *at)
{
    int size = (int)lab_random_below(at->lot, LOT_SIZE, high_sizes(at->problem));
    double logit = ldexp(HIGH_LOGIT, 2 * size);
    return aim(at, at->next, logit - NEXT_LOGIT) && aim(at, at->key, logit);
}

/* A high logit that no single element of Q or K reveals: their products are equal, and with a usual
 * scale and 16 dimensions or more none exceeds 7. Their low digits are random, or they would give
 * it away. */
static bool put_even(const place *at)
{
    const heed_problem *p = at->problem;
    const uint64_t digits = lab_random_stream(at->lot, LOT_DIGITS);
    double logit = EVEN_LOGIT + (double)lab_random_below(at->lot, LOT_SIZE, EVEN_LOGITS);
    double size = sqrt(logit / (fabs((double)p->scale) * (double)p->dim_qk));
    if (!(EVEN_MOST * size <= largest_of(p)))
        return false;
    for (int64_t c = 0; c < p->dim_qk; c++) {
        double drawn = (double)lab_random_below(digits, (uint64_t)c, EVEN_DIGITS) / EVEN_DIGITS;
        double query = size * (1 / EVEN_MOST + (EVEN_MOST - 1 / EVEN_MOST) * drawn);
        double key = copysign(size * size / query, (double)p->scale);
        if (lab_element_get(p->type, at->data[LAB_Q], at->query + c) < 0)
            query = -query, key = -key;
        lab_element_set(p->type, at->data[LAB_Q], at->query + c, query);
        lab_element_set(p->type, at->data[LAB_K], at->next + c, key * (1 - NEXT_LOGIT / logit));
        lab_element_set(p->type, at->data[LAB_K], at->key + c, key);
    }
    return true;
}

/* The query is a multiple of the key. */
static bool put_low(const place *at)
{
    return scale(at, LAB_K, at->key, LAB_Q, at->query, at->problem->dim_qk,
                 factor_of(at, LAB_K, at->key, LOW_LOGIT), largest_of(at->problem));
}

/* Scales the key's value to a largest element of @size. */
static bool raise_value(const place *at, double size)
{
    double most = 0;
    for (int64_t c = 0; c < at->problem->dim_v; c++)
        most = fmax(most, fabs(lab_element_get(at->problem->type, at->data[LAB_V], at->value + c)));
    return scale(at, LAB_V, at->value, LAB_V, at->value, at->problem->dim_v, size / most,
                 fmin(2 * size, lab_type_largest(at->problem->type)));
}

/* Small weight, balanced by large values. */
static bool put_light(const place *at)
{
    bool narrow = lab_type_is_narrow(at->problem->type) || at->problem->accumulate == HEED_ACC_F16;
    int64_t span = (narrow ? LIGHT_MOST_F16 : LIGHT_MOST) - LIGHT_LEAST + 1;
    double gap = LIGHT_LEAST + (double)lab_random_below(at->lot, LOT_SIZE, span);
    return aim(at, at->key, -gap) && raise_value(at, 4 * exp(gap));
}

static bool put_vast(const place *at)
{
    if (at->problem->accumulate == HEED_ACC_F16)
        return raise_value(at, 0x1p6);
    const heed_type type = at->problem->type;
    return raise_value(at, lab_type_is_narrow(type) ? ldexp(0.25, ilogb(lab_type_largest(type)))
                                                    : 0x1p100);
}

/* Sets one element of the key, the query or the value. */
static bool put_odd(const place *at, lab_role role, double value)
{
    const int64_t first[] = { [LAB_Q] = at->query, [LAB_K] = at->key, [LAB_V] = at->value };
    const int64_t dim = role == LAB_V ? at->problem->dim_v : at->problem->dim_qk;
    int64_t column = lab_random_below(at->lot, LOT_COLUMN, dim);
    lab_element_set(at->problem->type, at->data[role], first[role] + column, value);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */
/* Where                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Row @n, or the first row of its head that sees a key. */
static int64_t first_seeing(const heed_problem *problem, int64_t n)
{
    const int64_t queries = lab_queries(problem);
    for (int64_t i = 0; i < queries; i++)
        if (lab_visible_count(problem, i) > 0)
            return n - n % queries + i;
    return n;
}

/* False if the row sees no key. */
static bool find_place(place *at, bool first)
{
    const heed_problem *problem = at->problem;
    const lab_view q = lab_view_of(problem, LAB_Q);
    lab_view k = lab_view_of(problem, LAB_K), v = lab_view_of(problem, LAB_V);
    lab_view_bind(&k, problem, at->operands->table);
    lab_view_bind(&v, problem, at->operands->table);
    at->row = lab_random_below(at->lot, LOT_ROW, lab_rows(problem));
    if (first)
        at->row = first_seeing(problem, at->row);
    lab_row row = lab_row_at(problem, at->row);
    int64_t batch;
    lab_range seen = lab_row_keys(problem, at->operands, row, &batch);
    if (problem->tokens_k == 0)
        seen = lab_visible(problem, row.query);
    int64_t keys = seen.end - seen.begin, head = lab_row_kv_head(problem, row);
    if (keys == 0)
        return false;
    int64_t key = seen.begin + lab_random_below(at->lot, LOT_KEY, keys);
    int64_t next = seen.begin + lab_random_below(at->lot, LOT_NEXT, keys);
    at->query = lab_view_at(&q, row.batch, row.query, row.head);
    at->key = lab_view_at(&k, batch, key, head);
    at->value = lab_view_at(&v, batch, key, head);
    at->next = lab_view_at(&k, batch, next, head);
    return true;
}

lab_bench_hard lab_bench_hard_put(const heed_problem *problem, void *const data[LAB_VECTORS],
                                  const heed_buffers *operands, uint64_t turn, uint64_t lot)
{
    enum {
        NONE,
        COLUMN,
        ROW,
        ROWS
    };
    static const struct {
        const char *what;
        bool (*put)(const place *at); /* NULL: put_odd() with the next two */
        lab_role role;
        double value;
        int odd;     /* the part of a head's output that may be non-finite */
        bool masked; /* only with a mask, in the first row; at the end of the table */
    } kinds[] = {
        { "a high logit", put_high, LAB_K, 0, NONE, false },
        { "a high logit of even elements", put_even, LAB_K, 0, NONE, false },
        { "a light key of large values", put_light, LAB_K, 0, NONE, false },
        { "vast values", put_vast, LAB_V, 0, NONE, false },
        { "a NaN in K", NULL, LAB_K, NAN, ROWS, false },
        { "a NaN in Q", NULL, LAB_Q, NAN, ROW, false },
        { "a NaN in V", NULL, LAB_V, NAN, COLUMN, false },
        { "an infinity in V", NULL, LAB_V, INFINITY, COLUMN, false },
        { "a row of low logits", put_low, LAB_Q, 0, NONE, true },
    };
    const size_t count = sizeof kinds / sizeof *kinds - (problem->mask == HEED_MASK_NONE);
    const int64_t readers = lab_queries(problem) * (problem->heads_q / problem->heads_kv);
    const int64_t spared[] = { [NONE] = 0, [COLUMN] = 0, [ROW] = 1, [ROWS] = readers };
    const int64_t odd[] = {
        [NONE] = 0, [COLUMN] = readers, [ROW] = problem->dim_v, [ROWS] = readers * problem->dim_v
    };
    const bool seldom = lab_random_below(lot, LOT_SELDOM, SELDOM) == 0;
    size_t kind = (size_t)(turn % count);
    place at = { .problem = problem, .data = data, .operands = operands, .lot = lot };

    while (!seldom && spared[kinds[kind].odd] * SPARED > lab_rows(problem))
        kind++; /* finally a NaN in V, which allows no skipping */
    if (!find_place(&at, kinds[kind].masked) ||
        !(kinds[kind].put ? kinds[kind].put(&at)
                          : put_odd(&at, kinds[kind].role, kinds[kind].value)))
        return (lab_bench_hard){ .what = NULL };
    return (lab_bench_hard){ kinds[kind].what, at.row, odd[kinds[kind].odd] };
}
