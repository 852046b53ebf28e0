/*
 * declare.h - how a CUDA source says itself that its kernel is launched
 *
 *     (heed:launch entry=attend threads=32*WARPS rows=16*WARPS smem=KEYS*HEED_DIM_QK*2)
 *
 * with C's comment signs in place of the parentheses, in one comment. Each word is a field of a
 * heed_launch_facts and its value: the name of the kernel, else an expression (expression.h)
 * without blanks, over what the source defines as a plain number (#define WARPS 4) and what it is
 * compiled for: HEED_TYPE (a heed_type), HEED_CAUSAL (there is a mask), HEED_DIM_QK, HEED_DIM_V,
 * HEED_HIDES_FIRST (the mask hides first keys of some rows), HEED_CHUNKED (there are chunks).
 * entry, threads and rows must be there; without the others there are none, and one split.
 */
#ifndef LAB_DECLARE_H
#define LAB_DECLARE_H

#include "heed.h"
#include "lab/base/error.h"
#include "lab/trial/candidate.h"

#define LAB_DECLARED_KNOBS 6

typedef struct lab_declared {
    heed_launch_facts launch; /* its entry lies in this struct: do not copy it */
    char entry[LAB_KNOB_NAME_MAX + 1];
    lab_knob knobs[LAB_DECLARED_KNOBS]; /* that the source is compiled for */
} lab_declared;

/* lab_declare_read() reads what @source says of its launch for problems of the kind of @problem:
 * its type, head dims, and kind of mask. Returns HEED_OK; HEED_ERR_INVALID if it says
 * nothing, or what cannot be understood, with the word in @error. */
heed_status lab_declare_read(const char *source, const heed_problem *problem,
                             lab_declared *declared, lab_error *error);

/* lab_declare_same_kind() says whether the same code serves both problems. */
bool lab_declare_same_kind(const heed_problem *a, const heed_problem *b);

#endif /* LAB_DECLARE_H */
