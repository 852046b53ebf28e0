/*
 * modify_arrange.h - reorder and rewrite a program for vectors
 */
#ifndef HEED_MODIFY_ARRANGE_H
#define HEED_MODIFY_ARRANGE_H

#include "modify.h"

/* How a value varies over a patch. */
typedef enum heed_shape {
    HEED_SHAPE_ONE, /* not at all */
    HEED_SHAPE_ROW,
    HEED_SHAPE_KEY,
    HEED_SHAPE_DIFFERENCE, /* a line of query - key, */
    HEED_SHAPE_SUM,        /* of query + key */
    HEED_SHAPE_PAIR
} heed_shape;

typedef struct heed_arranged {
    heed_program program; /* some steps are HEED_MODIFY_* */
    heed_shape shapes[HEED_STEPS_MAX];
    int see_count; /* steps that only decide which keys are visible come first */
} heed_arranged;

void heed_modify_arrange(heed_arranged *to, const heed_problem *problem,
                         const heed_program *program, const heed_grid *grid);

/* True if a step loads the elements of neighbouring keys, in the order of keys. */
bool heed_arranged_reads_keys(const heed_arranged *arranged, const heed_step *step);

/* The inputs of a step; -1: none. */
static inline void heed_step_operands(const heed_step *step, int values[4])
{
    const int all[4] = { step->a, step->b, step->c, step->d };
    memcpy(values, all, sizeof all);
}

#endif /* HEED_MODIFY_ARRANGE_H */
