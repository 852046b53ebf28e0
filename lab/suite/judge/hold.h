/*
 * hold.h - the sandbox of a solution in Python, and its environment
 */
#ifndef LAB_HOLD_H
#define LAB_HOLD_H

#include <limits.h>
#include <stdbool.h>

#include "lab/trial/sandbox.h"

#define LAB_HOLD_VARIABLES 24
#define LAB_HOLD_VARIABLE_SIZE (PATH_MAX + 32)

/* The variables that a solution's libraries need, and folders of its own for what they write. */
typedef struct lab_hold_environment {
    char text[LAB_HOLD_VARIABLES][LAB_HOLD_VARIABLE_SIZE];
    const char *list[LAB_HOLD_VARIABLES + 1]; /* ends with NULL */
    int count;
} lab_hold_environment;

/* lab_hold_environment_make() fills in @all, which is zeroed, for a solution that may write to
 * @folder. */
void lab_hold_environment_make(const char *folder, lab_hold_environment *all);

/* lab_hold_sandbox() prepares a sandbox in which all files can be read, NVIDIA's devices be used,
 * and @folder be written to. False, with errno, if the system refuses. */
bool lab_hold_sandbox(const char *folder, lab_sandbox *sandbox);

#endif /* LAB_HOLD_H */
