/*
 * checker.h - blocks whose answer is not known beforehand
 *
 * A kernel that is timed over and over computes the same problem each time, and one that knows that
 * need not compute it. So one element of Q, K or V is changed before each block, in the copy of the
 * tensors that the block's last call works on, and some rows of what that call leaves are compared
 * with what follows from the change (verify/sample.h).
 */
#ifndef LAB_BENCH_CHECKER_H
#define LAB_BENCH_CHECKER_H

#include "lab/bench/tensors.h"
#include "lab/verify/sample.h"

typedef struct lab_bench_checker {
    const lab_bench_tensors *tensors;
    lab_sample *sample;
    void *copies[LAB_VECTORS]; /* of Q, K, V as they were, where the first copy is host memory */
    int64_t touched;           /* the copy that has been changed */
    uint64_t seed;
    uint64_t blocks;
} lab_bench_checker;

/* lab_bench_checker_create() makes a checker of @tensors. Where none can be had, for want of memory
 * or because no row can be judged or vectors overlap, *@checker is NULL, which every function below
 * takes. */
void lab_bench_checker_create(lab_bench_checker **checker, const lab_bench_tensors *tensors,
                              uint64_t seed, int threads);
void lab_bench_checker_destroy(lab_bench_checker *checker);

/* lab_bench_checker_touch() changes the copy that call number @call works on, and makes the last
 * change undone. lab_bench_checker_error() writes the error of what that call left, as
 * lab_bench_error() has it, to *@error; 0 without a checker. lab_bench_checker_restore() makes the
 * tensors what they were. Return as heed_device_upload() does. */
heed_status lab_bench_checker_touch(lab_bench_checker *checker, int64_t call);
heed_status lab_bench_checker_error(const lab_bench_checker *checker, double *error);
heed_status lab_bench_checker_restore(lab_bench_checker *checker);

#endif /* LAB_BENCH_CHECKER_H */
