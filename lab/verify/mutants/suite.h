/*
 * suite.h - kernels for testing the gates: wrong and cheating ones must be killed, honest ones must
 * pass
 *
 * A mutant is one mistake, or one way to cheat, with a problem and values that expose it. It is
 * defined by one of six functions: misreading the problem, computing one row, or only one logit or
 * one column of it, computing all rows, or a call with a memory of earlier calls. A control is an
 * unusual but correct kernel; it must pass on every problem of lab_scene_at() with every kind of
 * values.
 */
#ifndef LAB_MUTANTS_SUITE_H
#define LAB_MUTANTS_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/check.h"

typedef struct mutant_row mutant_row;       /* a row being computed: see steps.h */
typedef struct mutant_memory mutant_memory; /* a kernel's memory of earlier calls */

typedef void mutant_misread_fn(heed_problem *problem);
typedef void mutant_row_fn(mutant_row *row);
typedef float mutant_logit_fn(const mutant_row *row, int64_t j);
typedef float mutant_column_fn(const mutant_row *row, int64_t c);
typedef void mutant_run_fn(const heed_problem *problem, const heed_buffers *buffers);
typedef void mutant_call_fn(mutant_memory *memory);

/* How a kernel of the host computes; one of the first six is set. */
typedef struct lab_behaviour {
    mutant_misread_fn *misread; /* changes the problem, which is then computed correctly */
    mutant_row_fn *row;
    mutant_logit_fn *logit;   /* the logit of key @j, given the right ones */
    mutant_column_fn *column; /* column @c of the output, given the right ones */
    mutant_run_fn *run;
    mutant_call_fn *call;
    bool random;      /* does not claim to be deterministic */
    bool appends;     /* writes new keys and values itself; the suite does it for others */
    size_t workspace; /* requested bytes */
    float by;         /* a number for the functions of a row, as mutant_row.by */
    lab_role role;    /* of the tensor that its mistake concerns; free for use by @call */
} lab_behaviour;

/* A kernel: wrong, or honest. It has a behaviour; or it is a candidate in C, compiled, sandboxed
 * and tried like the sources of `heed evolve` (sources.c), or attend.cu for CUDA devices
 * (device.c). */
typedef struct lab_mutant {
    const char *name; /* one word */
    const char *does; /* its mistake */
    lab_behaviour behaviour;
    const char
        *source; /* the text of its file; lab_mutant_source_whole() makes the text to compile */
    int mistake; /* of attend.cu; 0: none */
    const char *spec;   /* the problem; NULL: all of lab_scene_at() */
    const char *inputs; /* the values; NULL: all kinds */
    const char *gate;   /* the gate meant to kill it, or for a source the judge (lab_judge_name());
                         * others may too. "executes" for a crash or a hang. NULL: it is honest */
    const char *text;   /* required in the gate's reason; NULL: any */
    bool unlocked;      /* inputs are not write-protected, as on a device */
    bool endless;       /* only its deadline kills it */
    bool nearby;        /* only neighbours of the problem expose it: see lab/verify/proof.h */
    bool few;           /* few rows are compared with the reference, as in a large problem */
} lab_mutant;

/* The lists of the suite: for the host, and for devices. */
typedef enum lab_suite_list {
    LAB_MUTANTS,
    LAB_CONTROLS, /* honest, with a behaviour */
    LAB_SOURCES,  /* wrong ones and honest ones */
    LAB_DEVICE_MUTANTS,
    LAB_DEVICE_CONTROLS
} lab_suite_list;

/* The @index-th kernel of @list, or problem for controls, of a device or of the host; NULL past the
 * last one. */
const lab_mutant *lab_mutant_at(lab_suite_list list, size_t index);
const char *lab_scene_at(bool device, size_t index);

/* lab_mutant_source_whole() returns the complete source of a candidate whose file is @own. Free it;
 * NULL if out of memory. */
char *lab_mutant_source_whole(const char *own);

/* lab_suite_digest() returns a number that changes when the suite does: its kernels' names, their
 * problems, values and gates, or the sources that it and the gates were built from. */
uint64_t lab_suite_digest(void);

/* ---------------------------------------------------------------------------------------------- */
/* A kernel of the suite as a subject                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* lab_actor_create() makes a kernel with @behaviour and a memory of its calls. Returns NULL if out
 * of memory. lab_actor_subject() returns it as a subject of verification, and lab_actor_run()
 * computes the problem that was prepared last. */
typedef struct lab_actor lab_actor;
lab_actor *lab_actor_create(const lab_behaviour *behaviour);
void lab_actor_destroy(lab_actor *actor);
lab_subject lab_actor_subject(lab_actor *actor);
void lab_actor_run(lab_actor *actor, const heed_buffers *buffers);

/* ---------------------------------------------------------------------------------------------- */
/* CUDA kernels: one source, with mistakes by number. Their launch is in lab_selftest_device.     */
/* ---------------------------------------------------------------------------------------------- */

/* lab_device_source() returns the text of attend.cu, which includes headers of src/cuda/kernels. */
const char *lab_device_source(void);

/* How attend.cu is compiled and launched for a problem. */
typedef struct lab_device_define {
    const char *name;
    long long value;
} lab_device_define;
#define LAB_DEVICE_DEFINES 5

typedef struct lab_device_code {
    lab_device_define defines[LAB_DEVICE_DEFINES];
    const char *entry;
    int threads;  /* per block */
    int rows;     /* of a block */
    int64_t smem; /* dynamic shared memory per block, bytes */
} lab_device_code;

/* lab_device_code_of() returns these parameters. The code does not depend on lengths, heads and
 * strides: problems with the same head dims and causality share it. */
lab_device_code lab_device_code_of(const heed_problem *problem, int mistake);

/* ---------------------------------------------------------------------------------------------- */
/* The tables, by file; each ends with a NULL name                                                */
/* ---------------------------------------------------------------------------------------------- */

extern const lab_mutant lab_mutants_keys[];     /* keys and heads */
extern const lab_mutant lab_mutants_logits[];   /* their logits */
extern const lab_mutant lab_mutants_softmax[];  /* the softmax and the LSE */
extern const lab_mutant lab_mutants_operands[]; /* operands, softcap, expressions, windows */
extern const lab_mutant lab_mutants_append[];   /* new keys and values */
extern const lab_mutant lab_mutants_prefix[];   /* shared prefixes */
extern const lab_mutant lab_mutants_output[];   /* the weighted sum and its store */
extern const lab_mutant lab_mutants_memory[];   /* reads and writes, and their addresses */
extern const lab_mutant lab_mutants_rows[];     /* some of many rows; some of many problems */
extern const lab_mutant lab_mutants_values[];   /* mistakes that normal values do not expose */
extern const lab_mutant lab_mutants_cheats[];   /* cheating kernels */
extern const lab_mutant lab_mutants_sources[];  /* candidates in C */
extern const lab_mutant lab_mutants_device[];   /* attend.cu */
extern const lab_mutant lab_controls[];

#endif /* LAB_MUTANTS_SUITE_H */
