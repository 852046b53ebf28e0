/*
 * run_heed.c - runs the program heed and checks its output
 */
#include "run_heed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "scratch.h"

/* A shell function, which also sets n to the number of trials. */
static const char await_trials[] =
    "await_trials() { for i in $(seq 3000); do "
    "n=$(heed board check --board \"$1\" 2>/dev/null | head -1 | cut -d' ' -f1); "
    "[ \"${n:-0}\" -ge \"$2\" ] && break; sleep 0.02; done; }; ";

void run_heed(void **state, const run_heed_way *way, const char *line, heed_said *said)
{
    char command[8192];
    int length = snprintf(command, sizeof command,
                          "cd '%s' && export NO_COLOR= HEED_BOARD=\"$PWD/board.db\" "
                          "HEED_CACHE=\"$PWD/cache\" %s && heed() { '%s' \"$@\"; }; %s{ %s\n} "
                          ">stdout.txt 2>stderr.txt",
                          (const char *)*state, way->variables ? way->variables : "", way->program,
                          await_trials, line);
    assert_in_range(length, 1, sizeof command - 1);
    int status = system(command);
    assert_true(WIFEXITED(status));
    said->code = WEXITSTATUS(status);
    scratch_text_read(state, "stdout.txt", said->out, sizeof said->out);
    scratch_text_read(state, "stderr.txt", said->err, sizeof said->err);
}

void run_heed_as(void **state, const run_heed_way *way, const char *line, int code, heed_said *said)
{
    run_heed(state, way, line, said);
    if (said->code != code)
        fail_msg("%s gave %d, not %d: %s%s", line, said->code, code, said->out, said->err);
}

void run_heed_must(void **state, const run_heed_way *way, const char *line, int code)
{
    static heed_said said;
    run_heed_as(state, way, line, code, &said);
}

json_t *run_heed_json(void **state, const run_heed_way *way, const char *line, int code)
{
    static heed_said said;
    run_heed_as(state, way, line, code, &said);
    json_t *json = json_loads(said.out, 0, NULL);
    if (!json)
        fail_msg("%s printed no JSON: %s", line, said.out);
    return json;
}

static bool either_says(const heed_said *said, const char *part)
{
    return strstr(said->out, part) || strstr(said->err, part);
}

const heed_said *run_heed_says(void **state, const run_heed_way *way, const char *line, int code,
                               const char *part)
{
    static heed_said said;
    run_heed_as(state, way, line, code, &said);
    if (!either_says(&said, part))
        fail_msg("%s did not say \"%s\": %s%s", line, part, said.out, said.err);
    return &said;
}

static bool holds(const char *text, const char *part)
{
    return !part || (*part ? strstr(text, part) != NULL : *text == '\0');
}

void run_heed_rows(void **state, const run_heed_way *way, const run_heed_row *rows, size_t count)
{
    static heed_said said;
    for (size_t i = 0; i < count; i++) {
        run_heed(state, way, rows[i].line, &said);
        if (said.code != rows[i].code || !holds(said.out, rows[i].out) ||
            !holds(said.err, rows[i].err))
            fail_msg("%s\n gave %d\nstdout: %s\nstderr: %s", rows[i].line, said.code, said.out,
                     said.err);
    }
}

/* Size of the shell command for a verb. */
#define LINE_SIZE 4096

static void line_of(char line[LINE_SIZE], const char *verb, const char *arguments)
{
    int length = snprintf(line, LINE_SIZE, "heed %s %s", verb, arguments);
    assert_in_range(length, 1, LINE_SIZE - 1);
}

static void check_case(const heed_said *said, const char *line, const run_heed_case *wanted,
                       const char *const *complaints)
{
    if (said->code != wanted->code)
        fail_msg("%s: exit code %d instead of %d\n%s%s", line, said->code, wanted->code, said->out,
                 said->err);
    for (; said->code == 0 && *complaints; complaints++)
        if (either_says(said, *complaints))
            fail_msg("%s succeeds, but complains:\n%s%s", line, said->out, said->err);
    for (int i = 0; i < 3 && wanted->words[i]; i++)
        if (!either_says(said, wanted->words[i]))
            fail_msg("%s: no '%s' in\n%s%s", line, wanted->words[i], said->out, said->err);
}

void run_heed_cases(void **state, const run_heed_way *way, const char *verb,
                    const run_heed_case *cases, size_t count, const char *const *complaints)
{
    static heed_said said;
    char line[LINE_SIZE];
    for (size_t i = 0; i < count; i++) {
        line_of(line, verb, cases[i].arguments);
        run_heed(state, way, line, &said);
        check_case(&said, line, &cases[i], complaints);
    }
}

json_t *run_heed_answer(void **state, const run_heed_way *way, const char *verb,
                        const char *arguments, int code)
{
    char line[LINE_SIZE], schema[64];
    line_of(line, verb, arguments);
    json_t *json = run_heed_json(state, way, line, code);
    const char *said = json_string_value(json_object_get(json, "schema"));
    snprintf(schema, sizeof schema, "heed.%s/1", verb);
    if (!said || strcmp(said, schema) != 0)
        fail_msg("%s: the schema is %s, not %s", line, said ? said : "none", schema);
    return json;
}
