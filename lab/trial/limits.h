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
    double run_seconds;     /* 10: of a run for which its caller names none */
    size_t tensor_bytes;    /* 256 MiB: inputs of one run, and as much for outputs with workspace */
    size_t memory_bytes;    /* 256 MiB: that a C candidate may allocate */
    size_t stack_bytes;     /* 8 MiB: its stack */
    bool unsafe;            /* run C candidates also where the system cannot hold them */
    const char *remedy;     /* how a caller's user says so, for messages; NULL: not at all */
    const char *device;     /* of CUDA candidates: "cuda", "cuda:N"; NULL: "cuda" */
    int arch;               /* of that device, 10 * major + minor; 0: it is asked */
    bool (*interrupted)(void); /* asked every 0.1 s while waiting: true ends it. May be NULL */
} lab_limits;

/* lab_limits_fill() returns @limits, or all defaults for NULL, with every default written out. */
lab_limits lab_limits_fill(const lab_limits *limits);

/* lab_limits_interrupted() asks limits->interrupted. */
bool lab_limits_interrupted(const lab_limits *limits);

#endif /* LAB_LIMITS_H */
