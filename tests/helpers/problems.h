/*
 * problems.h - problems and buffers for tests
 */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include <stddef.h>

#include "heed.h"

/* The problem of @spec, which must be valid, in normal form. */
heed_problem parsed(const char *spec);

/* A small one in float32 with different sizes everywhere, and defaults for everything that may be
 * left out. */
heed_problem plain_problem(void);

/* Buffers with these tensors, and nothing else. */
heed_buffers plain_buffers(const void *q, const void *k, const void *v, void *o);

/* A spec that is refused, and words of the message. */
typedef struct bad_spec {
    const char *spec, *fault;
} bad_spec;
void expect_refused(const bad_spec *specs, size_t count);

/* Specs, and how they are printed. */
void expect_printed(const char *const specs[][2], size_t count);

#endif /* PROBLEMS_H */
