/*
 * duels.h - many duels of a kernel with itself, to count wrong verdicts
 *
 * duels of a kernel with itself -> verdicts
 */
#ifndef LAB_BENCH_DUELS_H
#define LAB_BENCH_DUELS_H

#include "lab/bench/bench.h"

/* One duel, run for its full time, so more than one rule can judge it. */
typedef struct lab_bench_one_duel {
    lab_duel duel;
    lab_comparison usual;    /* by bench->margin */
    lab_comparison champion; /* as for a champion: FASTER by LAB_CHAMPION_GAIN */
    double load;             /* before the duel: the load average of the last minute, ... */
    int running;             /* ... and the number of runnable threads; 0: not known */
} lab_bench_one_duel;

/* The duels of @bench, whose seconds are those of one duel. Set the members up to wanted before the
 * run. */
typedef struct lab_bench_duels {
    const lab_bench *bench;
    const lab_bench_source *source; /* the problem */
    const char *name;               /* of the C source ... */
    const char *text;  /* ... of both sides, each in a process; NULL: both are heed's plan, in this
                          process */
    double planted;    /* planted slowdown of B, as a share; 0: none */
    double time_limit; /* seconds: none begins later */
    size_t wanted;
    char kernel[HEED_NAME_SIZE];
    lab_bench_outcome outcome; /* of a source that did not run */
    lab_bench_one_duel *items;
    size_t count;
} lab_bench_duels;

/* lab_bench_duels_run() runs them. On failure @items has those finished before. HEED_ERR_SYSTEM
 * once stopped, and if the source failed, see all->outcome. Free in any case. */
heed_status lab_bench_duels_run(lab_bench_duels *all, lab_error *error);
void lab_bench_duels_free(lab_bench_duels *all);

#endif /* LAB_BENCH_DUELS_H */
