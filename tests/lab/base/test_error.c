/*
 * test_error.c - messages of the laboratory: errors about files, whose names and contents are
 * untrusted; messages and progress that reach the caller; and growing arrays
 */
#include "run_tests.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/base/error.h"
#include "lab/base/sink.h"
#include "measure.h"

static void test_control_characters_are_shown(void **state)
{
    lab_error error;
    assert_int_equal(lab_fail(&error, HEED_ERR_CORRUPT, "name '%s'", "a\x1b[2J\r\n\x7f\t"),
                     HEED_ERR_CORRUPT);
    assert_string_equal(error.text, "name 'a\\x1b[2J\\x0d\\x0a\\x7f\\x09'");
    lab_fail(&error, HEED_ERR_CORRUPT, "%s",
             "\xc3\xa9 \xc2\x9b"
             "2J \xc2\xb5");
    assert_string_equal(error.text, "\xc3\xa9 \\xc2\\x9b2J \xc2\xb5");
}

static void test_lines_stay_lines(void **state)
{
    lab_error error;
    lab_fail_lines(&error, HEED_ERR_INVALID, "%s", "a\n  b\x1b\n  ^");
    assert_string_equal(error.text, "a\n  b\\x1b\n  ^");
}

static void test_what_does_not_fit_is_cut(void **state)
{
    lab_error error;
    char text[600];
    for (size_t length = 0; length < sizeof text; length++) {
        memset(text, '\x1b', length);
        text[length] = '\0';
        lab_fail(&error, HEED_ERR_INVALID, "%s", text);
        size_t shown = strlen(error.text);
        assert_int_equal(shown, length < 127 ? 4 * length : 508);
    }
    assert_int_equal(lab_fail(NULL, HEED_ERR_INVALID, "x"), HEED_ERR_INVALID);
}

/* Records the messages to a caller. */
typedef struct notes {
    lab_tone tone;
    char said[80];
    char steps[80];
    int ends;
} notes;

static void note(void *data, lab_tone tone, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

static void note(void *data, lab_tone tone, const char *format, va_list list)
{
    notes *it = data;
    it->tone = tone;
    vsnprintf(it->said, sizeof it->said, format, list);
}

static void note_step(lab_progress *progress, size_t done, const char *what)
{
    notes *it = progress->sink->data;
    snprintf(it->steps, sizeof it->steps, "%s %zu of %zu%s: %s", progress->title, done,
             progress->total, progress->timed ? " s" : "", what);
}

static void note_end(lab_progress *progress)
{
    notes *it = progress->sink->data;
    it->ends++;
}

/* Gives no advice for the board. */
static void give_advice(void *data, lab_advice advice, const char *kernel, const char *spec,
                        char text[LAB_ADVICE_SIZE])
{
    (void)data;
    if (advice == LAB_ADVICE_PROVE)
        snprintf(text, LAB_ADVICE_SIZE, "prove %s on %s", kernel, spec);
    else if (advice == LAB_ADVICE_TIME)
        memset(text, 'x', LAB_ADVICE_SIZE - 1);
}

static bool yes(void)
{
    return true;
}

static void test_a_sink_is_told(void **state)
{
    notes it = { .ends = 0 };
    const lab_sink sink = {
        .data = &it, .interrupted = yes, .say = note, .step = note_step, .end = note_end
    };
    lab_say(&sink, LAB_WARNING, "%d of %s", 3, "them");
    assert_int_equal(it.tone, LAB_WARNING);
    assert_string_equal(it.said, "3 of them");
    lab_progress progress = lab_progress_start(&sink, "timing", 4);
    lab_progress_step(&progress, 1, "b1");
    assert_string_equal(it.steps, "timing 1 of 4: b1");
    assert_true(progress.start_ns > 0 && progress.start_ns <= heed_clock_ns());
    lab_progress_end(&progress);
    progress = lab_progress_start_seconds(&sink, "searching", 1.6);
    lab_progress_step(&progress, 1, "b2");
    assert_string_equal(it.steps, "searching 1 of 2 s: b2");
    assert_int_equal(it.ends, 1);
    assert_true(lab_interrupted(&sink));
}

static void test_a_caller_advises(void **state)
{
    const lab_sink sink = { .advise = give_advice };
    char text[LAB_ADVICE_SIZE];
    assert_string_equal(lab_advise_prove(&sink, "k", "b1", text), "; prove k on b1");
    assert_string_equal(lab_advise(&sink, LAB_ADVICE_BOARD, text), "");
    assert_int_equal(strlen(lab_advise(&sink, LAB_ADVICE_TIME, text)), LAB_ADVICE_SIZE - 1);
    assert_int_equal(strncmp(text, "; xx", 4), 0);
}

/* A sink is optional, and without one nothing stops. */
static void test_no_sink_is_needed(void **state)
{
    const lab_sink silent = { .data = NULL };
    const lab_sink *const sinks[] = { NULL, &silent };
    char text[LAB_ADVICE_SIZE];
    for (size_t i = 0; i < 2; i++) {
        lab_progress progress = lab_progress_start(sinks[i], "timing", 4);
        lab_progress_step(&progress, 1, NULL);
        lab_progress_end(&progress);
        lab_say(sinks[i], LAB_MESSAGE, "nobody");
        assert_string_equal(lab_advise(sinks[i], LAB_ADVICE_TIME, text), "");
        assert_false(lab_interrupted(sinks[i]));
    }
}

static void test_an_array_grows(void **state)
{
    int64_t *items = NULL;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(lab_grow(&items, i, sizeof *items));
        items[i] = (int64_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    const int64_t *before = items;
    assert_false(lab_grow(&items, (size_t)1 << 63, sizeof *items));
    assert_false(lab_grow(&items, (size_t)1 << 61, sizeof *items));
    assert_ptr_equal(items, before);
    free(items);
}

RUN_TESTS(test_control_characters_are_shown, test_lines_stay_lines, test_what_does_not_fit_is_cut,
          test_a_sink_is_told, test_a_caller_advises, test_no_sink_is_needed, test_an_array_grows)
