/*
 * compile.h - compiles a candidate's source in a sandbox
 *
 * The compiler runs in a sandbox with a deadline and limits: it can read only itself and the
 * system's headers and libraries, write one folder, and has no access to the network or other
 * processes. So no source can read files of this machine.
 */
#ifndef LAB_COMPILE_H
#define LAB_COMPILE_H

#include <limits.h>

#include "lab/trial/candidate.h"
#include "lab/trial/log.h"

#define LAB_CODE_MAX ((size_t)16 << 20)

typedef struct lab_code {
    unsigned char *data; /* a shared object, or a cubin */
    size_t size;
    bool ptx;                /* for CUDA: PTX, to be compiled by the driver */
    char log[LAB_LOG_SIZE];  /* the compiler's log, without paths */
    char compiler[PATH_MAX]; /* the compiler's path */
} lab_code;

/* lab_compiler_find() writes the path of the C compiler to @path: HEED_CC, or the first of cc, gcc
 * and clang in PATH. A script is accepted only in the system's folders, since one in a user's
 * folder would need access to that folder. Returns false if there is none. */
bool lab_compiler_find(char path[PATH_MAX]);

/* lab_compile_c() checks and compiles a C candidate. Returns true if @outcome is LAB_TRIAL_OK. Free
 * @code with lab_code_free() in either case; it has the log even after a failure. Thread-safe. */
bool lab_compile_c(const lab_candidate *candidate, const lab_limits *limits, lab_code *code,
                   lab_trial_outcome *outcome);
/* lab_compile_cuda() does the same for a CUDA candidate and devices of @arch, with the program
 * @runner, heed_candidate_cuda. */
bool lab_compile_cuda(const lab_candidate *candidate, const lab_limits *limits, const char *runner,
                      int arch, lab_code *code, lab_trial_outcome *outcome);

void lab_code_free(lab_code *code);

/* lab_candidate_header() returns the text of heed_candidate.h. */
const char *lab_candidate_header(void);

/* One run of the compiler. */
typedef struct lab_compiler_task {
    const char *compiler;         /* path of the program, from lab_compiler_find() */
    const char *const *arguments; /* after the program's name; at most 256 */
    size_t argument_count;
    const char *folder;       /* its working folder, the only one that it may write to */
    const lab_limits *limits; /* with defaults filled in */
    char *log;                /* LAB_LOG_SIZE bytes for its output, without paths */
} lab_compiler_task;

/* lab_compiler_run() runs it to the end. Returns true if it succeeded; else @outcome has its first
 * error, or the reason why it could not run. Thread-safe. */
bool lab_compiler_run(const lab_compiler_task *task, lab_trial_outcome *outcome);

/* lab_compiler_paths() writes the files and folders that the compiler @path may read: the system's,
 * and for one installed elsewhere its own folders by convention, never a folder with unrelated
 * files. Returns their number (compiler_find.c). */
#define LAB_COMPILER_PATHS 16
size_t lab_compiler_paths(const char *path, char paths[LAB_COMPILER_PATHS][PATH_MAX]);

#endif /* LAB_COMPILE_H */
