/*
 * evolve.h - declarations shared by the files of `heed evolve`
 *
 * options -> lab_evolve, or lab_sources for sources -> champion, as a table or JSON
 */
#ifndef CLI_EVOLVE_H
#define CLI_EVOLVE_H

#include "cli/verbs/board/board.h"
#include "cli/verbs/sweep/sweep.h"
#include "evolve/sources.h"

typedef struct evolve_run {
    const cli_args *args;
    heed_options machine; /* the host's threads and CPU, the device */
    lab_evolve evolve;
    cli_board_place place;
} evolve_run;

/* evolve_end() records the end of the run on the board, with @code and @note, which may be NULL;
 * returns @code, or the code of a failure. */
cli_exit evolve_end(const evolve_run *run, cli_exit code, const char *note);

/* evolve_planned_score() returns the mean logarithm of the times of
 * heed's plans in seconds; NAN if one was not timed. */
double evolve_planned_score(const lab_sweep *sweep);

/* evolve_sources.c: evolve_sources_check() checks --source and --proposer before any long work; an
 * error has been printed. evolve_sources() does the whole run, with problems, board and device
 * open. */
cli_exit evolve_sources_check(const cli_args *args);
cli_exit evolve_sources(evolve_run *run);

#endif /* CLI_EVOLVE_H */
