/*
 * test_diff.c - unified diffs: their text, and that applying one gives the new text
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report/diff.h"

static char *diff_of(const char *before, const char *after)
{
    char *said = NULL;
    size_t size;
    FILE *stream = open_memstream(&said, &size);
    assert_true(
        lab_diff_write(stream, (lab_diff_side){ "a", before }, (lab_diff_side){ "b", after }));
    fclose(stream);
    return said;
}

static void writes_what_changed(void **state)
{
    static const struct {
        const char *before, *after, *diff;
    } rows[] = {
        { "", "", "" },
        { "x\n", "x\n", "" },
        { "", "x\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n" },
        { "x\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-x\n" },
        { "x", "x\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
          "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n" },
        /* six lines between two changes are one hunk, seven are two */
        { "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
          "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
        { "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
          "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n "
          "7\n-b\n+B\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *said = diff_of(rows[i].before, rows[i].after);
        assert_string_equal(said, rows[i].diff);
        free(said);
    }
}

/* ---- Applying a diff ---- */

/* Applies @diff to @before like patch(1): lines that it keeps or removes must be present. */
static char *apply(const char *before, const char *diff)
{
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    const char *at = before, *first_line = strstr(diff, "@@");
    for (const char *line = first_line ? first_line : ""; *line;) {
        size_t length = strcspn(line, "\n");
        assert_int_equal(line[length++], '\n');
        long first;
        if (sscanf(line, "@@ -%ld,", &first) == 1) {
            long number = 1; /* of the line at @at */
            for (const char *seen = before; seen < at; seen++)
                number += *seen == '\n';
            for (; number < first; number++) {
                const char *next = strchr(at, '\n') + 1;
                fwrite(at, 1, (size_t)(next - at), out);
                at = next;
            }
        } else if (*line == '+') {
            fwrite(line + 1, 1, length - 1, out);
        } else {
            assert_memory_equal(at, line + 1, length - 1);
            fwrite(at, 1, *line == ' ' ? length - 1 : 0, out);
            at += length - 1;
        }
        line += length;
    }
    fputs(at, out);
    fclose(out);
    return made;
}

static void fill(char *text, size_t lines, uint32_t *seed, unsigned letters)
{
    for (size_t i = 0; i < lines; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        *text++ = (char)('a' + (*seed >> 16) % letters);
        *text++ = '\n';
    }
    *text = '\0';
}

static void leads_from_one_to_the_other(void **state)
{
    static char before[402], after[402];
    uint32_t seed = 1;
    for (int i = 0; i < 400; i++) {
        fill(before, (size_t)(i % 41), &seed, 1 + (unsigned)i % 5);
        fill(after, (size_t)(i * 7 % 37), &seed, 1 + (unsigned)i % 5);
        char *diff = diff_of(before, after), *made = apply(before, diff);
        assert_string_equal(made, after);
        free(made);
        free(diff);
    }
}

/* Texts that are too large to compare line by line are replaced completely. */
static void gives_up_on_large_texts(void **state)
{
    enum {
        LINES = 4100
    };
    static char before[2 * LINES + 16], after[2 * LINES + 16];
    uint32_t seed = 3;
    fill(before, LINES, &seed, 20);
    fill(after, LINES, &seed, 20);
    char *diff = diff_of(before, after), *made = apply(before, diff);
    assert_string_equal(made, after);
    free(made);
    free(diff);
}

RUN_TESTS(writes_what_changed, leads_from_one_to_the_other, gives_up_on_large_texts)
