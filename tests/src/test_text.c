/*
 * test_text.c - appending to a fixed buffer
 */
#include "run_tests.h"

#include <string.h>

#include "internal.h"

static void test_appends(void **state)
{
    char data[16];
    heed_text text = { .data = data, .size = sizeof data };
    heed_text_add(&text, "%s %d", "ab", 12);
    heed_text_add(&text, "%s", "");
    heed_text_add(&text, "-%c", 'x');
    assert_string_equal(data, "ab 12-x");
    assert_int_equal(text.length, 7);
}

/* For any size, the text is a prefix of the whole one, and nothing is written past the buffer. */
static void test_counts_what_does_not_fit(void **state)
{
    const char *whole = "one two three";
    for (size_t size = 0; size <= 16; size++) {
        char data[20];
        memset(data, '#', sizeof data);
        heed_text text = { .data = data, .size = size };
        heed_text_add(&text, "one ");
        heed_text_add(&text, "%s", "two ");
        heed_text_add(&text, "three");
        assert_int_equal(text.length, strlen(whole));
        size_t kept = size == 0 ? 0 : size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        assert_memory_equal(data, whole, kept);
        if (size > 0)
            assert_int_equal(data[kept], '\0');
        for (size_t i = size; i < sizeof data; i++)
            assert_int_equal(data[i], '#');
    }
}

static void test_counts_without_a_buffer(void **state)
{
    heed_text text = { .data = NULL, .size = 0 };
    heed_text_add(&text, "%d", 12345);
    heed_text_add(&text, "%d", 67);
    assert_int_equal(text.length, 7);
}

RUN_TESTS(test_appends, test_counts_what_does_not_fit, test_counts_without_a_buffer)
