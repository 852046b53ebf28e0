/*
 * declare.h - the launch declaration in a CUDA source
 *
 *     (heed:launch entry=attend threads=32*WARPS rows=16*WARPS smem=KEYS*HEED_DIM_QK*2)
 *
 * with C's comment signs in place of the parentheses, in one comment. Each word is a field of a
 * heed_launch_facts and its value: the name of the kernel, else an expression (expression.h)
 * without spaces, over macros that the source defines as plain numbers (#define WARPS 4) and those
 * that it is compiled with: HEED_TYPE (a heed_type), HEED_CAUSAL (there is a mask), HEED_DIM_QK,
 * HEED_DIM_V, HEED_HIDES_FIRST (the mask hides the first keys of some rows), HEED_CHUNKED (there
 * are chunks). entry, threads and rows are required; the others default to 0, splits to 1.
 */
#ifndef LAB_DECLARE_H
#define LAB_DECLARE_H

#include "heed.h"
#include "lab/base/error.h"
#include "lab/trial/candidate.h"

#define LAB_DECLARED_KNOBS 6

typedef struct lab_declared {
    heed_launch_facts launch; /* entry points into this struct: do not copy it */
    char entry[LAB_KNOB_NAME_MAX + 1];
    lab_knob knobs[LAB_DECLARED_KNOBS]; /* values that the source is compiled with */
} lab_declared;

/* lab_declare_read() reads the launch declaration of @source for problems of the kind of @problem:
 * its type, head dims, and kind of mask. Returns HEED_OK; HEED_ERR_INVALID if it is missing or
 * invalid, with the word in @error. */
heed_status lab_declare_read(const char *source, const heed_problem *problem,
                             lab_declared *declared, lab_error *error);

/* lab_declare_same_kind() returns true if the same code serves both problems. */
bool lab_declare_same_kind(const heed_problem *a, const heed_problem *b);

#endif /* LAB_DECLARE_H */
