/*
 * test_wisdom.c - the table of choices, its text form, and the plans made from it
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "wisdom_scene.h"

/* -------------------------------------------------------------------------- */
/* Table                                                                      */
/* -------------------------------------------------------------------------- */

static void test_finds_what_was_added(void **state)
{
    heed_context *context = wisdom_scene_context();
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 0);
    wisdom_scene_add(context, "b1 h1 s4 d8 f16", 1, HEED_MEASURE);
    wisdom_scene_add(context, "b1 h1 s4 d8 f32", 2, HEED_PATIENT);
    wisdom_scene_add(context, "b1 h1 s4 d8 f16 k=32:9:8", 3, HEED_MEASURE);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 1);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f32", HEED_ESTIMATE) == 2);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16 k=32:9:8", HEED_ESTIMATE) == 3);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16 v=32:9:8", HEED_ESTIMATE) == 0);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 bf16", HEED_ESTIMATE) == 0);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f32 products=tf32", HEED_ESTIMATE) == 0);
    heed_wisdom_forget(context);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 0);
    wisdom_scene_add(context, "b1 h1 s4 d8 f16", 4, HEED_MEASURE);
    assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 4);
    heed_context_destroy(context);
}

static void test_effort_decides(void **state)
{
    const char *spec = "b1 h1 s4 d8 f16";
    heed_context *context = wisdom_scene_context();
    wisdom_scene_add(context, spec, 1, HEED_MEASURE);
    assert_true(wisdom_scene_find(context, spec, HEED_ESTIMATE) == 1);
    assert_true(wisdom_scene_find(context, spec, HEED_WISDOM_ONLY) == 1);
    assert_true(wisdom_scene_find(context, spec, HEED_MEASURE) == 1);
    assert_true(wisdom_scene_find(context, spec, HEED_PATIENT) == 0);
    wisdom_scene_add(context, spec, 2, HEED_MEASURE); /* same effort: the later one wins */
    assert_true(wisdom_scene_find(context, spec, HEED_MEASURE) == 2);
    wisdom_scene_add(context, spec, 3, HEED_PATIENT);
    assert_true(wisdom_scene_find(context, spec, HEED_PATIENT) == 3);
    wisdom_scene_add(context, spec, 4, HEED_MEASURE); /* less effort does not replace more */
    assert_true(wisdom_scene_find(context, spec, HEED_MEASURE) == 3);
    heed_context_destroy(context);
}

static void test_many_problems(void **state)
{
    const int64_t count = 20000;
    heed_context *context = wisdom_scene_context();
    heed_problem problem = wisdom_scene_problem("b1 h1 s4 d8 f16");
    for (int64_t i = 1; i <= count; i++) {
        heed_choice choice = wisdom_scene_choice((double)i, HEED_MEASURE);
        problem.seq_q = i;
        assert_int_equal(heed_wisdom_add(context->wisdom, &problem, &choice), HEED_OK);
    }
    for (int64_t i = 1; i <= count; i++) {
        heed_choice choice;
        problem.seq_q = i;
        assert_true(heed_wisdom_lookup(context->wisdom, &problem, HEED_ESTIMATE, &choice));
        assert_true(choice.seconds == (double)i);
    }
    problem.seq_q = count + 1;
    heed_choice choice;
    assert_false(heed_wisdom_lookup(context->wisdom, &problem, HEED_ESTIMATE, &choice));
    heed_context_destroy(context);
}

typedef struct worker {
    heed_context *context;
    int64_t first;
    int failures;
} worker;

/* Adds problems that no other thread adds, and looks up all that it has added so far. */
static void *add_and_look(void *data)
{
    worker *w = data;
    heed_problem problem = { .size = sizeof problem };
    heed_problem_parse(&problem, "b1 h1 s4 d8 f16");
    for (int64_t i = 0; i < 200; i++) {
        heed_choice choice = { .name = "x", .seconds = 1, .effort = HEED_MEASURE };
        char text[256];
        problem.seq_q = w->first + i;
        if (heed_wisdom_add(w->context->wisdom, &problem, &choice) != HEED_OK)
            w->failures++;
        problem.seq_q = w->first + i / 2;
        if (!heed_wisdom_lookup(w->context->wisdom, &problem, HEED_MEASURE, &choice))
            w->failures++;
        if (i % 50 == 0 &&
            heed_wisdom_export(w->context, text, sizeof text) < strlen(WISDOM_HEADER))
            w->failures++;
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    heed_context *context = wisdom_scene_context();
    worker workers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){ context, 1 + 1000 * i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_look, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Text                                                                       */
/* -------------------------------------------------------------------------- */

static void test_text_comes_back(void **state)
{
    char text[WISDOM_TEXT_SIZE], again[WISDOM_TEXT_SIZE];
    heed_context *one = wisdom_scene_context(), *other = wisdom_scene_context();
    wisdom_scene_text(one, text);
    size_t taken = 99, skipped = 99;
    if (heed_wisdom_import(other, text, &taken, &skipped) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_int_equal(taken, 3);
    assert_int_equal(skipped, 0);
    heed_wisdom_export(other, again, sizeof again);
    assert_string_equal(text, again);
    assert_true(wisdom_scene_find(other, "b1 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1",
                                  HEED_PATIENT) == 1.0 / 3);
    assert_int_equal(heed_wisdom_import(other, text, NULL, NULL), HEED_OK);
    heed_wisdom_export(other, again, sizeof again);
    assert_string_equal(text, again);
    heed_context_destroy(other);
    heed_context_destroy(one);
}

static void test_text_of_nothing(void **state)
{
    char text[WISDOM_TEXT_SIZE];
    size_t taken = 99, skipped = 99;
    heed_context *context = wisdom_scene_context();
    heed_wisdom_export(context, text, sizeof text);
    assert_string_equal(text, WISDOM_HEADER "end 0 c4904201b587a497\n");
    assert_int_equal(heed_wisdom_import(context, text, &taken, &skipped), HEED_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(skipped, 0);
    heed_context_destroy(context);
}

static void test_export_counts_what_does_not_fit(void **state)
{
    char whole[WISDOM_TEXT_SIZE], text[WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    size_t length = wisdom_scene_text(context, whole);
    assert_int_equal(heed_wisdom_export(context, NULL, 0), length);
    for (size_t size = 1; size <= length + 1; size += 7) {
        memset(text, '#', sizeof text);
        assert_int_equal(heed_wisdom_export(context, text, size), length);
        assert_memory_equal(text, whole, size - 1);
        assert_int_equal(text[size - 1], '\0');
        assert_int_equal(text[size], '#');
    }
    heed_context_destroy(context);
}

static void test_wisdom_makes_plans(void **state)
{
    const char *spec = "b1 h2 s9 d8 f32";
    char text[WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    heed_problem problem = wisdom_scene_problem(spec);
    heed_plan *plan;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    wisdom_scene_add(context, spec, 1, HEED_MEASURE);
    heed_wisdom_export(context, text, sizeof text);
    heed_wisdom_forget(context);
    assert_int_equal(heed_wisdom_import(context, text, NULL, NULL), HEED_OK);
    if (heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_string_equal(heed_plan_name(plan), wisdom_scene_choice(1, HEED_MEASURE).name);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* A line that cannot be used is skipped silently. */
static void test_useless_choices_leave_the_message(void **state)
{
    heed_context *context = wisdom_scene_context();
    heed_problem problem = wisdom_scene_problem("b1 h1 s8 d8 f32");
    heed_choice choice = { .name = "fwd_any_scalar_row__s12345", .seconds = 1e-6 };
    heed_plan *plan;
    choice.effort = HEED_MEASURE;
    assert_int_equal(heed_wisdom_add(context->wisdom, &problem, &choice), HEED_OK);
    heed_note("an older message");
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    assert_string_equal(heed_message(), "an older message");
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

RUN_TESTS(test_useless_choices_leave_the_message, test_finds_what_was_added, test_effort_decides,
          test_many_problems, test_many_threads, test_text_comes_back, test_text_of_nothing,
          test_export_counts_what_does_not_fit, test_wisdom_makes_plans)
