/*
 * roofline.h - roofline model: the lower bound of a problem's time on a device, and the unit that
 * sets it
 *
 * After Williams, Waterman and Patterson, "Roofline: an insightful visual performance model"
 * (2009), with an additional roof for the exponentials of softmax. Each unit gets the least work of
 * any exact kernel, as if it were the only work; the floor is the longest of these times, since
 * they may overlap. A roof is the rate of a microbenchmark on this device (lab/measure), or that of
 * its data sheet.
 *
 *     matrix   4 operations for each visible pair of query and key, and element of the head dims
 *     exp      one exponential for each visible pair
 *     fma      one multiply-add for each visible pair, to scale it and take the maximum off
 *     memory   Q, K, V and O once, unless they are in the cache
 *     cache    the same from the cache
 *     launch   from one kernel to the next
 *
 * If values hide keys (starts, shown, an expression for visible), they may hide all: no pairs are
 * counted, and only the bytes of starts, shown and O.
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

/* Peak rates of a device. Zero: not known, and the roof is omitted. */
typedef struct lab_ceilings {
    char device[LAB_CEILINGS_TEXT];    /* its name, such as "NVIDIA H200" */
    char features[LAB_CEILINGS_TEXT];  /* other things that the figures depend on: architecture,
                                          driver, threads */
    bool measured;                     /* measured, else from the data sheet */
    int64_t time;                      /* of the measurement, seconds since 1970 */
    double matrix[HEED_TYPE_COUNT];    /* by heed_type: operations per second */
    double sustained[HEED_TYPE_COUNT]; /* the same at sustained full power; zeros: not measured */
    double exp;                        /* exponentials per second */
    double fma;                        /* float32 multiply-adds per second */
    double memory;                     /* bytes per second, the faster of reading and copying */
    double read, copy;                 /* each of them */
    double cache;                      /* bytes per second out of the cache */
    double cache_bytes;                /* its size */
    double launch;                     /* seconds */
} lab_ceilings;

/* lab_roofline_matrix() returns the operations per second for the products of @problem: on a GPU a
 * float32 product may consist of three in TF32, or use a type that the problem permits. */
double lab_roofline_matrix(const heed_problem *problem, const lab_ceilings *ceilings);

/* The least work of any exact kernel. */
typedef struct lab_work {
    double flops, pairs, bytes;
} lab_work;

/* lab_roofline_work() returns the work of @problem, the result of heed_problem_parse() or
 * heed_problem_normalize(). */
lab_work lab_roofline_work(const heed_problem *problem);

typedef struct lab_floor {
    double units[LAB_ROOFS]; /* seconds that each needs */
    double cold, hot; /* the floor, with tensors in memory, and in the cache if all fit there */
    lab_roof cold_binds, hot_binds;
} lab_floor;

/* lab_roofline_floor() returns the floor of @problem, likewise. A problem with nothing to compute
 * still needs a launch. */
lab_floor lab_roofline_floor(const heed_problem *problem, const lab_ceilings *ceilings);

/* lab_roofline_floor_of() returns the floor of @work, when that is known better than from @problem.
 */
lab_floor lab_roofline_floor_of(const heed_problem *problem, const lab_work *work,
                                const lab_ceilings *ceilings);

/* lab_roofline_allows() returns true if a call on @problem can take @seconds, with tensors in
 * memory if @cold: that is at least the floor by @ceilings divided by @margin, which exceeds 1 to
 * allow for errors of both measurements. Ceilings of exponentials and multiply-adds are ignored,
 * since a kernel can avoid those units. If false, @why has the figures. */
bool lab_roofline_allows(const heed_problem *problem, const lab_ceilings *ceilings, bool cold,
                         double seconds, double margin, lab_error *why);

/* lab_roofline_cpu() returns upper bounds for any CPU with these @features, as in wisdom: the most
 * operations per cycle of its instructions, at LAB_ROOFLINE_CLOCK, with @threads threads. Unknown
 * words mean every feature; so does @any, for code that may use any instruction. */
#define LAB_ROOFLINE_CLOCK 6.5e9
lab_ceilings lab_roofline_cpu(const char *features, int threads, bool any);

/* -------------------------------------------------------------------------- */
/* roofline_file.c: ceilings in a text file                                   */
/* -------------------------------------------------------------------------- */

/* lab_ceilings_path() writes the path of the file for @device with @features in the cache folder:
 * HEED_CACHE, else heed in XDG_CACHE_HOME or ~/.cache. HEED_ERR_SYSTEM, with the reason, if there
 * is no such folder or the path is too long. */
#define LAB_CEILINGS_PATH 1024
heed_status lab_ceilings_path(char path[LAB_CEILINGS_PATH], const char *device,
                              const char *features, lab_error *error);

/* lab_ceilings_write() writes @ceilings to @path, creating parent folders, through a temporary file
 * that is renamed, so readers never see a partial file. lab_ceilings_read() reads it back. Return
 * HEED_OK; HEED_ERR_SYSTEM if the file cannot be opened, read or written; when reading,
 * HEED_ERR_CORRUPT, with the reason, for a file of another version or a damaged one: it ends with a
 * checksum. */
heed_status lab_ceilings_write(const lab_ceilings *ceilings, const char *path, lab_error *error);
heed_status lab_ceilings_read(lab_ceilings *ceilings, const char *path, lab_error *error);

/* lab_ceilings_parse() is lab_ceilings_read() for the @size bytes of @text, called @name in
 * messages. */
heed_status lab_ceilings_parse(lab_ceilings *ceilings, const char *text, size_t size,
                               const char *name, lab_error *error);

/* -------------------------------------------------------------------------- */
/* roofline_judge.c: quality of a cost model                                  */
/* -------------------------------------------------------------------------- */

/* lab_rank_correlation() returns Spearman's rank correlation of @count pairs, from -1 to 1; ties
 * share their mean rank. NaN for fewer than 3 pairs, if all values of one side are equal, or if
 * there is no memory. */
double lab_rank_correlation(const double *a, const double *b, size_t count);

#endif /* LAB_ROOFLINE_H */
