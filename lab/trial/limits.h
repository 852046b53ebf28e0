/*
 * limits.h - the limits of a trial
 */
#ifndef LAB_LIMITS_H
#define LAB_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/* Zero in a field means its default. */
typedef struct lab_limits {
    double compile_seconds; /* 30 */
    double run_seconds;     /* 10: default for a run without a limit by the caller */
    size_t tensor_bytes; /* 256 MiB: inputs of one run; the same again for outputs and workspace */
    size_t memory_bytes; /* 256 MiB: allocations of a C candidate */
    size_t stack_bytes;  /* 8 MiB: its stack */
    bool unsafe;         /* run C candidates even if the system has no sandbox for them */
    const char *remedy;  /* how to enable that, for messages; NULL: not possible */
    const char *device;  /* of CUDA candidates: "cuda", "cuda:N"; NULL: "cuda" */
    int arch;            /* of that device, 10 * major + minor; 0: query it */
    bool (*interrupted)(void); /* called every 0.1 s while waiting: true ends it. May be NULL */
} lab_limits;

/* lab_limits_fill() returns @limits, or all defaults for NULL, with defaults filled in. */
lab_limits lab_limits_fill(const lab_limits *limits);

/* lab_limits_interrupted() calls limits->interrupted. */
bool lab_limits_interrupted(const lab_limits *limits);

#endif /* LAB_LIMITS_H */
