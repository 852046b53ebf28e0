/*
 * tensors.h - tensors for timing, and the error of the output
 */
#ifndef LAB_BENCH_TENSORS_H
#define LAB_BENCH_TENSORS_H

#include "heed.h"
#include "lab/tensor/tensor.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/expect.h"

/* One problem, with captured values or without. */
typedef struct lab_bench_source {
    heed_problem problem;            /* normalized */
    char label[64];                  /* of captured values: their prefix in the file, else "" */
    lab_tensor tensors[LAB_VECTORS]; /* Q, K, V; zeroed: use random values */
} lab_bench_source;

/* Inputs and O at the problem's strides in device memory, in several copies. */
typedef struct lab_bench_tensors {
    heed_problem problem;  /* normalized */
    heed_context *context; /* of the device */
    int64_t copies;
    uint64_t seed;
    void **data;               /* [copies][LAB_ROLES], on the device; NULL: not used */
    void *values[LAB_VECTORS]; /* Q, K, V as if dense, [batch, seq, heads, dim]: element i of a
                                  tensor is value i modulo period */
    int64_t period;
    void *host[LAB_INPUTS]; /* the inputs at the problem's strides in host memory; those of the
                                  first copy, where that is host memory */
} lab_bench_tensors;

/* lab_bench_tensors_create() uses the values of @source, or random normal ones of @seed if it has
 * none, and operands filled by lab/verify/operands.h, in enough copies to exceed @bytes, at least
 * one. Random values repeat after a million. Returns HEED_OK or the device's status, such as
 * HEED_ERR_NO_MEMORY, with @tensors zeroed. */
heed_status lab_bench_tensors_create(lab_bench_tensors *tensors, heed_context *context,
                                     const lab_bench_source *source, uint64_t seed, int64_t bytes);
void lab_bench_tensors_free(lab_bench_tensors *tensors);

/* lab_bench_tensors_buffers() returns the copy that call number @call uses, without LSE and
 * workspace. lab_bench_tensors_inputs() returns the inputs in host memory. */
heed_buffers lab_bench_tensors_buffers(const lab_bench_tensors *tensors, int64_t call);
heed_buffers lab_bench_tensors_inputs(const lab_bench_tensors *tensors);

/* lab_bench_tensors_poison() fills every O with NaNs: an element that is not written afterwards
 * cannot be right. Returns as heed_device_upload() does. */
heed_status lab_bench_tensors_poison(const lab_bench_tensors *tensors);

/* lab_bench_tensors_dense() returns a dense copy of one tensor, [batch, seq, heads, dim], which the
 * caller frees; NULL if there is no memory. */
void *lab_bench_tensors_dense(const lab_bench_tensors *tensors, lab_role role);

/* lab_bench_tensors_operand() is the same for an operand, [batch, heads, queries, keys], and for an
 * array: *@size bytes. */
void *lab_bench_tensors_operand(const lab_bench_tensors *tensors, lab_role role, size_t *size);

/* lab_bench_tensors_error() writes lab_bench_error() of the O of call number @call to *@error, and
 * downloads only the rows that are checked. */
heed_status lab_bench_tensors_error(const lab_bench_tensors *tensors, int64_t call,
                                    const lab_expect *expect, double *error);

/* lab_bench_error() returns the largest error of @o, in host memory, over the rows of @expect, as a
 * multiple of the allowed error: up to 1 is right. NaN counts as infinite. lab_bench_rows_error()
 * is the same for an O that has only these rows, one after another. */
double lab_bench_error(const heed_problem *problem, const void *o, const lab_expect *expect);
double lab_bench_rows_error(heed_type type, const void *rows, const lab_expect *expect);

#endif /* LAB_BENCH_TENSORS_H */
