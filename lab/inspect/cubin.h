/*
 * cubin.h - reads the resource usage of kernels from a cubin
 *
 * A cubin is an ELF file. Its sections have the resources of each kernel: registers, stack and
 * limits in .nv.info, shared memory and parameters in the sizes of .nv.shared and .nv.constant0. No
 * tool or GPU is needed. Spills are not in the file, only in the assembler's log.
 */
#ifndef LAB_CUBIN_H
#define LAB_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest kernel name that is kept; a longer one is truncated, and its code and spills are unknown.
 * Names of templates have thousands of characters. */
#define LAB_CUBIN_NAME_SIZE 8192

#define LAB_CUBIN_COMPILER_SIZE 32

/* One launchable kernel. Sizes are in bytes. */
typedef struct lab_cubin_kernel {
    char name[LAB_CUBIN_NAME_SIZE];
    int registers;        /* per thread */
    int barriers;         /* named ones, of 16 */
    int max_threads;      /* per block, from __launch_bounds__; 0: not declared */
    int shape[3];         /* required block shape, x, y, z; or 0 */
    int64_t stack;        /* per thread, in local memory: arrays and spills */
    int64_t spill_stores; /* -1: unknown, see lab_cubin_spills() */
    int64_t spill_loads;
    int64_t smem;     /* static shared memory, without the system's part */
    int64_t params;   /* of its parameters */
    int64_t constant; /* of constant bank 0, which begins with launch data */
    int64_t code;
} lab_cubin_kernel;

typedef struct lab_cubin {
    int arch;                               /* compute capability, 10 * major + minor */
    char compiler[LAB_CUBIN_COMPILER_SIZE]; /* version of the assembler, such as V13.0.88; empty if
                                               the file has none */
    lab_cubin_kernel *kernels;
    size_t count;
} lab_cubin;

/* lab_cubin_read() reads the @size bytes at @data, which need not be valid; @name is their name in
 * messages. Returns HEED_OK with a @cubin to be freed; HEED_ERR_CORRUPT if it is not a cubin or
 * damaged; HEED_ERR_UNSUPPORTED for another kind of ELF file; HEED_ERR_NO_MEMORY. After a failure
 * @cubin is empty. */
heed_status lab_cubin_read(lab_cubin *cubin, const void *data, size_t size, const char *name,
                           lab_error *error);
void lab_cubin_free(lab_cubin *cubin);

/* lab_cubin_spills() reads the spills of each kernel from @log, the assembler's output with -v.
 * Kernels that are not in it remain unchanged. */
void lab_cubin_spills(lab_cubin *cubin, const char *log);

#endif /* LAB_CUBIN_H */
