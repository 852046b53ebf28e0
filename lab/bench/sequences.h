/*
 * sequences.h - the sequences of a problem with lengths, and their work
 */
#ifndef LAB_BENCH_SEQUENCES_H
#define LAB_BENCH_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/inspect/roofline.h"

/* The sequences of one problem with lengths, or with packed ones. */
typedef struct lab_bench_sequences {
    int64_t count;    /* 0: the problem has neither */
    int64_t queries;  /* of all together */
    int64_t keys;     /* likewise */
    int64_t shortest; /* keys of a sequence */
    int64_t longest;
    double flops;  /* of all, each as a separate problem */
    lab_work work; /* the least work of any exact kernel, see lab_roofline_work() */
} lab_bench_sequences;

/* lab_bench_sequences_of() reads the lengths in @data of @problem, normalized; the cumulative ones
 * if queries or keys are packed. */
lab_bench_sequences lab_bench_sequences_of(const heed_problem *problem, const heed_buffers *data);

#endif /* LAB_BENCH_SEQUENCES_H */
