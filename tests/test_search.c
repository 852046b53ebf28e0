/*
 * test_search.c - strategies: that they keep their budgets, can be resumed, and need few trials
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/search/replay.h"
#include "landscapes.h"
#include "scratch.h"

/* A build that is slow itself takes fewer runs. */
#ifdef SEARCH_FEWER_RUNS
#define RUNS(count) ((count) / 10 + 5)
#else
#define RUNS(count) (count)
#endif

static void load(lab_space *space, const char *name)
{
    char path[512];
    lab_error error;
    snprintf(path, sizeof path, HEED_SOURCE_DIR "/spaces/%s.txt", name);
    assert_int_equal(lab_space_load(space, path, &error), HEED_OK);
}

/* An evaluator that counts what it is asked. The time of a point falls with the distance from the
 * middle of the space; a point that is divisible by @faulty fails. */
typedef struct counter {
    const lab_space *space;
    int64_t calls, limit; /* calls until it interrupts; 0: never */
    int64_t faulty;
    int64_t *log; /* of points, shapes, efforts, as one number each */
    int64_t announced;
    const lab_trials *trials; /* of a landscape, where that answers */
} counter;

static counter *current; /* interrupted() is told nothing */

static heed_status count_evaluate(void *data, const lab_point *point, int shape, int effort,
                                  lab_evaluation *result)
{
    counter *self = data;
    int64_t index = lab_space_index(self->space, point);
    double middle = (double)lab_space_count(self->space) / 2;
    if (self->log)
        self->log[self->calls] = (index * 64 + shape) * 8 + effort;
    self->calls++;
    if (self->faulty && index % self->faulty == 0)
        *result = (lab_evaluation){ .fate = index % 2 ? LAB_FATE_WRONG : LAB_FATE_PRUNED };
    else
        *result = (lab_evaluation){ .seconds = 1 + fabs((double)index - middle) / middle + shape };
    return HEED_OK;
}

static void count_announce(void *data, const lab_point *points, size_t count)
{
    counter *self = data;
    assert_non_null(points);
    self->announced += (int64_t)count;
}

static bool count_interrupted(void)
{
    return current->limit > 0 && current->calls >= current->limit;
}

static lab_evaluator evaluator_of(counter *self)
{
    return (lab_evaluator){ .data = self,
                            .shapes = 3,
                            .efforts = 2,
                            .evaluate = count_evaluate,
                            .announce = count_announce };
}

static void test_every_point(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
    for (size_t i = 0; lab_strategy_at(i); i++) {
        counter self = { .space = &space, .faulty = 7 };
        lab_evaluator evaluator = evaluator_of(&self);
        lab_search_options options = { .strategy = lab_strategy_at(i)->name, .seed = i };
        lab_search *search;
        assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_OK);
        lab_search_result result = lab_search_get(search);
        bool seen[90] = { false };
        for (size_t t = 0; t < result.count; t++) {
            assert_false(seen[result.tries[t].index]);
            seen[result.tries[t].index] = true;
        }
        assert_int_equal(result.count, 90);
        assert_int_equal(result.end, LAB_SEARCH_COMPLETE);
        assert_int_equal(result.pruned, 7);
        assert_int_equal(result.launched, 83);
        assert_int_equal(result.best->index, 45);
        assert_int_equal(result.best->efforts[0], 1);
        assert_int_equal(result.best->shapes, 3);
        assert_true(self.announced > 0);
        lab_search_free(search);
    }
    lab_space_free(&space);
}

static void test_budget(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
    for (size_t i = 0; lab_strategy_at(i); i++) {
        counter self = { .space = &space };
        lab_evaluator evaluator = evaluator_of(&self);
        const lab_point starts[] = { lab_space_at(&space, 44), lab_space_at(&space, 3) };
        lab_search_options options = { .strategy = lab_strategy_at(i)->name,
                                       .trials = 10,
                                       .finalists = 2,
                                       .starts = starts,
                                       .start_count = 2 };
        lab_search *search;
        assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_OK);
        lab_search_result result = lab_search_get(search);
        assert_int_equal(result.launched, 10);
        assert_int_equal(result.tries[0].index, 44);
        assert_int_equal(result.tries[1].index, 3);
        assert_int_equal(result.evaluations, self.calls);
        lab_search_free(search);

        options.trials = 0;
        options.budget_ns = 1;
        assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_OK);
        result = lab_search_get(search);
        assert_int_equal(result.end, LAB_SEARCH_TIME);
        assert_int_equal(result.launched, 0);
        assert_null(result.best);
        lab_search_free(search);
    }
    lab_space_free(&space);
}

/* With the same seed a strategy asks the same things, which is what resuming rests on; with another
 * one, others. */
static void test_seeds(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "cpu_tile");
    int64_t count = lab_space_count(&space);
    for (size_t i = 0; lab_strategy_at(i); i++) {
        int64_t *logs[3];
        for (int run = 0; run < 3; run++) {
            logs[run] = calloc((size_t)count * 6, sizeof **logs);
            counter self = { .space = &space, .faulty = 11, .log = logs[run], .limit = 40 };
            lab_evaluator evaluator = evaluator_of(&self);
            lab_search_options options = { .strategy = lab_strategy_at(i)->name,
                                           .seed = run < 2 ? 5 : 6,
                                           .interrupted = count_interrupted };
            lab_search *search;
            current = &self;
            assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error),
                             HEED_OK);
            assert_int_equal(lab_search_get(search).end, LAB_SEARCH_INTERRUPTED);
            assert_in_range(self.calls, 40, 43);
            lab_search_free(search);
        }
        size_t size = (size_t)count * 6 * sizeof **logs;
        assert_memory_equal(logs[0], logs[1], size);
        bool random = strcmp(lab_strategy_at(i)->name, "exhaustive") != 0;
        assert_int_equal(memcmp(logs[0], logs[2], size) != 0, random);
        for (int run = 0; run < 3; run++)
            free(logs[run]);
    }
    lab_space_free(&space);
}

static heed_status fail_evaluate(void *data, const lab_point *point, int shape, int effort,
                                 lab_evaluation *result)
{
    (void)data;
    (void)point;
    (void)shape;
    (void)effort;
    (void)result;
    return HEED_ERR_LOST;
}

static void test_bad_options(void **state)
{
    lab_space space;
    lab_error error;
    lab_search *search;
    load(&space, "sweep90");
    counter self = { .space = &space };
    lab_evaluator evaluator = evaluator_of(&self);
    lab_search_options options = { .strategy = "magic" };
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error),
                     HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "'magic'"));
    assert_null(search);
    options.strategy = NULL;
    evaluator.shapes = 65;
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error),
                     HEED_ERR_INVALID);
    evaluator = evaluator_of(&self);
    evaluator.evaluate = fail_evaluate;
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_ERR_LOST);
    assert_non_null(search);
    assert_null(lab_search_get(search).best);
    lab_search_free(search);
    lab_space_free(&space);
}

/* Luck makes a slow point look fast at the low effort: the finals see through it. */
static heed_status lucky_evaluate(void *data, const lab_point *point, int shape, int effort,
                                  lab_evaluation *result)
{
    int64_t index = lab_space_index(data, point);
    (void)shape;
    *result = (lab_evaluation){ .seconds = index == 20 && effort == 0 ? 0.9
                                           : index == 20              ? 1.5
                                           : index == 30              ? 1.0
                                                                      : 1.2 };
    return HEED_OK;
}

static void test_finals(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
    lab_evaluator evaluator = {
        .data = &space, .shapes = 2, .efforts = 3, .evaluate = lucky_evaluate
    };
    lab_search_options options = { .strategy = "random" };
    lab_search *search;
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_OK);
    assert_int_equal(lab_search_get(search).best->index, 30);
    assert_int_equal(lab_search_get(search).best->efforts[1], 2);
    lab_search_disqualify(search, 30, "a gate refuses it");
    assert_int_not_equal(lab_search_get(search).best->index, 30);
    assert_int_not_equal(lab_search_get(search).best->index, 20); /* nor one of few samples */
    assert_int_equal(lab_search_get(search).best->efforts[1], 2);
    lab_search_free(search);
    options.finalists = -1;
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error), HEED_OK);
    assert_int_equal(lab_search_get(search).best->index, 20);
    lab_search_free(search);
    lab_space_free(&space);
}

/* ---- The file of trials ---- */

static void test_trials_file(void **state)
{
    char path[SCRATCH_PATH_SIZE], shapes[2][HEED_SPEC_SIZE] = { "b1 h1 s1 d1 f16", "b2" };
    lab_space space;
    lab_error error;
    FILE *file;
    load(&space, "sweep90");
    lab_trials head = { .space = "sweep90",
                        .kernel = "k",
                        .device = "a device",
                        .shapes = shapes,
                        .shape_count = 2 },
               read;
    scratch_path(state, "trials.txt", path);
    const lab_trial_record rows[] = {
        { .point = 7, .shape = 1, .answer = { .seconds = 1.25e-5 } },
        { .point = 7, .shape = 0, .effort = 1, .answer = { .seconds = 3e-5 } },
        { .point = 7, .shape = 0, .answer = { .seconds = 2e-5 } },
        { .point = 8, .answer = { .fate = LAB_FATE_PRUNED, .why = "two\nlines ; of it" } },
        { .point = 7, .shape = 0, .answer = { .seconds = 2.5e-5 } },
    };
    for (size_t i = 0; i < 5; i++) { /* opened anew each time, as a resumed run does */
        assert_int_equal(lab_trials_append(&file, &head, &space, path, &error), HEED_OK);
        assert_int_equal(lab_trials_write(file, &space, &rows[i]), HEED_OK);
        fputs("trial 0 0 time 1 regis", file); /* and killed in the middle of a line */
        fclose(file);
    }
    assert_int_equal(lab_trials_read(&read, &space, path, &error), HEED_OK);
    assert_int_equal(read.count, 4);
    assert_string_equal(read.device, "a device");
    assert_string_equal(read.shapes[1], "b2");
    assert_true(lab_trials_find(&read, 7, 0, 0)->seconds == 2.5e-5);
    assert_true(lab_trials_find(&read, 7, 0, -1)->seconds == 3e-5);
    assert_true(lab_trials_find(&read, 7, 1, -1)->seconds == 1.25e-5);
    assert_string_equal(lab_trials_find(&read, 8, 0, 0)->why, "two lines ; of it");
    assert_null(lab_trials_find(&read, 8, 0, 1));
    assert_null(lab_trials_find(&read, 8, 1, -1));
    assert_null(lab_trials_find(&read, 9, 0, -1));
    assert_null(lab_trials_find(&read, 0, 0, -1));
    lab_trials_free(&read);
    snprintf(shapes[1], sizeof shapes[1], "b3");
    assert_int_equal(lab_trials_append(&file, &head, &space, path, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "other"));
    assert_null(file);
    lab_space_free(&space);
}

static void test_bad_trials(void **state)
{
    static const char *const rows[][2] = {
        { "", "it is about the space" },
        { "heed-trials 2\n", ":1: not heed-trials 1" },
        { "heed-trials 1\nspace other\n", "about the space \"other\"" },
        { "heed-trials 1\nspace sweep90\nshape x\ntrial 0 0 time\n", ":4: not SHAPE EFFORT" },
        { "heed-trials 1\nspace sweep90\nshape x\ntrial 1 0 time 1 registers=64 threads=128 "
          "tile=32 keys=16\n",
          "no such outcome, shape" },
        { "heed-trials 1\nspace sweep90\nshape x\ntrial 0 9 time 1 registers=64 threads=128 "
          "tile=32 keys=16\n",
          "no such outcome, shape" },
        { "heed-trials 1\nspace sweep90\nshape x\ntrial 0 0 tomb 1 registers=64 threads=128 "
          "tile=32 keys=16\n",
          "no such outcome" },
        { "heed-trials 1\nspace sweep90\nshape x\ntrial 0 0 time 1 registers=65 threads=128 "
          "tile=32 keys=16\n",
          ":4: no point of the space" },
        { "heed-trials 1\nspace sweep90\nnonsense\n", ":3: not a line of trials" },
    };
    char path[SCRATCH_PATH_SIZE];
    lab_space space;
    load(&space, "sweep90");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_trials trials;
        lab_error error;
        scratch_write(scratch_path(state, "bad.txt", path), rows[i][0], strlen(rows[i][0]));
        assert_int_equal(lab_trials_read(&trials, &space, path, &error), HEED_ERR_CORRUPT);
        if (!strstr(error.text, rows[i][1]))
            fail_msg("%s: the message is \"%s\"", rows[i][0], error.text);
        assert_null(trials.records);
    }
    lab_space_free(&space);
}

/* ---- How many trials ---- */

/* The criterion: within 5 % of the best after at most 30 % of the grid's 90 points, in the median
 * over 200 seeds; and in nine of ten runs after half of it. On five landscapes of each kind, which
 * no constant of the strategy was fitted to. */
static void test_trials_needed(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
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
        print_message("%s: %.1f trials of 90 in the median, %.1f at random\n",
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

static heed_status landscape_evaluate(void *data, const lab_point *point, int shape, int effort,
                                      lab_evaluation *result)
{
    const counter *self = data;
    int64_t index = lab_space_index(self->space, point);
    (void)effort;
    *result = *lab_trials_find(self->trials, index, shape, -1);
    return HEED_OK;
}

/* How much slower than the best of a landscape is what 60 trials find. */
static double regret(const lab_space *space, const lab_trials *trials, const char *strategy)
{
    counter self = { .space = space, .trials = trials };
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

/* 60 trials in a space of 7488 points with a meaning. */
static void test_large_space(void **state)
{
    static const landscape kinds[] = { LANDSCAPE_VALLEY, LANDSCAPE_CLIFFS, LANDSCAPE_WAVES };
    lab_space space;
    load(&space, "mma");
    for (int i = 0; i < 3; i++) {
        lab_trials trials = landscape_make(kinds[i], &space, 200);
        double model = regret(&space, &trials, "model");
        double random = regret(&space, &trials, "random");
        print_message("%s: after 60 trials %.1f %% above the best, %.1f %% at random\n",
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
    load(&space, "sweep90");
    lab_trials trials = landscape_make(LANDSCAPE_CLIFFS, &space, 77);
    const lab_replay_options options = { .seeds = RUNS(200), .noise = 0.01, .trials = 45 };
    lab_replay_result result;
    assert_int_equal(lab_replay_run(&space, &trials, &options, &result, &error), HEED_OK);
    print_message("cliffs once more: median %.0f, 90th percentile %.0f, worst %.0f\n",
                  result.median, result.p90, result.worst);
    assert_int_equal(result.runs, RUNS(200));
    assert_true(result.median <= 27);
    assert_true(result.p90 <= 45);
    lab_trials_free(&trials);
    lab_space_free(&space);
}

/* The same on trials that were recorded, in all the files that are there. */
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
        load(&space, space_name);
        if (lab_trials_read(&trials, &space, files.gl_pathv[i], &error) != HEED_OK)
            fail_msg("%s", error.text);
        assert_int_equal(lab_replay_run(&space, &trials, &options, &model, &error), HEED_OK);
        options.strategy = "random";
        options.trials = 0;
        assert_int_equal(lab_replay_run(&space, &trials, &options, &random, &error), HEED_OK);
        print_message("%s: of %d points, %d of them working: median %.0f trials, 90th percentile "
                      "%.0f; at random %.0f and %.0f\n",
                      name, (int)model.points, (int)model.working, model.median, model.p90,
                      random.median, random.p90);
        assert_true(model.median <= 0.3 * (double)model.points);
        lab_trials_free(&trials);
        lab_space_free(&space);
    }
    globfree(&files);
}

/* What nobody can foresee takes as long as chance does, but not longer. */
static void test_rugged(void **state)
{
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
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

/* Replays count what they should: a table in which all is known by hand. */
static void test_replay(void **state)
{
    static char shapes[1][HEED_SPEC_SIZE] = { "x" };
    lab_trial_record records[90];
    lab_space space;
    lab_error error;
    load(&space, "sweep90");
    for (int i = 0; i < 90; i++)
        records[i] = (lab_trial_record){ .point = i, .answer = { .seconds = i == 9 ? 1.0 : 2.0 } };
    for (int i = 3; i < 9; i++)
        records[i].answer.fate = i < 6 ? LAB_FATE_PRUNED : LAB_FATE_WRONG;
    const lab_trials trials = {
        .shapes = shapes, .shape_count = 1, .records = records, .count = 89
    };
    const lab_replay_options options = { .strategy = "exhaustive", .seeds = 3 };
    lab_replay_result result;
    assert_int_equal(lab_replay_run(&space, &trials, &options, &result, &error), HEED_OK);
    assert_int_equal(result.points, 90);
    assert_int_equal(result.runnable, 86); /* without three pruned ones and one not recorded */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_point),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_finals),
        cmocka_unit_test_setup_teardown(test_trials_file, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_bad_trials, scratch_open, scratch_close),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_trials_needed),
        cmocka_unit_test(test_large_space),
        cmocka_unit_test(test_criterion),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_rugged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
