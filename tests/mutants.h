/*
 * mutants.h - kernels to try the gates on: wrong ones that must be killed, honest ones that must
 * pass
 */
#ifndef MUTANTS_H
#define MUTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"

typedef void mutant_fn(const heed_problem *problem, const heed_buffers *buffers);

/* A wrong kernel, and where that must show. */
typedef struct mutant {
    const char *name;
    mutant_fn *run;
    const char *spec;
    const char *inputs;
    const char *gate; /* that must kill it; others may too. "executes" for a crash or a hang */
    const char *text; /* that the reason must contain */
    bool random;      /* it does not claim to be deterministic */
    bool unlocked;    /* inputs are not write-protected */
    size_t workspace; /* bytes */
} mutant;

/* An odd but honest kernel. */
typedef struct oddity {
    const char *name;
    mutant_fn *run;
    bool random;
    size_t workspace;
} oddity;

/* Tables that end with a NULL name. */
extern const mutant mutants[];
extern const oddity oddities[];

#endif /* MUTANTS_H */
