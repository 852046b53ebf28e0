/*
 * run_heed.c - the program heed as people call it, and what it says
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

void run_heed(void **state, const run_heed_way *way, const char *line, heed_said *said)
{
    char command[8192];
    int length = snprintf(command, sizeof command,
                          "cd '%s' && export NO_COLOR= HEED_BOARD=\"$PWD/board.db\" %s && heed() { "
                          "'%s' \"$@\"; }; { %s\n} "
                          ">stdout.txt 2>stderr.txt",
                          (const char *)*state, way->variables ? way->variables : "", way->program,
                          line);
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

const heed_said *run_heed_says(void **state, const run_heed_way *way, const char *line, int code,
                               const char *part)
{
    static heed_said said;
    run_heed_as(state, way, line, code, &said);
    if (!strstr(said.out, part) && !strstr(said.err, part))
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
