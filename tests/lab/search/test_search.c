/*
 * test_search.c - search strategies keep to their budgets and can be resumed
 */
#include "run_tests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landscapes.h"
#include "scratch.h"

/* An evaluator that counts its calls. The time of a point falls with the distance from the middle
 * of the space; a point that is divisible by @faulty fails. */
typedef struct counter {
    const lab_space *space;
    int64_t calls, limit; /* calls until it interrupts; 0: never */
    int64_t faulty;
    int64_t *log; /* points, shapes and efforts, encoded as one number each */
    int64_t announced;
} counter;

static counter *current; /* interrupted() has no argument */

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
        *result = (lab_evaluation){ .state = index % 2 ? LAB_STATE_WRONG : LAB_STATE_PRUNED };
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
    landscape_space(&space, "sweep90");
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
    landscape_space(&space, "sweep90");
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

/* With the same seed a strategy makes the same calls, which resuming relies on; with another one,
 * different calls. */
static void test_seeds(void **state)
{
    lab_space space;
    lab_error error;
    landscape_space(&space, "cpu_tile");
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

/* Ctrl-C also interrupts an evaluation. */
static heed_status break_off(void *data, const lab_point *point, int shape, int effort,
                             lab_evaluation *result)
{
    heed_status status = count_evaluate(data, point, shape, effort, result);
    return count_interrupted() ? HEED_ERR_SYSTEM : status;
}

static void test_broken_off(void **state)
{
    lab_space space;
    lab_error error;
    lab_search *search;
    landscape_space(&space, "cpu_tile");
    counter self = { .space = &space, .limit = 5 };
    lab_evaluator evaluator = evaluator_of(&self);
    evaluator.evaluate = break_off;
    current = &self;
    lab_search_options options = { .interrupted = count_interrupted };
    assert_int_equal(lab_search_run(&search, &space, &evaluator, &options, &error),
                     HEED_ERR_SYSTEM);
    assert_int_equal(lab_search_get(search).end, LAB_SEARCH_INTERRUPTED);
    lab_search_free(search);
    lab_space_free(&space);
}

static void test_bad_options(void **state)
{
    lab_space space;
    lab_error error;
    lab_search *search;
    landscape_space(&space, "sweep90");
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
    assert_int_equal(lab_search_get(search).end, LAB_SEARCH_FAILED);
    lab_search_free(search);
    lab_space_free(&space);
}

/* Luck makes a slow point look fast at the low effort: the final evaluations correct this. */
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
    landscape_space(&space, "sweep90");
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
    assert_int_not_equal(lab_search_get(search).best->index, 20); /* nor a point with few samples */
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
    landscape_space(&space, "sweep90");
    lab_trials head = { .space = "sweep90",
                        .kernel = "k",
                        .device = "a device",
                        .shapes = shapes,
                        .shape_count = 2 },
               read;
    scratch_path(state, "trials.txt", path);
    const lab_trial_record rows[] = {
        { .point = 7, .shape = 1, .answer = { .seconds = 1e-5 / 3 } },
        { .point = 7, .shape = 0, .effort = 1, .answer = { .seconds = 3e-5 } },
        { .point = 7, .shape = 0, .answer = { .seconds = 2e-5 } },
        { .point = 8, .answer = { .state = LAB_STATE_PRUNED, .why = "two\nlines ; of it" } },
        { .point = 7, .shape = 0, .answer = { .seconds = 2.5e-5 } },
    };
    for (size_t i = 0; i < 5; i++) { /* reopened each time, as by a resumed run */
        assert_int_equal(lab_trials_append(&file, &head, &space, path, &error), HEED_OK);
        assert_int_equal(lab_trials_write(file, &space, &rows[i]), HEED_OK);
        fputs("trial 0 0 time 1 regis", file); /* killed in the middle of a line */
        fclose(file);
    }
    assert_int_equal(lab_trials_read(&read, &space, path, &error), HEED_OK);
    assert_int_equal(read.count, 4);
    assert_string_equal(read.device, "a device");
    assert_string_equal(read.shapes[1], "b2");
    assert_true(lab_trials_find(&read, 7, 0, 0)->seconds == 2.5e-5);
    assert_true(lab_trials_find(&read, 7, 0, -1)->seconds == 3e-5);
    assert_true(lab_trials_find(&read, 7, 1, -1)->seconds == 1e-5 / 3); /* exactly */
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

static void refuse_trials(void **state, const char *text, size_t size, const char *wanted)
{
    char path[SCRATCH_PATH_SIZE];
    lab_space space;
    lab_trials trials;
    lab_error error;
    landscape_space(&space, "sweep90");
    scratch_write(scratch_path(state, "bad.txt", path), text, size);
    assert_int_equal(lab_trials_read(&trials, &space, path, &error), HEED_ERR_CORRUPT);
    if (!strstr(error.text, wanted))
        fail_msg("%s: the message is \"%s\"", text, error.text);
    assert_null(trials.records);
    lab_space_free(&space);
}

static void test_bad_trials(void **state)
{
    static const text_pair rows[] = {
        { "", "it is empty" },
        { "heed-trials 2\n", ":1: not heed-trials 1, but trials of another version" },
        { "{\"schema\": \"heed.sweep/1\"}", ":1: not heed-trials 1, but JSON" },
        { "heed wisdom 1: problem, device\n", ":1: not heed-trials 1, but wisdom" },
        { "one line", ":1: not heed-trials 1: \"one line\"" },
        { "heed-trials", "does not say which space" },
        { "heed-trials 1\nkernel sweep90\n", "does not say which space" },
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuse_trials(state, rows[i].given, strlen(rows[i].given), rows[i].wanted);
}

/* Zero bytes end a string, but not the text that is read. */
static void test_binary_trials(void **state)
{
    static const char board[] = "SQLite format 3\0\20\0\1\1\0\n@ and more\n";
    static const char middle[] = "heed-trials 1\nspace sweep90\nshape x\0\nshape y\n";
    static const char lost[] = "heed-trials 1\nspace sweep90\nshape x\n\0\0\0"; /* by a crash */
    char path[SCRATCH_PATH_SIZE];
    lab_space space;
    lab_trials trials;
    lab_error error;
    refuse_trials(state, board, sizeof board - 1, ":1: not heed-trials 1, but an SQLite database");
    refuse_trials(state, middle, sizeof middle - 1, ":3: a line with a byte that is 0");
    landscape_space(&space, "sweep90");
    scratch_write(scratch_path(state, "lost.txt", path), lost, sizeof lost - 1);
    assert_int_equal(lab_trials_read(&trials, &space, path, &error), HEED_OK);
    assert_int_equal(trials.shape_count, 1);
    lab_trials_free(&trials);
    lab_space_free(&space);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_every_point, test_budget, test_seeds,
               test_broken_off, test_bad_options, test_finals, test_trials_file, test_bad_trials,
               test_binary_trials)
