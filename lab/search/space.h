/*
 * space.h - a search space of configs, from a text file
 *
 *     # the classic grid
 *     kernel  fwd_16bit_sm80_mma
 *     knob    registers 64 72 80 88 96 as registers
 *     knob    threads 128 192 256      as threads
 *     knob    tile 32 64               as rows
 *     let     warps = threads / 32
 *     require warps % 2 == 0 because warps come in pairs
 *     config  m = tile
 *     config  w = warps / 2
 *     limit   spills 256
 *
 * A knob has a few integer values; a point is one value of each. A let names an expression
 * (expression.h) over the knobs and earlier lets. A point that violates a requirement is invalid,
 * for the given reason: it is counted and reported, but never tried. The config lines give the
 * config of a point's kernel, letter by letter, in the order of the kernel's name. If the kernel
 * line has several kernels, the first one available on the machine is used. "as" gives the role of
 * a knob, from which the guide (guide.h) derives the direction to turn it. A limit line overrides a
 * default limit of a point's facts (point_facts.h); none removes it.
 */
#ifndef LAB_SPACE_H
#define LAB_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"
#include "lab/search/expression.h"
#include "lab/search/point_facts.h"

#define LAB_SPACE_KNOBS 12
#define LAB_SPACE_VALUES 32
#define LAB_SPACE_KERNELS 8
#define LAB_SPACE_POINTS (INT64_C(1) << 20) /* maximum: all of them are numbered and checked */

/* Sizes of texts with their null bytes. */
#define LAB_SPACE_TEXT 160
#define LAB_POINT_TEXT 512 /* of a point */

/* The role of a knob. */
typedef enum lab_knob_role {
    LAB_KNOB_OTHER,
    LAB_KNOB_REGISTERS, /* per thread */
    LAB_KNOB_THREADS,   /* per block */
    LAB_KNOB_ROWS,      /* of queries per block */
    LAB_KNOB_KEYS,      /* per tile */
    LAB_KNOB_STAGES,    /* tiles that are loaded ahead */
    LAB_KNOB_SPLITS,    /* blocks that share keys */
    LAB_KNOB_ORDER,     /* in which the steps of a kernel overlap */
    LAB_KNOB_ROLES
} lab_knob_role;

/* lab_knob_role_name() returns "other", "registers", ... */
const char *lab_knob_role_name(lab_knob_role role);

typedef struct lab_space_knob {
    char name[LAB_NAME_SIZE];
    lab_knob_role role;
    int count;
    int64_t values[LAB_SPACE_VALUES]; /* in the order of the file, which is that of moves */
} lab_space_knob;

typedef struct lab_let {
    char name[LAB_NAME_SIZE];
    char text[LAB_SPACE_TEXT];
} lab_let;

typedef struct lab_require {
    char text[LAB_SPACE_TEXT];
    char why[LAB_SPACE_TEXT]; /* the reason; "" if not given */
} lab_require;

typedef struct lab_space {
    char name[64]; /* of its file, without folder and extension */
    char kernels[LAB_SPACE_KERNELS][HEED_NAME_SIZE];
    int kernel_count;
    lab_space_knob knobs[LAB_SPACE_KNOBS];
    int knob_count;
    lab_let *lets;
    size_t let_count;
    lab_require *rules;
    size_t rule_count;
    lab_let *config; /* letters of the kernel's knobs, and their values */
    size_t config_count;
    lab_bounds limits;
} lab_space;

/* One value of each knob, by its index. */
typedef struct lab_point {
    int at[LAB_SPACE_KNOBS];
} lab_point;

/* lab_space_load() reads the file @path, lab_space_parse() text, called @name in messages. The
 * caller frees @space with lab_space_free(). Return HEED_OK; HEED_ERR_SYSTEM if the file cannot be
 * read; HEED_ERR_INVALID if it is not a valid space, with "FILE:LINE: " in @error;
 * HEED_ERR_NO_MEMORY. On failure @space is empty. */
heed_status lab_space_load(lab_space *space, const char *path, lab_error *error);
heed_status lab_space_parse(lab_space *space, const char *text, const char *name, lab_error *error);
void lab_space_free(lab_space *space);

/* lab_space_count() returns the number of points, valid or not; they are numbered from 0, the first
 * knob varying fastest. */
int64_t lab_space_count(const lab_space *space);
lab_point lab_space_at(const lab_space *space, int64_t index);
int64_t lab_space_index(const lab_space *space, const lab_point *point);

/* lab_space_value() returns the value of the @knob-th knob. */
int64_t lab_space_value(const lab_space *space, const lab_point *point, int knob);

/* lab_space_allows() returns true if all requirements hold; if not, @why, which may be NULL, has
 * the first that does not. */
bool lab_space_allows(const lab_space *space, const lab_point *point, lab_error *why);

/* lab_space_compute() is lab_expression_value() of @text at the point. */
heed_status lab_space_compute(const lab_space *space, const lab_point *point, const char *text,
                              int64_t *value, lab_error *error);

/* lab_space_name() writes the name of @kernel in the config of the point, such as
 * "fwd_any_avx512_tile__m128n64s1", or of @kernel alone if the space has no config lines. Returns
 * HEED_OK; HEED_ERR_UNSUPPORTED if a value cannot be computed or is below 1; HEED_ERR_INVALID if
 * the name is too long. */
heed_status lab_space_name(const lab_space *space, const lab_point *point, const char *kernel,
                           char name[HEED_NAME_SIZE], lab_error *error);

/* lab_point_print() writes "registers=64 threads=128 ...", lab_point_parse() reads it: each knob
 * once, in any order. HEED_ERR_INVALID, with @error, for anything else. */
void lab_point_print(const lab_space *space, const lab_point *point, char text[LAB_POINT_TEXT]);
heed_status lab_point_parse(const lab_space *space, const char *text, lab_point *point,
                            lab_error *error);

#endif /* LAB_SPACE_H */
