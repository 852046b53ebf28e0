/*
 * runner.h - declarations shared by the files of the program heed_candidate (runner.c)
 */
#ifndef LAB_RUNNER_H
#define LAB_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/trial/wire.h"

/* A reply being built. All of these functions are async-signal-safe; a reply that does not fit is
 * truncated. */
typedef struct runner_line {
    size_t length;
    char text[LAB_WIRE_LINE];
} runner_line;

void runner_add(runner_line *line, const char *text);
void runner_add_number(runner_line *line, uint64_t value, unsigned base);

/* runner_say() ends the line and writes it to the laboratory, or ends the process if that is gone.
 */
void runner_say(runner_line *line);

/* runner_exhausted() returns true if an allocation of this process ever failed (runner_front.c). */
bool runner_exhausted(void);

#endif /* LAB_RUNNER_H */
