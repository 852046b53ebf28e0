/*
 * rebuild.h - kernels of the board made of the code of their day, where that is not today's
 *
 *     lab_rebuild it = { .bench = &bench, .name = kernel, .problem = &problem, ... };
 *     if (lab_rebuild_make(&it))
 *         pair.maker = &it.maker;
 *     else
 *         it.why
 *     lab_rebuild_free(&it);       after the last plan
 *
 * On a CPU the sources of the libheed that made the kernel become a library again, host code and
 * all, which is loaded beside this one (lab/trial/compile/library.h). On a GPU its device source is
 * compiled with the headers of its day and launched by today's host code as it was then, if kernels
 * are still launched with the same arguments.
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

/* The sources of a libheed that made kernels of the board, and what was made of them. */
typedef struct lab_rebuild_library {
    char build[96];
    lab_record_library *sources;
    bool tried; /* to load it; if there is no context then, @why says why not */
    lab_library heed;
    heed_context *context;
    char why[LAB_REBUILD_WHY_SIZE];
} lab_rebuild_library;
void lab_rebuild_library_free(lab_rebuild_library *library);

/* Whether code of the board is trusted. */
typedef struct lab_rebuild_options {
    const char *board;         /* the file that it is of; NULL: the usual one */
    bool trusts_board;         /* its sources may run here though others can write to it */
    const char *remedy;        /* how a caller's user says so, for messages; NULL: not at all */
    bool unsafe;               /* sources run also where the system has no sandbox for them */
    const char *unsafe_remedy; /* likewise; NULL: not at all */
    bool unproved;             /* without the gates */
} lab_rebuild_options;

typedef struct lab_rebuild {
    const lab_bench *bench; /* its context, device, host_threads and sink */
    lab_rebuild_options options;
    const char *name;             /* of the kernel, and its config */
    const heed_problem *problem;  /* normalized */
    const char *code;             /* a user's source; NULL: a kernel of heed's own */
    const char *launch;           /* how its code is launched on a GPU; NULL: not known */
    lab_rebuild_library *library; /* of its day; NULL: the board has none */

    lab_bench_maker maker; /* that plans it */
    bool wrong;            /* it computes a wrong result */
    char why[LAB_REBUILD_WHY_SIZE];

    lab_bench_heed heed;   /* its own: on a CPU */
    lab_launched launched; /* on a GPU */
    lab_code compiled;
    char hash[LAB_RECORD_HASH_SIZE];
} lab_rebuild;

/* lab_rebuild_make() makes it->maker of what the board has. False if that cannot be, for the reason
 * in it->why. To be freed in either case; it must not be moved. */
bool lab_rebuild_make(lab_rebuild *it);
void lab_rebuild_free(lab_rebuild *it);

/* lab_rebuild_plan() makes a plan for @problem out of device code that was compiled, @ptx or a
 * cubin, launched as @launch says; it answers for @name. @hash becomes that of the code. It
 * executes in this process, so it should have done well in one of its own before. Returns as
 * heed_plan_create() does. */
heed_status lab_rebuild_plan(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             const char *name, const heed_launch_facts *launch,
                             const heed_cubin *code, char hash[LAB_RECORD_HASH_SIZE]);

#endif /* LAB_REBUILD_H */
