/*
 * strategy_model.c - Bayesian optimization: spread-out points first, then maximal expected
 * improvement
 */
#include <math.h>
#include <stdlib.h>

#include "lab/search/strategies.h"
#include "lab/search/surrogate.h"

#define FIRST_PER_KNOB 2 /* spread-out points before the model is used */
#define FIRST_SHARE 8    /* but at most 1/FIRST_SHARE of the open points */
#define FIRST_MIN 3
#define CANDIDATES \
    2048         /* considered in a step; with more open points, random ones and neighbours \ */
#define AROUND 4 /* number of best points whose neighbours are considered */
#define ANNOUNCED 8

/* Scores are capped at this distance above the best, in logarithms: all slower points are equally
 * bad. */
#define SLOWEST 1.1

typedef struct candidate {
    int64_t index;
    double worth;
} candidate;

typedef struct learner {
    lab_search *search;
    const lab_space *space;
    lab_surrogate *surrogate;
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
    static const size_t most = LAB_SURROGATE_SAMPLES;
    lab_point points[LAB_SURROGATE_SAMPLES];
    double values[LAB_SURROGATE_SAMPLES];
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
        lab_surrogate_fit(self->surrogate, points, values, used);
    return count;
}

/* The share of similar points that could run. */
static double chance(const learner *self, const lab_point *point)
{
    double all = 1, failed = 0;
    for (size_t i = 0; i < self->tried_count; i++) {
        const lab_point other = lab_space_at(self->space, self->tried[i]);
        double likeness = lab_surrogate_likeness(self->surrogate, point, &other);
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
        lab_surrogate_predict(self->surrogate, &point, &mean, &deviation);
        self->list[i].worth = lab_expected_improvement(mean, deviation, best) *
                              chance(self, &point);
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
    self->surrogate = lab_surrogate_create(self->space);
    self->order = lab_shuffled_open(search);
    self->tried = calloc(search->open_count + 1, sizeof *self->tried);
    self->left = search->open_count;
    if (self->surrogate && self->order && self->tried)
        status = explore(self);
    lab_surrogate_destroy(self->surrogate);
    free(self->order);
    free(self->tried);
    free(self);
    return status;
}
