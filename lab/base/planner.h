/*
 * planner.h - queries to the library's planner: the CPU features that it distinguishes, and the
 * candidate that a plan executes
 */
#ifndef LAB_PLANNER_H
#define LAB_PLANNER_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"

/* lab_cpu_feature() returns the name of the @index-th CPU feature, as heed_options.cpu takes it,
 * those that imply no other first; NULL past the end. */
const char *lab_cpu_feature(size_t index);

/* lab_cpu_has() returns true if @features, names joined by "+" as heed_context_cpu() returns them,
 * contain the feature @name or one that implies it. False for NULL, and if a name is unknown. */
bool lab_cpu_has(const char *features, const char *name);

/* lab_plan_chosen() returns the candidate that @plan executes; predicted and measured are -1 if the
 * planner did not consider it. */
heed_candidate lab_plan_chosen(const heed_plan *plan);

#endif /* LAB_PLANNER_H */
