/*
 * run_heed.h - the program heed as people call it, and what it says
 *
 * @state is that of a test in a folder of scratch.h, where the program is run.
 */
#ifndef RUN_HEED_H
#define RUN_HEED_H

#include <stddef.h>

#include <jansson.h>

#define RUN_HEED_SIZE 1000000

/* How to run it. */
typedef struct run_heed_way {
    const char *program;
    const char *variables; /* for the environment, such as "HEED_DEVICE=cpu HEED_BOARD=board.db";
                              NULL: none */
} run_heed_way;

/* Its result. */
typedef struct heed_said {
    int code;
    char out[RUN_HEED_SIZE];
    char err[RUN_HEED_SIZE];
} heed_said;

/* run_heed() runs a line of shell, in which "heed" is the program, and fails the test if the shell
 * was ended by a signal; "await_trials BOARD COUNT" there waits until a board has as many. Colours
 * are off, and the board and the cache are the folder's own. Its output also is in stdout.txt and
 * stderr.txt. */
void run_heed(void **state, const run_heed_way *way, const char *line, heed_said *said);

/* run_heed_as() fails the test also unless the line exits with @code; run_heed_must() is for those
 * who do not ask what it said. run_heed_json() returns what it prints as JSON, for the caller to
 * free. */
void run_heed_as(void **state, const run_heed_way *way, const char *line, int code,
                 heed_said *said);
void run_heed_must(void **state, const run_heed_way *way, const char *line, int code);
json_t *run_heed_json(void **state, const run_heed_way *way, const char *line, int code);

/* run_heed_says() fails the test unless the line exits with @code and @part is in what it says, on
 * either stream. Returns all that it said, which the next call forgets. */
const heed_said *run_heed_says(void **state, const run_heed_way *way, const char *line, int code,
                               const char *part);

/* A line, and what it must come to. */
typedef struct run_heed_row {
    const char *line;
    int code;
    const char *out; /* a part of stdout; "": nothing is there; NULL: not checked */
    const char *err;
} run_heed_row;

/* run_heed_rows() runs all lines and fails the test at the first that comes to something else. */
void run_heed_rows(void **state, const run_heed_way *way, const run_heed_row *rows, size_t count);

/* Arguments of a verb, and what they must come to: words on either stream. */
typedef struct run_heed_case {
    const char *arguments;
    int code;
    const char *words[3];
} run_heed_case;

/* run_heed_cases() runs "heed @verb" with all of them and fails the test at the first that comes to
 * something else, or exits with 0 and says one of the @complaints, which end with NULL. */
void run_heed_cases(void **state, const run_heed_way *way, const char *verb,
                    const run_heed_case *cases, size_t count, const char *const *complaints);

/* run_heed_answer() is run_heed_json() of "heed @verb @arguments", whose schema must be the verb's
 * first. */
json_t *run_heed_answer(void **state, const run_heed_way *way, const char *verb,
                        const char *arguments, int code);

#endif /* RUN_HEED_H */
