/*
 * library.h - rebuilds an earlier libheed from its sources, and loads it into this process
 *
 * An earlier kernel can only be compared with a current one if it can run again, including its host
 * code. So heed's sources are stored with the results (cmake/HeedLibrary.cmake lists them), and
 * rebuilt as a shared object here. They are compiled in a sandbox like candidates; the object runs
 * without one, as it is part of heed.
 */
#ifndef LAB_LIBRARY_H
#define LAB_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/trial/candidate.h"

/* A file of heed's sources; one called LAB_LIBRARY_RECIPE has the build recipe of the others:
 *
 *     heed library 1
 *     flags -O3 -Iinclude ...              for all
 *     source src/plan.c
 *     source src/cpu/attn_tile_avx2.c -O3 -mavx2 ...
 *     link -lmd -lm ...
 */
typedef struct lab_library_file {
    const char *path; /* from the root of the source tree */
    const char *text;
} lab_library_file;
#define LAB_LIBRARY_RECIPE "recipe"

/* The functions of a loaded libheed, as in heed.h. */
typedef struct lab_library {
    void *object;
    heed_status (*context_create)(heed_context **, const heed_options *);
    void (*context_destroy)(heed_context *);
    heed_status (*plan_create_named)(heed_plan **, heed_context *, const heed_problem *,
                                     const char *);
    void (*plan_destroy)(heed_plan *);
    const char *(*plan_name)(const heed_plan *);
    size_t (*plan_workspace_size)(const heed_plan *);
    heed_status (*execute)(const heed_plan *, const heed_buffers *);
    const char *(*message)(void);
    void *sized; /* a function that exists only in a heed whose structs have a size member */
} lab_library;

/* lab_library_load() compiles @files, which takes some seconds, and loads the result. Returns true
 * if @library is ready; else @outcome has the reason: LAB_TRIAL_REFUSED for invalid sources,
 * LAB_TRIAL_COMPILE_ERROR also if the layout of structs in heed.h has changed. @limits may be NULL.
 * Destroy every context and plan before lab_library_unload(), which ignores a zeroed library. */
bool lab_library_load(lab_library *library, const lab_library_file *files, size_t count,
                      const lab_limits *limits, lab_trial_outcome *outcome);
void lab_library_unload(lab_library *library);

#endif /* LAB_LIBRARY_H */
