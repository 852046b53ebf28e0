/*
 * test_search_evolve.c - evolution: its findings, successions, and that it can be repeated
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search/evolve.h"
#include "landscapes.h"

/* A world out of a landscape; each text but the first of a region costs or gains its number of
 * percents. */
typedef struct world {
    const lab_space *space;
    lab_trials trials;
    int calls, limit; /* a call past the limit is broken off; 0: none */
    bool never;       /* nobody succeeds */
    int asked;        /* how often about a succession */
    double log[2000]; /* scores, in the order of births */
    int64_t parents[2000];
    int births;
} world;

static heed_status evaluate(void *data, lab_individual *one)
{
    world *self = data;
    int64_t point = lab_space_index(self->space, &one->genome.point);
    if (self->limit > 0 && self->calls >= self->limit)
        return HEED_ERR_SYSTEM;
    self->calls++;
    for (int shape = 0; shape < self->trials.shape_count; shape++) {
        const lab_evaluation *answer = lab_trials_find(&self->trials, point, shape, -1);
        assert_non_null(answer);
        one->state = answer->state;
        one->seconds[shape] = answer->seconds * (1 - 0.02 * one->genome.texts[0]) *
                              (1 + 0.02 * one->genome.texts[1]);
    }
    one->findings = point % 3 == 0 ? 1u << LAB_FINDING_SPILLS : 0;
    return HEED_OK;
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

static void born(void *data, const lab_individual *child, const lab_individual *champion)
{
    world *self = data;
    assert_true(champion || !isfinite(child->score));
    self->log[self->births] = child->score;
    self->parents[self->births++] = child->parents[0];
}

static lab_evolution_calls calls_of(world *self)
{
    return (lab_evolution_calls){ .data = self,
                                  .shapes = self->trials.shape_count,
                                  .evaluate = evaluate,
                                  .succeeds = succeeds,
                                  .born = born };
}

/* It finds points within 5 % of the best of 90 in fewer evaluations than chance would need, on
 * landscapes with cliffs, in the median over seeds. */
static void test_finds(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    double best = INFINITY;
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_CLIFFS, &space, 77) };
    lab_evolution_calls calls = calls_of(&self);
    for (int64_t i = 0; i < 90; i++) {
        double sum = 0;
        for (int s = 0; s < 3; s++)
            sum += log(lab_trials_find(&self.trials, i, s, -1)->seconds);
        best = fmin(best, sum / 3);
    }
    int early = 0, seeds = 40;
    for (int seed = 0; seed < seeds; seed++) {
        const lab_evolution_options options = { .seed = (uint64_t)seed, .islands = 2 };
        lab_evolution *evolution;
        assert_int_equal(lab_evolution_create(&evolution, &space, NULL, &options, NULL, 0, &error),
                         HEED_OK);
        self.births = 0;
        assert_int_equal(lab_evolution_run(evolution, &calls, 90), HEED_OK);
        assert_int_equal(self.births, 90);
        assert_int_equal(lab_evolution_run(evolution, &calls, 5), HEED_OK); /* nothing is left */
        assert_int_equal(self.births, 90);
        int needed = 0;
        while (self.log[needed] > best + log(1.05))
            needed++;
        early += needed < 27;
        lab_evolution_destroy(evolution);
    }
    print_message("within 5 %% of the best after 27 of 90: %d of %d seeds\n", early, seeds);
    assert_true(early > seeds / 2);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

static void assert_same(const lab_individual *one, const lab_individual *other)
{
    assert_int_equal(one->id, other->id);
    assert_int_equal(one->findings, other->findings);
    assert_memory_equal(&one->score, &other->score, sizeof one->score);
    assert_memory_equal(one->seconds, other->seconds, sizeof one->seconds);
}

/* With regions, and broken off at every possible place, cloned, and gone on with the clone, while
 * another one runs ahead: always the same story. */
static void test_same_story(void **state)
{
    static world whole, parts, ahead;
    lab_space space;
    lab_source source;
    lab_error error;
    landscape_space(&space, "mma");
    assert_int_equal(lab_source_parse(&source, landscape_source, "k.cu", &error), HEED_OK);
    int number;
    lab_source_add(&source, 1, "z();", &number, &error);
    const lab_evolution_options options = { .seed = 4, .islands = 2, .migration = 7 };
    lab_genome starts[2];
    memset(starts, 0, sizeof starts);
    starts[1].point = lab_space_at(&space, 1234);
    whole = parts = ahead = (world){ .space = &space };
    whole.trials = parts.trials = ahead.trials = landscape_make(LANDSCAPE_FAULTS, &space, 5);
    lab_evolution_calls calls = calls_of(&whole);
    lab_evolution *evolution, *expected;
    assert_int_equal(lab_evolution_create(&expected, &space, &source, &options, starts, 2, &error),
                     HEED_OK);
    assert_int_equal(lab_evolution_run(expected, &calls, 150), HEED_OK);

    calls = calls_of(&parts);
    const lab_evolution_calls other = calls_of(&ahead);
    assert_int_equal(lab_evolution_create(&evolution, &space, &source, &options, starts, 2, &error),
                     HEED_OK);
    for (int i = 0; i < 150; i++) {
        parts.limit = parts.calls; /* no evaluation is possible: it is broken off */
        if (parts.limit > 0)
            assert_int_equal(lab_evolution_run(evolution, &calls, 1), HEED_ERR_SYSTEM);
        parts.limit = 0;
        lab_evolution *again = lab_evolution_clone(evolution);
        assert_non_null(again);
        assert_int_equal(lab_evolution_run(evolution, &other, 3), HEED_OK);
        lab_evolution_destroy(evolution);
        assert_int_equal(lab_evolution_run(again, &calls, 1), HEED_OK);
        evolution = again;
    }
    assert_int_equal(whole.births, parts.births);
    assert_memory_equal(whole.log, parts.log, sizeof whole.log);
    assert_memory_equal(whole.parents, parts.parents, sizeof whole.parents);
    assert_same(lab_evolution_champion(evolution), lab_evolution_champion(expected));
    for (int island = 0; island < 2; island++)
        for (int place = 0; lab_evolution_member(expected, island, place); place++)
            assert_same(lab_evolution_member(evolution, island, place),
                        lab_evolution_member(expected, island, place));
    /* Regions matter: the champion has the best texts of both. */
    assert_int_equal(lab_evolution_champion(evolution)->genome.texts[1], 0);
    lab_evolution_destroy(expected);
    lab_evolution_destroy(evolution);
    lab_trials_free(&whole.trials);
    lab_source_free(&source);
    lab_space_free(&space);
}

static void test_succession(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_VALLEY, &space, 3) };
    lab_evolution_calls calls = calls_of(&self);
    const lab_evolution_options options = { .seed = 1 };
    lab_evolution *evolution;
    self.never = true;
    lab_genome start;
    memset(&start, 0, sizeof start);
    assert_int_equal(lab_evolution_create(&evolution, &space, NULL, &options, &start, 1, &error),
                     HEED_OK);
    assert_int_equal(lab_evolution_run(evolution, &calls, 40), HEED_OK);
    assert_true(self.asked > 0);
    assert_int_equal(lab_evolution_champion(evolution)->id, 1); /* the start */
    assert_false(lab_evolution_offer(evolution, &start));       /* tried */
    double last = -INFINITY;
    for (int i = 0; lab_evolution_member(evolution, 0, i); i++) {
        assert_true(lab_evolution_member(evolution, 0, i)->score >= last);
        last = lab_evolution_member(evolution, 0, i)->score;
    }
    assert_true(isfinite(last));
    self.never = false;
    assert_int_equal(lab_evolution_run(evolution, &calls, 40), HEED_OK);
    lab_evolution_destroy(evolution);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

static unsigned findings_of(const lab_evolution *evolution, int64_t id)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; lab_evolution_member(evolution, i, j); j++)
            if (lab_evolution_member(evolution, i, j)->id == id)
                return lab_evolution_member(evolution, i, j)->findings;
    return 0;
}

/* A fact found out later counts for that one alone, as champion, on an island, and in a clone. */
static void test_told(void **state)
{
    const unsigned word = 1u << LAB_FINDING_EXP_BOUND;
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    world self = { .space = &space, .trials = landscape_make(LANDSCAPE_VALLEY, &space, 3) };
    lab_evolution_calls calls = calls_of(&self);
    const lab_evolution_options options = { .seed = 1 };
    lab_evolution *evolution;
    assert_int_equal(lab_evolution_create(&evolution, &space, NULL, &options, NULL, 0, &error),
                     HEED_OK);
    assert_int_equal(lab_evolution_run(evolution, &calls, 30), HEED_OK);
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
    lab_evolution *again = lab_evolution_clone(evolution);
    assert_non_null(again);
    assert_int_equal(lab_evolution_champion(again)->findings, before | word);
    assert_int_equal(findings_of(again, id), before | word);
    lab_evolution_destroy(again);
    lab_evolution_destroy(evolution);
    lab_trials_free(&self.trials);
    lab_space_free(&space);
}

static void test_bad_evolutions(void **state)
{
    static const lab_evolution_options bad[] = { { .islands = 17 },   { .islands = -1 },
                                                 { .population = 1 }, { .population = 65 },
                                                 { .elites = 9 },     { .migration = -1 },
                                                 { .crossover = 2 },  { .immigrants = -1 } };
    lab_space space;
    lab_error error;
    lab_evolution *evolution;
    landscape_space(&space, "sweep90");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lab_evolution_create(&evolution, &space, NULL, &bad[i], NULL, 0, &error),
                         HEED_ERR_INVALID);
    lab_space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds),          cmocka_unit_test(test_same_story),
        cmocka_unit_test(test_succession),     cmocka_unit_test(test_told),
        cmocka_unit_test(test_bad_evolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
