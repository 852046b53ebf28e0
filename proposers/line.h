/*
 * line.h - shared by the proposers: one JSON line in, one JSON line out (docs/proposers.md)
 */
#ifndef PROPOSERS_LINE_H
#define PROPOSERS_LINE_H

#include <jansson.h>

/* Answers one request, which the caller owns. Returns a reply, or NULL if there is no memory. */
typedef json_t *line_answer(void *data, const json_t *request);

/* Returns NULL if the proposer can answer requests, else a reply with the reason. */
typedef json_t *line_able(const void *data);

/* line_serve() reads requests from stdin and writes the reply of @able, or else of @answer, to each
 * to stdout, until a quit request or the end of input. @able may be NULL. Returns the exit status
 * of the process. */
int line_serve(line_able *able, line_answer *answer, void *data);

/* line_refuse() returns a reply with that status, "unsupported" or "error", and reason. */
json_t *line_refuse(const char *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* PROPOSERS_LINE_H */
