/*
 * tally.h - counts of passed, failed and skipped tests, for a program's last line
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>

typedef struct tally {
    int passed, failed, skipped;
} tally;

/* Each prints a line, like printf(), and counts it. tally_judge() counts a pass or a failure. */
void tally_judge(tally *counts, bool right, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tally_skip(tally *counts, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tally_end() prints the counts, which scripts/test-gpu.sh adds up, and returns the exit status. */
int tally_end(const tally *counts);

#endif /* TALLY_H */
