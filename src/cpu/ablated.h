/*
 * ablated.h - degraded builds of CPU kernels, to see the cost of their parts
 *
 * The kernels' own sources, built anew with HEED_ABLATE (cuda/kernels/ablate.cuh). They are in a
 * library of their own, heed_ablated, which tools link and applications do not.
 */
#ifndef HEED_CPU_ABLATED_H
#define HEED_CPU_ABLATED_H

#include <stdbool.h>

#include "heed.h"

/* heed_cpu_ablated() says whether the kernel @name, with or without a config, has a build with
 * @ablation, an ABLATE_ number; with ABLATE_NONE and ABLATE_DELAY every CPU kernel has. */
bool heed_cpu_ablated(const char *name, int ablation);

/* heed_cpu_ablated_unfit() says why that build is no other than the kernel for @problem, which is
 * normalized; NULL if it is. */
const char *heed_cpu_ablated_unfit(const char *name, int ablation, const heed_problem *problem);

/* heed_plan_create_ablated() makes a plan for @problem of the CPU kernel @name, with a config or
 * without, in its build with @ablation. With ABLATE_DELAY every task takes longer by @delay of its
 * time. Returns as heed_plan_create_named() does; HEED_ERR_UNSUPPORTED if there is no such build.
 */
heed_status heed_plan_create_ablated(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name, int ablation,
                                     double delay);

#endif /* HEED_CPU_ABLATED_H */
