/*
 * ceiling_loops.h - the multiply-add loops behind lab_ceiling_flops(), one file per instruction set
 *
 * Each round does the same number of independent multiply-adds, enough of them to hide their
 * latency on every x86-64 core so far. The factors come from memory that the compiler knows nothing
 * about and keep all values near 1, where no operation is slow.
 */
#ifndef LAB_CEILING_LOOPS_H
#define LAB_CEILING_LOOPS_H

#include <stdint.h>

typedef struct lab_ceiling_loop {
    const char *name;
    double flops; /* operations per round */
    float (*run)(int64_t rounds,
                 const float factors[2]); /* the result is of no use but must be used */
} lab_ceiling_loop;

extern const lab_ceiling_loop lab_ceiling_f32_scalar;
extern const lab_ceiling_loop lab_ceiling_f32_avx2;
extern const lab_ceiling_loop lab_ceiling_f32_avx512;
extern const lab_ceiling_loop lab_ceiling_bf16_avx512bf16;

#endif /* LAB_CEILING_LOOPS_H */
