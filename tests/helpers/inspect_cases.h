/*
 * inspect_cases.h - kernels with one fault each, and what must be found in them
 */
#ifndef HEED_TESTS_INSPECT_CASES_H
#define HEED_TESTS_INSPECT_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/findings.h"

/* data/inspect/FILE.cu, compiled with a macro for an architecture, and how it is launched. */
typedef struct inspect_case {
    const char *file;
    const char *macro; /* as -D takes it; NULL: none */
    int arch;
    int threads;
    int smem; /* dynamic */
    int grid; /* 0: not said */
    bool opts_in;
    const char *finding; /* NULL: none at all */
    lab_severity severity;
} inspect_case;

/* Ends with a case without a file. */
extern const inspect_case inspect_cases[];

#endif /* HEED_TESTS_INSPECT_CASES_H */
