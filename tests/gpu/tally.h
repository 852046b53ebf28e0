/*
 * tally.h - counts of tests that passed, failed and were skipped, for the last line of a program
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>

typedef struct tally {
    int passed, failed, skipped;
} tally;

/* Each prints a line, as printf() does, and counts it. tally_judge() is for what is right or not.
 */
void tally_judge(tally *counts, bool right, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tally_skip(tally *counts, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tally_end() prints the counts, which scripts/test-gpu.sh adds up, and returns the exit status. */
int tally_end(const tally *counts);

#endif /* TALLY_H */
