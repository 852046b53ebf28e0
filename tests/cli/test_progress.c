/*
 * test_progress.c - the progress line in a log
 */
#include "run_tests.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "src/measure.h"

#define SECOND INT64_C(1000000000)

/* The line that is printed for @progress, which began ten seconds ago, after @done steps. */
static void expect_line(lab_progress progress, size_t done, const char *line)
{
    char text[200] = "";
    const int own = dup(STDERR_FILENO);
    FILE *log = tmpfile();
    assert_non_null(log);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    progress.title = "work";
    progress.start_ns = heed_clock_ns() - 10 * SECOND;
    progress.last_ns = 1;
    cli_progress_show(&progress, done, NULL);
    rewind(log);
    assert_non_null(fgets(text, sizeof text, log));
    assert_true(dup2(own, STDERR_FILENO) >= 0);
    close(own);
    fclose(log);
    assert_string_equal(text, line);
}

static void test_lines(void **state)
{
    (void)state;
    expect_line((lab_progress){ .total = 40 }, 10, "work: 10 of 40, 0:30 left\n");
    expect_line((lab_progress){ .total = 40, .uneven = true }, 10, "work: 10 of 40\n");
    expect_line((lab_progress){ .total = 40, .timed = true }, 10, "work: 0:10 of 0:40\n");
    expect_line((lab_progress){ .total = 0 }, 10, "work: 10\n");
}

RUN_TESTS(test_lines)
