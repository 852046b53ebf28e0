/*
 * sources.h - heed's own sources, for the board; and what the board has of them, made to run again
 */
#ifndef LAB_BUILD_SOURCES_H
#define LAB_BUILD_SOURCES_H

#include "lab/record/record.h"

/* lab_build_sources() returns the sources of the libheed in this program. */
const lab_record_library *lab_build_sources(void);

/* lab_build_describe() says how a CUDA kernel of heed's own is compiled and launched, and what
 * came of compiling it if that is in the cache of compiled kernels, for lab_record_describe(). */
void lab_build_describe(const lab_record_trial *trial, lab_record_described *described);

/* text.c: lab_build_kernel() writes the device source @text, or if that is NULL that of the file
 * @name of @sources, to a new text, to be freed by the caller. The headers of @sources and the
 * steps of @problem, normalized, take the place of its #include lines. Returns NULL, with the
 * reason in @why, if a file is missing or kernels are launched with other arguments now than
 * @sources says. */
char *lab_build_kernel(const lab_record_library *sources, const heed_problem *problem,
                       const char *name, const char *text, char *why, size_t size);

#endif /* LAB_BUILD_SOURCES_H */
