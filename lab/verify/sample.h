/*
 * sample.h - a few rows of a problem whose answer changes from call to call, for a kernel that is
 * called again and again
 *
 * A kernel that is timed computes the same problem a thousand times, and need not do so: the answer
 * is known from the first time. Here one element of Q, K or V is touched before each call, which
 * moves the expected output of a row of the sample much farther than it may be off, and after the
 * call the rows are compared. The expected output then follows from the facts about the row:
 *
 *     V    the element's column moves by the key's weight times the change
 *     K    one logit moves, so the output moves towards or away from the key's values
 *     Q    all logits of the row move: its softmax is made anew, with the values as they are
 *
 * so that a touch and a comparison take microseconds for V and K, and for Q as long as reading the
 * values of one row. An element is put back when the next one is touched: the tensors are never
 * further than one element from what they were, and errors do not add up.
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
    double value;  /* one of the element type exactly */
} lab_touch;

/* Up to so many elements are written before a call: one is put back, one is touched. */
#define LAB_TOUCHES 2

typedef struct lab_sample {
    heed_problem problem;
    heed_buffers data; /* q, k and v as they were: in host memory, the caller's */
    lab_expect
        *expect; /* of the tensors as touched; rows that are not judged, or tied, were left out */
    lab_expect *base; /* of the tensors as they were */
    double **weights; /* [row][seq_k]: the softmax, of the tensors as they were */
    double *logits;   /* [seq_k]: scratch */
    lab_touch undo;   /* that undoes the last one; index -1: there is none */
    int64_t calls;
} lab_sample;

/* lab_sample_create() chooses rows of @problem, normalized, as lab_expect_create() does, and keeps
 * what is needed of them: seq_k numbers a row. q, k and v of @data must stay as they are until
 * lab_sample_destroy(): touches are written to the tensors that the kernel reads, not to these.
 * Vectors of @problem must not overlap, though batch elements or heads may share them.
 * Returns HEED_OK; HEED_ERR_NO_MEMORY; HEED_ERR_UNSUPPORTED if there is no row that can be judged:
 * one that sees a key, with finite values, and is not tied. On failure *@result is NULL. */
heed_status lab_sample_create(lab_sample **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling);

/* lab_sample_destroy() frees @sample; NULL is ignored. */
void lab_sample_destroy(lab_sample *sample);

/* lab_sample_touch() says which elements to write before the next call, at random by @seed, and
 * makes sample->expect what is expected of it. Returns how many; the order matters. */
int lab_sample_touch(lab_sample *sample, uint64_t seed, lab_touch touches[LAB_TOUCHES]);

/* lab_sample_restore() is the same with no new touch: the tensors become what they were. */
int lab_sample_restore(lab_sample *sample, lab_touch touches[LAB_TOUCHES]);

/* lab_sample_reset() makes sample->expect what is expected of the tensors as they were. */
void lab_sample_reset(lab_sample *sample);

/* lab_touch_write() writes @touch to the tensor at @base, in host memory. */
void lab_touch_write(const lab_touch *touch, heed_type type, void *base);

/* lab_sample_error() returns the largest error of the rows of the sample over the one allowed; more
 * than 1 is too much, and NaN counts as infinite. @o is the tensor O of @problem in host memory,
 * at the problem's strides; @lse may be NULL. */
double lab_sample_error(const lab_sample *sample, const void *o, const float *lse);

#endif /* LAB_SAMPLE_H */
