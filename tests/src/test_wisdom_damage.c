/*
 * test_wisdom_damage.c - wisdom text that is damaged, for other machines or invented: lines that
 * are skipped, and texts that are refused
 */
#include "run_tests.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom_scene.h"

/* -------------------------------------------------------------------------- */
/* Damage                                                                     */
/* -------------------------------------------------------------------------- */

/* @text is refused, and the context stays without wisdom. */
static void assert_corrupt(heed_context *context, const char *text, const char *what, size_t place)
{
    size_t taken = 99, skipped = 99;
    heed_status status = heed_wisdom_import(context, text, &taken, &skipped);
    if (status != HEED_ERR_CORRUPT)
        fail_msg("%s at byte %zu: %s", what, place, heed_status_name(status));
    if (!strstr(heed_message(), "line "))
        fail_msg("%s at byte %zu: %s", what, place, heed_message());
    assert_int_equal(taken, 99);
    assert_int_equal(skipped, 99);
    assert_int_equal(heed_wisdom_export(context, NULL, 0), strlen(WISDOM_HEADER) + 23);
}

static void test_every_cut_is_told(void **state)
{
    char text[WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    size_t length = wisdom_scene_text(context, text);
    heed_wisdom_forget(context);
    while (length-- > 0) {
        text[length] = '\0';
        assert_corrupt(context, text, "cut", length);
    }
    heed_context_destroy(context);
}

static void test_every_changed_byte_is_told(void **state)
{
    static const unsigned char changes[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff };
    char text[WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    size_t length = wisdom_scene_text(context, text);
    heed_wisdom_forget(context);
    for (size_t i = 0; i < length; i++)
        for (size_t j = 0; j < sizeof changes; j++) {
            char right = text[i];
            text[i] = (char)((unsigned char)right ^ changes[j]);
            assert_corrupt(context, text, "change", i);
            text[i] = right;
        }
    assert_int_equal(heed_wisdom_import(context, text, NULL, NULL), HEED_OK);
    heed_context_destroy(context);
}

static void test_every_lost_or_doubled_byte_is_told(void **state)
{
    char text[WISDOM_TEXT_SIZE], changed[WISDOM_TEXT_SIZE + 1];
    heed_context *context = wisdom_scene_context();
    size_t length = wisdom_scene_text(context, text);
    heed_wisdom_forget(context);
    for (size_t i = 0; i < length; i++) {
        memcpy(changed, text, i);
        memcpy(changed + i, text + i + 1, length - i);
        assert_corrupt(context, changed, "loss", i);
        memcpy(changed, text, i + 1);
        memcpy(changed + i + 1, text + i, length - i + 1);
        assert_corrupt(context, changed, "doubling", i);
    }
    heed_context_destroy(context);
}

static void test_lines_after_the_end_are_told(void **state)
{
    char text[2 * WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    size_t length = wisdom_scene_text(context, text);
    heed_wisdom_forget(context);
    memcpy(text + length, "\n", 2);
    assert_corrupt(context, text, "blank line", length);
    memmove(text + length, text, length);
    text[2 * length] = '\0';
    assert_corrupt(context, text, "second text", length);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Lines for other machines, and invented lines                               */
/* -------------------------------------------------------------------------- */

enum {
    PROBLEM,
    DEVICE,
    CPU,
    THREADS,
    BUILD,
    KERNEL,
    SECONDS,
    EFFORT,
    COLUMNS
};

/* Appends the line with the count and hash of the @length bytes before it. */
static void seal_bytes(char *text, size_t length, size_t lines)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) {
        hash ^= (unsigned char)text[i];
        hash *= 1099511628211u;
    }
    snprintf(text + length, 64, "end %zu %016" PRIx64 "\n", lines, hash);
}

static void seal(char *text, size_t lines)
{
    seal_bytes(text, strlen(text), lines);
}

/* Writes a text of two good lines and, between them, one in which @column is @value. */
static void make_changed(heed_context *context, int column, const char *value,
                         char text[WISDOM_TEXT_SIZE])
{
    char threads[16], name[HEED_NAME_SIZE];
    snprintf(threads, sizeof threads, "%d", heed_context_threads(context));
    memcpy(name, wisdom_scene_choice(1, HEED_MEASURE).name, sizeof name);
    const char *columns[COLUMNS] = { "b1 h1 s4 d8 f16",
                                     heed_context_device(context),
                                     heed_context_cpu(context),
                                     threads,
                                     heed_kernel_build(),
                                     name,
                                     "0.5",
                                     "measure" };
    heed_text out = { .data = text, .size = WISDOM_TEXT_SIZE };
    heed_text_add(&out, "%s", WISDOM_HEADER);
    for (int line = 0; line < 3; line++) {
        columns[PROBLEM] = line == 0 ? "b1 h1 s4 d8 f16" : "b1 h1 s4 d8 f32";
        const char *right = columns[column];
        if (line == 1)
            columns[column] = value;
        for (int i = 0; i < COLUMNS; i++)
            heed_text_add(&out, "%s%c", columns[i], i == COLUMNS - 1 ? '\n' : '\t');
        columns[column] = right;
    }
    seal(text, 3);
}

/* A column with another value, and a part of the message. */
typedef struct changed_column {
    int column;
    const char *value, *message;
} changed_column;

static void test_lines_for_others_are_skipped(void **state)
{
    static const changed_column cases[] = {
        { DEVICE, "Another CPU", "line 3 skipped: device is \"Another CPU\", here it is \"" },
        { DEVICE, "", "line 3 skipped: device is \"\"" },
        { CPU, "avx1024", "line 3 skipped: cpu is \"avx1024\", here it is \"" },
        { THREADS, "64", "line 3 skipped: threads is \"64\", here it is \"2\"" },
        { BUILD, "0-cc1", "line 3 skipped: build is \"0-cc1\", here it is \"" },
        { KERNEL, "no_such__m1",
          "line 3 skipped: kernel is \"no_such__m1\", which this library does not have" },
        { KERNEL, "fwd_any_scalar_row", "line 3 skipped: kernel is \"fwd_any_scalar_row\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[WISDOM_TEXT_SIZE];
        size_t taken = 99, skipped = 99;
        heed_context *context = wisdom_scene_context();
        make_changed(context, cases[i].column, cases[i].value, text);
        if (heed_wisdom_import(context, text, &taken, &skipped) != HEED_OK)
            fail_msg("%s", heed_message());
        assert_int_equal(taken, 2);
        assert_int_equal(skipped, 1);
        if (!strstr(heed_message(), cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", heed_message(), cases[i].message);
        assert_true(wisdom_scene_find(context, "b1 h1 s4 d8 f32", HEED_ESTIMATE) == 0.5);
        heed_context_destroy(context);
    }
}

static void test_bad_values_are_told(void **state)
{
    static char long_name[HEED_NAME_SIZE + 1];
    static char long_line[2000];
    memset(long_name, 'x', HEED_NAME_SIZE);
    memset(long_line, 'x', sizeof long_line - 1);
    const changed_column cases[] = {
        { PROBLEM, "b1 h1 s4 d8", "wisdom: line 3: the element type is missing" },
        { PROBLEM, "", "wisdom: line 3: the spec is empty" },
        { KERNEL, "", "wisdom: line 3: not the name of a kernel" },
        { KERNEL, long_name, "wisdom: line 3: not the name of a kernel" },
        { SECONDS, "0", "wisdom: line 3: seconds must be a number above 0" },
        { SECONDS, "-1", "wisdom: line 3: seconds must be" },
        { SECONDS, "nan", "wisdom: line 3: seconds must be" },
        { SECONDS, "1,5", "wisdom: line 3: seconds must be" },
        { SECONDS, "", "wisdom: line 3: seconds must be" },
        { EFFORT, "estimate", "wisdom: line 3: effort must be measure or patient" },
        { EFFORT, "measure ", "wisdom: line 3: effort must be" },
        { EFFORT, "measure\tx", "wisdom: line 3: more than 8 columns" },
        { EFFORT, "measure\n", "wisdom: line 4: fewer than 8 columns" },
        { DEVICE, "x\n", "wisdom: line 3: fewer than 8 columns" },
        { DEVICE, long_line, "wisdom: line 3: too long" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[WISDOM_TEXT_SIZE];
        heed_context *context = wisdom_scene_context();
        make_changed(context, cases[i].column, cases[i].value, text);
        assert_corrupt(context, text, "value", i);
        if (!strstr(heed_message(), cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", heed_message(), cases[i].message);
        heed_context_destroy(context);
    }
}

static void test_other_texts_are_told(void **state)
{
    static const text_pair cases[] = {
        { "", "wisdom: line 1: not heed wisdom" },
        { "(fftw-3.3.10 fftw_wisdom)\n", "wisdom: line 1: not heed wisdom" },
        { "heed wisdom 2: problem, device\nend 0 0\n",
          "wisdom: line 1: damaged, or wisdom of another version of the format" },
        { WISDOM_HEADER, "wisdom: line 2: the end is missing" },
        { WISDOM_HEADER "x\ny\nz", "wisdom: line 4: the end is missing" },
        { WISDOM_HEADER "end 0 0000000000000000\n", "wisdom: line 2: count or hash" },
    };
    heed_context *context = wisdom_scene_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_corrupt(context, cases[i].given, "text", i);
        assert_string_equal(strstr(heed_message(), cases[i].wanted) ? "" : heed_message(), "");
    }
    char text[256] = WISDOM_HEADER; /* the right hash, but not the right number of lines */
    seal(text, 1);
    assert_corrupt(context, text, "count", 0);
    heed_context_destroy(context);
}

/* A file may contain bytes that a string cannot. */
static void test_null_bytes_are_told(void **state)
{
    char text[WISDOM_TEXT_SIZE];
    heed_context *context = wisdom_scene_context();
    make_changed(context, EFFORT, "measure+more", text);
    char *plus = strchr(text, '+');
    char *end = strstr(text, "end ");
    assert_non_null(plus);
    assert_non_null(end);
    *plus = '\0';
    seal_bytes(text, (size_t)(end - text), 3);
    size_t length = (size_t)(end - text) + strlen(end);
    assert_int_equal(heed_wisdom_read(context, "file", text, length, NULL, NULL), HEED_ERR_CORRUPT);
    assert_string_equal(heed_message(), "file: line 3: holds a null byte");
    heed_context_destroy(context);
}

static void test_texts_without_bounds_are_refused(void **state)
{
    heed_context *context = wisdom_scene_context();
    size_t size = HEED_WISDOM_SIZE_MAX + 2;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, '\n', size - 1);
    memcpy(text, WISDOM_HEADER, strlen(WISDOM_HEADER));
    text[size - 1] = '\0';
    heed_status status = heed_wisdom_import(context, text, NULL, NULL);
    free(text);
    assert_int_equal(status, HEED_ERR_CORRUPT);
    assert_string_equal(heed_message(),
                        "wisdom: more than the 16777216 bytes that wisdom may have");
    heed_context_destroy(context);
}

static void test_null_is_refused(void **state)
{
    heed_context *context = wisdom_scene_context();
    assert_int_equal(heed_wisdom_import(NULL, WISDOM_HEADER, NULL, NULL), HEED_ERR_INVALID);
    assert_int_equal(heed_wisdom_import(context, NULL, NULL, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "text is NULL");
    heed_context_destroy(context);
}

RUN_TESTS(test_every_cut_is_told, test_every_changed_byte_is_told,
          test_every_lost_or_doubled_byte_is_told, test_lines_after_the_end_are_told,
          test_lines_for_others_are_skipped, test_bad_values_are_told, test_other_texts_are_told,
          test_null_bytes_are_told, test_texts_without_bounds_are_refused, test_null_is_refused)
