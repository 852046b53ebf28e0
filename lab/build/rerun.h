/*
 * rerun.h - runs a leader of the board from the source on the board
 *
 *     lab_rerun leader;
 *     lab_rerun_open(&leader, &options, &bench, NULL, record, trial, name, &problem, &error);
 *     if (*leader.why)                       it cannot be run here, for that reason
 *     pair.contender = leader.contender; pair.maker = leader.maker;
 *     lab_rerun_close(&leader);
 *
 * A C source runs in a sandboxed process. An allowance for communication with it is subtracted from
 * its times, so an opponent cannot win by that overhead alone. A CUDA source is compiled with its
 * original headers, goes through the gates in a separate process, and is then launched in this one,
 * with the launch parameters on the board.
 */
#ifndef LAB_RERUN_H
#define LAB_RERUN_H

#include "lab/bench/worker.h"
#include "lab/build/rebuild.h"

typedef struct lab_rerun {
    char name[2 * HEED_NAME_SIZE];
    heed_problem problem;
    char *source; /* NULL: none */
    char why[LAB_REBUILD_WHY_SIZE];
    const lab_bench_contender *contender; /* in place of B of a pair; NULL: see maker */
    const lab_bench_maker *maker;         /* likewise */
    lab_bench_worker worker;
    lab_bench_contender own; /* for callers without a pair */
    lab_rebuild_library library;
    char *launch;
    lab_rebuild rebuilt;
    lab_bench_player player; /* of the maker, in @own */
} lab_rerun;

/* lab_rerun_open() makes @it ready for @problem, normalized, where @bench runs, as for a
 * lab_rebuild. If its opponent is a worker, @beside, both run alike, with the same overhead; NULL:
 * a kernel of this process. A leader that cannot run is not a failure: it->why then has the reason
 * and a remedy. @bench and the strings of @options must outlive @it. It must not be moved; close it
 * in any case. */
heed_status lab_rerun_open(lab_rerun *it, const lab_rebuild_options *options,
                           const lab_bench *bench, const lab_bench_worker *beside,
                           lab_record *record, int64_t trial, const char *name,
                           const heed_problem *problem, lab_error *error);
void lab_rerun_close(lab_rerun *it);

#endif /* LAB_RERUN_H */
