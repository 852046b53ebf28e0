/*
 * evolve.c - islands, migration, succession
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/search/evolution.h"

#define FASTER 1.03 /* without a rule of the caller's */

/* ---- Beginning ---- */

static int or_default(int value, int standard)
{
    return value ? value : standard;
}

static heed_status check(const lab_evolution_options *options, const lab_source *source,
                         lab_error *error)
{
    const struct {
        const char *name;
        int value, least, most;
    } rows[] = {
        { "islands", options->islands, 1, LAB_ISLANDS_MAX },
        { "population", options->population, 2, LAB_POPULATION_MAX },
        { "elites", options->elites, 1, options->population },
        { "migration", options->migration, 1, 1 << 20 },
        { "regions of the source", source ? source->count : 0, 0, LAB_GUIDE_REGIONS },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < rows[i].least || rows[i].value > rows[i].most)
            return lab_fail(error, HEED_ERR_INVALID, "%s is %d; it must be %d to %d", rows[i].name,
                            rows[i].value, rows[i].least, rows[i].most);
    if (!(options->crossover >= 0 && options->crossover <= 1 && options->immigrants >= 0 &&
          options->immigrants <= 1))
        return lab_fail(error, HEED_ERR_INVALID,
                        "crossover is %g, immigrants %g; they are shares, 0 to 1",
                        options->crossover, options->immigrants);
    return HEED_OK;
}

heed_status lab_evolution_create(lab_evolution **evolution, const lab_space *space,
                                 const lab_source *source, const lab_evolution_options *options,
                                 const lab_genome *starts, size_t count, lab_error *error)
{
    lab_evolution_options chosen = *options;
    chosen.islands = or_default(chosen.islands, 3);
    chosen.population = or_default(chosen.population, 8);
    chosen.elites = or_default(chosen.elites, 2);
    chosen.migration = or_default(chosen.migration, 24);
    chosen.crossover = chosen.crossover != 0 ? chosen.crossover : 0.3;
    chosen.immigrants = chosen.immigrants != 0 ? chosen.immigrants : 0.05;
    *evolution = NULL;
    heed_status status = check(&chosen, source, error);
    if (status != HEED_OK)
        return status;
    lab_evolution *self = calloc(1, sizeof *self);
    if (!self)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for an evolution");
    self->space = space;
    self->source = source;
    self->options = chosen;
    self->rng = (lab_rng){ .seed = lab_random_stream(chosen.seed, 3) };
    for (size_t i = 0; i < count; i++)
        lab_evolution_offer(self, &starts[i]);
    *evolution = self;
    return HEED_OK;
}

lab_evolution *lab_evolution_clone(const lab_evolution *evolution)
{
    lab_evolution *self = malloc(sizeof *self);
    if (!self)
        return NULL;
    *self = *evolution;
    self->tried = NULL;
    self->tried_count = 0;
    for (size_t i = 0; i < evolution->tried_count; i++)
        if (!lab_evolution_remember(self, &evolution->tried[i])) {
            lab_evolution_destroy(self);
            return NULL;
        }
    return self;
}

void lab_evolution_destroy(lab_evolution *evolution)
{
    if (!evolution)
        return;
    free(evolution->tried);
    free(evolution);
}

bool lab_evolution_offer(lab_evolution *evolution, const lab_genome *genome)
{
    if (evolution->waiting_count == EVOLUTION_WAITING || lab_genome_tried(evolution, genome) ||
        !lab_space_allows(evolution->space, &genome->point, NULL))
        return false;
    evolution->waiting[evolution->waiting_count++] = *genome;
    return true;
}

bool lab_evolution_remember(lab_evolution *evolution, const lab_genome *genome)
{
    if (!lab_grow(&evolution->tried, evolution->tried_count, sizeof *evolution->tried))
        return false;
    evolution->tried[evolution->tried_count++] = *genome;
    return true;
}

/* ---- A generation ---- */

static void settle(lab_individual *child, int shapes)
{
    double sum = 0;
    child->score = INFINITY;
    if (child->state != LAB_STATE_TIMED)
        return;
    for (int i = 0; i < shapes; i++)
        sum += log(child->seconds[i]);
    if (isfinite(sum))
        child->score = sum / shapes;
    else
        child->state = LAB_STATE_FAILED;
}

/* Puts it where its score belongs, if that is among the best. */
static void insert(lab_island *island, int population, const lab_individual *child)
{
    int place = island->count;
    if (!isfinite(child->score))
        return;
    while (place > 0 && child->score < island->members[place - 1].score)
        place--;
    if (place == population)
        return;
    int kept = island->count < population ? island->count : population - 1;
    memmove(&island->members[place + 1], &island->members[place],
            (size_t)(kept - place) * sizeof *island->members);
    island->members[place] = *child;
    island->count = kept + 1;
}

/* The best of each island comes to the next one too. */
static void migrate(lab_evolution *evolution)
{
    lab_individual best[LAB_ISLANDS_MAX];
    bool is[LAB_ISLANDS_MAX];
    int islands = evolution->options.islands;
    for (int i = 0; i < islands; i++) {
        is[i] = evolution->islands[i].count > 0;
        if (is[i])
            best[i] = evolution->islands[i].members[0];
    }
    for (int i = 0; i < islands; i++) {
        lab_island *next = &evolution->islands[(i + 1) % islands];
        bool there = !is[i];
        for (int j = 0; j < next->count && !there; j++)
            there = next->members[j].id == best[i].id;
        if (!there)
            insert(next, evolution->options.population, &best[i]);
    }
}

static const lab_individual *find_member(const lab_evolution *evolution, int64_t id)
{
    for (int i = 0; i < evolution->options.islands; i++)
        for (int j = 0; j < evolution->islands[i].count; j++)
            if (evolution->islands[i].members[j].id == id)
                return &evolution->islands[i].members[j];
    return NULL;
}

/* Only what one parent and moves made can be laid to the moves. */
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

static heed_status succeed(lab_evolution *evolution, const lab_evolution_calls *calls,
                           const lab_individual *child)
{
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

/* Evaluates a child, and lets it succeed to the champion. */
static heed_status judge(lab_evolution *evolution, const lab_evolution_calls *calls,
                         lab_individual *child)
{
    heed_status status = calls->evaluate(calls->data, child);
    if (status != HEED_OK)
        return status;
    settle(child, calls->shapes);
    if (!lab_evolution_remember(evolution, &child->genome))
        return HEED_ERR_NO_MEMORY;
    status = succeed(evolution, calls, child);
    if (status != HEED_OK)
        evolution->tried_count--;
    return status;
}

/* Puts an offered genome back to the front. */
static void offer_again(lab_evolution *evolution, const lab_genome *genome)
{
    memmove(evolution->waiting + 1, evolution->waiting,
            evolution->waiting_count * sizeof *evolution->waiting);
    evolution->waiting[0] = *genome;
    evolution->waiting_count++;
}

/* One child. *@more is false if nothing new is left. Of a child whose evaluation or succession is
 * broken off nothing stays, nor of the random numbers that made it, so that it comes again. */
static heed_status bear(lab_evolution *evolution, const lab_evolution_calls *calls, bool *more)
{
    int island = (int)(evolution->evaluations % evolution->options.islands);
    const lab_rng before = evolution->rng;
    bool offered = evolution->waiting_count > 0;
    lab_individual child;
    *more = lab_evolution_breed(evolution, island, &child);
    if (!*more)
        return HEED_OK;
    child.id = evolution->evaluations + 1;
    heed_status status = judge(evolution, calls, &child);
    if (status != HEED_OK) {
        evolution->rng = before;
        if (offered)
            offer_again(evolution, &child.genome);
        return status;
    }
    learn(evolution, &child);
    insert(&evolution->islands[island], evolution->options.population, &child);
    evolution->evaluations++;
    if (evolution->evaluations % evolution->options.migration == 0)
        migrate(evolution);
    if (calls->born)
        calls->born(calls->data, &child, lab_evolution_champion(evolution));
    return HEED_OK;
}

heed_status lab_evolution_run(lab_evolution *evolution, const lab_evolution_calls *calls,
                              int64_t evaluations)
{
    heed_status status = HEED_OK;
    bool more = true;
    for (int64_t i = 0; i < evaluations && status == HEED_OK && more; i++) {
        if (calls->interrupted && calls->interrupted())
            break;
        status = bear(evolution, calls, &more);
    }
    return status;
}

void lab_evolution_tell(lab_evolution *evolution, int64_t id, unsigned findings)
{
    for (int i = 0; i < evolution->options.islands; i++)
        for (int j = 0; j < evolution->islands[i].count; j++)
            if (evolution->islands[i].members[j].id == id)
                evolution->islands[i].members[j].findings |= findings;
    if (evolution->champion.id == id)
        evolution->champion.findings |= findings;
}

/* ---- Looking ---- */

const lab_individual *lab_evolution_champion(const lab_evolution *evolution)
{
    return evolution->champion.id ? &evolution->champion : NULL;
}

int64_t lab_evolution_evaluations(const lab_evolution *evolution)
{
    return evolution->evaluations;
}

const lab_individual *lab_evolution_member(const lab_evolution *evolution, int island, int place)
{
    const lab_island *it = &evolution->islands[island];
    return place < it->count ? &it->members[place] : NULL;
}
