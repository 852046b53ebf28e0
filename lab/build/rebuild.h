/*
 * rebuild.h - rebuilds kernels on the board from their original code, if it has changed since
 *
 *     lab_rebuild it = { .bench = &bench, .name = kernel, .problem = &problem, ... };
 *     if (lab_rebuild_make(&it))
 *         pair.maker = &it.maker;
 *     else
 *         it.why
 *     lab_rebuild_free(&it);       after the last plan
 *
 * On a CPU the complete sources of the libheed that made the kernel are compiled to a library,
 * which is loaded next to this one (lab/trial/compile/library.h). On a GPU the device source is
 * compiled with its original headers and launched by today's host code with the original launch
 * parameters, if the kernel arguments have not changed.
 */
#ifndef LAB_REBUILD_H
#define LAB_REBUILD_H

#include "lab/bench/engine.h"
#include "lab/bench/pair.h"
#include "lab/record/record.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/compile/library.h"
#include "lab/trial/launch.h"
#include "src/cuda/facts.h"

#define LAB_REBUILD_WHY_SIZE 320

/* The sources of a libheed that made kernels on the board, and the library built from them. */
typedef struct lab_rebuild_library {
    char build[96];
    lab_record_library *sources;
    bool tried; /* loading was tried; if there is no context then, @why has the reason */
    lab_library heed;
    heed_context *context;
    char why[LAB_REBUILD_WHY_SIZE];
} lab_rebuild_library;
void lab_rebuild_library_free(lab_rebuild_library *library);

/* Trust in code on the board. */
typedef struct lab_rebuild_options {
    const char *board;         /* its file; NULL: the default board */
    bool trusts_board;         /* its sources may run here even if others can write to it */
    const char *remedy;        /* how to enable that, for messages; NULL: not possible */
    bool unsafe;               /* sources may run without a sandbox if the system has none */
    const char *unsafe_remedy; /* likewise */
    bool unproved;             /* skip the gates */
} lab_rebuild_options;

typedef struct lab_rebuild {
    const lab_bench *bench; /* its context, device, host_threads and sink */
    lab_rebuild_options options;
    const char *name;             /* of the kernel, and its config */
    const heed_problem *problem;  /* normalized */
    const char *code;             /* a user's source; NULL: one of heed's kernels */
    const char *launch;           /* launch parameters of its code on a GPU; NULL: not known */
    lab_rebuild_library *library; /* original sources; NULL: the board has none */

    lab_bench_maker maker; /* makes plans with it */
    bool wrong;            /* it computes a wrong result */
    char why[LAB_REBUILD_WHY_SIZE];

    lab_launched launched; /* on a GPU */
    lab_code compiled;
    char hash[LAB_RECORD_HASH_SIZE];
} lab_rebuild;

/* lab_rebuild_make() makes it->maker from the code on the board. Returns false if it cannot, with
 * the reason in it->why. Free @it in either case; it must not be moved. */
bool lab_rebuild_make(lab_rebuild *it);
void lab_rebuild_free(lab_rebuild *it);

/* lab_rebuild_plan() makes a plan for @problem from compiled device code, @ptx or a cubin, with the
 * launch parameters @launch and the kernel name @name. The hash of the code goes to @hash. The code
 * runs in this process, so it should have passed the gates in a separate one. Returns as
 * heed_plan_create() does. */
heed_status lab_rebuild_plan(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             const char *name, const heed_launch_facts *launch,
                             const heed_cubin *code, char hash[LAB_RECORD_HASH_SIZE]);

#endif /* LAB_REBUILD_H */
