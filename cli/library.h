/*
 * library.h - heed's own sources, for the board; and what the board has of them, made to run again
 */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "bench/pair.h"
#include "record/record.h"
#include "trial/launch.h"

/* cli_library_sources() returns the sources that this program was built from. */
const lab_record_library *cli_library_sources(void);

/* cli_library_describe() says how a CUDA kernel of heed's own is compiled and launched, and what
 * came of compiling it if that is in the cache of compiled kernels, for lab_record_describe(). */
void cli_library_describe(const lab_record_trial *trial, lab_record_described *described);

/* library_text.c: cli_library_kernel() writes the device source @text, or if that is NULL that of
 * the file @name of @sources, with the headers of @sources in the place of its #include lines, to a
 * new text, to be freed by the caller. NULL, with the reason in @why, if a file is missing or
 * kernels are launched with other arguments now than @sources says. */
char *cli_library_kernel(const lab_record_library *sources, const char *name, const char *text,
                         char *why, size_t size);

#endif /* CLI_LIBRARY_H */
