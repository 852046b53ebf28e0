/*
 * compiler.h - runs the C compiler in a sandbox
 */
#ifndef LAB_COMPILER_H
#define LAB_COMPILER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/candidate.h"

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

#endif /* LAB_COMPILER_H */
