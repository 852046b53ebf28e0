/*
 * library.h - a libheed of another day: made of its sources, and loaded into this process
 *
 * An earlier kernel can only be compared with a present one if it can be run again, host code and
 * all. So the sources of heed are kept with what they made (cmake/HeedLibrary.cmake says what
 * is among them), and become a shared object again here. They are compiled in a sandbox as
 * candidates are; the object itself runs without one, as it is heed.
 */
#ifndef LAB_LIBRARY_H
#define LAB_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/trial/limits.h"
#include "lab/trial/verdict.h"

/* Of heed's sources, one file; a file called LAB_LIBRARY_RECIPE says how the others are compiled:
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

/* The functions of a libheed that was loaded, as heed.h has them. */
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
    void *sized; /* it has a function that only a heed whose structs carry their size has */
} lab_library;

/* lab_library_load() compiles @files, which takes some seconds, and loads what comes of it. True if
 * @library is ready; else @outcome says why: LAB_TRIAL_REFUSED for files that are no such sources,
 * LAB_TRIAL_COMPILE_ERROR also where structs of heed.h are not laid out as they were. @limits may
 * be NULL. lab_library_unload() needs every context and plan destroyed; a zeroed one is ignored. */
bool lab_library_load(lab_library *library, const lab_library_file *files, size_t count,
                      const lab_limits *limits, lab_trial_outcome *outcome);
void lab_library_unload(lab_library *library);

#endif /* LAB_LIBRARY_H */
