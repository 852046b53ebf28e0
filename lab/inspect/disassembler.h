/*
 * disassembler.h - NVIDIA's disassemblers, found where they are installed
 *
 * They are not part of heed, and it does without: then nothing is known of the instructions.
 */
#ifndef LAB_DISASSEMBLER_H
#define LAB_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define LAB_DISASSEMBLER_PATH_SIZE 4096

typedef struct lab_disassembler {
    char path[LAB_DISASSEMBLER_PATH_SIZE];
    const char *place; /* where it was found, in a word or two */
    bool object_tool;  /* cuobjdump, and not nvdisasm */
} lab_disassembler;

/* lab_disassembler_find() looks for nvdisasm, then for cuobjdump: the file that HEED_NVDISASM
 * names, which may be either; then PATH, CUDA_HOME, CUDA_PATH, virtual environments and packages of
 * Python (nvidia-cuda-nvdisasm, nvidia-cuda-cuobjdump, triton), and /usr/local/cuda. Returns
 * HEED_OK; HEED_ERR_DEVICE, with what to do about it, if there is none or HEED_NVDISASM names no
 * program. Nothing is started. */
heed_status lab_disassembler_find(lab_disassembler *tool, lab_error *error);

/* lab_disassembler_find_named() looks for one of them, "nvdisasm" or "cuobjdump", in the same
 * places but HEED_NVDISASM. */
bool lab_disassembler_find_named(lab_disassembler *tool, const char *name);

/* As many arguments as lab_disassembler_arguments() writes at most, NULL at the end among them. */
#define LAB_DISASSEMBLER_ARGUMENTS 4

/* lab_disassembler_arguments() writes the command that disassembles the cubin @file to stdout, as
 * lab_sass_read() wants it. It points into @tool and @file. */
void lab_disassembler_arguments(const lab_disassembler *tool, const char *file,
                                const char *arguments[LAB_DISASSEMBLER_ARGUMENTS]);

#endif /* LAB_DISASSEMBLER_H */
