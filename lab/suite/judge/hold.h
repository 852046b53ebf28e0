/*
 * hold.h - the sandbox and environment of a Python solution
 */
#ifndef LAB_HOLD_H
#define LAB_HOLD_H

#include <limits.h>
#include <stdbool.h>

#include "lab/trial/sandbox.h"

#define LAB_HOLD_VARIABLES 24
#define LAB_HOLD_VARIABLE_SIZE (PATH_MAX + 32)

/* The variables that a solution's libraries need, with private folders for their files. */
typedef struct lab_hold_environment {
    char text[LAB_HOLD_VARIABLES][LAB_HOLD_VARIABLE_SIZE];
    const char *list[LAB_HOLD_VARIABLES + 1]; /* ends with NULL */
    int count;
} lab_hold_environment;

/* lab_hold_environment_make() fills in the zeroed @all for a solution that may write to @folder. */
void lab_hold_environment_make(const char *folder, lab_hold_environment *all);

/* lab_hold_sandbox() prepares a sandbox with read access to all files, access to NVIDIA's devices,
 * and write access to @folder. Returns false, with errno, if the system refuses. */
bool lab_hold_sandbox(const char *folder, lab_sandbox *sandbox);

#endif /* LAB_HOLD_H */
