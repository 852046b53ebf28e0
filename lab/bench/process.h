/*
 * process.h - a candidate in its process, at work on the tensors of a problem
 *
 *     lab_bench_process_open(&process, name, source);
 *     lab_bench_process_take(&process, &tensors);
 *     lab_bench_process_block(&process, &seconds);   again and again, in blocks of a size that
 *                                                    lab_bench_process_size() chooses
 *     lab_bench_process_leave(&process);
 *     lab_bench_process_close(&process);
 *
 * No call finds values that any other had: else one that keeps answers would seem fast. Each gets
 * the tensors' values from another place on, with fresh bits behind the point (lab/tensor/fresh.h).
 * In some calls, which are drawn, one key or query is not tame (hard.h).
 * All calls of a block are alike for the kernel, and of all of them everything must have been
 * written, and rows that are drawn afterwards are compared with the reference.
 */
#ifndef LAB_BENCH_PROCESS_H
#define LAB_BENCH_PROCESS_H

#include "lab/bench/hard.h"
#include "lab/bench/tensors.h"
#include "lab/measure/duel.h"
#include "lab/tensor/fresh.h"
#include "lab/trial/trial.h"

typedef struct lab_bench_process {
    lab_trial *trial;
    lab_limits limits;
    heed_problem problem;             /* normalized */
    const lab_bench_tensors *tensors; /* taken last, for its operands */
    void *values[LAB_VECTORS];        /* Q, K and V, longer than the tensors */
    int64_t step[LAB_VECTORS];        /* elements between two places where a tensor may begin */
    unsigned char *written;  /* of each element from the first to the last of O: 1; of gaps 0 */
    lab_calls calls;         /* of a block */
    void *laid[LAB_VECTORS]; /* Q, K and V of the call that is laid out */
    lab_bench_hard hard[LAB_WIRE_SETS]; /* of each call */
    int64_t hardened;                   /* calls so far that were to have something hard */
    lab_fresh fresh;                    /* of this block */
    uint64_t lot;                       /* that its places are drawn with; nobody can foresee it */
    uint64_t blocks;                    /* so far */
    double worst;  /* error of a row that was looked at, see lab_bench_error() */
    bool by_clock; /* blocks are timed by the clock, and the process may be on any CPU: for a
                      comparison with a side that is not one */
    bool renewed;  /* since it became a side */
    lab_trial_outcome outcome;
} lab_bench_process;

/* A block lasts about this long. */
#define LAB_BENCH_PROCESS_SECONDS 2e-3

/* lab_bench_process_open() opens the trial of a C @source, under process->limits; false if it
 * cannot: see process->outcome. A caller that compiles it otherwise calls lab_trial_open(). */
bool lab_bench_process_open(lab_bench_process *process, const char *name, const char *source);

/* lab_bench_process_take() prepares the trial, which is open, for the problem and the values of
 * @tensors. False if it cannot: see process->outcome. Either way lab_bench_process_leave() gives
 * the memory back. */
bool lab_bench_process_take(lab_bench_process *process, const lab_bench_tensors *tensors);
void lab_bench_process_leave(lab_bench_process *process);

/* lab_bench_process_close() leaves, and ends the process. */
void lab_bench_process_close(lab_bench_process *process);

/* lab_bench_process_size() chooses how many calls of @seconds make a block of @block_seconds, if
 * memory has room for so many sets. */
void lab_bench_process_size(lab_bench_process *process, double seconds, double block_seconds);

/* lab_bench_process_side() returns @process as a side of a duel, with the two functions below. Two
 * processes that are its sides share a CPU, another one for each stretch.
 *
 * lab_bench_process_block() is a block of the lab_bench_process @data. Its seconds are those that
 * the process had a CPU, or its device took, which do not tell how many others wanted one: a
 * candidate has one thread and nobody to wait for. HEED_ERR_SYSTEM once stopped;
 * HEED_ERR_UNSUPPORTED, with the outcome's text for a message, for whatever the candidate did:
 * process->worst above 1 says that it computed a wrong result.
 *
 * lab_bench_process_renew() starts the process of the lab_bench_process @data anew: in other
 * memory, at other addresses, and on one CPU of those that heed may use, which follows from
 * @common. One block is run and not counted, as the first calls pay for what is new. A CUDA
 * candidate, whose start may take a second, is renewed before the first stretch of a duel only.
 * Returns as lab_bench_process_block() does. */
lab_side lab_bench_process_side(lab_bench_process *process);
heed_status lab_bench_process_block(void *data, double *seconds);
heed_status lab_bench_process_renew(void *data, uint64_t common, uint64_t own);

#endif /* LAB_BENCH_PROCESS_H */
