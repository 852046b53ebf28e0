/*
 * modify.h - programs of logits (src/problem/program.h) over vectors: shared by modify.c, the
 * kernels and the instantiations of modify_template.h
 *
 * A kernel passes a patch of logits, [outer][inner] vectors, which is changed in place. The steps
 * of the program that do not depend on the key are computed once per row, and kept; the others once
 * per patch, step by step, each over the whole patch. A value that is constant along one dimension
 * of the patch has a stride of 0 there, and is computed once along it. Where rows go along the
 * lanes, a value that depends only on query - key or query + key is a line: one element for each
 * difference or sum in the patch, in order, so that the value of a pair is a fixed number of
 * elements away from that of the previous key. Each element is computed once.
 */
#ifndef HEED_MODIFY_H
#define HEED_MODIFY_H

#include <string.h>

#include "../../problem/program.h"

/* The shape of a kernel's patches. */
typedef struct heed_grid {
    int lanes;
    int inner; /* vectors along the rows, 1 if a patch has one row */
    int outer; /* keys, or vectors of keys; even */
    bool rows; /* rows of the problem go along the lanes, and keys along outer; else keys go along
                  the lanes */
} heed_grid;

/* Keys of a patch whose rows go along the lanes. */
#define HEED_PATCH_KEYS 32
#define HEED_PATCH_VECTORS 2   /* and vectors along inner there */
#define HEED_PATCH_ROWS_MAX 64 /* along the lanes */

/* Steps in addition to those of heed_op. */
enum {
    HEED_MODIFY_LINE = HEED_OPS, /* int: the query's number plus value.whole, 1 or -1, times the
                                    key's; a is the origin */
    HEED_MODIFY_GATHER,          /* element a, in range, of source value.whole */
    HEED_MODIFY_DIVIDE,          /* int: a divided by value.whole, rounded down, */
    HEED_MODIFY_REMAINDER,       /* and the remainder */
    HEED_MODIFY_CAP,             /* float: c * tanh(a * b) */
    HEED_MODIFY_OFFSETS,         /* kept: offset of each row in the source, int64_t, */
    HEED_MODIFY_READ,            /* and the elements of the patch's keys from there on; a is the
                                    offsets */
    HEED_MODIFY_READ_ADD,        /* the same plus b, where rows go along the lanes; not of
                                    bits */
    HEED_MODIFY_ORIGIN, /* kept: the first row's query, int64_t, and its index in the group */
    HEED_MODIFY_SPREAD  /* broadcasts each lane of a, values of keys along the lanes, to a whole
                           vector */
};

/* The memory that a value is in. */
typedef enum heed_base {
    HEED_BASE_KEPT,
    HEED_BASE_PATCH,
    HEED_BASE_LOGITS,
    HEED_BASES
} heed_base;

typedef struct heed_spot {
    heed_base base;
    int offset; /* floats */
    int outer;  /* strides in floats; 0: constant */
    int inner;
} heed_spot;

typedef struct heed_modify_step {
    int op;         /* heed_op, or one of the above */
    heed_kind from; /* of its inputs, for a selection of the second one */
    heed_value value;
    int turns; /* how often it is computed along outer; 0: once for each turn of the patch */
    heed_spot to, from_spots[4];
} heed_modify_step;

#define HEED_MODIFY_STEPS_MAX (3 * HEED_STEPS_MAX + 4)

/* The scratch that a program needs per thread, in floats. */
typedef struct heed_modify_need {
    int64_t kept;  /* for each row, or each strip of rows along the lanes */
    int64_t patch; /* once */
} heed_modify_need;

typedef struct heed_modifier heed_modifier;

/* A program for one grid, and the data of one execution. */
typedef struct heed_modify {
    const heed_modifier *by;
    heed_grid grid;
    heed_modify_need need;
    int group;              /* rows of one query */
    int64_t first_position; /* of query 0 */
    heed_load sources[HEED_SOURCES_MAX];
    const void *data[HEED_SOURCES_MAX];
    bool changes; /* it changes logits, */
    bool hides;   /* and it hides keys */
    bool reads;   /* it has loads for prefetch() */
    bool copies;  /* logits are not in their place before the last step, which only moves them and
                     hides keys */
    heed_spot visible;
    int kept_count; /* steps that are computed once per row come first, */
    int see_count;  /* then those that decide which keys are visible */
    int count;
    heed_modify_step steps[HEED_MODIFY_STEPS_MAX];
} heed_modify;

/* Which keys of a patch a program shows. */
typedef enum heed_shows {
    HEED_SHOWS_ALL,
    HEED_SHOWS_SOME,
    HEED_SHOWS_NONE
} heed_shows;

/* A patch. Keys after the first @keys have arbitrary values. */
typedef struct heed_patch {
    float *logits; /* scale * q.k on entry; the program's result, with -infinity for hidden keys, on
                      return */
    const float *kept; /* values of its rows */
    float *scratch;    /* need.patch floats */
    int64_t key;       /* the first key */
    int64_t keys;
    heed_shows shows; /* the result of see() */
} heed_patch;

/* The rows of a patch: those of one strip, as many as the grid has lanes, or one. Row r belongs to
 * query r / group. */
typedef struct heed_patch_rows {
    int64_t batch;
    int64_t row;          /* the first row */
    const int32_t *query; /* of each row */
    const int32_t *head;
} heed_patch_rows;

/* One instantiation. */
struct heed_modifier {
    /* Computes the kept values of rows. */
    void (*begin)(const heed_modify *m, const heed_patch_rows *rows, float *kept);
    /* Prefetches the program's loads for these keys, for part @part of @parts of the rows. */
    void (*prefetch)(const heed_modify *m, const float *kept, heed_interval keys, int64_t part,
                     int64_t parts);
    /* Finds the visible keys, without the logits: called before run() if the program hides keys. */
    heed_shows (*see)(const heed_modify *m, const heed_patch *patch);
    void (*run)(const heed_modify *m, const heed_patch *patch);
};

extern const heed_modifier heed_modifier_scalar;
extern const heed_modifier heed_modifier_avx2;
extern const heed_modifier heed_modifier_avx512;

/* heed_modify_make() sets all fields except by and data. */
void heed_modify_make(heed_modify *m, const heed_problem *problem, const heed_program *program,
                      const heed_grid *grid);

/* The needs of the program of @problem; none if there is no program. */
heed_modify_need heed_modify_need_of(const heed_problem *problem, const heed_grid *grid);

/* Time of the program of @problem for one logit, in units of one exponential of the softmax; 0 if
 * it has none. */
double heed_modify_cost(const heed_problem *problem);

/* The element @index of a source, as bits of a value. For bits, @row is the word that the row
 * begins with; for other types the element is @row + @index. */
int32_t heed_modify_element(const heed_load *source, const void *data, int64_t row, int64_t index);

static inline float *heed_spot_at(const heed_spot *spot, const heed_patch *patch)
{
    float *bases[HEED_BASES] = { (float *)patch->kept, patch->scratch, patch->logits };
    return bases[spot->base] + spot->offset;
}

/* After see(): true if this row sees the key of the patch. */
static inline bool heed_modify_sees(const heed_modify *m, const heed_patch *patch, int64_t key,
                                    int64_t row)
{
    const heed_spot *spot = &m->visible;
    const int64_t lanes = m->grid.lanes;
    const int64_t outer = m->grid.rows ? key : key / lanes;
    const int64_t lane = m->grid.rows ? row : key % lanes;
    const float *value = heed_spot_at(spot, patch) + outer * spot->outer +
                         lane / lanes * spot->inner + lane % lanes;
    int32_t whole;
    memcpy(&whole, value, sizeof whole);
    return whole != 0;
}

#endif /* HEED_MODIFY_H */
