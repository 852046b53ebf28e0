/*
 * device.h - the suite for CUDA kernels: one source, with mistakes by number
 *
 * The mutants of attend.cu, and the parameters of compiling and launching it. The launch itself is
 * not part of this folder: see lab_selftest_device in lab/verify/selftest.h.
 */
#ifndef LAB_MUTANTS_DEVICE_H
#define LAB_MUTANTS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* A mistake of attend.cu, and a problem that exposes it. */
typedef struct lab_device_mutant {
    const char *name;
    const char *does;
    int mistake; /* HEED_MISTAKE; 0: none, an honest kernel */
    const char *spec;
    const char *inputs;
    const char *gate; /* the gate meant to kill it */
} lab_device_mutant;

/* lab_device_mutant_at() returns the @index-th mutant; NULL past the last. */
const lab_device_mutant *lab_device_mutant_at(size_t index);

/* lab_device_scene_at() returns the @index-th problem that the honest kernel must pass; NULL past
 * the last. */
const char *lab_device_scene_at(size_t index);

/* lab_device_source() returns the text of attend.cu, which includes headers of src/cuda/kernels. */
const char *lab_device_source(void);

/* How attend.cu is compiled and launched for a problem. */
typedef struct lab_device_define {
    const char *name;
    long long value;
} lab_device_define;
#define LAB_DEVICE_DEFINES 5

typedef struct lab_device_code {
    lab_device_define defines[LAB_DEVICE_DEFINES];
    const char *entry;
    int threads;  /* per block */
    int rows;     /* of a block */
    int64_t smem; /* dynamic shared memory per block, bytes */
} lab_device_code;

/* lab_device_code_of() returns these parameters. The code does not depend on lengths, heads and
 * strides: problems with the same head dims and causality share it. */
lab_device_code lab_device_code_of(const heed_problem *problem, int mistake);

#endif /* LAB_MUTANTS_DEVICE_H */
