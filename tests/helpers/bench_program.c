/*
 * bench_program.c - runs `heed bench` and reads its output
 */
#include "bench_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab/measure/stats.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

int run_bench(void **state, const char *before, const char *arguments)
{
    static heed_said said;
    char line[4096];
    int length = snprintf(line, sizeof line, "%s '%s' bench %s", before, HEED_PROGRAM, arguments);
    assert_in_range(length, 1, sizeof line - 1);
    run_heed(state, &way, line, &said);
    return said.code;
}

void expect_text(void **state, const char *file, const char *part)
{
    static char text[RUN_HEED_SIZE];
    if (!strstr(scratch_text_read(state, file, text, sizeof text), part))
        fail_msg("%s lacks \"%s\":\n%s", file, part, text);
}

json_t *json_of(void **state, const char *before, const char *arguments, int code)
{
    char line[4096];
    int length = snprintf(line, sizeof line, "%s '%s' bench --json %s", before, HEED_PROGRAM,
                          arguments);
    assert_in_range(length, 1, sizeof line - 1);
    json_t *answer = run_heed_json(state, &way, line, code);
    assert_string_equal(text_of(answer, "schema"), "heed.bench/1");
    return answer;
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
