/*
 * point_facts.h - facts about a point before it runs, to prune points
 *
 * Facts of the compiled code (read by lab/inspect) and its device. An unknown fact excludes
 * nothing.
 */
#ifndef LAB_POINT_FACTS_H
#define LAB_POINT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/base/error.h"

typedef enum lab_fact {
    LAB_FACT_REGISTERS, /* of a thread */
    LAB_FACT_SPILLS,    /* bytes of registers that a thread spills, and loads back */
    LAB_FACT_SMEM,      /* bytes of shared memory of a block, static and dynamic */
    LAB_FACT_BLOCKS,    /* resident per multiprocessor */
    LAB_FACT_WARPS,     /* resident per multiprocessor: occupancy */
    LAB_FACTS
} lab_fact;

/* lab_fact_name() returns "registers", "spills", "smem", "blocks" or "warps". */
const char *lab_fact_name(lab_fact fact);

typedef struct lab_point_facts {
    int64_t value[LAB_FACTS]; /* -1: not known */
} lab_point_facts;

/* All facts unknown. */
lab_point_facts lab_point_facts_unknown(void);

/* lab_point_facts_worsen() merges the facts of two kernels: keeps the worse of each. */
void lab_point_facts_worsen(lab_point_facts *point_facts, const lab_point_facts *other);

/* Limits by fact: maximum or minimum, depending on the fact. */
typedef struct lab_bounds {
    int64_t value[LAB_FACTS]; /* -1: no limit */
} lab_bounds;

/* lab_bounds_standard() returns the default limits of a space: no spills, and at least one block.
 */
lab_bounds lab_bounds_standard(void);

/* lab_point_facts_within() returns true if the facts are within the limits; if not, @why, which may
 * be NULL, names fact, value and limit. */
bool lab_point_facts_within(const lab_point_facts *point_facts, const lab_bounds *limits,
                            lab_error *why);

/* A point with its time and facts. */
typedef struct lab_standing {
    double time; /* a score or seconds; less is better, INFINITY for none */
    lab_point_facts point_facts;
} lab_standing;

/* lab_point_facts_front() sets front[i] for the Pareto front of @count standings: those for which
 * no other is at least as good in time, registers, shared memory and warps, and better in one of
 * them. A point without a time is never on the front. */
void lab_point_facts_front(const lab_standing *standings, size_t count, bool *front);

#endif /* LAB_POINT_FACTS_H */
