/*
 * problems.h - problems for tests
 */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include "heed.h"

/* The problem of @spec, which must be valid, in normal form. */
heed_problem parsed(const char *spec);

/* A small one in float32 with different sizes everywhere, and defaults for everything that may be
 * left out. */
heed_problem plain_problem(void);

#endif /* PROBLEMS_H */
