/*
 * holder.h - a leader of the board with a source of its own, made to run again
 *
 *     cli_holder holder;
 *     cli_holder_open(&holder, &place, record, trial, name, &problem, &error);
 *     if (*holder.why)                       it cannot be met here, for that reason
 *     pair.guest = holder.guest; pair.maker = holder.maker;
 *     cli_holder_close(&holder);
 *
 * A C source runs in a sandbox, in a process of its own, and asking that takes time beside
 * computing: as much as that may be is taken off its times, so that nobody who seems faster owes it
 * to that. A CUDA source is compiled with the headers of its day, goes through the gates in a
 * process of its own, and is then launched in this one, as the board says.
 */
#ifndef CLI_HOLDER_H
#define CLI_HOLDER_H

#include "gate.h"
#include "leader.h"

typedef struct cli_holder_place {
    const cli_args *args;
    heed_context *context;
    const char *device; /* such as "cuda:0"; "" on a CPU */
    int threads;        /* of the host, for references */
    uint64_t seed;
} cli_holder_place;

typedef struct cli_holder {
    char name[2 * HEED_NAME_SIZE];
    char *source; /* NULL: it has none */
    char why[GATE_WHY_SIZE];
    const cli_guest *guest; /* in the place of B of a pair; NULL: see maker */
    const cli_maker *maker; /* likewise */
    cli_worker worker;
    cli_guest own, asked; /* the worker's, and what is above it */
    gate_run gate;
    gate_shape shape;
    gate_rebuilt rebuilt;
    bench_engine engine; /* of cli_holder_start() */
} cli_holder;

/* cli_holder_open() makes it ready for @problem, normalized. That it cannot be met is no failure:
 * then it->why says why, and what to do. Texts of @place must outlive it. It must not be moved;
 * close it in any case. */
heed_status cli_holder_open(cli_holder *it, const cli_holder_place *place, lab_record *record,
                            int64_t trial, const char *name, const heed_problem *problem,
                            lab_error *error);
void cli_holder_close(cli_holder *it);

/* cli_holder_start() makes it a side that works on @tensors, by replays if @replay, for who has no
 * pair; cli_holder_stop() ends that, also after a failure. */
heed_status cli_holder_start(cli_holder *it, const bench_tensors *tensors, bool replay,
                             lab_side *side);
void cli_holder_stop(cli_holder *it);

#endif /* CLI_HOLDER_H */
