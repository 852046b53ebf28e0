/*
 * runner.h - declarations shared by the files of the program heed_candidate (runner.c)
 */
#ifndef LAB_RUNNER_H
#define LAB_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/trial/wire.h"

/* An answer that is being put together. All of these are async-signal-safe; an answer that does not
 * fit is cut. */
typedef struct runner_line {
    size_t length;
    char text[LAB_WIRE_LINE];
} runner_line;

void runner_add(runner_line *line, const char *text);
void runner_add_number(runner_line *line, uint64_t value, unsigned base);

/* runner_say() ends the line and writes it to the laboratory, or ends the process if nobody
 * listens. */
void runner_say(runner_line *line);

/* runner_exhausted() says whether memory was ever refused to this process (runner_front.c). */
bool runner_exhausted(void);

#endif /* LAB_RUNNER_H */
