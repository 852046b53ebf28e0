/*
 * test_search_evolve.c - evolution: quality of its results, changes of champion, and
 * reproducibility
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/search/evolution.h"
#include "landscapes.h"

/* An environment for evolution on a landscape. */
typedef struct world {
    const lab_space *space;
    lab_trials trials;
    int calls, limit; /* a call past the limit is interrupted; 0: no limit */
    bool never;       /* no challenger wins */
    int asked;        /* number of challenges */
    double log[2000]; /* scores, in order of births */
    int64_t parents[2000];
    int births;
    int64_t announced;
    lab_search *search;
    lab_evolution *evolution;
} world;

static heed_status evaluate(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result)
{
    world *self = data;
    (void)effort;
    if (self->limit > 0 && self->calls >= self->limit)
        return HEED_ERR_SYSTEM;
    self->calls++;
    *result = *lab_trials_find(&self->trials, lab_space_index(self->space, point), shape, -1);
    return HEED_OK;
}

static void announce(void *data, const lab_point *points, size_t count)
{
    world *self = data;
    assert_non_null(points);
    self->announced += (int64_t)count;
}

/* One point in 100 is refused beforehand. */
static bool refuse(void *data, const lab_point *point, char why[LAB_WHY_SIZE])
{
    const world *self = data;
    snprintf(why, LAB_WHY_SIZE, "refused");
    return lab_space_count(self->space) > 90 && lab_space_index(self->space, point) % 100 == 7;
}

static unsigned findings(void *data, const lab_individual *one)
{
    (void)data;
    return one->point % 3 == 0 ? 1u << LAB_FINDING_SPILLS : 0;
}

static heed_status succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    world *self = data;
    assert_true(challenger->score < champion->score);
    self->asked++;
    *yes = !self->never && challenger->score < champion->score - 0.01;
    return HEED_OK;
}

static heed_status born(void *data, const lab_individual *child, const lab_individual *champion)
{
    world *self = data;
    assert_true(champion || !isfinite(child->score));
    self->log[self->births] = child->score;
    self->parents[self->births++] = child->parents[0];
    return HEED_OK;
}

static lab_evaluator evaluator_of(world *self, bool ahead)
{
    return (lab_evaluator){ .data = self,
                            .shapes = self->trials.shape_count,
                            .efforts = 1,
                            .evaluate = evaluate,
                            .refuse = refuse,
                            .announce = ahead ? announce : NULL };
}

/* Evolves for the given number of launches. */
static heed_status run(world *self, const lab_evaluator *evaluator, uint64_t seed,
                       const int64_t *starts, size_t count, int64_t trials)
{
    lab_error error;
    const lab_evolution_calls calls = { self, NULL, findings, succeeds, born };
    self->evolution = lab_evolution_create(self->space, seed, &calls, starts, count);
    assert_non_null(self->evolution);
    const lab_search_options search = { .strategy = "evolution",
                                        .evolution = self->evolution,
                                        .trials = trials };
    return lab_search_run(&self->search, self->space, evaluator, &search, &error);
}

static void end(world *self)
{
    lab_search_free(self->search);
    lab_evolution_destroy(self->evolution);
}

/* It finds points within 5 % of the best of 90 in fewer evaluations than random search, on
 * landscapes with cliffs, in the median over seeds. */
static void test_finds(void **state)
{
    lab_space space;
    landscape_space(&space, "sweep90");
    double best = INFINITY;
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_CLIFFS, &space, 77) };
    const lab_evaluator evaluator = evaluator_of(&self, false);
    for (int64_t i = 0; i < 90; i++) {
        double sum = 0;
        for (int s = 0; s < 3; s++)
            sum += log(lab_trials_find(&self.trials, i, s, -1)->seconds);
        best = fmin(best, sum / 3);
    }
    int early = 0, seeds = 40;
    for (int seed = 0; seed < seeds; seed++) {
        self.births = 0;
        assert_int_equal(run(&self, &evaluator, (uint64_t)seed, NULL, 0, 0), HEED_OK);
        assert_int_equal(self.births, 90); /* nothing is left */
        assert_int_equal(lab_evolution_children(self.evolution), 90);
        int needed = 0;
        while (self.log[needed] > best + log(1.05))
            needed++;
        early += needed < 27;
        end(&self);
    }
    print_message("within 5 %% of the best after 27 of 90: %d of %d seeds\n", early, seeds);
    assert_true(early > seeds / 2);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

static void assert_same(const lab_individual *one, const lab_individual *other)
{
    assert_int_equal(one->id, other->id);
    assert_int_equal(one->point, other->point);
    assert_int_equal(one->findings, other->findings);
    assert_memory_equal(&one->score, &other->score, sizeof one->score);
}

/* Interrupted anywhere, and with the next candidates announced in advance: always the same
 * course. */
static void test_same_story(void **state)
{
    static world whole, part;
    lab_space space;
    landscape_space(&space, "mma");
    const int64_t starts[2] = { 0, 1234 };
    whole = (world){ .space = &space, .trials = landscape_make(LANDSCAPE_FAULTS, &space, 5) };
    lab_evaluator evaluator = evaluator_of(&whole, false);
    assert_int_equal(run(&whole, &evaluator, 4, starts, 2, 150), HEED_OK);
    assert_true(whole.births >= 150); /* refused ones are counted as births, but not launched */
    for (int limit = 1; limit <= whole.calls; limit += 31) {
        part = (world){ .space = &space, .trials = whole.trials, .limit = limit };
        evaluator = evaluator_of(&part, true);
        heed_status status = run(&part, &evaluator, 4, starts, 2, 150);
        assert_int_equal(status, limit < whole.calls ? HEED_ERR_SYSTEM : HEED_OK);
        assert_memory_equal(whole.log, part.log, (size_t)part.births * sizeof *part.log);
        assert_memory_equal(whole.parents, part.parents,
                            (size_t)part.births * sizeof *part.parents);
        assert_true(part.announced > 0);
        end(&part);
    }
    part = (world){ .space = &space, .trials = whole.trials };
    evaluator = evaluator_of(&part, true);
    assert_int_equal(run(&part, &evaluator, 4, starts, 2, 150), HEED_OK);
    assert_int_equal(whole.births, part.births);
    assert_memory_equal(whole.log, part.log, sizeof whole.log);
    assert_same(lab_evolution_champion(part.evolution), lab_evolution_champion(whole.evolution));
    for (int island = 0; island < LAB_ISLANDS; island++)
        for (int place = 0; lab_evolution_member(whole.evolution, island, place); place++)
            assert_same(lab_evolution_member(part.evolution, island, place),
                        lab_evolution_member(whole.evolution, island, place));
    end(&part);
    end(&whole);
    lab_trials_free(&whole.trials);
    lab_space_free(&space);
}

static void test_succession(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_VALLEY, &space, 3) };
    const lab_evaluator evaluator = evaluator_of(&self, false);
    const int64_t starts[2] = { 0, 0 };
    self.never = true;
    assert_int_equal(run(&self, &evaluator, 1, starts, 2, 40), HEED_OK);
    assert_int_equal(self.births, 40); /* the second start was tried */
    assert_true(self.asked > 0);
    assert_int_equal(lab_evolution_champion(self.evolution)->id, 1); /* the start */
    double last = -INFINITY;
    for (int i = 0; lab_evolution_member(self.evolution, 0, i); i++) {
        assert_true(lab_evolution_member(self.evolution, 0, i)->score >= last);
        last = lab_evolution_member(self.evolution, 0, i)->score;
    }
    assert_true(isfinite(last));
    self.never = false;
    const lab_search_options more = { .strategy = "evolution",
                                      .evolution = self.evolution,
                                      .trials = 80 };
    assert_int_equal(lab_search_continue(self.search, &more, &error), HEED_OK);
    assert_int_equal(self.births, 80);
    assert_int_equal(lab_search_get(self.search).launched, 80);
    assert_true(lab_evolution_champion(self.evolution)->id > 40);
    end(&self);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

/* It continues from the results of another strategy, without evaluating them again. */
static void test_goes_on(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_VALLEY, &space, 3) };
    const lab_evaluator evaluator = evaluator_of(&self, false);
    const lab_search_options first = { .strategy = "random", .trials = 20 };
    const lab_search_options more = { .strategy = "evolution", .trials = 50 };
    assert_int_equal(lab_search_run(&self.search, &space, &evaluator, &first, &error), HEED_OK);
    assert_int_equal(self.calls, 20 * self.trials.shape_count);
    assert_int_equal(lab_search_continue(self.search, &more, &error), HEED_OK);
    assert_int_equal(self.calls, 50 * self.trials.shape_count);
    assert_int_equal(lab_search_get(self.search).end, LAB_SEARCH_TRIALS);
    end(&self);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

static unsigned findings_of(const lab_evolution *evolution, int64_t id)
{
    for (int i = 0; i < LAB_ISLANDS; i++)
        for (int j = 0; lab_evolution_member(evolution, i, j); j++)
            if (lab_evolution_member(evolution, i, j)->id == id)
                return lab_evolution_member(evolution, i, j)->findings;
    return 0;
}

/* A finding that is added later applies to that individual alone, as champion and on an island. */
static void test_told(void **state)
{
    const unsigned word = 1u << LAB_FINDING_EXP_BOUND;
    lab_space space;
    landscape_space(&space, "sweep90");
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_VALLEY, &space, 3) };
    const lab_evaluator evaluator = evaluator_of(&self, false);
    assert_int_equal(run(&self, &evaluator, 1, NULL, 0, 30), HEED_OK);
    lab_evolution *evolution = self.evolution;
    int64_t id = lab_evolution_champion(evolution)->id;
    unsigned before = lab_evolution_champion(evolution)->findings;
    assert_int_equal(before & word, 0);
    lab_evolution_tell(evolution, id, word);
    assert_int_equal(lab_evolution_champion(evolution)->findings, before | word);
    assert_int_equal(findings_of(evolution, id), before | word);
    int told = 0;
    for (int64_t other = 1; other <= 30; other++)
        told += (findings_of(evolution, other) & word) != 0;
    assert_int_equal(told, 1);
    end(&self);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

RUN_TESTS(test_finds, test_same_story, test_succession, test_goes_on, test_told)
