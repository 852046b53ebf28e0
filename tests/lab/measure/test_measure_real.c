/*
 * test_measure_real.c - a real kernel compared with itself on this machine, without and with a
 * delay
 *
 * It asserts the rate of wrong verdicts, not any time; a busy machine may make verdicts AMBIGUOUS,
 * but not wrong.
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "contexts.h"
#include "lab/measure/duel.h"
#include "lab/measure/power.h"
#include "lab/tensor/random.h"
#include "measure.h"
#include "problems.h"

#define SPEC "b1 h2 s64 d64 f32"
#define BLOCK_NS INT64_C(1000000)

enum {
    PLACES = 64,
    PLACE_BYTES = 256,
    SELF_DUELS = 50,
    DELAY_DUELS = 20
};

typedef struct scene {
    heed_context *context;
    heed_plan *plan;
    heed_buffers buffers;
    char *workspace;
} scene;

/* A side: every call takes 1 + delay times as long as the kernel. */
typedef struct kernel_side {
    const scene *scene;
    size_t place;
    double delay;
} kernel_side;

static float *values(uint64_t seed, size_t count)
{
    float *array = aligned_alloc(64, count * sizeof *array);
    for (size_t i = 0; i < count; i++)
        array[i] = (float)lab_random_normal(seed, i);
    return array;
}

static int open_scene(void **state)
{
    static scene s;
    heed_problem problem = parsed(SPEC);
    size_t count = 2 * 64 * 64;
    s.context = host_context(1);
    assert_int_equal(heed_plan_create(&s.plan, s.context, &problem, HEED_ESTIMATE), HEED_OK);
    s.buffers = (heed_buffers){ .size = sizeof(heed_buffers),
                                .q = values(1, count),
                                .k = values(2, count),
                                .v = values(3, count),
                                .o = values(4, count) };
    s.buffers.workspace_size = heed_plan_workspace_size(s.plan);
    size_t room = s.buffers.workspace_size + PLACES * PLACE_BYTES;
    s.workspace = aligned_alloc(256, (room + 255) / 256 * 256);
    *state = &s;
    return 0;
}

static int close_scene(void **state)
{
    scene *s = *state;
    heed_plan_destroy(s->plan);
    heed_context_destroy(s->context);
    free((void *)s->buffers.q);
    free((void *)s->buffers.k);
    free((void *)s->buffers.v);
    free(s->buffers.o);
    free(s->workspace);
    return 0;
}

static heed_status move(void *data, uint64_t common, uint64_t own)
{
    kernel_side *self = data;
    (void)common;
    self->place = own % PLACES * PLACE_BYTES;
    return HEED_OK;
}

/* One call, with its delay, in nanoseconds. */
static int64_t call(const kernel_side *side, heed_status *status)
{
    heed_buffers buffers = side->scene->buffers;
    buffers.workspace = side->scene->workspace + side->place;
    int64_t start = heed_clock_ns();
    *status = heed_execute(side->scene->plan, &buffers);
    int64_t end = heed_clock_ns();
    int64_t until = end + (int64_t)(side->delay * (double)(end - start));
    while (end < until)
        end = heed_clock_ns();
    return end - start;
}

/* Repeats calls for BLOCK_NS, after a few that are not counted. */
static heed_status run_block(void *data, double *seconds)
{
    heed_status status = HEED_OK;
    int64_t ns = 0, calls = 0;
    for (int i = 0; i < 3 && status == HEED_OK; i++)
        call(data, &status);
    while (ns < BLOCK_NS && status == HEED_OK) {
        ns += call(data, &status);
        calls++;
    }
    *seconds = (double)ns * 1e-9 / (double)calls;
    return status;
}

/* A duel of the kernel against itself with a delay; the caller frees it. */
static lab_duel run_duel(const scene *s, double delay, double seconds, uint64_t seed)
{
    kernel_side one = { .scene = s }, two = { .scene = s, .delay = delay };
    lab_side a = { run_block, move, &one }, b = { run_block, move, &two };
    lab_duel_options options = { .seconds = seconds, .seed = seed };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    return duel;
}

/* Counts false verdicts of the kernel compared with itself. */
static int false_verdicts(scene *s, uint64_t seed)
{
    int verdicts[4] = { 0 };
    for (uint64_t i = 0; i < SELF_DUELS; i++) {
        lab_duel duel = run_duel(s, 0, 0.2, seed + i);
        verdicts[duel.comparison.verdict]++;
        lab_duel_free(&duel);
    }
    printf("compared with itself: FASTER %d, SLOWER %d, EQUIVALENT %d, AMBIGUOUS %d\n",
           verdicts[LAB_FASTER], verdicts[LAB_SLOWER], verdicts[LAB_EQUIVALENT],
           verdicts[LAB_AMBIGUOUS]);
    return verdicts[LAB_FASTER] + verdicts[LAB_SLOWER];
}

/* At most one false verdict in fifty, or none in fifty more. On recorded noise 6 in 10000 are
 * false, which fails here once in 80000 runs; with noise so large that the margin is negligible, 1
 * % would be false, and one run in 30 would fail. */
static void same_kernel(void **state)
{
    if (false_verdicts(*state, 1) > 1)
        assert_int_equal(false_verdicts(*state, 1001), 0);
}

/* Returns whether a duel could have detected 3 % easily, given its noise with the delay removed. */
static bool could_find(lab_duel *duel)
{
    const lab_rules rules = { .looks = LAB_DUEL_LOOKS };
    double limit = 0;
    for (size_t i = 0; i < duel->pairs; i++)
        duel->b[i] /= 1.03;
    lab_series series = lab_duel_series(duel);
    assert_int_equal(lab_power_detectable(&series, &rules, 1, &limit), HEED_OK);
    printf("not found where %.1f %% could be detected\n", 100 * limit);
    return limit <= 0.025;
}

/* The verdicts of several duels with delays of 3 %. */
typedef struct delays {
    int found;
    int missed; /* though easily detectable */
    int wrong;  /* mistaken for something else, though easily detectable */
    int wild;   /* mistaken for something else in noise that hides them */
} delays;

static delays delayed(const scene *s, uint64_t seed)
{
    delays sum = { 0 };
    for (uint64_t i = 0; i < DELAY_DUELS; i++) {
        lab_duel duel = run_duel(s, 0.03, 0.6, seed + i);
        lab_compared verdict = duel.comparison.verdict;
        bool clear = verdict != LAB_FASTER && could_find(&duel);
        sum.found += verdict == LAB_FASTER;
        sum.missed += verdict == LAB_AMBIGUOUS && clear;
        sum.wrong += verdict != LAB_FASTER && verdict != LAB_AMBIGUOUS && clear;
        sum.wild += verdict != LAB_FASTER && verdict != LAB_AMBIGUOUS && !clear;
        lab_duel_free(&duel);
    }
    printf("3 %% slower: detected %d of %d, mistaken for something else %d\n", sum.found,
           DELAY_DUELS, sum.wrong + sum.wild);
    return sum;
}

/* A delay of 3 % is detected 19 times in 20, and never mistaken for anything else, unless the
 * machine is so busy that 3 % is at the limit of detection. If 2.5 % is detected 95 times in 100, 3
 * % is missed once in 1000, and so twice in 20 once in 5000. In noise that exceeds 3 % verdicts are
 * as those of a kernel compared with itself: at most one is false, or none in twenty more. */
static void planted_delay(void **state)
{
    delays sum = delayed(*state, 0);
    assert_int_equal(sum.wrong, 0);
    assert_in_range(sum.missed, 0, DELAY_DUELS / 20);
    if (sum.wild > 1)
        assert_int_equal(delayed(*state, 1000).wild, 0);
    if (sum.found < DELAY_DUELS / 2)
        skip();
}

RUN_TESTS_WITHIN(open_scene, close_scene, same_kernel, planted_delay)
