/*
 * gate_criteria.h - what the files of `heed gate --criteria` share
 */
#ifndef CLI_GATE_CRITERIA_H
#define CLI_GATE_CRITERIA_H

#include <stdarg.h>

#include "cli/verbs/bench/bench.h"

typedef enum criterion_verdict {
    CRITERION_UNKNOWN = 0, /* it was not measured: a rival, a GPU or a tool is missing */
    CRITERION_PASS,
    CRITERION_FAIL,
    CRITERION_AMBIGUOUS, /* measured, but not well enough to tell */
    CRITERION_VERDICTS
} criterion_verdict;

#define CRITERIA 5

typedef struct criterion {
    const char *name;
    criterion_verdict verdict;
    char figure[320]; /* what was measured, or why nothing was */
} criterion;

void criterion_set(criterion *it, criterion_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* gate_code.c: of the machine code of the kernels that @bench has timed. criterion_spills()
 * compiles them once more, for what the assembler says; criterion_conflicts() lets ncu count while
 * heed runs.
 */
void criterion_spills(criterion *it, const lab_bench *bench);
void criterion_conflicts(criterion *it, const lab_bench *bench);

/* gate_criteria.c: all of it, on the problems of @args; of @bench context, peers, seconds, margin,
 * seed and what the device means have been set. CLI_FINDING if a criterion fails, CLI_ENVIRONMENT
 * if one is not known. */
cli_exit gate_criteria(lab_bench *bench, const cli_args *args);

#endif /* CLI_GATE_CRITERIA_H */
