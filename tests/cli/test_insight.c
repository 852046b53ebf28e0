/*
 * test_insight.c - measurements of champions: written to the board and read back, time limits, and
 * the `heed evolve` command
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/verbs/sweep/sweep.h"
#include "contexts.h"
#include "problems.h"
#include "record_scene.h"
#include "run_heed.h"
#include "scratch.h"

/* ---- The board ---- */

static void test_board(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    record_scene scene;
    lab_insight wanted = lab_insight_unknown(), there;
    bool found = true;
    wanted.counters[1] = 0.82;
    wanted.effects[0] = (lab_effect){ "no-exp", 0.8, 0.75, 0.85, 0.01 };
    wanted.effects[1] = (lab_effect){ "no-overlap", 1.2, 0.9, (double)INFINITY, 0.01 };
    wanted.effect_count = 2;
    wanted.seconds = 1.5;
    snprintf(wanted.effects_why, sizeof wanted.effects_why, "no time for 3 of 5 ablations");
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "insights"), 1);
    lab_record_trial trial = { .run = scene.trial.run,
                               .candidate = scene.trial.candidate,
                               .problem = scene.trial.problem,
                               .attempt = LAB_INSIGHT_ATTEMPT,
                               .device = scene.trial.device,
                               .environment = scene.trial.environment };
    record_expect(lab_insight_find(record, &trial, &there, &found, &error), &error);
    assert_false(found);
    record_expect(lab_insight_add(record, &trial, &wanted, &error), &error);
    record_expect(lab_insight_find(record, &trial, &there, &found, &error), &error);
    assert_true(found);
    assert_true(isnan(there.counters[0]) && there.counters[1] == 0.82);
    assert_int_equal(there.effect_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lab_effect *a = &wanted.effects[i], *b = &there.effects[i];
        assert_string_equal(a->name, b->name);
        assert_true(a->ratio == b->ratio && a->low == b->low && a->high == b->high &&
                    a->margin == b->margin);
    }
    assert_string_equal(there.effects_why, wanted.effects_why);
    assert_string_equal(there.counters_why, "");
    assert_true(there.seconds == 1.5);
    assert_int_equal(lab_insight_findings(&there), 1 << LAB_FINDING_EXP_BOUND);
    lab_record_close(record);
}

/* ---- Measuring ---- */

typedef struct subject {
    heed_context *context;
    heed_problem problem;
    lab_insight_question question;
} subject;

static subject subject_make(double budget)
{
    subject it;
    it.context = host_context(1);
    it.problem = parsed("b1 h1 s64 d32 f32");
    assert_int_equal(heed_problem_normalize(&it.problem, &it.problem), HEED_OK);
    it.question = (lab_insight_question){ .context = it.context,
                                          .kernel = "fwd_any_scalar_row",
                                          .seconds = 1e-4,
                                          .threads = 1,
                                          .seed = 1,
                                          .budget = budget };
    return it;
}

/* Steps for which there is no time are named and left out. */
static void test_no_time(void **state)
{
    subject it = subject_make(0.1);
    lab_insight found;
    it.question.problem = &it.problem;
    clock_t start = clock(); /* CPU time of this process: other load does not count */
    assert_int_equal(lab_insight_take(&it.question, &found), HEED_OK);
    assert_true(clock() - start < CLOCKS_PER_SEC / 10);
    assert_false(lab_insight_known(&found));
    assert_non_null(strstr(found.effects_why, "no time: an ablation takes about 0.3 s"));
    assert_non_null(strstr(found.counters_why, "a CPU has no such counters"));
    assert_true(found.seconds >= 0);
    it.question.seconds = 10; /* per call */
    it.question.budget = 100;
    assert_int_equal(lab_insight_take(&it.question, &found), HEED_OK);
    assert_non_null(strstr(found.effects_why, "no time"));
    heed_context_destroy(it.context);
    assert_true(lab_insight_budget(100) == 15 && lab_insight_budget(0) > 0);
}

static void test_effects(void **state)
{
    subject it = subject_make(30);
    lab_insight found;
    it.question.problem = &it.problem;
    assert_int_equal(lab_insight_take(&it.question, &found), HEED_OK);
    assert_true(lab_insight_known(&found));
    assert_string_equal(found.spec, "b1 h1 s64 d32 f32");
    bool exp = false, products = false;
    for (size_t i = 0; i < found.effect_count; i++) {
        exp = exp || strcmp(found.effects[i].name, "no-exp") == 0;
        products = products || strcmp(found.effects[i].name, "no-products") == 0;
        assert_non_null(lab_ablation_find(found.effects[i].name));
    }
    assert_true(exp && products);
    assert_true(found.seconds > 0.1 && found.seconds < 60);
    heed_context_destroy(it.context);
}

/* ---- The command line ---- */

static const char space[] = "kernel fwd_any_scalar_row\n"
                            "knob splits 1 2 3 4 5 6 7 8 500 600 700 800 as splits\n"
                            "config s = splits\n";
#define EVOLVE                                                                                     \
    "heed evolve 'b1 h2 s2/4096 d16 f32' --space few.txt -t 2 --trials 3 --duel 0.05 --no-verify " \
    "--no-compare --board b.db "
static const run_heed_way way = { HEED_PROGRAM, "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu" };

static int open_folder(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    if (scratch_open(state) != 0)
        return -1;
    scratch_write(scratch_path(state, "few.txt", path), space, strlen(space));
    return 0;
}

static bool has_word(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    return false;
}

static const json_t *effect_of(const json_t *measured, const char *name)
{
    const json_t *list = json_object_get(measured, "effects");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
            return one;
    }
    fail_msg("there is no effect %s", name);
    return NULL;
}

/* The scalar kernel does little but products: without them it is much faster. This is passed to the
 * guide and added to the board. */
static void test_measured(void **state)
{
    static heed_said said;
    json_t *json = run_heed_json(state, &way, EVOLVE "--seconds 200 --json", 0);
    const json_t *insights = json_object_get(json, "insights");
    const json_t *measured = json_array_get(json_object_get(insights, "measured"), 0);
    assert_string_equal(json_string_value(json_object_get(insights, "mode")), "measured");
    assert_non_null(
        strstr(json_string_value(json_object_get(measured, "kernel")), "fwd_any_scalar_row__s"));
    assert_non_null(json_object_get(effect_of(measured, "no-exp"), "low"));
    const json_t *products = effect_of(measured, "no-products");
    bool clear = strcmp(json_string_value(json_object_get(products, "verdict")), "faster") == 0;
    double effect = json_number_value(json_object_get(products, "effect"));
    bool told = has_word(json_object_get(measured, "findings"), "tensor_bound");
    assert_int_equal(told, clear && effect > 0.1);
    assert_int_equal(has_word(json_object_get(insights, "shared"), "tensor_bound"), told);
    assert_true(json_number_value(json_object_get(insights, "seconds")) > 0);
    assert_non_null(strstr(json_string_value(json_object_get(measured, "counters_unknown")),
                           "a CPU has no such counters"));
    json_decref(json);
    run_heed(state, &way, "for i in 1 2 3 4 5 6; do heed board show $i --board b.db; done", &said);
    assert_non_null(strstr(said.out, "ablation no-products low"));
    assert_non_null(strstr(said.out, "counters unknown"));
}

/* Nothing is measured if not requested or without time, and the output says so. */
static void test_less(void **state)
{
    static heed_said said;
    static const char *const modes[] = { "none", "static" };
    for (size_t i = 0; i < 2; i++) {
        char line[400];
        snprintf(line, sizeof line, EVOLVE "--insights %s --json", modes[i]);
        json_t *json = run_heed_json(state, &way, line, 0);
        const json_t *insights = json_object_get(json, "insights");
        assert_string_equal(json_string_value(json_object_get(insights, "mode")), modes[i]);
        assert_int_equal(json_array_size(json_object_get(insights, "measured")), 0);
        json_decref(json);
    }
    run_heed(state, &way, EVOLVE "--seconds 1.5", &said);
    assert_int_equal(said.code, 0);
    assert_non_null(strstr(said.out, "facts about fwd_any_scalar_row__s"));
    assert_non_null(strstr(said.err, "no time: an ablation takes about"));
    run_heed(state, &way, EVOLVE "--insights all", &said);
    assert_int_equal(said.code, 2);
    assert_non_null(strstr(said.err, "--insights"));
}

/* The fact @name of any trial on the board k.db; NaN if there is none. */
static double fact_of(void **state, const char *name)
{
    for (int i = 1; i < 8; i++) {
        char line[100];
        static heed_said said;
        snprintf(line, sizeof line, "heed board show %d --board k.db --json", i);
        run_heed(state, &way, line, &said);
        json_t *json = said.code == 0 ? json_loads(said.out, 0, NULL) : NULL;
        const json_t *facts = json_object_get(json, "facts");
        double value = (double)NAN;
        for (size_t j = 0; j < json_array_size(facts); j++) {
            const json_t *fact = json_array_get(facts, j);
            if (strcmp(json_string_value(json_object_get(fact, "name")), name) == 0)
                value = json_number_value(json_object_get(fact, "value"));
        }
        json_decref(json);
        if (!isnan(value))
            return value;
    }
    return (double)NAN;
}

/* An interrupted run reuses earlier measurements. */
static void test_resumed(void **state)
{
#define LONG                                                                                   \
    "evolve 'b1 h2 s2/4096 d16 f32' --space few.txt -t 2 --duel 0.3 --no-verify --no-compare " \
    "--board k.db --seconds 200 "
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' " LONG
        "& child=$!; await_trials k.db 3; kill -KILL $child; wait $child; true";
    static heed_said said;
    run_heed(state, &way, line, &said);
    double before = fact_of(state, "ablation no-products");
    json_t *json = run_heed_json(state, &way, "heed " LONG "--json", 0);
    const json_t *list = json_object_get(json_object_get(json, "insights"), "measured");
    if (json_is_true(json_object_get(json, "resumed")) && !isnan(before) &&
        json_integer_value(json_object_get(json_object_get(json, "champion"), "number")) == 1) {
        const json_t *effect = effect_of(json_array_get(list, 0), "no-products");
        assert_true(fabs(json_number_value(json_object_get(effect, "ratio")) - before) < 1e-6);
    }
    json_decref(json);
}

/* The evolution of `heed tune` uses them as well if its time allows, and otherwise gives the
 * reason. */
static void test_tune(void **state)
{
#define TUNE                                                                                      \
    "heed tune 'b1 h2 s2/4096 d16 f32' --space few.txt -t 2 --trials 3 --duel 0.05 --peers none " \
    "--board t.db --json --seconds "
    static const char *const seconds[] = { "600", "2" };
    for (size_t i = 0; i < 2; i++) {
        char line[400];
        snprintf(line, sizeof line, TUNE "%s", seconds[i]);
        json_t *json = run_heed_json(state, &way, line, 0);
        const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
        const json_t *measured = json_object_get(shape, "insights");
        if (i == 0)
            assert_non_null(effect_of(measured, "no-products"));
        else if (json_is_object(measured)) /* there may be too little time even for evolution */
            assert_non_null(
                strstr(json_string_value(json_object_get(measured, "effects_unknown")), "no time"));
        json_decref(json);
    }
}

RUN_TESTS_EACH(open_folder, scratch_close, test_board, test_no_time, test_effects, test_measured,
               test_less, test_resumed, test_tune)
