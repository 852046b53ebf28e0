/*
 * bench_program.c - `heed bench` as people call it, and what it says
 */
#include "bench_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lab/measure/stats.h"
#include "scratch.h"

#define TEXT_SIZE 1000000

static void read_text(void **state, const char *name, char *text)
{
    char path[SCRATCH_PATH_SIZE];
    text[scratch_read(scratch_path(state, name, path), text, TEXT_SIZE - 1)] = '\0';
}

int run_bench(void **state, const char *before, const char *arguments)
{
    char command[4096];
    int length = snprintf(command, sizeof command,
                          "cd '%s' && %s '%s' bench %s >stdout.txt 2>stderr.txt",
                          (const char *)*state, before, HEED_PROGRAM, arguments);
    assert_in_range(length, 1, sizeof command - 1);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void expect_text(void **state, const char *file, const char *part)
{
    char *text = malloc(TEXT_SIZE);
    assert_non_null(text);
    read_text(state, file, text);
    if (!strstr(text, part))
        fail_msg("%s lacks \"%s\":\n%s", file, part, text);
    free(text);
}

json_t *json_of(void **state, const char *before, const char *arguments, int code)
{
    char line[2048];
    char path[SCRATCH_PATH_SIZE];
    json_error_t error;
    snprintf(line, sizeof line, "--json %s", arguments);
    int got = run_bench(state, before, line);
    if (got != code) {
        expect_text(state, "stderr.txt", "(that is what it said)");
        fail();
    }
    json_t *answer = json_load_file(scratch_path(state, "stdout.txt", path), 0, &error);
    if (!answer)
        fail_msg("%s", error.text);
    assert_string_equal(json_string_value(json_object_get(answer, "schema")), "heed.bench/1");
    return answer;
}

const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

double number_of(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

double median_of(const json_t *array)
{
    static double values[4096];
    size_t count = json_array_size(array);
    assert_in_range(count, 1, 4096);
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    lab_stats_sort(values, count);
    return lab_stats_median(values, count);
}
