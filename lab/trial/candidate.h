/*
 * candidate.h - a proposed kernel as data, and the limits of its trial
 *
 * One source text, the values of its knobs, and the facts of its launch. A C candidate has host
 * code that runs in a sandbox; a CUDA candidate is only device code, which the laboratory launches.
 */
#ifndef LAB_CANDIDATE_H
#define LAB_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/trial/verdict.h"
#include "src/cuda/launch.h"

typedef enum lab_language {
    LAB_LANGUAGE_C =
        0, /* one file that includes "heed_candidate.h" and defines heed_candidate_run() */
    LAB_LANGUAGE_CUDA = 1 /* one file for NVRTC, whose kernel takes a heed_cuda_args (args.cuh) */
} lab_language;

/* lab_language_name() returns "c" or "cuda"; "unknown" for a value outside the enum. */
const char *lab_language_name(lab_language language);

/* A knob: the compiler gets -DNAME=VALUE. */
typedef struct lab_knob {
    const char *name; /* an identifier of at most LAB_KNOB_NAME_MAX letters */
    long long value;
} lab_knob;

#define LAB_KNOB_NAME_MAX 40
#define LAB_KNOBS_MAX 48
#define LAB_OPTIONS_MAX 32
#define LAB_SOURCE_MAX ((size_t)1 << 20) /* bytes */

typedef struct lab_candidate {
    const char *name; /* for messages */
    lab_language language;
    const char *source; /* @source_size bytes; without null bytes */
    size_t source_size;
    const lab_knob *knobs;
    size_t knob_count;
    const char *const *options; /* for the C compiler, as permitted by lab_option_allowed() */
    size_t option_count;
    heed_launch_facts launch;    /* of CUDA */
    const heed_problem *problem; /* that it is made for, normalized: it gets only problems of the
                                    same type, head dims and kind of mask. NULL: any */
} lab_candidate;

/* lab_option_allowed() returns true if a C candidate may use the compiler option @option: -O0 to
 * -O3, -march= and instruction sets, loops, vectors, relaxed floating point. */
bool lab_option_allowed(const char *option);

/* lab_candidate_check() checks all of @candidate except the content of its source. Returns true if
 * it may be compiled; else @outcome is LAB_TRIAL_REFUSED and names the field, the value and the
 * limit. */
bool lab_candidate_check(const lab_candidate *candidate, lab_trial_outcome *outcome);

/* The limits of a trial. Zero in a field means its default. */
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

#endif /* LAB_CANDIDATE_H */
