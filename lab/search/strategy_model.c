/*
 * strategy_model.c - Bayesian optimization: spread-out points first, then maximal expected
 * improvement by predicted scores of untried points, a Gaussian process
 *
 * The correlation of two points is, where d_j is the distance between their values of knob j in the
 * order of the space's file, as a share of all steps,
 *
 *     (1 - a) prod_j exp(-d_j / l_j) + a mean_j exp(-d_j / l_j)
 *
 * The product models similarity in all knobs together; the mean models separate effects of each
 * knob, which can be learned from few samples. The exponential, rather than a smoother kernel,
 * allows cliffs, such as the onset of register spills. a, the lengths l_j and the share of noise
 * are chosen from a few values each by maximum likelihood.
 *
 * Sources: C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning" (2006);
 * D. R. Jones, M. Schonlau and W. J. Welch, "Efficient global optimization of expensive black-box
 * functions" (1998), for expected improvement.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search/strategies.h"

#define FIRST_PER_KNOB 2 /* spread-out points before the model is used */
#define FIRST_SHARE 8    /* but at most 1/FIRST_SHARE of the open points */
#define FIRST_MIN 3
#define AROUND 4 /* number of best points whose neighbours are considered */
#define ANNOUNCED 8

/* Points considered in a step. Of more open points, random ones and neighbours. */
#define CANDIDATES 2048

/* Scores are capped at this distance above the best, in logarithms: all slower points are equally
 * bad. */
#define SLOWEST 1.1

/* -------------------------------------------------------------------------- */
/* The Gaussian process                                                       */
/* -------------------------------------------------------------------------- */

#define N 256 /* samples at most */
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

typedef struct surrogate {
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
} surrogate;

/* @self is zeroed. */
static void begin(surrogate *self, const lab_space *space)
{
    self->space = space;
    for (int i = 0; i < space->knob_count; i++)
        self->now.length[i] = 1;
    self->now.additive = self->now.noise = 1;
}

static void spread(surrogate *self)
{
    for (int knob = 0; knob < self->space->knob_count; knob++) {
        int steps = self->space->knobs[knob].count - 1;
        double length = lengths[self->now.length[knob]];
        for (int i = 0; i <= steps; i++)
            self->fade[knob][i] = steps > 0 ? exp(-i / (steps * length)) : 1;
    }
}

/* The correlation of two points, 0 to 1. */
static double likeness_of(const surrogate *self, const lab_point *a, const lab_point *b)
{
    double product = 1, sum = 0, share = additive[self->now.additive];
    int knobs = self->space->knob_count;
    for (int i = 0; i < knobs; i++) {
        double fade = self->fade[i][abs(a->at[i] - b->at[i])];
        product *= fade;
        sum += fade;
    }
    return (1 - share) * product + share * sum / knobs;
}

/* Factors the correlations of all samples. With noise of at least 1e-4 on the diagonal, they are
 * positive definite despite rounding. */
static void factor(surrogate *self)
{
    for (size_t i = 0; i < self->count; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = likeness_of(self, &self->points[i], &self->points[j]);
            if (i == j)
                sum += noises[self->now.noise];
            for (size_t k = 0; k < j; k++)
                sum -= self->root[i][k] * self->root[j][k];
            self->root[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / self->root[j][j];
        }
}

/* Solves root x = values. */
static void solve_down(const surrogate *self, const double *values, double *x)
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
static double compute(surrogate *self)
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
static void choose_one(surrogate *self, int *parameter, int values, double *best)
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

static void choose(surrogate *self)
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

static void standardize(surrogate *self, const double *values)
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

/* Fits @count samples, 1 to N: values[i], finite, at points[i]. It chooses its parameters again
 * when there are an eighth more samples than last time. */
static void fit(surrogate *self, const lab_point *points, const double *values, size_t count)
{
    self->count = count < N ? count : N;
    memcpy(self->points, points, self->count * sizeof *points);
    standardize(self, values);
    if (self->count >= self->fitted + self->fitted / REFIT_SHARE + 1)
        choose(self);
    compute(self);
}

/* Writes the expected value at @point, and its standard deviation without noise. */
static void predict(const surrogate *self, const lab_point *point, double *mean, double *deviation)
{
    double likeness[N] = { 0 }, half[N], sum = 0, known = 0;
    for (size_t i = 0; i < self->count; i++) {
        likeness[i] = likeness_of(self, point, &self->points[i]);
        sum += likeness[i] * self->weights[i];
    }
    solve_down(self, likeness, half);
    for (size_t i = 0; i < self->count; i++)
        known += half[i] * half[i];
    *mean = self->mean + self->deviation * sum;
    *deviation = self->deviation * sqrt(self->variance * fmax(1 - known, 0));
}

/* The mean of max(@best - value, 0) for a normally distributed value. */
static double expected_improvement(double mean, double deviation, double best)
{
    const double root_2pi = 2.5066282746310002;
    if (!(deviation > 0))
        return mean < best ? best - mean : 0;
    double z = (best - mean) / deviation;
    double below = 0.5 * erfc(-z * 0.70710678118654752);
    return (best - mean) * below + deviation * exp(-0.5 * z * z) / root_2pi;
}

/* -------------------------------------------------------------------------- */
/* The strategy                                                               */
/* -------------------------------------------------------------------------- */

typedef struct candidate {
    int64_t index;
    double worth;
} candidate;

typedef struct learner {
    lab_search *search;
    const lab_space *space;
    surrogate surrogate;
    int64_t *order; /* open points, shuffled; tried ones are removed */
    size_t left;    /* of them */
    int64_t *tried; /* in the order of tries */
    size_t tried_count;
    candidate list[CANDIDATES];
    size_t list_count;
} learner;

static double distance(const lab_space *space, const lab_point *a, const lab_point *b)
{
    double sum = 0;
    for (int i = 0; i < space->knob_count; i++)
        if (space->knobs[i].count > 1)
            sum += abs(a->at[i] - b->at[i]) / (double)(space->knobs[i].count - 1);
    return sum;
}

/* Removes tried points, including those from before the strategy began. */
static void forget_tried(learner *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->left; i++)
        if (!lab_search_tried(self->search, self->order[i]))
            self->order[kept++] = self->order[i];
        else
            self->tried[self->tried_count++] = self->order[i];
    self->left = kept;
}

/* ---- Spread-out points ---- */

static double apart(const learner *self, int64_t index)
{
    const lab_point point = lab_space_at(self->space, index);
    double nearest = INFINITY;
    for (size_t i = 0; i < self->tried_count; i++) {
        const lab_point other = lab_space_at(self->space, self->tried[i]);
        nearest = fmin(nearest, distance(self->space, &point, &other));
    }
    return nearest;
}

/* The untried point farthest from all tried ones; the first one is random. */
static int64_t next_apart(const learner *self)
{
    size_t looked = self->left < CANDIDATES ? self->left : CANDIDATES;
    int64_t best = self->order[0];
    double farthest = -1;
    for (size_t i = 0; i < looked && self->tried_count > 0; i++) {
        double distance_of_it = apart(self, self->order[i]);
        if (distance_of_it > farthest) {
            farthest = distance_of_it;
            best = self->order[i];
        }
    }
    return best;
}

static int64_t first_points(const learner *self)
{
    int64_t wanted = FIRST_PER_KNOB * (int64_t)self->space->knob_count;
    int64_t most = (int64_t)(self->left + self->tried_count) / FIRST_SHARE;
    wanted = wanted < most ? wanted : most;
    return wanted > FIRST_MIN ? wanted : FIRST_MIN;
}

/* ---- Expected improvement ---- */

/* Fits the surrogate to the points that ran, or the fastest of them if too many. *@best becomes the
 * best score. Returns the number of samples. */
static size_t learn(learner *self, const lab_try **ran, double *best)
{
    static const size_t most = N;
    lab_point points[N];
    double values[N];
    size_t count = 0;
    for (size_t i = 0; i < self->tried_count; i++) {
        const lab_try *one = lab_search_tried(self->search, self->tried[i]);
        if (isfinite(one->score))
            ran[count++] = one;
    }
    qsort(ran, count, sizeof *ran, lab_try_order);
    *best = count > 0 ? ran[0]->score : 0;
    size_t used = count < most ? count : most;
    for (size_t i = 0; i < used; i++) {
        points[i] = lab_space_at(self->space, ran[i]->index);
        values[i] = fmin(ran[i]->score, *best + SLOWEST);
    }
    if (used > 0)
        fit(&self->surrogate, points, values, used);
    return count;
}

/* The share of similar points that could run. */
static double chance(const learner *self, const lab_point *point)
{
    double all = 1, failed = 0;
    for (size_t i = 0; i < self->tried_count; i++) {
        const lab_point other = lab_space_at(self->space, self->tried[i]);
        double likeness = likeness_of(&self->surrogate, point, &other);
        all += likeness;
        if (isinf(lab_search_tried(self->search, self->tried[i])->score))
            failed += likeness;
    }
    return 1 - failed / all;
}

static void add_candidate(learner *self, int64_t index)
{
    if (self->list_count < CANDIDATES)
        self->list[self->list_count++].index = index;
}

/* The untried points that differ from the best ones in one knob. */
static void add_neighbours(learner *self, const lab_try *const *ran, size_t count)
{
    for (size_t i = 0; i < count && i < AROUND; i++)
        for (int knob = 0; knob < self->space->knob_count; knob++)
            for (int value = 0; value < self->space->knobs[knob].count; value++) {
                lab_point point = lab_space_at(self->space, ran[i]->index);
                point.at[knob] = value;
                int64_t index = lab_space_index(self->space, &point);
                if (lab_search_is_open(self->search, index) &&
                    !lab_search_tried(self->search, index))
                    add_candidate(self, index);
            }
}

/* All untried points, or if too many, neighbours of the best and random others. */
static void list_candidates(learner *self, const lab_try *const *ran, size_t count)
{
    size_t start = 0;
    self->list_count = 0;
    if (self->left > CANDIDATES) {
        add_neighbours(self, ran, count);
        start = (size_t)lab_rng_below(&self->search->rng, (int64_t)self->left);
    }
    for (size_t i = 0; i < self->left && self->list_count < CANDIDATES; i++)
        add_candidate(self, self->order[(start + i) % self->left]);
}

static int by_worth(const void *a, const void *b)
{
    const candidate *one = a, *other = b;
    if (one->worth != other->worth)
        return one->worth > other->worth ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

static heed_status next_promising(learner *self, int64_t *next)
{
    double best;
    const lab_try **ran = calloc(self->tried_count + 1, sizeof *ran);
    if (!ran)
        return HEED_ERR_NO_MEMORY;
    size_t count = learn(self, ran, &best);
    list_candidates(self, ran, count);
    free(ran);
    for (size_t i = 0; i < self->list_count && count > 0; i++) {
        const lab_point point = lab_space_at(self->space, self->list[i].index);
        double mean, deviation;
        predict(&self->surrogate, &point, &mean, &deviation);
        self->list[i].worth = expected_improvement(mean, deviation, best) * chance(self, &point);
    }
    qsort(self->list, self->list_count, sizeof *self->list, by_worth);
    int64_t announced[ANNOUNCED];
    size_t few = self->list_count < ANNOUNCED ? self->list_count : ANNOUNCED;
    for (size_t i = 0; i < few; i++)
        announced[i] = self->list[i].index;
    lab_search_announce(self->search, announced, few);
    *next = self->list[0].index;
    return HEED_OK;
}

static heed_status explore(learner *self)
{
    const int shapes = self->search->evaluator->shapes;
    const lab_try *one;
    heed_status status = HEED_OK;
    forget_tried(self);
    int64_t first = first_points(self);
    while (status == HEED_OK && self->left > 0) {
        int64_t next = next_apart(self);
        if (self->search->launched >= first && self->search->best > 0)
            status = next_promising(self, &next);
        if (status == HEED_OK)
            status = lab_search_try(self->search, next, shapes, 0, &one);
        if (status != HEED_OK || !one)
            break;
        forget_tried(self);
    }
    return status;
}

heed_status lab_strategy_model(lab_search *search)
{
    learner *self = calloc(1, sizeof *self);
    heed_status status = HEED_ERR_NO_MEMORY;
    if (!self)
        return status;
    self->search = search;
    self->space = search->space;
    begin(&self->surrogate, self->space);
    self->order = lab_shuffled_open(search);
    self->tried = calloc(search->open_count + 1, sizeof *self->tried);
    self->left = search->open_count;
    if (self->order && self->tried)
        status = explore(self);
    free(self->order);
    free(self->tried);
    free(self);
    return status;
}
