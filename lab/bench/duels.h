/*
 * duels.h - many duels of a kernel with itself: how often is a verdict wrong?
 *
 * duels of something beside itself -> counts of verdicts
 */
#ifndef LAB_BENCH_DUELS_H
#define LAB_BENCH_DUELS_H

#include "lab/bench/bench.h"

/* One duel, over all the time it had, so that it can be judged by more than one rule. */
typedef struct lab_bench_one_duel {
    lab_duel duel;
    lab_comparison usual;    /* by bench->margin */
    lab_comparison champion; /* as for a champion: FASTER by LAB_CHAMPION_GAIN */
    double load;             /* before it: the average of the last minute, ... */
    int running;             /* ... and threads that ran or wanted to; 0: not known */
} lab_bench_one_duel;

/* Of @bench, whose seconds are those of one duel. All up to wanted are set before the run. */
typedef struct lab_bench_duels {
    const lab_bench *bench;
    const lab_bench_source *source; /* the problem */
    const char *name;               /* of the C source ... */
    const char *text;               /* ... that is both sides, each in a process; NULL: heed's
                                       plan is, in this process */
    double planted;                 /* how much longer B is to take, as a share; 0: as long */
    double time_limit;              /* seconds: none begins later */
    size_t wanted;
    char kernel[HEED_NAME_SIZE];
    lab_bench_outcome outcome; /* of a source that did not run */
    lab_bench_one_duel *items;
    size_t count;
} lab_bench_duels;

/* lab_bench_duels_run() runs them. On failure @items has those before it. HEED_ERR_SYSTEM once
 * stopped, and where all->outcome says what is wrong with the source. Free in any case. */
heed_status lab_bench_duels_run(lab_bench_duels *all, lab_error *error);
void lab_bench_duels_free(lab_bench_duels *all);

#endif /* LAB_BENCH_DUELS_H */
