/*
 * problems.h - problems for tests
 */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include "heed.h"

/* The problem of @spec, which has to be a good one, in normal form. */
heed_problem parsed(const char *spec);

/* A small one in float32 where every size is another, with nothing written out that may be left
 * out. */
heed_problem plain_problem(void);

#endif /* PROBLEMS_H */
