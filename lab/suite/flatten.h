/*
 * flatten.h - a device source of the library as one text, with headers and without comments
 */
#ifndef LAB_FLATTEN_H
#define LAB_FLATTEN_H

#include <stdio.h>

#include "heed.h"
#include "lab/base/error.h"

/* lab_flatten() writes the source @name, such as "attn_mma.cu", to @out with #include lines
 * replaced by the headers, except program.cuh, and without comments and blank lines: source checks
 * of other suites take words in comments for code. HEED_ERR_INVALID if the library has no such
 * source; HEED_ERR_NO_MEMORY. */
heed_status lab_flatten(FILE *out, const char *name, lab_error *error);

#endif /* LAB_FLATTEN_H */
