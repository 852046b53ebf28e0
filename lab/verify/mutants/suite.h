/*
 * suite.h - kernels to try the gates on: wrong and cheating ones that must be killed, honest ones
 * that must pass
 *
 * A mutant is one mistake, or one way to cheat, on a problem and values on which it shows. It is
 * described by the most convenient of three functions: how one row is computed, how all of them
 * are, or what one call does that remembers earlier ones. A control is an odd but honest kernel;
 * it must pass on every problem of lab_scene_at() with every kind of values.
 */
#ifndef LAB_SUITE_H
#define LAB_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/check.h"

typedef struct mutant_row mutant_row;       /* a row at work: see steps.h */
typedef struct mutant_memory mutant_memory; /* a kernel's memory of earlier calls */

typedef void mutant_row_fn(mutant_row *row);
typedef void mutant_run_fn(const heed_problem *problem, const heed_buffers *buffers);
typedef void mutant_call_fn(mutant_memory *memory, const heed_problem *problem,
                            const heed_buffers *buffers);

/* How a kernel computes; one of the first three is set. */
typedef struct lab_behaviour {
    mutant_row_fn *row;
    mutant_run_fn *run;
    mutant_call_fn *call;
    bool random;      /* it does not claim to be deterministic */
    bool appends;     /* it writes new keys and values itself; for others it is done */
    size_t workspace; /* bytes that it asks for */
} lab_behaviour;

/* A wrong kernel. */
typedef struct lab_mutant {
    const char *name; /* one word */
    const char *does; /* its mistake */
    lab_behaviour behaviour;
    const char *spec;
    const char *inputs;
    const char *gate; /* meant to kill it; others may too. "executes" for a crash or a hang */
    const char *text; /* that the gate's reason must contain; NULL: any */
    bool unlocked;    /* inputs are not write-protected, as on a device */
    bool endless;     /* it is killed by its deadline alone */
    bool nearby;      /* it shows on neighbours of the problem alone: see lab/verify/proof.h */
    bool few;         /* few rows are compared with the reference, as of a large problem */
} lab_mutant;

/* An honest kernel. */
typedef struct lab_control {
    const char *name;
    const char *does;
    lab_behaviour behaviour;
} lab_control;

/* The @index-th mutant, control, or problem for controls; NULL past the last one. */
const lab_mutant *lab_mutant_at(size_t index);
const lab_control *lab_control_at(size_t index);
const char *lab_scene_at(size_t index);

/* lab_suite_digest() returns a number that changes when the suite does: its kernels' names, their
 * problems, values and gates, or the sources that it and the gates were built from. */
uint64_t lab_suite_digest(void);

/* ---------------------------------------------------------------------------------------------- */
/* A kernel of the suite as a subject                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* lab_actor_create() makes a kernel that computes as @behaviour says, and remembers. Returns NULL
 * if there is no memory. lab_actor_subject() returns it as a subject of verification, and
 * lab_actor_run() computes the problem that was prepared last. */
typedef struct lab_actor lab_actor;
lab_actor *lab_actor_create(const lab_behaviour *behaviour);
void lab_actor_destroy(lab_actor *actor);
lab_subject lab_actor_subject(lab_actor *actor);
void lab_actor_run(lab_actor *actor, const heed_buffers *buffers);

/* ---------------------------------------------------------------------------------------------- */
/* The tables, by file; each ends with a NULL name                                                */
/* ---------------------------------------------------------------------------------------------- */

extern const lab_mutant lab_mutants_keys[];     /* which keys, of which head */
extern const lab_mutant lab_mutants_logits[];   /* their logits */
extern const lab_mutant lab_mutants_softmax[];  /* the softmax of them */
extern const lab_mutant lab_mutants_operands[]; /* operands, softcap, expressions, windows */
extern const lab_mutant lab_mutants_append[];   /* new keys and values */
extern const lab_mutant lab_mutants_prefix[];   /* keys that batch elements have in common */
extern const lab_mutant lab_mutants_output[];   /* the weighted sum, and what is stored of it */
extern const lab_mutant lab_mutants_memory[];   /* reads and writes, and their places */
extern const lab_mutant lab_mutants_rows[];     /* some rows among many; problems among many */
extern const lab_mutant lab_mutants_values[];   /* mistakes that normal values do not show */
extern const lab_mutant lab_mutants_cheats[];   /* kernels that only look as if they worked */
extern const lab_control lab_controls[];

#endif /* LAB_SUITE_H */
