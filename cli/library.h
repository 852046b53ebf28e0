/*
 * library.h - heed's own sources, for the board; and what the board has of them, made to run again
 */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "pair.h"
#include "record/record.h"
#include "trial/launch.h"

/* cli_library_sources() returns the sources that this program was built from. */
const lab_record_library *cli_library_sources(void);

/* cli_library_describe() says how a CUDA kernel of heed's own is compiled and launched, for
 * lab_record_describe(). */
bool cli_library_describe(const lab_record_trial *trial, char *words, size_t size);

#endif /* CLI_LIBRARY_H */
