/*
 * cubin.h - the resource usage of a compiled kernel, read from the machine code's own file
 *
 * A cubin is an ELF file. Its sections have a kernel's needs: registers, stack and limits
 * in .nv.info, shared memory and parameters in the sizes of .nv.shared and .nv.constant0. No tool
 * and no GPU is needed. Spills are not in the file; they are told by the assembler's log.
 */
#ifndef LAB_CUBIN_H
#define LAB_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest name of a kernel that is kept; a longer one is cut, and its code and spills are unknown.
 * Those of templates have thousands of characters. */
#define LAB_CUBIN_NAME_SIZE 8192

#define LAB_CUBIN_COMPILER_SIZE 32

/* One kernel that can be launched. Sizes are in bytes. */
typedef struct lab_cubin_kernel {
    char name[LAB_CUBIN_NAME_SIZE];
    int registers;        /* per thread */
    int barriers;         /* named ones, of 16 */
    int max_threads;      /* per block, that it was compiled for; 0: not said */
    int shape[3];         /* of a block, x, y, z, the only one that it may be launched with; or 0 */
    int64_t stack;        /* per thread, in local memory: arrays and spills */
    int64_t spill_stores; /* -1: unknown, see lab_cubin_spills() */
    int64_t spill_loads;
    int64_t smem;     /* static shared memory, without what the system reserves */
    int64_t params;   /* of its parameters */
    int64_t constant; /* of constant bank 0, which begins with the launch's own data */
    int64_t code;
} lab_cubin_kernel;

typedef struct lab_cubin {
    int arch;                               /* compute capability, 10 * major + minor */
    char compiler[LAB_CUBIN_COMPILER_SIZE]; /* version of the assembler, such as V13.0.88; empty if
                                               the file has none */
    lab_cubin_kernel *kernels;
    size_t count;
} lab_cubin;

/* lab_cubin_read() reads the @size bytes at @data, which may hold anything; @name says in messages
 * what they are. Returns HEED_OK with a @cubin to be freed; HEED_ERR_CORRUPT if it is no cubin or a
 * damaged one; HEED_ERR_UNSUPPORTED for an ELF file of another kind; HEED_ERR_NO_MEMORY. After a
 * failure @cubin is empty. */
heed_status lab_cubin_read(lab_cubin *cubin, const void *data, size_t size, const char *name,
                           lab_error *error);
void lab_cubin_free(lab_cubin *cubin);

/* lab_cubin_spills() takes the spills of each kernel from @log, what the assembler said under -v.
 * Kernels that it does not speak of stay as they are. */
void lab_cubin_spills(lab_cubin *cubin, const char *log);

#endif /* LAB_CUBIN_H */
