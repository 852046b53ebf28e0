/*
 * trials.h - the trials of a space's points, in an append-only text file
 *
 *     heed-trials 1
 *     space sweep90
 *     kernel fwd_16bit_sm80_mma
 *     device NVIDIA H200
 *     shape b2 h8 s512 d64 f16
 *     trial 0 1 time 1.2345e-05 registers=64 threads=128 tile=32 keys=16
 *     trial 0 0 pruned 0 registers=96 threads=256 tile=64 keys=64 ; spills 120 bytes
 *
 * A trial line has shape (counted from 0), effort, outcome, seconds, the point, and after a
 * semicolon the reason. Each line is flushed: a process killed while writing one loses only that
 * one.
 */
#ifndef LAB_TRIALS_H
#define LAB_TRIALS_H

#include <stdio.h>

#include "lab/search/search.h"

typedef struct lab_trial_record {
    int64_t point;
    int shape;
    int effort;
    size_t order; /* in the file */
    lab_evaluation answer;
} lab_trial_record;

typedef struct lab_trials {
    char space[64];
    char kernel[HEED_NAME_SIZE];
    char device[64];
    char (*shapes)[HEED_SPEC_SIZE];
    int shape_count;
    lab_trial_record *records; /* sorted by point, shape and effort; the last of duplicates */
    size_t count;
} lab_trials;

/* lab_trials_read() reads the file @path for @space, whose name it must contain. A last line
 * without a newline is ignored. The caller frees @trials with lab_trials_free(). Returns HEED_OK;
 * HEED_ERR_SYSTEM if the file cannot be read; HEED_ERR_CORRUPT if it is not a valid trial file,
 * with "FILE:LINE: "; HEED_ERR_NO_MEMORY. On failure @trials is empty. */
heed_status lab_trials_read(lab_trials *trials, const lab_space *space, const char *path,
                            lab_error *error);
void lab_trials_free(lab_trials *trials);

/* lab_trials_find() returns the result for a point on a shape: at @effort, or, if that is negative,
 * at the highest. NULL: none. */
const lab_evaluation *lab_trials_find(const lab_trials *trials, int64_t point, int shape,
                                      int effort);

/* lab_trials_append() opens @path to append trials. A new file begins with the header of @trials,
 * whose records are ignored; an existing one must have the same header, else HEED_ERR_INVALID. A
 * last line without a newline is removed. Returns as lab_trials_read() does. The caller closes
 * *@file. */
heed_status lab_trials_append(FILE **file, const lab_trials *trials, const lab_space *space,
                              const char *path, lab_error *error);

/* lab_trials_write() appends a trial. Returns HEED_OK, or HEED_ERR_SYSTEM with the reason in errno.
 */
heed_status lab_trials_write(FILE *file, const lab_space *space, const lab_trial_record *record);

#endif /* LAB_TRIALS_H */
