/*
 * sources.h - heed's sources, for the board, and kernels rebuilt from those on the board
 */
#ifndef LAB_BUILD_SOURCES_H
#define LAB_BUILD_SOURCES_H

#include "lab/record/record.h"

/* lab_build_sources() returns the sources of the libheed in this program. */
const lab_record_library *lab_build_sources(void);

/* lab_build_describe() fills in, for lab_record_describe(), how a CUDA kernel of heed is compiled
 * and launched, and the compiled code if it is in the cache. */
void lab_build_describe(const lab_record_trial *trial, lab_record_described *described);

/* text.c: lab_build_kernel() returns a copy of the device source @text, or of the file @name of
 * @sources if that is NULL, with #include lines replaced by the headers of @sources and the steps
 * of @problem, normalized. The caller frees it. Returns NULL, with the reason in @why, if a file is
 * missing or the kernel arguments of @sources differ from today's. */
char *lab_build_kernel(const lab_record_library *sources, const heed_problem *problem,
                       const char *name, const char *text, char *why, size_t size);

#endif /* LAB_BUILD_SOURCES_H */
