/*
 * test_error.c - messages about files, whose names and texts anybody may have written
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lab/base/error.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_characters_are_shown),
        cmocka_unit_test(test_lines_stay_lines),
        cmocka_unit_test(test_what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
