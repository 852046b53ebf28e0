/*
 * launch.h - a kernel of heed and its launch as a source for torch's load_inline()
 */
#ifndef LAB_SUITE_LAUNCH_H
#define LAB_SUITE_LAUNCH_H

#include "heed.h"
#include "lab/base/error.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"

/* lab_launch_source() returns the source of what @facts says, made for @problem, normalized, and
 * launched as for @gpu, to be freed. NULL, with @error: the kernel is launched in more than one
 * step, which the source has no words for, or there is no memory; *@status says which. */
char *lab_launch_source(const heed_cuda_facts *facts, const heed_problem *problem,
                        const heed_gpu *gpu, heed_status *status, lab_error *error);

#endif /* LAB_SUITE_LAUNCH_H */
