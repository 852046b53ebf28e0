/*
 * disassembler.h - finds NVIDIA's disassemblers and other tools
 *
 * They are not part of heed, and optional: without a disassembler the instructions are unknown.
 */
#ifndef LAB_DISASSEMBLER_H
#define LAB_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define LAB_DISASSEMBLER_PATH_SIZE 4096

typedef struct lab_disassembler {
    char path[LAB_DISASSEMBLER_PATH_SIZE];
    const char *place; /* where it was found, as a short text */
    bool object_tool;  /* cuobjdump rather than nvdisasm */
} lab_disassembler;

/* lab_disassembler_find() looks for nvdisasm, then for cuobjdump: the file that HEED_NVDISASM
 * names, which may be either; then PATH, CUDA_HOME, CUDA_PATH, virtual environments and Python
 * packages (nvidia-cuda-nvdisasm, nvidia-cuda-cuobjdump, triton), and /usr/local/cuda. Returns
 * HEED_OK; HEED_ERR_DEVICE, with advice, if there is none or HEED_NVDISASM is not a program. Starts
 * no process. */
heed_status lab_disassembler_find(lab_disassembler *tool, lab_error *error);

/* lab_tool_find() writes the path of one of NVIDIA's tools, such as "ncu", to @path. It looks in
 * the same places; HEED_NVDISASM is for nvdisasm alone. Returns false if there is none. */
bool lab_tool_find(const char *name, char *path, size_t size);

/* Maximum of arguments that lab_disassembler_arguments() writes, including the final NULL. */
#define LAB_DISASSEMBLER_ARGUMENTS 4

/* lab_disassembler_arguments() writes the command that disassembles the cubin @file to stdout in
 * the format for lab_sass_read(). The arguments point into @tool and @file. */
void lab_disassembler_arguments(const lab_disassembler *tool, const char *file,
                                const char *arguments[LAB_DISASSEMBLER_ARGUMENTS]);

#endif /* LAB_DISASSEMBLER_H */
