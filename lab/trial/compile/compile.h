/*
 * compile.h - a candidate's source made into code, by a compiler that may not do anything else
 *
 * The compiler runs in a sandbox: it can read itself, the system's headers and libraries, write one
 * folder, and reach neither the network nor other processes; it has a deadline and limits. So
 * whatever the source includes, it cannot learn of this machine.
 */
#ifndef LAB_COMPILE_H
#define LAB_COMPILE_H

#include <limits.h>

#include "lab/trial/candidate.h"
#include "lab/trial/limits.h"
#include "lab/trial/log.h"

#define LAB_CODE_MAX ((size_t)16 << 20)

typedef struct lab_code {
    unsigned char *data; /* a shared object, or a cubin */
    size_t size;
    bool ptx;                /* of CUDA: PTX, for the driver to compile */
    char log[LAB_LOG_SIZE];  /* of the compiler, without paths */
    char compiler[PATH_MAX]; /* the program */
} lab_code;

/* lab_compiler_find() writes the path of the C compiler to @path: the one in HEED_CC, or the first
 * of cc, gcc and clang in PATH. A script counts only in the system's folders: one in a folder of
 * the user's would be run with that folder within reach. False if there is none. */
bool lab_compiler_find(char path[PATH_MAX]);

/* lab_compile_c() checks and compiles a C candidate. True if @outcome is LAB_TRIAL_OK; @code is
 * to be given to lab_code_free() either way, and has the log also of a failure. Any thread, several
 * at a time. */
bool lab_compile_c(const lab_candidate *candidate, const lab_limits *limits, lab_code *code,
                   lab_trial_outcome *outcome);
/* lab_compile_cuda() does the same for a CUDA candidate and devices of @arch, by the program
 * @runner, heed_candidate_cuda. */
bool lab_compile_cuda(const lab_candidate *candidate, const lab_limits *limits, const char *runner,
                      int arch, lab_code *code, lab_trial_outcome *outcome);

void lab_code_free(lab_code *code);

/* lab_candidate_header() returns the text of heed_candidate.h. */
const char *lab_candidate_header(void);

#endif /* LAB_COMPILE_H */
