/*
 * point_facts.h - facts about a point before it runs, and which points need not run
 *
 * Facts of the compiled code (lab/inspect reads them) and of the device that it is for. A fact that
 * is not known rules nothing out.
 */
#ifndef LAB_POINT_FACTS_H
#define LAB_POINT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/base/error.h"

typedef enum lab_fact {
    LAB_FACT_REGISTERS, /* of a thread */
    LAB_FACT_SPILLS,    /* bytes that a thread stores to memory for want of registers, and loads */
    LAB_FACT_SMEM,      /* bytes of shared memory of a block, static and dynamic */
    LAB_FACT_BLOCKS,    /* that a multiprocessor holds at a time */
    LAB_FACT_WARPS,     /* and their warps: occupancy */
    LAB_FACTS
} lab_fact;

/* lab_fact_name() returns "registers", "spills", "smem", "blocks" or "warps". */
const char *lab_fact_name(lab_fact fact);

typedef struct lab_point_facts {
    int64_t value[LAB_FACTS]; /* -1: not known */
} lab_point_facts;

/* Facts of which none is known. */
lab_point_facts lab_point_facts_unknown(void);

/* lab_point_facts_worsen() makes @point_facts those of two kernels together: of each fact the
 * worse.
 */
void lab_point_facts_worsen(lab_point_facts *point_facts, const lab_point_facts *other);

/* The most that a point may take, or the least that it must have, by the fact. */
typedef struct lab_bounds {
    int64_t value[LAB_FACTS]; /* -1: no limit */
} lab_bounds;

/* lab_bounds_standard() returns those that a space has unless it says otherwise: no spills, and one
 * block at least. */
lab_bounds lab_bounds_standard(void);

/* lab_point_facts_within() says whether the facts keep the limits; if not, @why, which may
 * be NULL, names fact, value and limit. */
bool lab_point_facts_within(const lab_point_facts *point_facts, const lab_bounds *limits,
                            lab_error *why);

/* A point of which both the time and the facts are known. */
typedef struct lab_standing {
    double time; /* a score or seconds; less is better, INFINITY for none */
    lab_point_facts point_facts;
} lab_standing;

/* lab_point_facts_front() sets front[i] for those of @count standings that no other one beats:
 * there is none that is at least as good in time, registers, shared memory and warps, and better in
 * one of them. A point without a time is never among them. */
void lab_point_facts_front(const lab_standing *standings, size_t count, bool *front);

#endif /* LAB_POINT_FACTS_H */
