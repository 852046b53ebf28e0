/*
 * seat.h - a candidate in its process, at work on the tensors of a problem
 *
 *     lab_trial_open(&seat.trial, &candidate, &seat.limits, &seat.outcome);
 *     cli_seat_take(&seat, &tensors);
 *     cli_seat_block(&seat, &seconds);   again and again; size the blocks by cli_seat_size()
 *     cli_seat_leave(&seat);
 *     cli_seat_close(&seat);
 *
 * The process works on copies in memory of its own, so tensors on a device are handed over by their
 * values in host memory.
 */
#ifndef CLI_SEAT_H
#define CLI_SEAT_H

#include "bench.h"
#include "trial/trial.h"

typedef struct cli_seat {
    lab_trial *trial;
    lab_limits limits;
    lab_set sets[LAB_WIRE_SETS]; /* all of the same tensors: the process copies them apart */
    void *workspace;
    void *o;   /* in host memory, where the tensors are on a device; else NULL */
    int calls; /* of a block */
    lab_trial_outcome outcome;
} cli_seat;

/* cli_seat_take() prepares the trial, which is open, for the problem of @tensors, which must stay.
 * False if it cannot: see seat->outcome. Either way cli_seat_leave() gives the memory back. */
bool cli_seat_take(cli_seat *seat, const bench_tensors *tensors);
void cli_seat_leave(cli_seat *seat);

/* cli_seat_close() leaves, and ends the process. */
void cli_seat_close(cli_seat *seat);

/* cli_seat_size() chooses how many calls of @seconds make a block of @block_seconds, if memory has
 * room for so many sets. */
void cli_seat_size(cli_seat *seat, double seconds, double block_seconds);

/* cli_seat_block() is a block, as a lab_side takes it. HEED_ERR_SYSTEM after Ctrl-C;
 * HEED_ERR_UNSUPPORTED, with the outcome's text for a message, for whatever the candidate did. */
heed_status cli_seat_block(void *seat, double *seconds);

/* cli_seat_poison() fills the O that the next block is to write with NaNs; cli_seat_error() writes
 * bench_error() of it to *@error. */
heed_status cli_seat_poison(cli_seat *seat, const bench_tensors *tensors);
heed_status cli_seat_error(const cli_seat *seat, const bench_tensors *tensors,
                           const lab_expect *expect, double *error);

#endif /* CLI_SEAT_H */
