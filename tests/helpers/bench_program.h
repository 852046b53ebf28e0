/*
 * bench_program.h - `heed bench` as people call it, and what it says
 *
 * @state is that of a test in a folder of scratch.h, where the program is run.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <jansson.h>

#include "members.h"

/* run_bench() runs "heed bench @arguments" and returns the exit code; @before may set variables.
 * Its output is in stdout.txt and stderr.txt. */
int run_bench(void **state, const char *before, const char *arguments);

/* expect_text() fails the test unless @part is in the file @file of its folder. */
void expect_text(void **state, const char *file, const char *part);

/* json_of() is run_bench() with --json, which must exit with @code, and returns the answer. */
json_t *json_of(void **state, const char *before, const char *arguments, int code);

/* median_of() returns the median of an array of 4096 numbers at most. */
double median_of(const json_t *array);

#endif /* BENCH_PROGRAM_H */
