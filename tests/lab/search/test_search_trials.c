/*
 * test_search_trials.c - number of trials that strategies need
 */
#include "run_tests.h"

#include <glob.h>
#include <math.h>
#include <string.h>

#include "lab/search/replay.h"
#include "landscapes.h"

/* A slow build has fewer runs. */
#ifdef SEARCH_FEWER_RUNS
#define RUNS(count) ((count) / 10 + 5)
#else
#define RUNS(count) (count)
#endif

/* The criterion: within 5 % of the best after at most 30 % of the grid's 90 points, in the median
 * over 200 seeds, and in nine of ten runs after half of the points. Tried on five landscapes of
 * each kind, to which no constant of the strategy was fitted. */
static void test_trials_needed(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    for (int which = 0; which < LANDSCAPE_RUGGED; which++) {
        double medians = 0, random_medians = 0;
        for (uint64_t seed = 0; seed < 5; seed++) {
            lab_trials trials = landscape_make((landscape)which, &space, 1000 + seed);
            lab_replay_options options = { .seeds = RUNS(20), .noise = 0.01, .trials = 40 };
            lab_replay_result model, random;
            assert_int_equal(lab_replay_run(&space, &trials, &options, &model, &error), HEED_OK);
            options.strategy = "random";
            options.trials = 90;
            assert_int_equal(lab_replay_run(&space, &trials, &options, &random, &error), HEED_OK);
            lab_trials_free(&trials);
            medians += model.median / 5;
            random_medians += random.median / 5;
            if (model.median > 27)
                fail_msg("%s %d: %.0f trials", landscape_name((landscape)which), (int)seed,
                         model.median);
        }
        print_message("%s: %.1f trials of 90 in the median, %.1f by random search\n",
                      landscape_name((landscape)which), medians, random_medians);
        assert_true(medians < 0.75 * random_medians);
    }
    lab_space_free(&space);
}

static double true_score(const lab_trials *trials, int64_t point)
{
    double sum = 0;
    for (int shape = 0; shape < trials->shape_count; shape++) {
        const lab_evaluation *answer = lab_trials_find(trials, point, shape, -1);
        sum += answer ? log(answer->seconds) : INFINITY;
    }
    return sum / trials->shape_count;
}

/* A landscape as an evaluator. */
typedef struct answers {
    const lab_space *space;
    const lab_trials *trials;
} answers;

static heed_status landscape_evaluate(void *data, const lab_point *point, int shape, int effort,
                                      lab_evaluation *result)
{
    const answers *self = data;
    int64_t index = lab_space_index(self->space, point);
    (void)effort;
    *result = *lab_trials_find(self->trials, index, shape, -1);
    return HEED_OK;
}

/* Relative slowdown of the best point after 60 trials, compared with the best of the landscape. */
static double regret(const lab_space *space, const lab_trials *trials, const char *strategy)
{
    answers self = { space, trials };
    const lab_evaluator evaluator = {
        .data = &self, .shapes = 3, .efforts = 1, .evaluate = landscape_evaluate
    };
    const lab_search_options options = { .strategy = strategy, .seed = 3, .trials = 60 };
    lab_search *search;
    lab_error error;
    double best = INFINITY;
    for (int64_t i = 0; i < lab_space_count(space); i++)
        best = fmin(best, true_score(trials, i));
    assert_int_equal(lab_search_run(&search, space, &evaluator, &options, &error), HEED_OK);
    double found = true_score(trials, lab_search_get(search).best->index);
    lab_search_free(search);
    return exp(found - best) - 1;
}

/* 60 trials in a space of 7488 points with meaningful knobs. */
static void test_large_space(void **state)
{
    static const landscape kinds[] = { LANDSCAPE_VALLEY, LANDSCAPE_CLIFFS, LANDSCAPE_WAVES };
    lab_space space;
    landscape_space(&space, "mma");
    for (int i = 0; i < 3; i++) {
        lab_trials trials = landscape_make(kinds[i], &space, 200);
        double model = regret(&space, &trials, "model");
        double random = regret(&space, &trials, "random");
        print_message("%s: after 60 trials %.1f %% above the best, %.1f %% by random search\n",
                      landscape_name(kinds[i]), 100 * model, 100 * random);
        assert_true(model < 0.05 && model < random);
        lab_trials_free(&trials);
    }
    lab_space_free(&space);
}

/* 200 seeds, on one landscape with cliffs. */
static void test_criterion(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    lab_trials trials = landscape_make(LANDSCAPE_CLIFFS, &space, 77);
    const lab_replay_options options = { .seeds = RUNS(200), .noise = 0.01, .trials = 45 };
    lab_replay_result result;
    assert_int_equal(lab_replay_run(&space, &trials, &options, &result, &error), HEED_OK);
    print_message("cliffs again: median %.0f, 90th percentile %.0f, worst %.0f\n", result.median,
                  result.p90, result.worst);
    assert_int_equal(result.runs, RUNS(200));
    assert_true(result.median <= 27);
    assert_true(result.p90 <= 45);
    lab_trials_free(&trials);
    lab_space_free(&space);
}

/* The same on recorded trials, in all available files. */
static void test_recorded(void **state)
{
    glob_t files;
    assert_int_equal(glob(HEED_SOURCE_DIR "/tests/data/trials/*.txt", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1;
        char space_name[64];
        lab_space space;
        lab_error error;
        lab_trials trials;
        lab_replay_options options = { .seeds = RUNS(200), .trials = 50 };
        lab_replay_result model, random;
        snprintf(space_name, sizeof space_name, "%.*s", (int)strcspn(name, "-."), name);
        landscape_space(&space, space_name);
        if (lab_trials_read(&trials, &space, files.gl_pathv[i], &error) != HEED_OK)
            fail_msg("%s", error.text);
        assert_int_equal(lab_replay_run(&space, &trials, &options, &model, &error), HEED_OK);
        options.strategy = "random";
        options.trials = 0;
        assert_int_equal(lab_replay_run(&space, &trials, &options, &random, &error), HEED_OK);
        print_message("%s: of %d points, %d of them working: median %.0f trials, 90th percentile "
                      "%.0f; random search %.0f and %.0f\n",
                      name, (int)model.points, (int)model.working, model.median, model.p90,
                      random.median, random.p90);
        assert_true(model.median <= 0.3 * (double)model.points);
        lab_trials_free(&trials);
        lab_space_free(&space);
    }
    globfree(&files);
}

/* An unpredictable landscape takes as many trials as random search, but no more. */
static void test_rugged(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    double model_sum = 0, random_sum = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        lab_trials trials = landscape_make(LANDSCAPE_RUGGED, &space, seed);
        lab_replay_options options = { .seeds = RUNS(20) };
        lab_replay_result model, random;
        assert_int_equal(lab_replay_run(&space, &trials, &options, &model, &error), HEED_OK);
        options.strategy = "random";
        assert_int_equal(lab_replay_run(&space, &trials, &options, &random, &error), HEED_OK);
        model_sum += model.median;
        random_sum += random.median;
        assert_int_equal(model.missed + random.missed, 0);
        lab_trials_free(&trials);
    }
    assert_true(model_sum < 1.6 * random_sum);
    lab_space_free(&space);
}

/* Replay statistics on a table whose results are known by hand. */
static void test_replay(void **state)
{
    static char shapes[1][HEED_SPEC_SIZE] = { "x" };
    lab_trial_record records[90];
    lab_space space;
    lab_error error;
    landscape_space(&space, "sweep90");
    for (int i = 0; i < 90; i++)
        records[i] = (lab_trial_record){ .point = i, .answer = { .seconds = i == 9 ? 1.0 : 2.0 } };
    for (int i = 3; i < 9; i++)
        records[i].answer.state = i < 6 ? LAB_STATE_PRUNED : LAB_STATE_WRONG;
    const lab_trials trials = {
        .shapes = shapes, .shape_count = 1, .records = records, .count = 89
    };
    const lab_replay_options options = { .strategy = "exhaustive", .seeds = 3 };
    lab_replay_result result;
    assert_int_equal(lab_replay_run(&space, &trials, &options, &result, &error), HEED_OK);
    assert_int_equal(result.points, 90);
    assert_int_equal(result.runnable, 86); /* excluding three pruned ones and one not recorded */
    assert_int_equal(result.working, 83);
    assert_int_equal(result.good, 1);
    assert_true(result.median == 7 && result.worst == 7); /* 0 1 2, then 6 7 8 that fail, then 9 */
    assert_true(result.evaluations == 7);
    const lab_replay_options few = { .strategy = "exhaustive", .seeds = 3, .trials = 6 };
    assert_int_equal(lab_replay_run(&space, &trials, &few, &result, &error), HEED_OK);
    assert_int_equal(result.missed, 3);
    assert_true(isinf(result.median));
    const lab_trials none = { .shapes = shapes, .shape_count = 1, .records = records, .count = 0 };
    assert_int_equal(lab_replay_run(&space, &none, &options, &result, &error), HEED_ERR_INVALID);
    lab_space_free(&space);
}

RUN_TESTS(test_replay, test_trials_needed, test_large_space, test_criterion, test_recorded,
          test_rugged)
