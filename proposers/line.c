/*
 * line.c - the request and reply loop of a proposer
 */
#include "line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 65536 /* the longest line, with its newline */
#define REASON_SIZE 300

json_t *line_refuse(const char *status, const char *format, ...)
{
    char reason[REASON_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    for (char *p = reason; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
            *p = ' ';
    return json_pack("{s:s, s:s}", "status", status, "reason", reason);
}

/* Returns the reply; NULL ends the loop. */
static json_t *reply_to(const json_t *request, line_able *able, line_answer *answer, void *data,
                        int *quit)
{
    const char *op = json_string_value(json_object_get(request, "op"));
    *quit = op && strcmp(op, "quit") == 0;
    if (*quit)
        return json_pack("{s:s}", "status", "ok");
    json_t *refusal = able ? able(data) : NULL;
    if (refusal)
        return refusal;
    if (op && strcmp(op, "check") == 0)
        return json_pack("{s:s}", "status", "ok");
    if (!op || strcmp(op, "propose") != 0)
        return line_refuse("unsupported", "unknown request");
    return answer(data, request);
}

int line_serve(line_able *able, line_answer *answer, void *data)
{
    static char line[LINE_SIZE];
    int quit = 0;
    while (!quit && fgets(line, sizeof line, stdin)) {
        json_t *request = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        json_t *reply = request ? reply_to(request, able, answer, data, &quit)
                                : line_refuse("error", "the request is not a JSON object");
        json_decref(request);
        char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
        json_decref(reply);
        if (!text)
            return EXIT_FAILURE;
        int bad = printf("%s\n", text) < 0 || fflush(stdout) != 0;
        free(text);
        if (bad)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
