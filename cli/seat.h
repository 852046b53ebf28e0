/*
 * seat.h - a candidate in its process, at work on the tensors of a problem
 *
 *     lab_trial_open(&seat.trial, &candidate, &seat.limits, &seat.outcome);
 *     cli_seat_take(&seat, &tensors);
 *     cli_seat_block(&seat, &seconds);   again and again; size the blocks by cli_seat_size()
 *     cli_seat_leave(&seat);
 *     cli_seat_close(&seat);
 *
 * The process works on copies in memory of its own, and no two calls find the same values: else one
 * that keeps answers would seem fast. Each call gets the tensors' values from another place on, so
 * that all of them have moved, and one call of each block, nobody knows which, is compared with the
 * reference.
 */
#ifndef CLI_SEAT_H
#define CLI_SEAT_H

#include "bench.h"
#include "trial/trial.h"

typedef struct cli_seat {
    lab_trial *trial;
    lab_limits limits;
    heed_problem problem;        /* normalized */
    void *values[LAB_ROLES - 1]; /* Q, K and V, longer than the tensors */
    int64_t step[LAB_ROLES - 1]; /* elements between two places where a tensor may begin */
    void *o, *rest;              /* O of the call that is looked at, and of the others */
    size_t o_size;               /* bytes */
    lab_set sets[LAB_WIRE_SETS];
    void *workspace;
    int calls;       /* of a block */
    uint64_t seed;   /* of what is drawn by lot: of the clock, so that nobody can know it before */
    uint64_t blocks; /* so far */
    double worst;    /* error of a call that was looked at, see bench_error() */
    lab_trial_outcome outcome;
} cli_seat;

/* cli_seat_take() prepares the trial, which is open, for the problem and the values of @tensors.
 * False if it cannot: see seat->outcome. Either way cli_seat_leave() gives the memory back. */
bool cli_seat_take(cli_seat *seat, const bench_tensors *tensors);
void cli_seat_leave(cli_seat *seat);

/* cli_seat_close() leaves, and ends the process. */
void cli_seat_close(cli_seat *seat);

/* cli_seat_size() chooses how many calls of @seconds make a block of @block_seconds, if memory has
 * room for so many sets. */
void cli_seat_size(cli_seat *seat, double seconds, double block_seconds);

/* cli_seat_block() is a block of the cli_seat @data, as a lab_side takes it. HEED_ERR_SYSTEM after
 * Ctrl-C; HEED_ERR_UNSUPPORTED, with the outcome's text for a message, for whatever the candidate
 * did: seat->worst above 1 says that it computed the wrong thing. */
heed_status cli_seat_block(void *data, double *seconds);

#endif /* CLI_SEAT_H */
