/*
 * search.c - the state of a search: open points, tries, and the budget
 */
#include "lab/search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/search/strategies.h"
#include "src/measure.h"

#define FINALISTS 4
#define FINALS_SHARE 4 /* finals may take 1/FINALS_SHARE of the time budget in addition */
#define ANNOUNCED_MAX 64

static const char *const states[LAB_STATES] = {
    [LAB_STATE_TIMED] = "time",           [LAB_STATE_PRUNED] = "pruned",
    [LAB_STATE_FAILED] = "failed",        [LAB_STATE_WRONG] = "wrong",
    [LAB_STATE_CRASHED] = "crashed",      [LAB_STATE_LATE] = "late",
    [LAB_STATE_IMPOSSIBLE] = "impossible"
};

const char *lab_state_name(lab_state found)
{
    return found < LAB_STATES ? states[found] : "unknown";
}

int lab_try_order(const void *a, const void *b)
{
    const lab_try *one = *(const lab_try *const *)a, *other = *(const lab_try *const *)b;
    if (one->score != other->score)
        return one->score < other->score ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

lab_state lab_state_of(const char *name)
{
    int i = 0;
    while (i < LAB_STATES && strcmp(states[i], name) != 0)
        i++;
    return (lab_state)i;
}

static const lab_strategy strategies[] = {
    { "model", lab_strategy_model }, /* a Gaussian process of the results, expected improvement */
    { "exhaustive", lab_strategy_exhaustive }, /* every point, in order */
    { "random", lab_strategy_random },         /* points at random, none twice */
    { "halving", lab_strategy_halving },       /* all on one shape, then ever fewer on ever more */
    { "local", lab_strategy_local },           /* from random points to better neighbours */
    { "evolution", lab_strategy_evolution },   /* islands of points that are mutated and crossed */
};

const lab_strategy *lab_strategy_at(size_t index)
{
    return index < sizeof strategies / sizeof *strategies ? &strategies[index] : NULL;
}

static const lab_strategy *find_strategy(const char *name)
{
    for (size_t i = 0; lab_strategy_at(i); i++)
        if (strcmp(strategies[i].name, name) == 0)
            return &strategies[i];
    return NULL;
}

/* ---- Interface for strategies ---- */

bool lab_search_is_open(const lab_search *search, int64_t index)
{
    return search->place[index] >= 0;
}

const lab_try *lab_search_tried(const lab_search *search, int64_t index)
{
    int64_t place = search->place[index];
    return place > 0 ? &search->tries[place - 1] : NULL;
}

int64_t lab_search_trials_left(const lab_search *search)
{
    return search->options.trials > 0 ? search->options.trials - search->launched : INT64_MAX;
}

void lab_search_announce(lab_search *search, const int64_t *indices, size_t count)
{
    lab_point points[ANNOUNCED_MAX];
    if (!search->evaluator->announce)
        return;
    count = count < ANNOUNCED_MAX ? count : ANNOUNCED_MAX;
    for (size_t i = 0; i < count; i++)
        points[i] = lab_space_at(search->space, indices[i]);
    search->evaluator->announce(search->evaluator->data, points, count);
}

/* ---- Trying ---- */

static bool was_interrupted(const lab_search *search)
{
    return search->options.interrupted && search->options.interrupted();
}

/* True if the search is over. A launched point may finish after the last trial. */
static bool over(lab_search *search, bool launched)
{
    const lab_search_options *options = &search->options;
    if (was_interrupted(search))
        search->end = LAB_SEARCH_INTERRUPTED;
    else if (search->end_ns > 0 && heed_clock_ns() >= search->end_ns)
        search->end = LAB_SEARCH_TIME;
    else if (!launched && options->trials > 0 && search->launched >= options->trials)
        search->end = LAB_SEARCH_TRIALS;
    else
        return false;
    return true;
}

bool lab_search_is_over(lab_search *search)
{
    return over(search, false);
}

/* The try of a point, added if new; NULL if there is no memory. */
static lab_try *begin(lab_search *search, int64_t index)
{
    if (search->place[index] > 0)
        return &search->tries[search->place[index] - 1];
    if (!lab_grow(&search->tries, search->count, sizeof *search->tries))
        return NULL;
    lab_try *one = &search->tries[search->count++];
    memset(one, 0, sizeof *one);
    one->index = index;
    one->score = INFINITY;
    search->place[index] = (int64_t)search->count;
    return one;
}

static void take_answer(lab_search *search, lab_try *one, int shape, int effort,
                        const lab_evaluation *answer)
{
    bool usable = answer->state == LAB_STATE_TIMED && isfinite(answer->seconds) &&
                  answer->seconds > 0;
    if (answer->state == LAB_STATE_PRUNED)
        search->pruned++;
    else {
        search->evaluations++;
        if (one->trial == 0)
            one->trial = (size_t)++search->launched;
    }
    one->state = usable || answer->state != LAB_STATE_TIMED ? answer->state : LAB_STATE_FAILED;
    memcpy(one->why, usable ? "" : answer->why, usable ? 1 : sizeof one->why);
    one->score = INFINITY;
    if (!usable)
        return;
    one->seconds[shape] = answer->seconds;
    one->efforts[shape] = effort;
    if (shape == one->shapes)
        one->shapes++;
}

/* True if @one is known better, or equally well and faster. A time at a higher effort is less due
 * to luck. */
static bool is_better(const lab_try *one, const lab_try *other)
{
    if (one->shapes != other->shapes)
        return one->shapes > other->shapes;
    if (one->efforts[0] != other->efforts[0])
        return one->efforts[0] > other->efforts[0];
    return one->score < other->score;
}

static void compare(lab_search *search, const lab_try *one)
{
    const lab_try *best = search->best > 0 ? &search->tries[search->best - 1] : NULL;
    if (isinf(one->score)) {
        if (best == one) /* it was found to be wrong later */
            search->best = 0;
        return;
    }
    if (!best || is_better(one, best))
        search->best = one - search->tries + 1;
}

static void rank_again(lab_search *search)
{
    search->best = 0;
    for (size_t i = 0; i < search->count; i++)
        compare(search, &search->tries[i]);
}

static void settle(lab_search *search, lab_try *one)
{
    double sum = 0;
    bool was_best = search->best == one - search->tries + 1;
    for (int i = 0; i < one->shapes; i++)
        sum += log(one->seconds[i]);
    one->score = one->state == LAB_STATE_TIMED && one->shapes > 0 ? sum / one->shapes : INFINITY;
    if (was_best) /* its score may be worse now */
        rank_again(search);
    else
        compare(search, one);
    if (search->options.tried)
        search->options.tried(search->options.data, one,
                              search->best > 0 ? &search->tries[search->best - 1] : NULL);
}

heed_status lab_search_try(lab_search *search, int64_t index, int shapes, int effort,
                           const lab_try **result)
{
    const lab_evaluator *evaluator = search->evaluator;
    const lab_point point = lab_space_at(search->space, index);
    const lab_try *known = lab_search_tried(search, index);
    *result = NULL;
    if (over(search, known && known->trial > 0))
        return HEED_OK;
    lab_try *one = begin(search, index);
    if (!one)
        return HEED_ERR_NO_MEMORY;
    bool asked = false;
    for (int shape = 0; shape < shapes && one->state == LAB_STATE_TIMED; shape++) {
        lab_evaluation answer = { .state = LAB_STATE_FAILED };
        if (shape < one->shapes && one->efforts[shape] >= effort)
            continue;
        if (asked && over(search, true))
            break;
        heed_status status = evaluator->evaluate(evaluator->data, &point, shape, effort, &answer);
        if (status != HEED_OK)
            return status;
        take_answer(search, one, shape, effort, &answer);
        asked = true;
    }
    if (asked)
        settle(search, one);
    *result = one;
    return HEED_OK;
}

/* ---- A search ---- */

static heed_status check_options(const lab_space *space, const lab_evaluator *evaluator,
                                 const lab_search_options *options, lab_error *error)
{
    if (!find_strategy(options->strategy))
        return lab_fail(error, HEED_ERR_INVALID, "there is no strategy '%s'", options->strategy);
    if (evaluator->shapes < 1 || evaluator->shapes > LAB_SEARCH_SHAPES)
        return lab_fail(error, HEED_ERR_INVALID, "%d shapes to search on; 1 to %d are possible",
                        evaluator->shapes, LAB_SEARCH_SHAPES);
    if (evaluator->efforts < 1 || evaluator->efforts > LAB_SEARCH_EFFORTS)
        return lab_fail(error, HEED_ERR_INVALID, "%d efforts; 1 to %d are possible",
                        evaluator->efforts, LAB_SEARCH_EFFORTS);
    if (lab_space_count(space) > LAB_SPACE_POINTS)
        return lab_fail(error, HEED_ERR_INVALID, "%s has %lld points; the limit is %lld",
                        space->name, (long long)lab_space_count(space),
                        (long long)LAB_SPACE_POINTS);
    return HEED_OK;
}

static heed_status find_open(lab_search *search)
{
    const lab_evaluator *evaluator = search->evaluator;
    char why[LAB_WHY_SIZE];
    search->points = lab_space_count(search->space);
    search->place = calloc((size_t)search->points, sizeof *search->place);
    search->open = calloc((size_t)search->points, sizeof *search->open);
    if (!search->place || !search->open)
        return HEED_ERR_NO_MEMORY;
    for (int64_t i = 0; i < search->points; i++) {
        const lab_point point = lab_space_at(search->space, i);
        if (lab_space_allows(search->space, &point, NULL) &&
            !(evaluator->refuse && evaluator->refuse(evaluator->data, &point, why)))
            search->open[search->open_count++] = i;
        else
            search->place[i] = -1;
    }
    search->refused = search->points - (int64_t)search->open_count;
    return HEED_OK;
}

static heed_status try_starts(lab_search *search)
{
    const lab_search_options *options = &search->options;
    heed_status status = HEED_OK;
    for (size_t i = 0; i < options->start_count && status == HEED_OK; i++) {
        const lab_try *one;
        int64_t index = lab_space_index(search->space, &options->starts[i]);
        if (lab_search_is_open(search, index))
            status = lab_search_try(search, index, search->evaluator->shapes, 0, &one);
    }
    return status;
}

/* The next finalist: the best by score that has not been in the finals. */
static int64_t next_finalist(const lab_search *search, int effort)
{
    const lab_try *next = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const lab_try *one = &search->tries[i];
        if (isfinite(one->score) && one->shapes == search->evaluator->shapes &&
            one->efforts[0] < effort && (!next || one->score < next->score))
            next = one;
    }
    return next ? next->index : -1;
}

/* Some points look faster than they are by chance, so the best are timed again. */
static heed_status play_finals(lab_search *search)
{
    int finalists = search->options.finalists ? search->options.finalists : FINALISTS;
    int effort = search->evaluator->efforts - 1;
    heed_status status = HEED_OK;
    if (effort == 0 || search->end == LAB_SEARCH_INTERRUPTED)
        return HEED_OK;
    if (search->end_ns > 0)
        search->end_ns = heed_clock_ns() + search->options.budget_ns / FINALS_SHARE;
    for (int i = 0; i < finalists && status == HEED_OK; i++) {
        const lab_try *one;
        int64_t index = next_finalist(search, effort);
        if (index < 0)
            break;
        status = lab_search_try(search, index, search->evaluator->shapes, effort, &one);
        if (!one)
            break;
    }
    return status;
}

/* Runs a strategy, and then the finals. */
static heed_status run(lab_search *search, lab_error *error)
{
    const lab_search_options *options = &search->options;
    search->end = LAB_SEARCH_COMPLETE;
    search->end_ns = options->budget_ns > 0 ? heed_clock_ns() + options->budget_ns : 0;
    bool begins = !search->open;
    heed_status status = begins ? find_open(search) : HEED_OK;
    if (status == HEED_OK && begins)
        status = try_starts(search);
    if (status == HEED_OK)
        status = find_strategy(search->options.strategy)->run(search);
    if (status == HEED_OK)
        status = play_finals(search);
    if (status != HEED_OK) /* in the middle of an evaluation */
        search->end = was_interrupted(search) ? LAB_SEARCH_INTERRUPTED : LAB_SEARCH_FAILED;
    if (status != HEED_OK)
        lab_fail(error, status, "the search ended early: %s",
                 status == HEED_ERR_NO_MEMORY ? "no memory" : heed_status_name(status));
    return status;
}

heed_status lab_search_run(lab_search **search, const lab_space *space,
                           const lab_evaluator *evaluator, const lab_search_options *options,
                           lab_error *error)
{
    lab_search_options chosen = *options;
    *search = NULL;
    if (!chosen.strategy)
        chosen.strategy = strategies[0].name;
    heed_status status = check_options(space, evaluator, &chosen, error);
    if (status != HEED_OK)
        return status;
    lab_search *self = calloc(1, sizeof *self);
    if (!self)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a search");
    self->space = space;
    self->evaluator = evaluator;
    self->options = chosen;
    self->rng = (lab_rng){ .seed = lab_random_stream(chosen.seed, 1) };
    *search = self;
    return run(self, error);
}

heed_status lab_search_continue(lab_search *search, const lab_search_options *options,
                                lab_error *error)
{
    heed_status status = check_options(search->space, search->evaluator, options, error);
    search->options = *options;
    return status == HEED_OK ? run(search, error) : status;
}

void lab_search_disqualify(lab_search *search, int64_t index, const char *why)
{
    int64_t place = search->place[index];
    if (place <= 0)
        return;
    lab_try *one = &search->tries[place - 1];
    one->state = LAB_STATE_WRONG;
    one->score = INFINITY;
    snprintf(one->why, sizeof one->why, "%s", why);
    rank_again(search);
}

void lab_search_free(lab_search *search)
{
    if (!search)
        return;
    free(search->open);
    free(search->place);
    free(search->tries);
    free(search);
}

lab_search_result lab_search_get(const lab_search *search)
{
    return (lab_search_result){ .end = search->end,
                                .tries = search->tries,
                                .count = search->count,
                                .best = search->best > 0 ? &search->tries[search->best - 1] : NULL,
                                .points = search->points,
                                .refused = search->refused,
                                .pruned = search->pruned,
                                .launched = search->launched,
                                .evaluations = search->evaluations };
}
