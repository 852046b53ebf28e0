/*
 * bench_program.h - runs `heed bench` and reads its output
 *
 * @state is that of a test with a scratch.h directory, in which the program is run.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <jansson.h>

#include "members.h"

/* run_bench() runs "heed bench @arguments" and returns the exit status; @before may set variables.
 * Its output is in stdout.txt and stderr.txt. */
int run_bench(void **state, const char *before, const char *arguments);

/* expect_text() fails the test unless the file @file of its directory contains @part. */
void expect_text(void **state, const char *file, const char *part);

/* json_of() is run_bench() with --json, which must exit with @code, and returns the JSON. */
json_t *json_of(void **state, const char *before, const char *arguments, int code);

/* median_of() returns the median of an array of at most 4096 numbers. */
double median_of(const json_t *array);

#endif /* BENCH_PROGRAM_H */
