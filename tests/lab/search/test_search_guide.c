/*
 * test_search_guide.c - the guide of evolution: weights of moves, and their effect
 */
#include "run_tests.h"

#include <string.h>

#include "lab/search/evolution.h"
#include "landscapes.h"

static int knob_of(const lab_space *space, const char *name)
{
    int i = 0;
    while (strcmp(space->knobs[i].name, name) != 0)
        i++;
    return i;
}

static double weight(const lab_guide *guide, const lab_space *space, const lab_point *point,
                     unsigned findings, const char *knob, int up)
{
    double weights[LAB_MOVES], sum = 0;
    int count = lab_guide_weigh(guide, space, point, findings, 0, weights);
    for (int i = 0; i < count; i++)
        sum += weights[i];
    return weights[2 * knob_of(space, knob) + up] / sum;
}

/* A champion that spills makes smaller tiles and more registers much more likely, and the opposite
 * almost impossible. */
static void test_spills(void **state)
{
    const unsigned spills = 1u << LAB_FINDING_SPILLS;
    const lab_guide none = { { { 0 } } };
    lab_space space;
    landscape_space(&space, "mma");
    lab_point middle = { { 2, 2, 2, 1, 1, 0, 0, 1 } };
    static const struct {
        const char *knob;
        int up;
        bool likelier;
    } rows[] = { { "rows", 0, true },  { "keys", 0, true },  { "blocks", 1, true },
                 { "rows", 1, false }, { "keys", 1, false }, { "blocks", 0, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double before = weight(&none, &space, &middle, 0, rows[i].knob, rows[i].up);
        double after = weight(&none, &space, &middle, spills, rows[i].knob, rows[i].up);
        assert_true(rows[i].likelier ? after > 1.5 * before : after < 0.5 * before);
    }
    lab_space_free(&space);
}

/* Each finding changes some weight, and moves past the end have no weight. */
static void test_findings(void **state)
{
    const lab_guide none = { { { 0 } } };
    lab_space space;
    double plain[LAB_MOVES], other[LAB_MOVES];
    landscape_space(&space, "wgmma");
    lab_point middle = { { 1, 1, 3, 2, 1, 1, 0, 0 } };
    int count = lab_guide_weigh(&none, &space, &middle, 0, 2, plain);
    assert_int_equal(count, 2 * space.knob_count + 2);
    assert_true(plain[2 * 6] == 0 && plain[2 * 6 + 1] > 0);
    for (int i = 0; i < LAB_FINDINGS; i++) {
        lab_guide_weigh(&none, &space, &middle, 1u << i, 2, other);
        assert_memory_not_equal(plain, other, (size_t)count * sizeof *plain);
        assert_int_equal(lab_finding_of(lab_finding_name((lab_finding)i)), i);
    }
    assert_int_equal(lab_finding_of("boredom"), LAB_FINDINGS);
    lab_space_free(&space);
}

static void test_history(void **state)
{
    lab_guide guide = { { { 0 } } };
    lab_space space;
    landscape_space(&space, "mma");
    lab_point middle = { { 2, 2, 2, 1, 1, 0, 0, 1 } };
    const lab_move wins = { .knob = knob_of(&space, "stages"), .up = 1 };
    const lab_move fails = { .knob = knob_of(&space, "keys"), .up = 1 };
    double wins_before = weight(&guide, &space, &middle, 0, "stages", 1);
    double fails_before = weight(&guide, &space, &middle, 0, "keys", 1);
    for (int i = 0; i < 5; i++) {
        lab_guide_learn(&guide, &space, &wins, LAB_GAIN_BETTER);
        lab_guide_learn(&guide, &space, &fails, LAB_GAIN_FAILED);
    }
    assert_true(weight(&guide, &space, &middle, 0, "stages", 1) > 1.5 * wins_before);
    assert_true(weight(&guide, &space, &middle, 0, "keys", 1) < 0.5 * fails_before);
    lab_space_free(&space);
}

/* Counts moves of the children of one parent, those that reduce spills and those that increase
 * them. */
typedef struct spilling {
    const lab_space *space;
    bool spills;
    int better, worse;
} spilling;

static unsigned spill(void *data, const lab_individual *child)
{
    spilling *it = data;
    lab_clues clues = lab_clues_unknown();
    for (int i = 0; i < child->move_count && !child->parents[1]; i++) {
        const lab_space_knob *knob = &it->space->knobs[child->moves[i].knob];
        bool cap = knob->role == LAB_KNOB_REGISTERS;
        if (!cap && knob->role != LAB_KNOB_ROWS && knob->role != LAB_KNOB_KEYS)
            continue;
        *(cap == child->moves[i].up ? &it->better : &it->worse) += 1;
    }
    clues.point_facts.value[LAB_FACT_SPILLS] = it->spills ? 512 : 0;
    return lab_clues_findings(&clues);
}

/* All scores are equal, so there is nothing to learn from history. */
static heed_status evaluate(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result)
{
    (void)data, (void)point, (void)shape, (void)effort;
    *result = (lab_evaluation){ .seconds = 1e-5 };
    return HEED_OK;
}

static void breed_spilling(const lab_space *space, spilling *it)
{
    for (int seed = 1; seed <= 20; seed++) {
        const lab_evolution_calls calls = { .data = it, .findings = spill };
        const lab_evaluator evaluator = { .shapes = 1, .efforts = 1, .evaluate = evaluate };
        const lab_point start = { { 2, 1, 0, 1 } };
        const int64_t index = lab_space_index(space, &start);
        lab_evolution *evolution = lab_evolution_create(space, (uint64_t)seed, &calls, &index, 1);
        lab_search *search;
        assert_non_null(evolution);
        const lab_search_options thirty = { .strategy = "evolution",
                                            .evolution = evolution,
                                            .trials = 30 };
        assert_int_equal(lab_search_run(&search, space, &evaluator, &thirty, NULL), HEED_OK);
        lab_search_free(search);
        lab_evolution_destroy(evolution);
    }
}

/* A champion that spills has children with smaller tiles, or more registers. */
static void test_spilling_champion(void **state)
{
    lab_space space;
    landscape_space(&space, "sweep90");
    spilling sick = { .space = &space, .spills = true }, sound = { .space = &space };
    breed_spilling(&space, &sick);
    breed_spilling(&space, &sound);
    if (sick.better < 3 * sick.worse || sound.better > 2 * sound.worse)
        fail_msg("%d moves against spills, %d for them; without spills %d and %d", sick.better,
                 sick.worse, sound.better, sound.worse);
    lab_space_free(&space);
}

RUN_TESTS(test_spills, test_findings, test_history, test_spilling_champion)
