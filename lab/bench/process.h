/*
 * process.h - a candidate in a process, timed on the tensors of a problem
 *
 *     lab_bench_process_open(&process, name, source);
 *     lab_bench_process_take(&process, &tensors);
 *     lab_bench_process_block(&process, &seconds);   again and again, in blocks of a size that
 *                                                    lab_bench_process_size() chooses
 *     lab_bench_process_leave(&process);
 *     lab_bench_process_close(&process);
 *
 * No two calls get the same values, or a kernel that caches results would seem fast. Each call gets
 * the tensors' values from another offset, with fresh low bits (lab/tensor/random.h). In some
 * random calls one key or query is not tame (hard.h). All calls of a block look alike to the
 * kernel. Each must write its whole output, and rows chosen at random afterwards are compared with
 * the reference.
 */
#ifndef LAB_BENCH_PROCESS_H
#define LAB_BENCH_PROCESS_H

#include "lab/bench/hard.h"
#include "lab/bench/tensors.h"
#include "lab/measure/duel.h"
#include "lab/tensor/random.h"
#include "lab/trial/trial.h"

typedef struct lab_bench_process {
    lab_trial *trial;
    lab_limits limits;
    heed_problem problem;             /* normalized */
    const lab_bench_tensors *tensors; /* of the last take, for its operands */
    void *values[LAB_VECTORS];        /* Q, K and V, longer than the tensors */
    int64_t step[LAB_VECTORS];        /* elements between possible offsets of a tensor */
    unsigned char *written;  /* 1 for each element from the first to the last of O, 0 in gaps */
    lab_calls calls;         /* of a block */
    void *laid[LAB_VECTORS]; /* Q, K and V of the call being laid out */
    lab_bench_hard hard[LAB_WIRE_SETS]; /* of each call */
    int64_t hardened;                   /* calls so far that were chosen for a hard value */
    lab_fresh fresh;                    /* of this block */
    uint64_t lot;                       /* the unpredictable seed of its offsets */
    uint64_t blocks;                    /* so far */
    double worst;                       /* largest error of a checked row, see lab_bench_error() */
    bool by_clock; /* blocks are timed by the clock, and the process may use any CPU: for a
                      comparison with a side that is not a process */
    bool renewed;  /* since it became a side */
    lab_trial_outcome outcome;
} lab_bench_process;

/* A block lasts about this long. */
#define LAB_BENCH_PROCESS_SECONDS 2e-3

/* lab_bench_process_open() opens the trial of a C @source, under process->limits. Returns false if
 * it cannot: see process->outcome. To compile differently, call lab_trial_open() instead. */
bool lab_bench_process_open(lab_bench_process *process, const char *name, const char *source);

/* lab_bench_process_take() prepares the trial, which is open, for the problem and the values of
 * @tensors. False if it cannot: see process->outcome. Either way lab_bench_process_leave() frees
 * the memory. */
bool lab_bench_process_take(lab_bench_process *process, const lab_bench_tensors *tensors);
void lab_bench_process_leave(lab_bench_process *process);

/* lab_bench_process_close() leaves, and ends the process. */
void lab_bench_process_close(lab_bench_process *process);

/* lab_bench_process_size() chooses the number of calls of @seconds in a block of @block_seconds,
 * limited by the sets of tensors that fit in memory. */
void lab_bench_process_size(lab_bench_process *process, double seconds, double block_seconds);

/* lab_bench_process_side() returns @process as a side of a duel, with the two functions below. If
 * both sides of a duel are processes, they share a CPU, another one in each stretch.
 *
 * lab_bench_process_block() runs a block of the lab_bench_process @data. Its seconds are CPU time
 * of the process, or time on its device, which do not depend on other load: a candidate has one
 * thread and never waits. HEED_ERR_SYSTEM once stopped; HEED_ERR_UNSUPPORTED, with the outcome's
 * text as the message, for any failure of the candidate: process->worst above 1 means a wrong
 * result.
 *
 * lab_bench_process_renew() restarts the process of the lab_bench_process @data: in other memory,
 * at other addresses, and on one of the CPUs that heed may use, selected by @common. One block is
 * run untimed, as the first calls pay one-time costs. A CUDA candidate, whose start may take a
 * second, is renewed only before the first stretch of a duel. Returns as lab_bench_process_block()
 * does. */
lab_side lab_bench_process_side(lab_bench_process *process);
heed_status lab_bench_process_block(void *data, double *seconds);
heed_status lab_bench_process_renew(void *data, uint64_t common, uint64_t own);

#endif /* LAB_BENCH_PROCESS_H */
