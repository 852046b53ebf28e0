/*
 * strategies.c - model-free strategies: exhaustive, random, successive halving, local search
 */
#include "lab/search/strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALVING_KEEPS 3 /* one in this many advances to the next round */

static void shuffle(lab_search *search, int64_t *list, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)lab_rng_below(&search->rng, (int64_t)i);
        int64_t one = list[i - 1];
        list[i - 1] = list[other];
        list[other] = one;
    }
}

int64_t *lab_shuffled_open(lab_search *search)
{
    int64_t *order = malloc((search->open_count + 1) * sizeof *order);
    if (!order)
        return NULL;
    memcpy(order, search->open, search->open_count * sizeof *order);
    shuffle(search, order, search->open_count);
    return order;
}

/* Tries all points of a list on all shapes. */
static heed_status try_all(lab_search *search, const int64_t *order, size_t count)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < count && status == HEED_OK; i++) {
        const lab_try *one;
        lab_search_announce(search, order + i, count - i);
        status = lab_search_try(search, order[i], search->evaluator->shapes, 0, &one);
        if (!one)
            break;
    }
    return status;
}

heed_status lab_strategy_exhaustive(lab_search *search)
{
    return try_all(search, search->open, search->open_count);
}

heed_status lab_strategy_random(lab_search *search)
{
    int64_t *order = lab_shuffled_open(search);
    heed_status status = order ? try_all(search, order, search->open_count) : HEED_ERR_NO_MEMORY;
    free(order);
    return status;
}

/* ---- Halving ---- */

typedef struct contender {
    int64_t index;
    double score;
} contender;

static int by_score(const void *a, const void *b)
{
    const contender *one = a, *other = b;
    if (one->score != other->score)
        return one->score < other->score ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* Plays a round: tries all on @shapes shapes, and sorts them by score. *@count becomes the number
 * that ran; 0 if the search is to end. */
static heed_status play_round(lab_search *search, contender *list, size_t *count, int shapes,
                              int effort)
{
    size_t ran = 0;
    for (size_t i = 0; i < *count; i++) {
        const lab_try *one;
        int64_t next[16];
        size_t few = *count - i < 16 ? *count - i : 16;
        for (size_t n = 0; n < few; n++)
            next[n] = list[i + n].index;
        lab_search_announce(search, next, few);
        heed_status status = lab_search_try(search, list[i].index, shapes, effort, &one);
        if (status != HEED_OK)
            return status;
        if (!one) {
            *count = 0;
            return HEED_OK;
        }
        list[ran] = (contender){ one->index, one->score };
        ran += isfinite(one->score);
    }
    qsort(list, ran, sizeof *list, by_score);
    *count = ran;
    return HEED_OK;
}

/* Plays rounds on 1, 2, 4, ... shapes, then on all at increasing efforts. */
heed_status lab_strategy_halving(lab_search *search)
{
    const lab_evaluator *evaluator = search->evaluator;
    size_t count = search->open_count;
    int64_t *order = lab_shuffled_open(search);
    contender *list = calloc(count + 1, sizeof *list);
    heed_status status = order && list ? HEED_OK : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < count && status == HEED_OK; i++)
        list[i].index = order[i];
    if ((int64_t)count > lab_search_trials_left(search))
        count = (size_t)lab_search_trials_left(search);
    int shapes = 1, effort = 0;
    while (status == HEED_OK && count > 0) {
        status = play_round(search, list, &count, shapes, effort);
        if (shapes == evaluator->shapes && effort == evaluator->efforts - 1)
            break;
        if (shapes == evaluator->shapes)
            effort++;
        shapes = 2 * shapes < evaluator->shapes ? 2 * shapes : evaluator->shapes;
        count = count > 0 ? (count + HALVING_KEEPS - 1) / HALVING_KEEPS : 0;
    }
    free(list);
    free(order);
    return status;
}

/* ---- Neighbours ---- */

/* The open points that differ from @index in one knob, in random order. Returns their number. */
static size_t find_neighbours(lab_search *search, int64_t index,
                              int64_t list[LAB_SPACE_KNOBS * LAB_SPACE_VALUES])
{
    const lab_space *space = search->space;
    size_t count = 0;
    for (int knob = 0; knob < space->knob_count; knob++)
        for (int value = 0; value < space->knobs[knob].count; value++) {
            lab_point point = lab_space_at(space, index);
            if (point.at[knob] == value)
                continue;
            point.at[knob] = value;
            int64_t other = lab_space_index(space, &point);
            if (lab_search_is_open(search, other))
                list[count++] = other;
        }
    shuffle(search, list, count);
    return count;
}

/* Moves from @index to the first better neighbour, repeatedly. *@ended: the search is to end. */
static heed_status climb(lab_search *search, int64_t index, bool *ended)
{
    int64_t list[LAB_SPACE_KNOBS * LAB_SPACE_VALUES];
    const int shapes = search->evaluator->shapes;
    const lab_try *one;
    heed_status status = lab_search_try(search, index, shapes, 0, &one);
    while (status == HEED_OK && one) {
        double score = one->score;
        bool better = false;
        size_t count = find_neighbours(search, one->index, list);
        for (size_t i = 0; i < count && status == HEED_OK && one && !better; i++) {
            lab_search_announce(search, list + i, count - i);
            status = lab_search_try(search, list[i], shapes, 0, &one);
            better = one && one->score < score;
        }
        if (!better)
            break;
    }
    *ended = !one;
    return status;
}

heed_status lab_strategy_local(lab_search *search)
{
    bool ended = false;
    int64_t *order = lab_shuffled_open(search);
    heed_status status = order ? HEED_OK : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < search->open_count && status == HEED_OK && !ended; i++)
        if (!lab_search_tried(search, order[i]))
            status = climb(search, order[i], &ended);
    free(order);
    return status;
}
