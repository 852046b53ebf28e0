/*
 * run_heed.h - runs the program heed and checks its output
 *
 * @state is that of a test with a scratch.h directory, in which the program is run.
 */
#ifndef RUN_HEED_H
#define RUN_HEED_H

#include <stddef.h>

#include <jansson.h>

#define RUN_HEED_SIZE 1000000

/* How to run it. */
typedef struct run_heed_way {
    const char *program;
    const char *variables; /* environment settings, such as "HEED_DEVICE=cpu HEED_BOARD=board.db";
                            * NULL: none */
} run_heed_way;

/* Its result. */
typedef struct heed_said {
    int code;
    char out[RUN_HEED_SIZE];
    char err[RUN_HEED_SIZE];
} heed_said;

/* run_heed() runs a shell command, in which "heed" is the program, and fails the test if the shell
 * was killed by a signal; "await_trials BOARD COUNT" in it waits until a board has as many. Colours
 * are off, and board and cache are in the directory. Its output is also in stdout.txt and
 * stderr.txt. */
void run_heed(void **state, const run_heed_way *way, const char *line, heed_said *said);

/* run_heed_as() also fails the test unless the command exits with @code; run_heed_must() is for
 * callers that do not need the output. run_heed_json() returns the JSON on stdout, which the caller
 * frees. */
void run_heed_as(void **state, const run_heed_way *way, const char *line, int code,
                 heed_said *said);
void run_heed_must(void **state, const run_heed_way *way, const char *line, int code);
json_t *run_heed_json(void **state, const run_heed_way *way, const char *line, int code);

/* run_heed_says() fails the test unless the command exits with @code and @part is in its output, on
 * either stream. Returns the whole output, which is valid until the next call. */
const heed_said *run_heed_says(void **state, const run_heed_way *way, const char *line, int code,
                               const char *part);

/* A command, and its expected result. */
typedef struct run_heed_row {
    const char *line;
    int code;
    const char *out; /* a part of stdout; "": empty; NULL: not checked */
    const char *err;
} run_heed_row;

/* run_heed_rows() runs all commands and fails the test at the first with another result. */
void run_heed_rows(void **state, const run_heed_way *way, const run_heed_row *rows, size_t count);

/* Arguments of a verb, and the expected words on either stream. */
typedef struct run_heed_case {
    const char *arguments;
    int code;
    const char *words[3];
} run_heed_case;

/* run_heed_cases() runs "heed @verb" with all of them and fails the test at the first with another
 * result, or one that exits with 0 and prints one of the @complaints, which end with NULL. */
void run_heed_cases(void **state, const run_heed_way *way, const char *verb,
                    const run_heed_case *cases, size_t count, const char *const *complaints);

/* run_heed_answer() is run_heed_json() of "heed @verb @arguments", whose schema must be the verb's
 * first. */
json_t *run_heed_answer(void **state, const run_heed_way *way, const char *verb,
                        const char *arguments, int code);

#endif /* RUN_HEED_H */
