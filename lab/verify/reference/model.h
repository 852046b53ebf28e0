/*
 * model.h - the model of a row's errors: see the head of expect.h
 */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

#include "lab/verify/reference/reference.h"

/* Scratch memory of a thread that computes rows, and the order of sums. */
typedef struct lab_row_scratch {
    double *weights; /* [keys] */
    float *singles;  /* [keys] */
    int64_t part;    /* products in a part of a float32 sum */
    bool own;        /* as in lab_sampling */
} lab_row_scratch;

/* Standard errors of a row. */
typedef struct lab_row_model {
    double o;
    double lse;
    bool tied;     /* several logits may be the highest one, with values at */
    double reach;  /* most this far from o */
    double above;  /* the extra error of the LSE due to them */
    int64_t seen;  /* keys */
    double more;   /* decisions in doubt add this to the weights, B, */
    double less;   /* subtract this, A, */
    double moved;  /* and move o this far */
    bool doubtful; /* the errors are unknown */
} lab_row_model;

/* Returns the model of @row, with the correct @o and @lse. The scratch has the weights. */
lab_row_model lab_model_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                            const lab_row_scratch *scratch, const double *o, double lse);

/* The 2-norm of the finite elements of @a. */
double lab_norm(const double *a, int64_t dim);

#endif /* LAB_MODEL_H */
