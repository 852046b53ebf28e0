/*
 * mixture.c - sequence lengths of a typical server workload
 */
#include "lab/verify/mixture.h"

#include <math.h>
#include <stdbool.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"

/* The ratio of the longest length to the shortest, where the limits permit it. */
#define SPREAD 100

/* The largest exponent that bends the scale, and the steps of the search for it. */
#define BENT_MAX 64.0
#define STEPS 60

static int64_t clamped(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

int64_t lab_fewest_keys(const heed_problem *problem)
{
    int64_t behind = problem->append;
    if (problem->prefix > 0 && problem->mask != HEED_MASK_NONE && problem->seq_q > behind)
        behind = problem->seq_q;
    return problem->prefix + behind;
}

static int64_t fewest_keys(const heed_problem *problem)
{
    return clamped(lab_fewest_keys(problem), 1, problem->seq_k);
}

/* Keys that are sure to fit in a pool: the last page of a sequence may hold a single key. */
static int64_t keys_of_pool(const heed_problem *problem)
{
    return problem->pages * problem->page - problem->batch * (problem->page - 1);
}

bool lab_mixture_fills_pool(const heed_problem *problem)
{
    return problem->page > 0 && problem->lengths.type != HEED_DATA_NONE && problem->prefix == 0 &&
           problem->pages < lab_pages_named(problem) &&
           keys_of_pool(problem) >= problem->batch * fewest_keys(problem);
}

lab_mixture lab_mixture_of_keys(const heed_problem *problem)
{
    return (lab_mixture){ .count = problem->batch,
                          .fewest = fewest_keys(problem),
                          .most = problem->seq_k,
                          .total = lab_mixture_fills_pool(problem) ? keys_of_pool(problem) : -1 };
}

lab_mixture lab_mixture_of_packed(const heed_problem *problem, bool queries)
{
    return (lab_mixture){ .count = problem->batch,
                          .most = queries ? problem->seq_q : problem->seq_k,
                          .total = queries ? problem->tokens_q : problem->tokens_k };
}

/* The length of the @i-th shortest sequence, not yet rounded. */
static double length_at(const lab_mixture *it, int64_t i, double bent)
{
    const int64_t part = (it->most + SPREAD - 1) / SPREAD;
    const double shortest = (double)(part > it->fewest ? part : it->fewest);
    const double place = it->count > 1 ? (double)i / (double)(it->count - 1) : 1;
    return shortest * pow((double)it->most / shortest, pow(place, bent));
}

static double sum_of(const lab_mixture *it, double bent)
{
    double sum = 0;
    for (int64_t i = 0; i < it->count; i++)
        sum += length_at(it, i, bent);
    return sum;
}

/* Returns the exponent with which the sum of the lengths is closest to the total. */
static double bend(const lab_mixture *it)
{
    double straighter = 1 / BENT_MAX, bent = BENT_MAX;
    if (it->total < 0)
        return 1;
    for (int step = 0; step < STEPS; step++) { /* a larger exponent makes sequences shorter */
        const double middle = sqrt(straighter * bent);
        if (sum_of(it, middle) > (double)it->total)
            straighter = middle;
        else
            bent = middle;
    }
    return bent;
}

static void swap(heed_data kind, void *data, int64_t a, int64_t b)
{
    const double x = lab_data_get(kind, data, a);
    lab_data_set(kind, data, a, lab_data_get(kind, data, b));
    lab_data_set(kind, data, b, x);
}

void lab_mixture_draw(const lab_mixture *lengths, uint64_t seed, heed_data kind, void *data,
                      int64_t stride)
{
    const double bent = bend(lengths);
    double sum = 0; /* of unrounded lengths: the remainder carries over to the next one */
    int64_t given = 0;
    for (int64_t i = 0; i < lengths->count; i++) {
        const int64_t behind = lengths->count - 1 - i, left = lengths->total - given;
        sum += length_at(lengths, i, bent);
        int64_t length = clamped(llround(sum) - given, lengths->fewest, lengths->most);
        if (lengths->total >= 0)
            length = clamped(length, left - behind * lengths->most,
                             left - behind * lengths->fewest);
        given += length;
        lab_data_set(kind, data, i * stride, (double)length);
    }
    for (int64_t n = lengths->count - 1; n > 0; n--) /* Fisher-Yates shuffle */
        swap(kind, data, n * stride, lab_random_below(seed, (uint64_t)n, n + 1) * stride);
}
