/*
 * bench_duels.h - what the two files of `heed bench --calibrate --duels` share
 *
 * duels of something beside itself -> counts of verdicts -> a line or JSON
 */
#ifndef CLI_BENCH_DUELS_H
#define CLI_BENCH_DUELS_H

#include "bench.h"

/* One duel, over all the time it had, so that it can be judged by more than one rule. */
typedef struct bench_one_duel {
    lab_duel duel;
    lab_comparison usual; /* by --margin */
    lab_comparison title; /* as for a champion: FASTER by LAB_CHAMPION_GAIN */
    double load;          /* before it: the average of the last minute, ... */
    int running;          /* ... and threads that ran or wanted to; 0: not known */
} bench_one_duel;

typedef struct bench_duels {
    const lab_bench *bench;
    const lab_bench_source *source;
    const char
        *file; /* whose kernel stands beside itself in processes; NULL: heed's plan, in ours */
    bool json;
    double time_limit; /* seconds: none begins later */
    char kernel[HEED_NAME_SIZE];
    double planted; /* how much longer B is to take, as a share; 0: as long */
    bench_one_duel *items;
    size_t count, wanted;
} bench_duels;

/* bench_duels_print() prints a line, or JSON with all blocks and the line on stderr. */
cli_exit bench_duels_print(const bench_duels *all);

#endif /* CLI_BENCH_DUELS_H */
