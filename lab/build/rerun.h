/*
 * rerun.h - a leader of the board with a source of its own, made to run again
 *
 *     lab_rerun leader;
 *     lab_rerun_open(&leader, &place, record, trial, name, &problem, &error);
 *     if (*leader.why)                       it cannot be run here, for that reason
 *     pair.contender = leader.contender; pair.maker = leader.maker;
 *     lab_rerun_close(&leader);
 *
 * A C source runs in a sandbox, in a process of its own, and asking that takes time beside
 * computing: as much as that may be is taken off its times, so that nobody who seems faster owes it
 * to that. A CUDA source is compiled with the headers of its day, goes through the gates in a
 * process of its own, and is then launched in this one, as the board says.
 */
#ifndef LAB_RERUN_H
#define LAB_RERUN_H

#include "lab/bench/worker.h"
#include "lab/build/rebuild.h"

typedef struct lab_rerun_place {
    lab_rebuild_options options;
    heed_context *context;
    const lab_sink *sink;
    const char *device; /* such as "cuda:0"; "" on a CPU */
    int threads;        /* of the host, for references */
    bool replay;        /* time by replays */
    uint64_t seed;
    const lab_bench_worker *beside; /* the worker that it meets: then it runs as that does, on any
                                 device, and asking takes as long for both. NULL: it meets a kernel
                                 of this process */
} lab_rerun_place;

typedef struct lab_rerun {
    char name[2 * HEED_NAME_SIZE];
    heed_problem problem;
    char *source; /* NULL: it has none */
    char why[LAB_REBUILD_WHY_SIZE];
    const lab_bench_contender *contender; /* in place of B of a pair; NULL: see maker */
    const lab_bench_maker *maker;         /* likewise */
    lab_bench_worker worker;
    lab_bench_contender
        own; /* whichever it is, for who has no pair: by replays as the place says */
    lab_bench bench;
    lab_rebuild_library library;
    char *launch;
    lab_rebuild rebuilt;
    lab_bench_engine engine; /* of the maker, there */
} lab_rerun;

/* lab_rerun_open() makes it ready for @problem, normalized. That it cannot be run is no failure:
 * then it->why says why, and what to do. Texts of @place must outlive it. It must not be moved;
 * close it in any case. */
heed_status lab_rerun_open(lab_rerun *it, const lab_rerun_place *place, lab_record *record,
                           int64_t trial, const char *name, const heed_problem *problem,
                           lab_error *error);
void lab_rerun_close(lab_rerun *it);

#endif /* LAB_RERUN_H */
