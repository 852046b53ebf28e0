/*
 * test_wisdom.c - the table of choices, and its text: what comes back, what is skipped, what is
 * refused
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wisdom.h"

#define HEADER "heed wisdom 1: problem, device, cpu, threads, build, kernel, seconds, effort\n"
#define TEXT_SIZE 8192

static heed_context *make_context(void)
{
    heed_context *context;
    const heed_options options = { .threads = 2 };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s", heed_message());
    return context;
}

static heed_problem parsed(const char *spec)
{
    heed_problem problem = { 0 };
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s", heed_message());
    return problem;
}

/* A kernel and config that the library has. */
static heed_choice make_choice(double seconds, heed_effort effort)
{
    heed_choice choice = { .seconds = seconds, .effort = effort };
    assert_int_equal(heed_kernel_config(0, 0, choice.name, sizeof choice.name), HEED_OK);
    return choice;
}

static void add(heed_context *context, const char *spec, double seconds, heed_effort effort)
{
    heed_problem problem = parsed(spec);
    heed_choice choice = make_choice(seconds, effort);
    assert_int_equal(heed_wisdom_add(context->wisdom, &problem, &choice), HEED_OK);
}

/* Seconds of the choice for @spec; 0 if there is none. */
static double find(heed_context *context, const char *spec, heed_effort effort)
{
    heed_problem problem = parsed(spec);
    heed_choice choice;
    return heed_wisdom_lookup(context->wisdom, &problem, effort, &choice) ? choice.seconds : 0;
}

/* -------------------------------------------------------------------------- */
/* Table                                                                      */
/* -------------------------------------------------------------------------- */

static void test_finds_what_was_added(void **state)
{
    heed_context *context = make_context();
    assert_true(find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 0);
    add(context, "b1 h1 s4 d8 f16", 1, HEED_MEASURE);
    add(context, "b1 h1 s4 d8 f32", 2, HEED_PATIENT);
    add(context, "b1 h1 s4 d8 f16 k=32:9:8", 3, HEED_MEASURE);
    assert_true(find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 1);
    assert_true(find(context, "b1 h1 s4 d8 f32", HEED_ESTIMATE) == 2);
    assert_true(find(context, "b1 h1 s4 d8 f16 k=32:9:8", HEED_ESTIMATE) == 3);
    assert_true(find(context, "b1 h1 s4 d8 f16 v=32:9:8", HEED_ESTIMATE) == 0);
    assert_true(find(context, "b1 h1 s4 d8 bf16", HEED_ESTIMATE) == 0);
    heed_wisdom_forget(context);
    assert_true(find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 0);
    add(context, "b1 h1 s4 d8 f16", 4, HEED_MEASURE);
    assert_true(find(context, "b1 h1 s4 d8 f16", HEED_ESTIMATE) == 4);
    heed_context_destroy(context);
}

static void test_effort_decides(void **state)
{
    const char *spec = "b1 h1 s4 d8 f16";
    heed_context *context = make_context();
    add(context, spec, 1, HEED_MEASURE);
    assert_true(find(context, spec, HEED_ESTIMATE) == 1);
    assert_true(find(context, spec, HEED_WISDOM_ONLY) == 1);
    assert_true(find(context, spec, HEED_MEASURE) == 1);
    assert_true(find(context, spec, HEED_PATIENT) == 0);
    add(context, spec, 2, HEED_MEASURE); /* the same effort: the later one */
    assert_true(find(context, spec, HEED_MEASURE) == 2);
    add(context, spec, 3, HEED_PATIENT);
    assert_true(find(context, spec, HEED_PATIENT) == 3);
    add(context, spec, 4, HEED_MEASURE); /* less effort does not replace more */
    assert_true(find(context, spec, HEED_MEASURE) == 3);
    heed_context_destroy(context);
}

static void test_many_problems(void **state)
{
    const int64_t count = 20000;
    heed_context *context = make_context();
    heed_problem problem = parsed("b1 h1 s4 d8 f16");
    for (int64_t i = 1; i <= count; i++) {
        heed_choice choice = make_choice((double)i, HEED_MEASURE);
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

/* Adds problems that no other thread adds, and looks for all that it has added so far. */
static void *add_and_look(void *data)
{
    worker *w = data;
    heed_problem problem = { 0 };
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
        if (i % 50 == 0 && heed_wisdom_export(w->context, text, sizeof text) < strlen(HEADER))
            w->failures++;
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    heed_context *context = make_context();
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

/* Writes the wisdom of three problems to @text and returns its length. */
static size_t make_text(heed_context *context, char text[TEXT_SIZE])
{
    add(context, "b2 h8 s512 d64 f16", 0.000125, HEED_MEASURE);
    add(context, "b1 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1", 1.0 / 3, HEED_PATIENT);
    add(context, "b2 h4 s33 d7 f32 k=0:28:7", 7e-9, HEED_MEASURE);
    size_t length = heed_wisdom_export(context, text, TEXT_SIZE);
    assert_in_range(length, 1, TEXT_SIZE - 1);
    return length;
}

static void test_text_comes_back(void **state)
{
    char text[TEXT_SIZE], again[TEXT_SIZE];
    heed_context *one = make_context(), *other = make_context();
    make_text(one, text);
    size_t taken = 99, skipped = 99;
    if (heed_wisdom_import(other, text, &taken, &skipped) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_int_equal(taken, 3);
    assert_int_equal(skipped, 0);
    heed_wisdom_export(other, again, sizeof again);
    assert_string_equal(text, again);
    assert_true(find(other, "b1 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1", HEED_PATIENT) ==
                1.0 / 3);
    assert_int_equal(heed_wisdom_import(other, text, NULL, NULL), HEED_OK);
    heed_wisdom_export(other, again, sizeof again);
    assert_string_equal(text, again);
    heed_context_destroy(other);
    heed_context_destroy(one);
}

static void test_text_of_nothing(void **state)
{
    char text[TEXT_SIZE];
    size_t taken = 99, skipped = 99;
    heed_context *context = make_context();
    heed_wisdom_export(context, text, sizeof text);
    assert_string_equal(text, HEADER "end 0 c4904201b587a497\n");
    assert_int_equal(heed_wisdom_import(context, text, &taken, &skipped), HEED_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(skipped, 0);
    heed_context_destroy(context);
}

static void test_export_counts_what_does_not_fit(void **state)
{
    char whole[TEXT_SIZE], text[TEXT_SIZE];
    heed_context *context = make_context();
    size_t length = make_text(context, whole);
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
    char text[TEXT_SIZE];
    heed_context *context = make_context();
    heed_problem problem = parsed(spec);
    heed_plan *plan;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    add(context, spec, 1, HEED_MEASURE);
    heed_wisdom_export(context, text, sizeof text);
    heed_wisdom_forget(context);
    assert_int_equal(heed_wisdom_import(context, text, NULL, NULL), HEED_OK);
    if (heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY) != HEED_OK)
        fail_msg("%s", heed_message());
    assert_string_equal(heed_plan_name(plan), make_choice(1, HEED_MEASURE).name);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Damage                                                                     */
/* -------------------------------------------------------------------------- */

/* @text is refused, and leaves the context without wisdom. */
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
    assert_int_equal(heed_wisdom_export(context, NULL, 0), strlen(HEADER) + 23);
}

static void test_every_cut_is_told(void **state)
{
    char text[TEXT_SIZE];
    heed_context *context = make_context();
    size_t length = make_text(context, text);
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
    char text[TEXT_SIZE];
    heed_context *context = make_context();
    size_t length = make_text(context, text);
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
    char text[TEXT_SIZE], changed[TEXT_SIZE + 1];
    heed_context *context = make_context();
    size_t length = make_text(context, text);
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
    char text[2 * TEXT_SIZE];
    heed_context *context = make_context();
    size_t length = make_text(context, text);
    heed_wisdom_forget(context);
    memcpy(text + length, "\n", 2);
    assert_corrupt(context, text, "blank line", length);
    memmove(text + length, text, length);
    text[2 * length] = '\0';
    assert_corrupt(context, text, "second text", length);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Lines for others, and lines that nobody wrote                              */
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

/* Adds the line that counts and hashes the @length bytes above it. */
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
static void make_changed(heed_context *context, int column, const char *value, char text[TEXT_SIZE])
{
    char threads[16], name[HEED_NAME_SIZE];
    snprintf(threads, sizeof threads, "%d", heed_context_threads(context));
    memcpy(name, make_choice(1, HEED_MEASURE).name, sizeof name);
    const char *columns[COLUMNS] = { "b1 h1 s4 d8 f16",
                                     heed_context_device(context),
                                     heed_context_cpu(context),
                                     threads,
                                     heed_kernel_build(),
                                     name,
                                     "0.5",
                                     "measure" };
    heed_text out = { .data = text, .size = TEXT_SIZE };
    heed_text_add(&out, "%s", HEADER);
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

static void test_lines_for_others_are_skipped(void **state)
{
    static const struct {
        int column;
        const char *value;
        const char *message;
    } cases[] = {
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
        char text[TEXT_SIZE];
        size_t taken = 99, skipped = 99;
        heed_context *context = make_context();
        make_changed(context, cases[i].column, cases[i].value, text);
        if (heed_wisdom_import(context, text, &taken, &skipped) != HEED_OK)
            fail_msg("%s", heed_message());
        assert_int_equal(taken, 2);
        assert_int_equal(skipped, 1);
        if (!strstr(heed_message(), cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", heed_message(), cases[i].message);
        assert_true(find(context, "b1 h1 s4 d8 f32", HEED_ESTIMATE) == 0.5);
        heed_context_destroy(context);
    }
}

static void test_bad_values_are_told(void **state)
{
    static char long_name[HEED_NAME_SIZE + 1];
    static char long_line[2000];
    memset(long_name, 'x', HEED_NAME_SIZE);
    memset(long_line, 'x', sizeof long_line - 1);
    const struct {
        int column;
        const char *value;
        const char *message;
    } cases[] = {
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
        char text[TEXT_SIZE];
        heed_context *context = make_context();
        make_changed(context, cases[i].column, cases[i].value, text);
        assert_corrupt(context, text, "value", i);
        if (!strstr(heed_message(), cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", heed_message(), cases[i].message);
        heed_context_destroy(context);
    }
}

static void test_other_texts_are_told(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        { "", "wisdom: line 1: not heed wisdom" },
        { "(fftw-3.3.10 fftw_wisdom)\n", "wisdom: line 1: not heed wisdom" },
        { "heed wisdom 2: problem, device\nend 0 0\n",
          "wisdom: line 1: damaged, or wisdom of another version of the format" },
        { HEADER, "wisdom: line 2: the end is missing" },
        { HEADER "x\ny\nz", "wisdom: line 4: the end is missing" },
        { HEADER "end 0 0000000000000000\n", "wisdom: line 2: count or hash" },
    };
    heed_context *context = make_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_corrupt(context, cases[i].text, "text", i);
        assert_string_equal(strstr(heed_message(), cases[i].message) ? "" : heed_message(), "");
    }
    char text[256] = HEADER; /* the right hash, but not the right number of lines */
    seal(text, 1);
    assert_corrupt(context, text, "count", 0);
    heed_context_destroy(context);
}

/* A file may hold what a string cannot. */
static void test_null_bytes_are_told(void **state)
{
    char text[TEXT_SIZE];
    heed_context *context = make_context();
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
    heed_context *context = make_context();
    size_t size = HEED_WISDOM_SIZE_MAX + 2;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, '\n', size - 1);
    memcpy(text, HEADER, strlen(HEADER));
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
    heed_context *context = make_context();
    assert_int_equal(heed_wisdom_import(NULL, HEADER, NULL, NULL), HEED_ERR_INVALID);
    assert_int_equal(heed_wisdom_import(context, NULL, NULL, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "text is NULL");
    heed_context_destroy(context);
}

/* A line that cannot be carried out is passed over, without a word. */
static void test_useless_choices_leave_the_message(void **state)
{
    heed_context *context = make_context();
    heed_problem problem = parsed("b1 h1 s8 d8 f32");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_useless_choices_leave_the_message),
        cmocka_unit_test(test_finds_what_was_added),
        cmocka_unit_test(test_effort_decides),
        cmocka_unit_test(test_many_problems),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_text_comes_back),
        cmocka_unit_test(test_text_of_nothing),
        cmocka_unit_test(test_export_counts_what_does_not_fit),
        cmocka_unit_test(test_wisdom_makes_plans),
        cmocka_unit_test(test_every_cut_is_told),
        cmocka_unit_test(test_every_changed_byte_is_told),
        cmocka_unit_test(test_every_lost_or_doubled_byte_is_told),
        cmocka_unit_test(test_lines_after_the_end_are_told),
        cmocka_unit_test(test_lines_for_others_are_skipped),
        cmocka_unit_test(test_bad_values_are_told),
        cmocka_unit_test(test_other_texts_are_told),
        cmocka_unit_test(test_null_bytes_are_told),
        cmocka_unit_test(test_texts_without_bounds_are_refused),
        cmocka_unit_test(test_null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
