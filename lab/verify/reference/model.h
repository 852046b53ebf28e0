/*
 * model.h - the model of a row's errors: see the head of expect.h
 */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

#include "lab/verify/reference/reference.h"

/* Memory of a thread that computes rows, and how heed or others add up. */
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
    bool tied;     /* several logits may be the highest one, with values */
    double reach;  /* so far from o */
    double above;  /* how far the LSE may be beyond its error, as they are */
    int64_t seen;  /* keys */
    double more;   /* decisions in doubt add so much to the weights, B, */
    double less;   /* take off so much, A, */
    double moved;  /* and move o so far */
    bool doubtful; /* no errors are known */
} lab_row_model;

/* The model of @row, of which @o and @lse are right and the scratch has the weights. */
lab_row_model lab_model_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                            const lab_row_scratch *scratch, const double *o, double lse);

/* The 2-norm of @a, of what is finite of it. */
double lab_norm(const double *a, int64_t dim);

#endif /* LAB_MODEL_H */
