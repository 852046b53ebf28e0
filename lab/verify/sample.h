/*
 * sample.h - a few rows of a problem whose expected result changes from call to call, for kernels
 * that are called repeatedly
 *
 * A kernel that is timed computes the same problem a thousand times, and could simply return its
 * first result again. Here one element of Q, K or V is changed ("touched") before each call. That
 * moves the expected output of a sampled row by much more than the allowed error, and after the
 * call the rows are compared. The new expected output is derived from the old one:
 *
 *     V    the element's column moves by the key's weight times the change
 *     K    one logit moves, so the output moves towards or away from the key's values
 *     Q    all logits of the row move: its softmax is made anew, with the values as they are
 *
 * A touch and a comparison take microseconds for V and K, and for Q about the time of reading the
 * values of one row. An element is restored when the next one is touched: the tensors never differ
 * from the originals by more than one element, and errors do not accumulate.
 */
#ifndef LAB_SAMPLE_H
#define LAB_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/expect.h"

/* An element to be written. */
typedef struct lab_touch {
    lab_role role; /* of Q, K or V */
    int64_t index; /* of the tensor's elements, from its first one on */
    double value;  /* exact in the element type */
} lab_touch;

/* The most elements written before a call: one is restored, one is touched. */
#define LAB_TOUCHES 2

typedef struct lab_sample {
    heed_problem problem;
    heed_buffers data;  /* the original q, k and v: in host memory, owned by the caller */
    lab_expect *expect; /* for the touched tensors, without rows that are not judged or tied */
    lab_expect *base;   /* for the original tensors */
    double **weights;   /* [row][seq_k]: the softmax for the original tensors */
    double *logits;     /* [seq_k]: scratch */
    lab_touch undo;     /* undoes the last touch; index -1: none */
    int64_t calls;
} lab_sample;

/* lab_sample_create() chooses rows of @problem, normalized, as lab_expect_create() does, and keeps
 * seq_k numbers for each row. q, k and v of @data must stay as they are until lab_sample_destroy():
 * touches are written to the tensors that the kernel reads, not to these. Vectors of @problem must
 * not overlap, though batch elements or heads may share them. Returns HEED_OK; HEED_ERR_NO_MEMORY;
 * HEED_ERR_UNSUPPORTED if no row can be judged: a judged row sees a key, has finite values, and is
 * not tied. On failure *@result is NULL. */
heed_status lab_sample_create(lab_sample **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling);

/* lab_sample_destroy() frees @sample; NULL is ignored. */
void lab_sample_destroy(lab_sample *sample);

/* lab_sample_touch() chooses the elements to write before the next call, at random by @seed, and
 * updates sample->expect. Returns the number of elements; their order matters. */
int lab_sample_touch(lab_sample *sample, uint64_t seed, lab_touch touches[LAB_TOUCHES]);

/* lab_sample_restore() is the same without a new touch: it restores the tensors. */
int lab_sample_restore(lab_sample *sample, lab_touch touches[LAB_TOUCHES]);

/* lab_sample_reset() sets sample->expect to the expected results of the original tensors. */
void lab_sample_reset(lab_sample *sample);

/* lab_touch_write() writes @touch to the tensor at @base, in host memory. */
void lab_touch_write(const lab_touch *touch, heed_type type, void *base);

/* lab_sample_error() returns the largest error of the sampled rows divided by the allowed one; more
 * than 1 is a failure, and NaN counts as infinite. @o is the tensor O of @problem in host memory,
 * at the problem's strides; @lse may be NULL. */
double lab_sample_error(const lab_sample *sample, const void *o, const float *lse);

#endif /* LAB_SAMPLE_H */
