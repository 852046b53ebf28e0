/*
 * program.h - the programs that trials start, which lie beside the one that is running
 */
#ifndef LAB_PROGRAM_H
#define LAB_PROGRAM_H

#include <limits.h>

#include "lab/trial/verdict.h"

#define LAB_RUNNER_C "heed_candidate"
#define LAB_RUNNER_CUDA "heed_candidate_cuda"

/* lab_program_find() writes the path of the program @name to @path: in the folder of the running
 * program, in a build tree, or where an installation puts it. */
bool lab_program_find(const char *name, char path[PATH_MAX], lab_trial_outcome *outcome);

#endif /* LAB_PROGRAM_H */
