/*
 * tally.c - counts of tests that passed, failed and were skipped
 */
#include "tally.h"

#include <stdarg.h>
#include <stdio.h>

static void __attribute__((format(printf, 2, 0)))
print_line(const char *what, const char *format, va_list list)
{
    printf("    %s", what);
    vprintf(format, list);
    putchar('\n');
    fflush(stdout);
}

void tally_judge(tally *counts, bool right, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_line(right ? "" : "FAIL ", format, list);
    va_end(list);
    counts->passed += right;
    counts->failed += !right;
}

void tally_skip(tally *counts, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_line("skipped: ", format, list);
    va_end(list);
    counts->skipped++;
}

int tally_end(const tally *counts)
{
    printf("%d passed, %d failed, %d skipped\n", counts->passed, counts->failed, counts->skipped);
    return counts->failed ? 1 : 0;
}
