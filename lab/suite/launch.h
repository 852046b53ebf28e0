/*
 * launch.h - one of heed's kernels and its launch as a source for torch's load_inline()
 */
#ifndef LAB_SUITE_LAUNCH_H
#define LAB_SUITE_LAUNCH_H

#include "heed.h"
#include "lab/base/error.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"

/* lab_launch_source() returns the source of the kernel @facts, compiled for @problem, normalized,
 * with the launch parameters for @gpu; the caller frees it. NULL, with @error and *@status, if the
 * kernel needs more than one launch, which is not supported, or there is no memory. */
char *lab_launch_source(const heed_cuda_facts *facts, const heed_problem *problem,
                        const heed_gpu *gpu, heed_status *status, lab_error *error);

#endif /* LAB_SUITE_LAUNCH_H */
