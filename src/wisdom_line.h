/*
 * wisdom_line.h - wisdom line by line, for tools that show it and add to it
 *
 * The functions for applications in heed.h keep the lines that match the machine and drop the
 * others.
 */
#ifndef HEED_WISDOM_LINE_H
#define HEED_WISDOM_LINE_H

#include <stdbool.h>

#include "heed.h"

/* One line of a wisdom text. Texts are valid until the visitor returns. */
typedef struct heed_wisdom_line {
    size_t number; /* in the text, from 1 */
    const heed_problem *problem;
    const char *device, *cpu, *threads, *build;
    const char *kernel; /* with its config */
    double seconds;
    heed_effort effort;
    const char *why_not; /* which column does not match the context; NULL: the line would be
                            taken */
} heed_wisdom_line;
typedef void heed_wisdom_visitor(void *data, const heed_wisdom_line *line);

/* heed_wisdom_visit() calls visit(data, line) for each line of @text, of @length bytes, if the
 * whole text is valid; @source names its origin in messages. Nothing is added to @context. Returns
 * the same as heed_wisdom_import(). */
heed_status heed_wisdom_visit(heed_context *context, const char *source, const char *text,
                              size_t length, heed_wisdom_visitor *visit, void *data);

/* heed_wisdom_learn() adds the choice of @kernel, a name with its config, for @problem, measured as
 * @seconds on the device of @context. It counts as HEED_PATIENT. Returns HEED_OK; HEED_ERR_INVALID
 * if there is no such kernel or config, or @seconds is not above 0; HEED_ERR_UNSUPPORTED if it
 * cannot run the problem on this machine; HEED_ERR_NO_MEMORY. */
heed_status heed_wisdom_learn(heed_context *context, const heed_problem *problem,
                              const char *kernel, double seconds);

/* heed_wisdom_kernel() returns true if @name names a kernel and one of its configs, or a kernel
 * that has no configs. */
bool heed_wisdom_kernel(const char *name);

/* heed_wisdom_build() returns the text that this library writes into the build column. */
const char *heed_wisdom_build(void);

#endif /* HEED_WISDOM_LINE_H */
