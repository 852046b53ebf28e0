/*
 * ablated.h - degraded builds of CPU kernels (ablations), to measure the cost of their parts
 *
 * The kernels' sources, built again with HEED_ABLATE (ablation.h): once for all ablations that are
 * a choice outside of inner loops (ABLATE_CHOSEN), and once for each one that needs the compiler.
 * They are in a separate library, heed_ablated, which tools link and applications do not.
 */
#ifndef HEED_CPU_ABLATED_H
#define HEED_CPU_ABLATED_H

#include <stdbool.h>

#include "heed.h"

/* heed_cpu_ablated() returns true if the kernel @name, with or without a config, has a build with
 * @ablation, an ABLATE_ number; every CPU kernel has ABLATE_NONE and ABLATE_DELAY. */
bool heed_cpu_ablated(const char *name, int ablation);

/* heed_cpu_ablated_unfit() returns why that build does not differ from the kernel for @problem,
 * which is normalized; NULL if it does. */
const char *heed_cpu_ablated_unfit(const char *name, int ablation, const heed_problem *problem);

/* heed_plan_create_ablated() makes a plan for @problem with the CPU kernel @name, with or without a
 * config, in its build with @ablation. With ABLATE_DELAY every task takes longer by the fraction
 * @delay of its time. Returns as heed_plan_create_named() does; HEED_ERR_UNSUPPORTED if there is no
 * such build. */
heed_status heed_plan_create_ablated(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name, int ablation,
                                     double delay);

#endif /* HEED_CPU_ABLATED_H */
