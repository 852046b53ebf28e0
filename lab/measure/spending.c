/*
 * spending.c - bounds of a group sequential test, by numerical integration
 */
#include "spending.h"

#include <math.h>

/* Grid points of the density on the continuation region, from FLOOR standard deviations below to
 * the bound. */
enum {
    POINTS = 97
};
#define FLOOR (-8.0)
#define BOUND_MAX 8.0
#define SQRT_2PI 2.5066282746310002

double lab_normal_above(double z)
{
    return erfc(z * M_SQRT1_2) / 2;
}

/* Bisects [low, high] for the point where the decreasing @at has the value @want. */
static double solve(double (*at)(const void *, double), const void *data, double low, double high,
                    double want)
{
    for (int i = 0; i < 44; i++) {
        double middle = (low + high) / 2;
        if (at(data, middle) > want)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static double above(const void *data, double z)
{
    (void)data;
    return lab_normal_above(z);
}

double lab_normal_bound(double tail)
{
    return solve(above, NULL, -38, 38, tail);
}

/* The Brownian motion at the last look, on paths that have crossed no bound so far: weight[i] is
 * the probability around place[i]. */
typedef struct motion {
    double fraction;
    size_t points;
    double place[POINTS];
    double weight[POINTS];
    double next; /* fraction at the next look */
} motion;

/* The probability of continuing to the next look and exceeding @bound standard deviations there. */
static double crossing(const void *data, double bound)
{
    const motion *m = data;
    double scale = sqrt(m->next - m->fraction);
    double sum = 0;
    for (size_t i = 0; i < m->points; i++)
        sum += m->weight[i] * lab_normal_above((bound * sqrt(m->next) - m->place[i]) / scale);
    return sum;
}

/* Advances to the next look, and drops paths above @bound, by Simpson's rule. */
static void advance(motion *m, double bound)
{
    motion after = { .fraction = m->next, .points = POINTS };
    double scale = sqrt(m->next - m->fraction);
    double step = (bound - FLOOR) * sqrt(m->next) / (POINTS - 1);
    for (size_t j = 0; j < POINTS; j++) {
        double factor = j == 0 || j == POINTS - 1 ? 1 : j % 2 ? 4 : 2;
        double density = 0;
        after.place[j] = FLOOR * sqrt(m->next) + step * (double)j;
        for (size_t i = 0; i < m->points; i++) {
            double z = (after.place[j] - m->place[i]) / scale;
            density += m->weight[i] * exp(-z * z / 2);
        }
        after.weight[j] = density / (SQRT_2PI * scale) * step * factor / 3;
    }
    *m = after;
}

static double spent(double fraction, double tail)
{
    return 2 * lab_normal_above(lab_normal_bound(tail / 2) / sqrt(fraction));
}

void lab_spending_tails(const double *fractions, size_t looks, double tail, double *tails)
{
    motion m = { .points = 1, .weight = { 1 } }; /* at 0 with certainty */
    double before = 0;
    for (size_t k = 0; k < looks; k++) {
        double now = k + 1 == looks ? tail : spent(fractions[k], tail);
        m.next = fractions[k];
        double bound = solve(crossing, &m, FLOOR, BOUND_MAX, now - before);
        tails[k] = lab_normal_above(bound);
        before = now;
        if (k + 1 < looks)
            advance(&m, bound);
    }
}
