/*
 * emulator_scene.c - runs test kernels on the emulator and checks the reports
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emulator_scene.h"

emulator_report emulate(const emulator_launch *launch)
{
    emulator_report report;
    bool fine = emulator_run(launch, &report);
    assert_int_equal(fine, report.error[0] == '\0' && report.races == 0);
    return report;
}

emulator_report emulate_blocks(void (*kernel)(const void *args), const void *args, uint32_t blocks,
                               uint32_t threads, uint32_t shared_bytes)
{
    const emulator_launch launch = { .kernel = kernel,
                                     .args = args,
                                     .grid = { blocks, 1, 1 },
                                     .threads = threads,
                                     .shared_bytes = shared_bytes };
    return emulate(&launch);
}

void assert_clean(const emulator_report *report)
{
    assert_string_equal(report->error, "");
    assert_string_equal(report->race, "");
    assert_int_equal(report->races, 0);
    assert_int_equal(report->uninitialised, 0);
}

void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

void assert_report(const emulator_report *report, const char *race, const char *error)
{
    assert_says(report->race, race);
    assert_says(report->error, error);
    if (race[0] == '\0')
        assert_string_equal(report->race, "");
    if (error[0] == '\0')
        assert_string_equal(report->error, "");
}
