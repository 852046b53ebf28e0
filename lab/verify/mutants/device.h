/*
 * device.h - the suite where kernels are CUDA: one source with a mistake by number
 *
 * A mutant of attend.cu, and how its code is made and launched. Launching it is not part of this
 * folder: see lab_selftest_device in lab/verify/selftest.h.
 */
#ifndef LAB_MUTANTS_DEVICE_H
#define LAB_MUTANTS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* A mistake of attend.cu, and where it shows. */
typedef struct lab_device_mutant {
    const char *name;
    const char *does;
    int mistake; /* HEED_MISTAKE; 0: none, an honest kernel */
    const char *spec;
    const char *inputs;
    const char *gate; /* that is meant to kill it */
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

/* lab_device_code_of() says how. Lengths, heads and strides are no part of the code: another
 * problem of the same head dims, with a mask or without, has the same. */
lab_device_code lab_device_code_of(const heed_problem *problem, int mistake);

#endif /* LAB_MUTANTS_DEVICE_H */
