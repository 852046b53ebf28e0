/*
 * strategy_evolution.c - evolution of points on islands
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search/evolution.h"
#include "lab/search/strategies.h"

#define FASTER 1.03       /* if the caller has no rule */
#define ATTEMPTS 64       /* attempts to find an untried point */
#define ELITE_SHARE 0.5   /* of parents */
#define MORE_MOVES 0.3    /* probability of one more */
#define FURTHER 0.3       /* probability of another step in the same direction */
#define CROSSED_MOVES 0.5 /* probability that a child of two parents is also mutated */
#define AHEAD 64          /* children that are prepared ahead */
#define POPULATION 8      /* per island */
#define ELITES 2          /* best members, which are parents more often */
#define MIGRATION 24      /* children between two migrations */
#define CROSSOVER 0.3     /* share of children with two parents */
#define IMMIGRANTS 0.05   /* share of random points */

typedef struct lab_island {
    lab_individual members[POPULATION]; /* best first */
    int count;
} lab_island;

struct lab_evolution {
    const lab_space *space;
    lab_evolution_calls calls;
    lab_rng rng;
    lab_guide guide;
    lab_island islands[LAB_ISLANDS];
    lab_individual champion; /* id 0: none */
    int64_t children;
    int64_t starts[LAB_EVOLUTION_STARTS]; /* still to be tried */
    size_t start_count;
    bool *tried; /* by point */
};

/* -------------------------------------------------------------------------- */
/* Beginning                                                                  */
/* -------------------------------------------------------------------------- */

/* Queues a point to be tried first. */
static void offer(lab_evolution *evolution, int64_t point)
{
    if (evolution->start_count < LAB_EVOLUTION_STARTS)
        evolution->starts[evolution->start_count++] = point;
}

lab_evolution *lab_evolution_create(const lab_space *space, uint64_t seed,
                                    const lab_evolution_calls *calls, const int64_t *starts,
                                    size_t count)
{
    lab_evolution *self = calloc(1, sizeof *self);
    bool *tried = calloc((size_t)lab_space_count(space), sizeof *tried);
    if (!self || !tried) {
        free(self);
        free(tried);
        return NULL;
    }
    self->space = space;
    self->calls = calls ? *calls : (lab_evolution_calls){ .data = NULL };
    self->rng = (lab_rng){ .seed = lab_random_stream(seed, 3) };
    self->tried = tried;
    for (size_t i = 0; i < count; i++)
        offer(self, starts[i]);
    return self;
}

void lab_evolution_destroy(lab_evolution *evolution)
{
    if (!evolution)
        return;
    free(evolution->tried);
    free(evolution);
}

/* -------------------------------------------------------------------------- */
/* The next child of an island: parents, crossover, moves                     */
/* -------------------------------------------------------------------------- */

static const lab_individual *choose_parent(lab_evolution *evolution, const lab_island *island)
{
    int elites = ELITES < island->count ? ELITES : island->count;
    if (lab_rng_real(&evolution->rng) < ELITE_SHARE)
        return &island->members[lab_rng_below(&evolution->rng, elites)];
    int64_t a = lab_rng_below(&evolution->rng, island->count);
    int64_t b = lab_rng_below(&evolution->rng, island->count);
    return &island->members[a < b ? a : b];
}

/* Takes each knob from either parent. */
static void cross(lab_evolution *evolution, lab_point *point, const lab_point *other)
{
    for (int i = 0; i < evolution->space->knob_count; i++)
        if (lab_rng_below(&evolution->rng, 2))
            point->at[i] = other->at[i];
}

static void randomize(lab_evolution *evolution, lab_point *point)
{
    for (int i = 0; i < evolution->space->knob_count; i++)
        point->at[i] = (int)lab_rng_below(&evolution->rng, evolution->space->knobs[i].count);
}

/* Selects a move with probability proportional to the guide's weights; -1: all are 0. */
static int choose_move(lab_evolution *evolution, const lab_point *point, unsigned findings)
{
    double weights[LAB_MOVES], sum = 0;
    int count = lab_guide_weigh(&evolution->guide, evolution->space, point, findings, 0, weights);
    for (int i = 0; i < count; i++)
        sum += weights[i];
    double ball = lab_rng_real(&evolution->rng) * sum;
    int last = -1;
    for (int i = 0; i < count; i++) {
        if (weights[i] <= 0)
            continue;
        last = i;
        ball -= weights[i];
        if (ball < 0)
            break;
    }
    return last;
}

static void make_move(lab_evolution *evolution, lab_point *point, const lab_move *move)
{
    int *at = &point->at[move->knob];
    int last = evolution->space->knobs[move->knob].count - 1;
    do
        *at += move->up ? 1 : -1;
    while ((move->up ? *at < last : *at > 0) && lab_rng_real(&evolution->rng) < FURTHER);
}

static void mutate(lab_evolution *evolution, lab_individual *child, lab_point *point,
                   unsigned findings)
{
    const int most = (int)(sizeof child->moves / sizeof *child->moves);
    do {
        int number = choose_move(evolution, point, findings);
        if (number < 0)
            return;
        lab_move move = lab_move_at(evolution->space, number);
        make_move(evolution, point, &move);
        child->moves[child->move_count++] = move;
    } while (child->move_count < most && lab_rng_real(&evolution->rng) < MORE_MOVES);
}

static lab_point try_child(lab_evolution *evolution, const lab_island *island,
                           lab_individual *child)
{
    lab_point point = { { 0 } };
    if (island->count < POPULATION / 2 || lab_rng_real(&evolution->rng) < IMMIGRANTS) {
        randomize(evolution, &point);
        return point;
    }
    const lab_individual *parent = choose_parent(evolution, island);
    point = lab_space_at(evolution->space, parent->point);
    child->parents[0] = parent->id;
    child->parent_points[0] = parent->point;
    bool crossed = lab_rng_real(&evolution->rng) < CROSSOVER;
    if (crossed) {
        const lab_individual *other = choose_parent(evolution, island);
        const lab_point second = lab_space_at(evolution->space, other->point);
        cross(evolution, &point, &second);
        child->parents[1] = other->id;
        child->parent_points[1] = other->point;
    }
    if (!crossed || lab_rng_real(&evolution->rng) < CROSSED_MOVES)
        mutate(evolution, child, &point, parent->findings);
    return point;
}

/* Makes the point the child if it is new. */
static bool take(const lab_evolution *evolution, const lab_point *point, lab_individual *child)
{
    child->point = lab_space_index(evolution->space, point);
    return lab_space_allows(evolution->space, point, NULL) && !evolution->tried[child->point];
}

/* Makes the next child; false if nothing new is left. If random attempts find nothing new, it takes
 * the first untried point. */
static bool breed(lab_evolution *evolution, lab_individual *child)
{
    const lab_individual nobody = { .id = evolution->children + 1, .score = INFINITY };
    const lab_island *island = &evolution->islands[evolution->children % LAB_ISLANDS];
    lab_point point;
    *child = nobody;
    while (evolution->start_count > 0) {
        point = lab_space_at(evolution->space, evolution->starts[0]);
        evolution->start_count--;
        memmove(evolution->starts, evolution->starts + 1,
                evolution->start_count * sizeof *evolution->starts);
        if (take(evolution, &point, child))
            return true;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        *child = nobody;
        point = try_child(evolution, island, child);
        if (take(evolution, &point, child))
            return true;
    }
    *child = nobody;
    for (int64_t i = 0; i < lab_space_count(evolution->space); i++) {
        point = lab_space_at(evolution->space, i);
        if (take(evolution, &point, child))
            return true;
    }
    return false;
}

/* -------------------------------------------------------------------------- */
/* Survivors                                                                  */
/* -------------------------------------------------------------------------- */

/* Inserts the child by its score, if it is among the best. */
static void insert(lab_island *island, const lab_individual *child)
{
    int place = island->count;
    if (!isfinite(child->score))
        return;
    while (place > 0 && child->score < island->members[place - 1].score)
        place--;
    if (place == POPULATION)
        return;
    int kept = island->count < POPULATION ? island->count : POPULATION - 1;
    memmove(&island->members[place + 1], &island->members[place],
            (size_t)(kept - place) * sizeof *island->members);
    island->members[place] = *child;
    island->count = kept + 1;
}

/* Copies the best of each island to the next. */
static void migrate(lab_evolution *evolution)
{
    lab_individual best[LAB_ISLANDS];
    bool is[LAB_ISLANDS];
    for (int i = 0; i < LAB_ISLANDS; i++) {
        is[i] = evolution->islands[i].count > 0;
        if (is[i])
            best[i] = evolution->islands[i].members[0];
    }
    for (int i = 0; i < LAB_ISLANDS; i++) {
        lab_island *next = &evolution->islands[(i + 1) % LAB_ISLANDS];
        bool there = !is[i];
        for (int j = 0; j < next->count && !there; j++)
            there = next->members[j].id == best[i].id;
        if (!there)
            insert(next, &best[i]);
    }
}

static const lab_individual *find_member(const lab_evolution *evolution, int64_t id)
{
    for (int i = 0; i < LAB_ISLANDS; i++)
        for (int j = 0; j < evolution->islands[i].count; j++)
            if (evolution->islands[i].members[j].id == id)
                return &evolution->islands[i].members[j];
    return NULL;
}

/* Only children of one parent and moves teach about the moves. */
static void learn(lab_evolution *evolution, const lab_individual *child)
{
    const lab_individual *parent = child->parents[0] && !child->parents[1]
                                       ? find_member(evolution, child->parents[0])
                                       : NULL;
    if (!parent)
        return;
    lab_gain gain = !isfinite(child->score)        ? LAB_GAIN_FAILED
                    : child->score < parent->score ? LAB_GAIN_BETTER
                                                   : LAB_GAIN_NONE;
    for (int i = 0; i < child->move_count; i++)
        lab_guide_learn(&evolution->guide, evolution->space, &child->moves[i], gain);
}

/* Adds @child to the evolution. */
static void settle(lab_evolution *evolution, const lab_individual *child)
{
    learn(evolution, child);
    insert(&evolution->islands[evolution->children % LAB_ISLANDS], child);
    evolution->tried[child->point] = true;
    evolution->children++;
    if (evolution->children % MIGRATION == 0)
        migrate(evolution);
}

static heed_status succeed(lab_evolution *evolution, const lab_individual *child)
{
    const lab_evolution_calls *calls = &evolution->calls;
    lab_individual *champion = &evolution->champion;
    bool yes = champion->id == 0;
    heed_status status = HEED_OK;
    if (!isfinite(child->score))
        return HEED_OK;
    if (!yes && child->score < champion->score) {
        yes = child->score < champion->score - log(FASTER);
        if (calls->succeeds)
            status = calls->succeeds(calls->data, child, champion, &yes);
    }
    if (status == HEED_OK && yes)
        *champion = *child;
    return status;
}

/* -------------------------------------------------------------------------- */
/* The strategy                                                               */
/* -------------------------------------------------------------------------- */

/* Announces the points that come next if none of them succeeds. A wrong guess only costs time of
 * idle cores. */
static heed_status look_ahead(const lab_evolution *evolution, lab_search *search)
{
    int64_t points[AHEAD];
    size_t bytes = (size_t)lab_space_count(evolution->space) * sizeof *evolution->tried, count = 0;
    lab_individual child;
    if (!search->evaluator->announce)
        return HEED_OK;
    lab_evolution *copy = malloc(sizeof *copy);
    bool *tried = malloc(bytes);
    if (copy && tried) {
        *copy = *evolution;
        copy->tried = memcpy(tried, evolution->tried, bytes);
        for (int i = 0; i < AHEAD && breed(copy, &child); i++) {
            settle(copy, &child);
            if (lab_search_is_open(search, child.point))
                points[count++] = child.point;
        }
        lab_search_announce(search, points, count);
    }
    heed_status status = copy && tried ? HEED_OK : HEED_ERR_NO_MEMORY;
    free(tried);
    free(copy);
    return status;
}

/* Evaluates a child. *@well is false if the search is to end before the result is known. */
static heed_status evaluate(const lab_evolution *evolution, lab_search *search,
                            lab_individual *child, bool *well)
{
    const lab_evolution_calls *calls = &evolution->calls;
    const int shapes = search->evaluator->shapes;
    const lab_try *one;
    if (!lab_search_is_open(search, child->point)) /* refused, at no cost */
        return HEED_OK;
    if (calls->bred)
        calls->bred(calls->data, child);
    heed_status status = lab_search_try(search, child->point, shapes, 0, &one);
    *well = one && (one->state != LAB_STATE_TIMED || one->shapes == shapes);
    if (status != HEED_OK || !*well)
        return status;
    child->score = one->score;
    if (calls->findings)
        child->findings = calls->findings(calls->data, child);
    return HEED_OK;
}

/* Makes and evaluates one child. *@more is false if nothing new is left, or the search is to end.
 */
static heed_status bear(lab_evolution *evolution, lab_search *search, bool *more)
{
    const lab_evolution_calls *calls = &evolution->calls;
    lab_individual child;
    heed_status status = look_ahead(evolution, search);
    *more = status == HEED_OK && !lab_search_is_over(search) && breed(evolution, &child);
    if (*more)
        status = evaluate(evolution, search, &child, more);
    if (status == HEED_OK && *more)
        status = succeed(evolution, &child);
    if (status != HEED_OK || !*more)
        return status;
    settle(evolution, &child);
    return calls->born ? calls->born(calls->data, &child, lab_evolution_champion(evolution))
                       : HEED_OK;
}

static heed_status evolve(lab_evolution *evolution, lab_search *search)
{
    heed_status status = HEED_OK;
    for (bool more = true; more && status == HEED_OK;)
        status = bear(evolution, search, &more);
    return status;
}

/* Without an evolution of the caller's, begins one with the points already tried. */
static heed_status evolve_own(lab_search *search)
{
    const uint64_t seed = (uint64_t)lab_rng_below(&search->rng, INT64_MAX);
    lab_evolution *evolution = lab_evolution_create(search->space, seed, NULL, NULL, 0);
    if (!evolution)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < search->count; i++)
        offer(evolution, search->tries[i].index);
    heed_status status = evolve(evolution, search);
    lab_evolution_destroy(evolution);
    return status;
}

heed_status lab_strategy_evolution(lab_search *search)
{
    lab_evolution *evolution = search->options.evolution;
    return evolution ? evolve(evolution, search) : evolve_own(search);
}

/* -------------------------------------------------------------------------- */
/* The result                                                                 */
/* -------------------------------------------------------------------------- */

void lab_evolution_tell(lab_evolution *evolution, int64_t id, unsigned findings)
{
    for (int i = 0; i < LAB_ISLANDS; i++)
        for (int j = 0; j < evolution->islands[i].count; j++)
            if (evolution->islands[i].members[j].id == id)
                evolution->islands[i].members[j].findings |= findings;
    if (evolution->champion.id == id)
        evolution->champion.findings |= findings;
}

const lab_individual *lab_evolution_champion(const lab_evolution *evolution)
{
    return evolution->champion.id ? &evolution->champion : NULL;
}

int64_t lab_evolution_children(const lab_evolution *evolution)
{
    return evolution->children;
}

const lab_individual *lab_evolution_member(const lab_evolution *evolution, int island, int place)
{
    const lab_island *it = &evolution->islands[island];
    return place < it->count ? &it->members[place] : NULL;
}
