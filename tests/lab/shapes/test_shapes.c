/*
 * test_shapes.c - shape files: the reader, and the files of this repository
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "lab/shapes/shapes.h"
#include "scratch.h"

/* -------------------------------------------------------------------------- */
/* Reader                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status load_text(void **state, lab_shapes *list, const char *text, size_t size,
                             lab_error *error)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "shapes.txt", path), text, size);
    return lab_shapes_load(list, path, error);
}

static void test_comments_blanks_and_line_ends(void **state)
{
    static const char text[] = "# a comment\n"
                               "\n"
                               "  b1 h1 s4 d8 f16 \t # another\r\n"
                               " \t \r\n"
                               "#b1 h1 s5 d8 f16\n"
                               "f32 d8 s6/6 h1 b1";
    lab_shapes list;
    lab_error error = { "" };
    if (load_text(state, &list, text, sizeof text - 1, &error) != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.shapes[0].spec, "b1 h1 s4 d8 f16");
    assert_int_equal(list.shapes[0].line, 3);
    assert_int_equal(list.shapes[0].problem.seq_k, 4);
    assert_string_equal(list.shapes[1].spec, "b1 h1 s6 d8 f32");
    assert_int_equal(list.shapes[1].line, 6);
    lab_shapes_free(&list);
    assert_null(list.shapes);
    lab_shapes_free(&list);
}

static void test_many_lines(void **state)
{
    const size_t count = 5000;
    char *text = malloc(count * 32);
    size_t size = 0;
    assert_non_null(text);
    for (size_t i = 1; i <= count; i++)
        size += (size_t)snprintf(text + size, 32, "b1 h1 s%zu d8 f16\n", i);
    lab_shapes list;
    heed_status status = load_text(state, &list, text, size, NULL);
    free(text);
    assert_int_equal(status, HEED_OK);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list.shapes[i].problem.seq_q, i + 1);
    lab_shapes_free(&list);
}

static void assert_refused(void **state, const char *text, size_t size, const char *message)
{
    lab_shapes list;
    lab_error error = { "" };
    assert_int_equal(load_text(state, &list, text, size, &error), HEED_ERR_INVALID);
    if (!strstr(error.text, message))
        fail_msg("\"%s\" does not say \"%s\"", error.text, message);
    assert_null(list.shapes);
    assert_int_equal(list.count, 0);
    assert_int_equal(load_text(state, &list, text, size, NULL), HEED_ERR_INVALID);
}

static void test_bad_files(void **state)
{
    static const text_pair cases[] = {
        { "", "shapes.txt: holds no problem" },
        { "\n# nothing\n\n", "shapes.txt: holds no problem" },
        { "b1 h1 s4 d8 f16\n\nb1 h1 s4 d8\n", "shapes.txt:3: the element type is missing" },
        { "b1 h1 s4 d8 f16\nb1 h1 s4 d8 f16\rb1 h1 s4 d8 f32\n", "shapes.txt:2: byte 0x0d" },
        { "\xef\xbb\xbf"
          "b1 h1 s4 d8 f16\n",
          "shapes.txt:1: byte 0xef" },
        { "b1 h1 s4 d8 f16 causel\n", "\n  b1 h1 s4 d8 f16 causel\n                  ^" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(state, cases[i].given, strlen(cases[i].given), cases[i].wanted);
    assert_refused(state, "b1 h1 s4 d8 f16\0#\n", 18, "shapes.txt:1: holds a null byte");
}

static void test_long_lines(void **state)
{
    static const char start[] = "b1 h1 s4 d8 f16 #";
    char text[LAB_SHAPES_LINE_MAX + 2];
    memset(text, ' ', sizeof text);
    memcpy(text, start, sizeof start - 1);
    lab_shapes list;
    assert_int_equal(load_text(state, &list, text, LAB_SHAPES_LINE_MAX, NULL), HEED_OK);
    lab_shapes_free(&list);
    assert_refused(state, text, LAB_SHAPES_LINE_MAX + 1, "shapes.txt:1: longer than 4095 bytes");
}

static void test_files_that_cannot_be_read(void **state)
{
    lab_shapes list;
    lab_error error;
    assert_int_equal(lab_shapes_load(&list, "/nowhere/shapes.txt", &error), HEED_ERR_SYSTEM);
    assert_string_equal(error.text, "/nowhere/shapes.txt: No such file or directory");
    assert_null(list.shapes);
    assert_int_equal(lab_shapes_load(&list, (const char *)*state, &error), HEED_ERR_SYSTEM);
}

/* -------------------------------------------------------------------------- */
/* Files of the repository                                                    */
/* -------------------------------------------------------------------------- */

static lab_shapes load(const char *name)
{
    char path[1024];
    lab_shapes list;
    lab_error error = { "" };
    snprintf(path, sizeof path, "%s/shapes/%s", HEED_SOURCE_DIR, name);
    if (lab_shapes_load(&list, path, &error) != HEED_OK)
        fail_msg("%s", error.text);
    return list;
}

/* Every line has heed's canonical form, and differs from all earlier lines. */
static void check_lines(const char *name)
{
    lab_shapes list = load(name);
    for (size_t i = 0; i < list.count; i++) {
        heed_problem back;
        assert_int_equal(heed_problem_parse(&back, list.shapes[i].spec), HEED_OK);
        assert_true(heed_problem_equal(&back, &list.shapes[i].problem));
        for (size_t j = 0; j < i; j++)
            if (heed_problem_equal(&list.shapes[i].problem, &list.shapes[j].problem))
                fail_msg("%s: lines %zu and %zu are both %s", name, list.shapes[j].line,
                         list.shapes[i].line, list.shapes[i].spec);
    }
    lab_shapes_free(&list);
}

static void test_lines_read_back_and_differ(void **state)
{
    check_lines("seed.txt");
    check_lines("grid.txt");
    check_lines("edge.txt");
}

/* The amount of work must be feasible for the float64 reference; the corner cases must be feasible
 * for valgrind and the sanitizers too. */
static void test_the_work_is_bounded(void **state)
{
    static const text_real limits[] = { { "grid.txt", 40e9 }, { "edge.txt", 4e9 } };
    for (size_t i = 0; i < 2; i++) {
        lab_shapes list = load(limits[i].text);
        double flops = 0;
        for (size_t j = 0; j < list.count; j++)
            flops += heed_problem_flops(&list.shapes[j].problem);
        lab_shapes_free(&list);
        if (flops > limits[i].value)
            fail_msg("%s: %g flops", limits[i].text, flops);
    }
}

static bool has(const lab_shapes *list, heed_type type, int64_t dim, bool masked)
{
    for (size_t i = 0; i < list->count; i++) {
        const heed_problem *p = &list->shapes[i].problem;
        if (p->type == type && p->dim_qk == dim && (p->mask != HEED_MASK_NONE) == masked)
            return true;
    }
    return false;
}

static bool has_length(const lab_shapes *list, heed_type type, int64_t length)
{
    for (size_t i = 0; i < list->count; i++) {
        const heed_problem *p = &list->shapes[i].problem;
        if (p->type == type && (p->seq_q == length || p->seq_k == length))
            return true;
    }
    return false;
}

/* The claims in the comment of grid.txt. */
static void test_the_grid_has_no_holes(void **state)
{
    static const int64_t dims[] = { 32, 64, 80, 96, 128, 192, 256 };
    static const int64_t lengths[] = { 1,    2,    3,    7,    16,   17,   31,   33,
                                       63,   64,   65,   127,  128,  129,  200,  255,
                                       256,  257,  300,  511,  512,  513,  777,  1000,
                                       1023, 1024, 2049, 4095, 4096, 8192, 16384 };
    lab_shapes list = load("grid.txt");
    for (int type = HEED_F32; type <= HEED_BF16; type++) {
        for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
            assert_true(has(&list, (heed_type)type, dims[i], true));
            assert_true(has(&list, (heed_type)type, dims[i], false));
        }
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            if (!has_length(&list, (heed_type)type, lengths[i]))
                fail_msg("no %s with length %lld", heed_type_name((heed_type)type),
                         (long long)lengths[i]);
    }
    lab_shapes_free(&list);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_comments_blanks_and_line_ends, test_many_lines,
               test_bad_files, test_long_lines, test_files_that_cannot_be_read,
               test_lines_read_back_and_differ, test_the_work_is_bounded,
               test_the_grid_has_no_holes)
