/*
 * planner.h - questions of the laboratory to the library's planner: the CPU features that it
 * tells apart, and the candidate that a plan executes
 */
#ifndef LAB_PLANNER_H
#define LAB_PLANNER_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"

/* lab_cpu_feature() returns the name of the @index-th CPU feature, as heed_options.cpu takes it,
 * those that imply no other one first; NULL past the end. */
const char *lab_cpu_feature(size_t index);

/* lab_cpu_has() says whether @features, a word of heed_context_cpu() such as "avx512bf16" with
 * names joined by "+", have the feature @name, or one that implies it. False for a NULL, and where
 * one of the names is unknown. */
bool lab_cpu_has(const char *features, const char *name);

/* lab_plan_chosen() returns the candidate that @plan executes, as the planner sees it; predicted
 * and measured are -1 where the planner did not look at it. */
heed_candidate lab_plan_chosen(const heed_plan *plan);

#endif /* LAB_PLANNER_H */
