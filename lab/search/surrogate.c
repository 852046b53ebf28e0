/*
 * surrogate.c - a Gaussian process over the points of a space
 */
#include "lab/search/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N LAB_SURROGATE_SAMPLES
#define SWEEPS 2
#define REFIT_SHARE 8 /* parameters are chosen again after 1/REFIT_SHARE more samples */

/* Parameters are indices in lists of values: a length for each knob, then a, then noise. */
static const double lengths[] = { 0.25, 1, 4, 40 };
static const double additive[] = { 0, 0.5, 0.9 };
static const double noises[] = { 1e-4, 1e-2, 1e-1 };
#define LENGTHS 4
#define ADDITIVES 3
#define NOISES 3

/* A log prior of the lengths: without it the first few samples would overfit. */
static const double reluctance[LENGTHS] = { 0.5, 0, 0.25, 0.5 };

typedef struct parameters {
    int length[LAB_SPACE_KNOBS];
    int additive;
    int noise;
} parameters;

struct lab_surrogate {
    const lab_space *space;
    parameters now;
    double fade[LAB_SPACE_KNOBS][LAB_SPACE_VALUES]; /* exp(-d / l) by knob and distance in steps */
    lab_point points[N];
    double values[N]; /* standardized */
    double mean, deviation;
    size_t count, fitted; /* samples, and their number when parameters were chosen */
    double root[N][N];    /* lower triangle of the Cholesky factor */
    double weights[N];    /* K^-1 values */
    double variance;
};

lab_surrogate *lab_surrogate_create(const lab_space *space)
{
    lab_surrogate *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->space = space;
    for (int i = 0; i < space->knob_count; i++)
        self->now.length[i] = 1;
    self->now.additive = self->now.noise = 1;
    return self;
}

void lab_surrogate_destroy(lab_surrogate *surrogate)
{
    free(surrogate);
}

static void spread(lab_surrogate *self)
{
    for (int knob = 0; knob < self->space->knob_count; knob++) {
        int steps = self->space->knobs[knob].count - 1;
        double length = lengths[self->now.length[knob]];
        for (int i = 0; i <= steps; i++)
            self->fade[knob][i] = steps > 0 ? exp(-i / (steps * length)) : 1;
    }
}

double lab_surrogate_likeness(const lab_surrogate *surrogate, const lab_point *a,
                              const lab_point *b)
{
    double product = 1, sum = 0, share = additive[surrogate->now.additive];
    int knobs = surrogate->space->knob_count;
    for (int i = 0; i < knobs; i++) {
        double fade = surrogate->fade[i][abs(a->at[i] - b->at[i])];
        product *= fade;
        sum += fade;
    }
    return (1 - share) * product + share * sum / knobs;
}

/* Factors the correlations of all samples. With noise of at least 1e-4 on the diagonal, they are
 * positive definite despite rounding. */
static void factor(lab_surrogate *self)
{
    for (size_t i = 0; i < self->count; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = lab_surrogate_likeness(self, &self->points[i], &self->points[j]);
            if (i == j)
                sum += noises[self->now.noise];
            for (size_t k = 0; k < j; k++)
                sum -= self->root[i][k] * self->root[j][k];
            self->root[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / self->root[j][j];
        }
}

/* Solves root x = values. */
static void solve_down(const lab_surrogate *self, const double *values, double *x)
{
    for (size_t i = 0; i < self->count; i++) {
        double sum = values[i];
        for (size_t j = 0; j < i; j++)
            sum -= self->root[i][j] * x[j];
        x[i] = sum / self->root[i][i];
    }
}

/* Computes everything that follows from samples and parameters. Returns the log likelihood up to a
 * constant. */
static double compute(lab_surrogate *self)
{
    double half[N], squares = 0, determinant = 0, penalty = 0;
    size_t n = self->count;
    spread(self);
    factor(self);
    solve_down(self, self->values, half);
    for (size_t i = 0; i < n; i++) {
        squares += half[i] * half[i];
        determinant += log(self->root[i][i]);
    }
    for (size_t i = n; i-- > 0;) {
        double sum = half[i];
        for (size_t j = i + 1; j < n; j++)
            sum -= self->root[j][i] * self->weights[j];
        self->weights[i] = sum / self->root[i][i];
    }
    /* Adds one typical pseudo-sample: a few equal values prove little. */
    self->variance = (squares + 1) / (double)(n + 1);
    for (int i = 0; i < self->space->knob_count; i++)
        penalty += reluctance[self->now.length[i]];
    return -0.5 * (double)n * log(self->variance) - determinant - penalty;
}

/* Tries all values of one parameter and keeps the best. */
static void choose_one(lab_surrogate *self, int *parameter, int values, double *best)
{
    int kept = *parameter;
    for (int i = 0; i < values; i++) {
        *parameter = i;
        double likelihood = compute(self);
        if (likelihood > *best) {
            *best = likelihood;
            kept = i;
        }
    }
    *parameter = kept;
}

static void choose(lab_surrogate *self)
{
    double best = compute(self);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < self->space->knob_count; i++)
            if (self->space->knobs[i].count > 1)
                choose_one(self, &self->now.length[i], LENGTHS, &best);
        choose_one(self, &self->now.additive, ADDITIVES, &best);
        choose_one(self, &self->now.noise, NOISES, &best);
    }
    self->fitted = self->count;
}

static void standardize(lab_surrogate *self, const double *values)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < self->count; i++)
        sum += values[i];
    self->mean = sum / (double)self->count;
    for (size_t i = 0; i < self->count; i++)
        squares += (values[i] - self->mean) * (values[i] - self->mean);
    self->deviation = sqrt(squares / (double)self->count);
    if (!(self->deviation > 1e-9))
        self->deviation = 1e-9;
    for (size_t i = 0; i < self->count; i++)
        self->values[i] = (values[i] - self->mean) / self->deviation;
}

void lab_surrogate_fit(lab_surrogate *surrogate, const lab_point *points, const double *values,
                       size_t count)
{
    surrogate->count = count < N ? count : N;
    memcpy(surrogate->points, points, surrogate->count * sizeof *points);
    standardize(surrogate, values);
    if (surrogate->count >= surrogate->fitted + surrogate->fitted / REFIT_SHARE + 1)
        choose(surrogate);
    compute(surrogate);
}

void lab_surrogate_predict(const lab_surrogate *surrogate, const lab_point *point, double *mean,
                           double *deviation)
{
    double likeness[N] = { 0 }, half[N], sum = 0, known = 0;
    for (size_t i = 0; i < surrogate->count; i++) {
        likeness[i] = lab_surrogate_likeness(surrogate, point, &surrogate->points[i]);
        sum += likeness[i] * surrogate->weights[i];
    }
    solve_down(surrogate, likeness, half);
    for (size_t i = 0; i < surrogate->count; i++)
        known += half[i] * half[i];
    *mean = surrogate->mean + surrogate->deviation * sum;
    *deviation = surrogate->deviation * sqrt(surrogate->variance * fmax(1 - known, 0));
}

double lab_expected_improvement(double mean, double deviation, double best)
{
    const double root_2pi = 2.5066282746310002;
    if (!(deviation > 0))
        return mean < best ? best - mean : 0;
    double z = (best - mean) / deviation;
    double below = 0.5 * erfc(-z * 0.70710678118654752);
    return (best - mean) * below + deviation * exp(-0.5 * z * z) / root_2pi;
}
