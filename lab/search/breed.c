/*
 * breed.c - the next child of an island: parents, crossover, moves
 */
#include <math.h>
#include <string.h>

#include "lab/search/evolution.h"

#define ATTEMPTS 64       /* to find something that was not tried */
#define ELITE_SHARE 0.5   /* of parents */
#define MORE_MOVES 0.3    /* chance of one more */
#define FURTHER 0.3       /* chance of going on in the same direction */
#define CROSSED_MOVES 0.5 /* chance that a child of two is mutated as well */

static bool same(const lab_space *space, int regions, const lab_genome *a, const lab_genome *b)
{
    for (int i = 0; i < space->knob_count; i++)
        if (a->point.at[i] != b->point.at[i])
            return false;
    for (int i = 0; i < regions; i++)
        if (a->texts[i] != b->texts[i])
            return false;
    return true;
}

static int regions_of(const lab_evolution *evolution)
{
    return evolution->source ? evolution->source->count : 0;
}

bool lab_genome_tried(const lab_evolution *evolution, const lab_genome *genome)
{
    for (size_t i = 0; i < evolution->tried_count; i++)
        if (same(evolution->space, regions_of(evolution), &evolution->tried[i], genome))
            return true;
    return false;
}

/* ---- Parents ---- */

static const lab_individual *choose_parent(lab_evolution *evolution, const lab_island *island)
{
    int elites = evolution->options.elites < island->count ? evolution->options.elites
                                                           : island->count;
    if (lab_rng_real(&evolution->rng) < ELITE_SHARE)
        return &island->members[lab_rng_below(&evolution->rng, elites)];
    int64_t a = lab_rng_below(&evolution->rng, island->count);
    int64_t b = lab_rng_below(&evolution->rng, island->count);
    return &island->members[a < b ? a : b];
}

/* Each knob and each region from one of both. */
static void cross(lab_evolution *evolution, lab_genome *genome, const lab_genome *other)
{
    for (int i = 0; i < evolution->space->knob_count; i++)
        if (lab_rng_below(&evolution->rng, 2))
            genome->point.at[i] = other->point.at[i];
    for (int i = 0; i < regions_of(evolution); i++)
        if (lab_rng_below(&evolution->rng, 2))
            genome->texts[i] = other->texts[i];
}

static void randomize(lab_evolution *evolution, lab_genome *genome)
{
    for (int i = 0; i < evolution->space->knob_count; i++)
        genome->point.at[i] = (int)lab_rng_below(&evolution->rng, evolution->space->knobs[i].count);
    for (int i = 0; i < regions_of(evolution); i++)
        genome->texts[i] = (int)lab_rng_below(&evolution->rng, evolution->source->regions[i].count);
}

/* ---- Moves ---- */

/* Roulette over the guide's weights; -1: all are 0. */
static int choose_move(lab_evolution *evolution, const lab_genome *genome, unsigned findings)
{
    double weights[LAB_MOVES], sum = 0;
    int regions = regions_of(evolution);
    int count = lab_guide_weigh(&evolution->guide, evolution->space, &genome->point, findings,
                                regions, weights);
    for (int i = 0; i < regions; i++)
        if (evolution->source->regions[i].count < 2)
            weights[count - regions + i] = 0;
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

static void make_move(lab_evolution *evolution, lab_genome *genome, const lab_move *move)
{
    if (move->knob < 0) {
        int others = evolution->source->regions[move->region].count - 1;
        int text = (int)lab_rng_below(&evolution->rng, others);
        genome->texts[move->region] = text + (text >= genome->texts[move->region]);
        return;
    }
    int *at = &genome->point.at[move->knob];
    int last = evolution->space->knobs[move->knob].count - 1;
    do
        *at += move->up ? 1 : -1;
    while ((move->up ? *at < last : *at > 0) && lab_rng_real(&evolution->rng) < FURTHER);
}

static void mutate(lab_evolution *evolution, lab_individual *child, unsigned findings)
{
    const int most = (int)(sizeof child->moves / sizeof *child->moves);
    do {
        int number = choose_move(evolution, &child->genome, findings);
        if (number < 0)
            return;
        lab_move move = lab_move_at(evolution->space, number);
        make_move(evolution, &child->genome, &move);
        child->moves[child->move_count++] = move;
    } while (child->move_count < most && lab_rng_real(&evolution->rng) < MORE_MOVES);
}

/* ---- A child ---- */

static void try_child(lab_evolution *evolution, const lab_island *island, lab_individual *child)
{
    const lab_evolution_options *options = &evolution->options;
    memset(child, 0, sizeof *child);
    child->score = INFINITY;
    if (island->count < options->population / 2 || island->count < 2 ||
        lab_rng_real(&evolution->rng) < options->immigrants) {
        randomize(evolution, &child->genome);
        return;
    }
    const lab_individual *parent = choose_parent(evolution, island);
    child->genome = parent->genome;
    child->parents[0] = parent->id;
    bool crossed = lab_rng_real(&evolution->rng) < options->crossover;
    if (crossed) {
        const lab_individual *other = choose_parent(evolution, island);
        cross(evolution, &child->genome, &other->genome);
        child->parents[1] = other->id;
    }
    if (!crossed || lab_rng_real(&evolution->rng) < CROSSED_MOVES)
        mutate(evolution, child, parent->findings);
}

static bool is_new(const lab_evolution *evolution, const lab_genome *genome)
{
    return lab_space_allows(evolution->space, &genome->point, NULL) &&
           !lab_genome_tried(evolution, genome);
}

/* When chance finds nothing new any more: the first point that is. */
static bool first_new(const lab_evolution *evolution, lab_individual *child)
{
    memset(child, 0, sizeof *child);
    child->score = INFINITY;
    for (int64_t i = 0; i < lab_space_count(evolution->space); i++) {
        child->genome.point = lab_space_at(evolution->space, i);
        if (is_new(evolution, &child->genome))
            return true;
    }
    return false;
}

bool lab_evolution_breed(lab_evolution *evolution, int island, lab_individual *child)
{
    if (evolution->waiting_count > 0) {
        memset(child, 0, sizeof *child);
        child->score = INFINITY;
        child->genome = evolution->waiting[0];
        evolution->waiting_count--;
        memmove(evolution->waiting, evolution->waiting + 1,
                evolution->waiting_count * sizeof *evolution->waiting);
        return true;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        try_child(evolution, &evolution->islands[island], child);
        if (is_new(evolution, &child->genome))
            return true;
    }
    return first_new(evolution, child);
}
