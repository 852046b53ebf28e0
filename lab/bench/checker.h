/*
 * checker.h - timed blocks with unpredictable results
 *
 * Timing repeats the same problem, so a kernel could skip the work and keep its results. Therefore
 * one element of Q, K or V is changed before each block, in the copy of the tensors that the
 * block's last call uses, and some rows of that call's output are compared with the expected effect
 * of the change (verify/sample.h).
 */
#ifndef LAB_BENCH_CHECKER_H
#define LAB_BENCH_CHECKER_H

#include "lab/bench/tensors.h"
#include "lab/verify/sample.h"

typedef struct lab_bench_checker {
    const lab_bench_tensors *tensors;
    lab_sample *sample;
    void *copies[LAB_VECTORS]; /* original Q, K and V, where the first copy is host memory */
    int64_t touched;           /* the copy that has been changed */
    uint64_t seed;
    uint64_t blocks;
} lab_bench_checker;

/* lab_bench_checker_create() makes a checker of @tensors. If there is no memory, no row can be
 * judged or vectors overlap, *@checker is NULL, which every function below accepts. */
void lab_bench_checker_create(lab_bench_checker **checker, const lab_bench_tensors *tensors,
                              uint64_t seed, int threads);
void lab_bench_checker_destroy(lab_bench_checker *checker);

/* lab_bench_checker_touch() changes the copy that call number @call uses, and undoes the previous
 * change. lab_bench_checker_error() writes the error of that call's output, see lab_bench_error(),
 * to *@error; 0 without a checker. lab_bench_checker_restore() restores the tensors. Return as
 * heed_device_upload() does. */
heed_status lab_bench_checker_touch(lab_bench_checker *checker, int64_t call);
heed_status lab_bench_checker_error(const lab_bench_checker *checker, double *error);
heed_status lab_bench_checker_restore(lab_bench_checker *checker);

#endif /* LAB_BENCH_CHECKER_H */
