/*
 * text.h - the text of solutions: templates, one of heed's kernels as one text, and its launch
 */
#ifndef LAB_SUITE_TEXT_H
#define LAB_SUITE_TEXT_H

#include <stdio.h>

#include "heed.h"
#include "lab/base/error.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"

/* The templates, each a file of lab/suite/texts/. */
extern const char lab_text_library[], lab_text_kernel[], lab_text_multihead[];
extern const char lab_text_forward[], lab_text_launch[], lab_text_maps[];

/* A place, @NAME@ in a text, and its replacement. */
typedef struct lab_place {
    const char *name;
    const char *text;
} lab_place;

/* lab_fill() writes @text to @out with the @count @places filled in. Unknown names stay unchanged.
 */
void lab_fill(FILE *out, const char *text, const lab_place *places, size_t count);

/* lab_text_of() returns the output of @write as a new string, which the caller frees. NULL, with
 * @error and *@status, if that fails, or there is no memory for @what. */
typedef heed_status lab_writer(FILE *out, const void *data, lab_error *error);
char *lab_text_of(lab_writer *write, const void *data, const char *what, heed_status *status,
                  lab_error *error);

/* lab_flatten() writes the source @name, such as "attn_mma.cu", to @out with #include lines
 * replaced by the headers, except program.cuh, and without comments and blank lines: source checks
 * of other suites take words in comments for code. HEED_ERR_INVALID if the library has no such
 * source; HEED_ERR_NO_MEMORY. */
heed_status lab_flatten(FILE *out, const char *name, lab_error *error);

/* lab_launch_source() returns the source of the kernel @facts, compiled for @problem, normalized,
 * with the launch parameters for @gpu, for torch's load_inline(); the caller frees it. NULL, with
 * @error and *@status, if the kernel needs more than one launch, which is not supported, or there
 * is no memory. */
char *lab_launch_source(const heed_cuda_facts *facts, const heed_problem *problem,
                        const heed_gpu *gpu, heed_status *status, lab_error *error);

#endif /* LAB_SUITE_TEXT_H */
