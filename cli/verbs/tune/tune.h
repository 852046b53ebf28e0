/*
 * tune.h - declarations shared by the files of `heed tune`
 *
 * options -> lab_tune -> board, wisdom -> table or JSON
 */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli/verbs/bench/bench.h"
#include "cli/verbs/board/board.h"
#include "cli/verbs/sweep/sweep.h"
#include "tune/tune.h"

typedef struct tune_run {
    const cli_args *args;
    heed_options machine; /* the host's threads and CPU, the device */
    lab_tune tune;
    bench_sources sources;
    cli_board_place place;
    const char *names[8]; /* of the spaces */
    lab_space spaces[8];
    bool *kept; /* by problem: saved as wisdom */
} tune_run;

/* tune_report.c: the result. */
cli_exit tune_report(const tune_run *run);

#endif /* CLI_TUNE_H */
