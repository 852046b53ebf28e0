/*
 * tune.h - what the files of `heed tune` share
 *
 * problems -> times before, beside the rivals -> a search for each -> its best in turns with what
 * there was, twice -> all gates -> board, wisdom -> times after -> table or JSON
 *
 * Every trial of a search is on the board before the next one begins; a run that was interrupted is
 * done again with the answers of the board in the place of those of the device.
 */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "board.h"
#include "measure/champion.h"
#include "pair.h"
#include "sweep.h"

#define TUNE_WHY_SIZE 256

/* Trials of the same kernel on the same problem in one run, by what they are of. Those of a search
 * have their effort for a number. */
enum {
    TUNE_FIRST = 16, /* in turns with the champion */
    TUNE_AGAIN,      /* the same on fresh samples */
    TUNE_BEFORE,     /* beside the rivals */
    TUNE_AFTER
};

/* One problem. */
typedef struct tune_shape {
    const bench_source *source;
    char spec[HEED_SPEC_SIZE];
    char champion[2 * HEED_NAME_SIZE]; /* what there is: of the board, else what heed plans */
    int64_t title;                     /* the trial by which it leads the board; 0: it does not */
    bool foreign; /* who leads the board cannot be planned, a source of somebody's say:
                     nobody here has met it, and its title is not for us to give */
    char space[64], kernel[HEED_NAME_SIZE]; /* where to search; "": nowhere */
    char best[HEED_NAME_SIZE];              /* that the search found; "": nothing ran */
    double searched;                        /* its seconds there, the luck of many included */
    int64_t points, pruned, launched, reused;
    cli_pair first, again; /* A: the best, B: the champion */
    lab_comparison one, two;
    int rounds;   /* in turns, that are judged */
    bool refuted; /* by the gates */
    bool won;
    char why[TUNE_WHY_SIZE]; /* what became of it, in a sentence */
    bench_row before, after;
} tune_shape;

typedef struct tune_run {
    const cli_args *args;
    bench_run bench; /* with the rivals */
    bench_sources sources;
    tune_shape *shapes;
    size_t count;
    lab_record *record;
    int64_t run; /* its number on the board */
    bool resumed;
    int64_t selftest; /* that its gates rely on; 0: none */
    cli_board_place place;
    double seconds; /* for all searches together */
    double duel;    /* for each comparison */
    uint64_t seed;
    int64_t start_ns;
} tune_run;

/* tune_open.c: the steps before; each prints its failure. */
cli_exit tune_open_problems(tune_run *tune);
cli_exit tune_open_run(tune_run *tune);
cli_exit tune_find_champions(tune_run *tune);
void tune_free(tune_run *tune);

/* tune_search.c: tune_search() searches for all problems, in the time that there is. */
cli_exit tune_search(tune_run *tune);

/* tune_challenge.c: tune_challenge() lets the best of each search and the champion take turns, and
 * sends what won through all gates; the winners are on the board, and known to the context, then.
 */
cli_exit tune_challenge(tune_run *tune);

/* tune_record.c: tune_trial() begins a trial; tune_name is what it points to. tune_add_pair() adds
 * a round of turns, tune_add_row() times beside the rivals, with *@id 0 if there are none. */
typedef struct tune_name {
    char kernel[2 * HEED_NAME_SIZE];
    const char *config;
} tune_name;
lab_record_trial tune_trial(const tune_run *tune, const tune_shape *shape, const char *kernel,
                            int attempt, tune_name *name);
heed_status tune_add_pair(const tune_run *tune, const tune_shape *shape, int attempt, int64_t *id,
                          lab_error *error);
heed_status tune_add_row(const tune_run *tune, const tune_shape *shape, const bench_row *row,
                         int attempt, int64_t *id, lab_error *error);

/* tune_report.c: the answer. */
cli_exit tune_report(const tune_run *tune);

#endif /* CLI_TUNE_H */
