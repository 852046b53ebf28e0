/*
 * flatten.h - a device source of the library as one text without comments
 */
#ifndef LAB_FLATTEN_H
#define LAB_FLATTEN_H

#include <stdio.h>

#include "heed.h"
#include "lab/base/error.h"

/* lab_flatten() writes the source @name, such as "attn_mma.cu", to @out with its headers in the
 * place of the lines that include them, but for program.cuh, and without comments and blank lines:
 * checks of sources that other suites make read words of comments as code. HEED_ERR_INVALID if the
 * library has no such source; HEED_ERR_NO_MEMORY. */
heed_status lab_flatten(FILE *out, const char *name, lab_error *error);

#endif /* LAB_FLATTEN_H */
