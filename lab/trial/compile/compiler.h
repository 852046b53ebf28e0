/*
 * compiler.h - the C compiler, in a sandbox, for the files that make code
 */
#ifndef LAB_COMPILER_H
#define LAB_COMPILER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/limits.h"
#include "lab/trial/verdict.h"

/* One run of it. */
typedef struct lab_compiler_task {
    const char *compiler;         /* path of the program, as lab_compiler_find() says */
    const char *const *arguments; /* behind the program's name; 256 at most */
    size_t argument_count;
    const char *folder;       /* where it works, and all that it may write */
    const lab_limits *limits; /* filled in */
    char *log;                /* LAB_LOG_SIZE bytes for what it says, without paths */
} lab_compiler_task;

/* lab_compiler_run() runs it to its end. True if it had nothing to refuse; else @outcome has its
 * first error, or why it could not run. Any thread, several at a time. */
bool lab_compiler_run(const lab_compiler_task *task, lab_trial_outcome *outcome);

/* lab_compiler_paths() writes the files and folders that the compiler @path may read: the system's,
 * and of one that is installed elsewhere itself and what lies beside it by convention, never all of
 * a folder that holds other things too. Returns how many (compiler_find.c). */
#define LAB_COMPILER_PATHS 16
size_t lab_compiler_paths(const char *path, char paths[LAB_COMPILER_PATHS][PATH_MAX]);

#endif /* LAB_COMPILER_H */
