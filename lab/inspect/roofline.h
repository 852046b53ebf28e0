/*
 * roofline.h - the least time that a device needs for a problem, and which of its units binds
 *
 * After Williams, Waterman and Patterson, "Roofline: an insightful visual performance model"
 * (2009), with a roof more for the exponentials of softmax. Each unit is given what no exact kernel
 * can leave out, as if nothing else were to be done; the floor is the longest of these times, since
 * they may overlap. A roof is what a loop reached that does nothing else on this device
 * (lab/measure), or what its data sheet says.
 *
 *     matrix   4 operations for each visible pair of query and key, and element of the head dims
 *     exp      one exponential for each visible pair
 *     fma      one multiply-add for each visible pair, to scale it and take the maximum off
 *     memory   Q, K, V and O once, where they do not fit in the cache or are not there yet
 *     cache    the same out of the cache
 *     launch   from one kernel to the next
 *
 * Where values hide keys (starts, shown, an expression for visible), they may hide all: no pair is
 * counted, and of bytes those of starts and shown, and O.
 */
#ifndef LAB_ROOFLINE_H
#define LAB_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"

typedef enum lab_roof {
    LAB_ROOF_MATRIX,
    LAB_ROOF_EXP,
    LAB_ROOF_FMA,
    LAB_ROOF_MEMORY,
    LAB_ROOF_CACHE,
    LAB_ROOF_LAUNCH,
    LAB_ROOFS
} lab_roof;

/* lab_roof_name() returns "matrix", "exp", ... */
const char *lab_roof_name(lab_roof unit);

#define LAB_CEILINGS_TEXT 96

/* The best that a device can do. Zero: not known, and then that roof is left out. */
typedef struct lab_ceilings {
    char device[LAB_CEILINGS_TEXT];    /* its name, such as "NVIDIA H200" */
    char features[LAB_CEILINGS_TEXT];  /* that the figures depend on as well: architecture,
                                          driver, threads */
    bool measured;                     /* or by the data sheet */
    int64_t time;                      /* of the measurement, seconds since 1970 */
    double matrix[HEED_TYPE_COUNT];    /* by heed_type: operations per second */
    double sustained[HEED_TYPE_COUNT]; /* the same at full power for long; zeros where that was not
                                          looked at */
    double exp;                        /* exponentials per second */
    double fma;                        /* float32 multiply-adds per second */
    double memory;                     /* bytes per second, by the faster of reading and copying */
    double read, copy;                 /* each of them */
    double cache;                      /* bytes per second out of the cache */
    double cache_bytes;                /* that it holds */
    double launch;                     /* seconds */
} lab_ceilings;

/* lab_roofline_matrix() returns the operations per second of the products of @problem: on a GPU
 * those of float32 may be made of three of TF32, or of those that the problem permits. */
double lab_roofline_matrix(const heed_problem *problem, const lab_ceilings *ceilings);

/* The work that no exact kernel can leave out. */
typedef struct lab_work {
    double flops, pairs, bytes;
} lab_work;

/* lab_roofline_work() returns that of @problem, which heed_problem_parse() or
 * heed_problem_normalize() has made. */
lab_work lab_roofline_work(const heed_problem *problem);

typedef struct lab_floor {
    double units[LAB_ROOFS]; /* seconds that each needs */
    double cold, hot;        /* the floor, with tensors out of memory, and out of the cache as far
                                as they fit in there together */
    lab_roof cold_binds, hot_binds;
} lab_floor;

/* lab_roofline_floor() returns the floor of @problem, likewise. A problem with nothing to compute
 * needs its launch. */
lab_floor lab_roofline_floor(const heed_problem *problem, const lab_ceilings *ceilings);

/* lab_roofline_floor_of() returns that of @work, which is known better than @problem says. */
lab_floor lab_roofline_floor_of(const heed_problem *problem, const lab_work *work,
                                const lab_ceilings *ceilings);

/* lab_roofline_allows() says whether a call on @problem can take @seconds, with tensors out of
 * memory if @cold: not less than the floor by @ceilings over @margin, which is above 1 for the
 * errors of both measurements. Ceilings of exponentials and multiply-adds are left out, since a
 * kernel can do without the unit that they are of. If not, @why has the figures. */
bool lab_roofline_allows(const heed_problem *problem, const lab_ceilings *ceilings, bool cold,
                         double seconds, double margin, lab_error *why);

/* lab_roofline_cpu() returns what no CPU with these @features, as wisdom has them, does: the most
 * operations per cycle of its instructions, at LAB_ROOFLINE_CLOCK, by @threads threads. Unknown
 * words stand for every feature; so does @any, for code that may use any instruction. */
#define LAB_ROOFLINE_CLOCK 6.5e9
lab_ceilings lab_roofline_cpu(const char *features, int threads, bool any);

/* -------------------------------------------------------------------------- */
/* roofline_file.c: ceilings in a file of text                                */
/* -------------------------------------------------------------------------- */

/* lab_ceilings_path() writes the name of the file for @device with @features in the folder of
 * caches: HEED_CACHE, else heed in XDG_CACHE_HOME or ~/.cache. HEED_ERR_SYSTEM, with the reason, if
 * there is no such folder or its name is too long. */
#define LAB_CEILINGS_PATH 1024
heed_status lab_ceilings_path(char path[LAB_CEILINGS_PATH], const char *device,
                              const char *features, lab_error *error);

/* lab_ceilings_write() writes @ceilings to @path, making the folders above it: to a file beside it,
 * which then takes its name, so that a reader never sees half of one. lab_ceilings_read() reads it
 * back. Return HEED_OK; HEED_ERR_SYSTEM if the file cannot be opened, read or written; from reading
 * HEED_ERR_CORRUPT, with what is wrong, for a file of another version, or one that is damaged: it
 * ends with a checksum over all before. */
heed_status lab_ceilings_write(const lab_ceilings *ceilings, const char *path, lab_error *error);
heed_status lab_ceilings_read(lab_ceilings *ceilings, const char *path, lab_error *error);

/* lab_ceilings_parse() is lab_ceilings_read() for @size bytes of @text, whose name is @name. */
heed_status lab_ceilings_parse(lab_ceilings *ceilings, const char *text, size_t size,
                               const char *name, lab_error *error);

/* -------------------------------------------------------------------------- */
/* roofline_judge.c: is a cost model any good?                                */
/* -------------------------------------------------------------------------- */

/* lab_rank_correlation() returns Spearman's rank correlation of @count pairs, from -1 to 1; equal
 * values share their ranks. NaN for less than 3 pairs, where one side is all equal, or if there is
 * no memory. */
double lab_rank_correlation(const double *a, const double *b, size_t count);

#endif /* LAB_ROOFLINE_H */
