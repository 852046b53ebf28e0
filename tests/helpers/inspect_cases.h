/*
 * inspect_cases.h - kernels with one fault each, and the expected findings
 */
#ifndef HEED_TESTS_INSPECT_CASES_H
#define HEED_TESTS_INSPECT_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/findings.h"

/* data/inspect/FILE.cu, compiled with a macro for an architecture, and its launch. */
typedef struct inspect_case {
    const char *file;
    const char *macro; /* as passed to -D; NULL: none */
    int arch;
    int threads;
    int smem; /* dynamic */
    int grid; /* 0: unknown */
    bool opts_in;
    const char *finding; /* NULL: no finding */
    lab_severity severity;
} inspect_case;

/* Ends with a case without a file. */
extern const inspect_case inspect_cases[];

#endif /* HEED_TESTS_INSPECT_CASES_H */
