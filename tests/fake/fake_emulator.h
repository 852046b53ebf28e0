/*
 * fake_emulator.h - kernels that the fake driver runs, on the emulator of CUDA kernels
 *
 * If fake_cuda.emulates is set, the fake compiler compiles the programs for which tests/emulator
 * has a description, with the C compiler and the options that it was given, to a shared library.
 * The driver loads this library as a module, and launches of its functions run on the emulator,
 * which is stricter than a device (emulator/emulator.h). A run that the emulator ends, or in which
 * it finds a race or a read of uninitialized shared memory, writes the reason to stderr, and the
 * device is lost. All other programs are accepted, and do nothing. FAKE_CUDA_TRACE names a file
 * that gets the function and the number of blocks of each launch.
 */
#ifndef FAKE_EMULATOR_H
#define FAKE_EMULATOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_cuda.h"

/* ---- The compiler ---- */

/* A program: files in a folder, and after its compilation a shared library. */
typedef struct fake_program {
    char folder[PATH_MAX]; /* "": the emulator has no description of it */
    char stem[64];         /* name of the source, without the suffix */
    char *code;
    size_t size;
    char log[4096]; /* the compiler's messages, if it failed */
} fake_program;

/* fake_program_write() writes the source @name and its headers to a new folder if the emulator has
 * a description of it. Returns false on failure. */
bool fake_program_write(fake_program *program, const char *source, const char *name,
                        int header_count, const char *const *headers,
                        const char *const *header_names);

/* fake_program_compile() compiles it with those of the options that define macros. Returns false if
 * it does not compile. */
bool fake_program_compile(fake_program *program, int option_count, const char *const *options);

/* fake_temporary() writes the template of a temporary path, for mkstemp() or mkdtemp(). */
void fake_temporary(char path[PATH_MAX]);

/* fake_program_remove() removes the folder and frees the code. */
void fake_program_remove(fake_program *program);

/* ---- The device ---- */

/* A function that the emulator can run. */
typedef struct fake_code {
    void (*kernel)(const void *args); /* NULL: it does nothing */
    size_t args_size;
    uint32_t cluster; /* blocks per cluster; 0: none */
    bool mapped;      /* the arguments are a heed_cuda_mapped_args */
} fake_code;

/* fake_library_open() loads @image, an ELF file; NULL if it is not a shared library, which is not
 * an error. Close it with dlclose(). */
void *fake_library_open(const char *image);

/* fake_library_code() returns the function @name of @library, which may be NULL. */
fake_code fake_library_code(void *library, const char *name);

/* fake_emulate() runs a launch of @code to its end. Returns false on an error. */
bool fake_emulate(const fake_code *code, const fake_launch *launch);

#endif /* FAKE_EMULATOR_H */
