/*
 * tune.h - tuning: the fastest kernel and config for each problem, with proof
 *
 * problems -> times before, with the rivals -> for each a sweep of every suitable space, and
 * evolution from its results -> two duels of the best with the champion -> all gates -> board,
 * wisdom -> times after -> gates for unbeaten champions -> table or JSON
 *
 * Every trial of a search is recorded on the board before the next one begins; an interrupted run
 * is repeated with results from the board instead of the device.
 *
 * The whole run must end within the given seconds. Each stage ends at its share of them, and checks
 * the clock between units of work: the start of a rival, a match on one problem, a point that is
 * compiled and timed, a duel on one problem. Only the unit in progress may exceed the limit; a
 * verification is aborted.
 */
#ifndef LAB_TUNE_H
#define LAB_TUNE_H

#include "lab/build/rerun.h"
#include "lab/measure/champion.h"
#include "lab/search/figures.h"
#include "lab/session/leader.h"
#include "lab/sweep/evolve.h"

#define LAB_TUNE_WHY_SIZE 256
#define LAB_TUNE_SPACES 4 /* maximum of spaces for one problem */

/* Attempt numbers of trials of the same kernel on the same problem in one run. Those of a search
 * are the effort. */
enum {
    LAB_TUNE_FIRST = 16, /* duel with the champion */
    LAB_TUNE_AGAIN,      /* the same on fresh samples */
    LAB_TUNE_BEFORE,     /* match with the rivals */
    LAB_TUNE_AFTER,
    LAB_TUNE_BROKEN, /* a comparison that failed */
    LAB_TUNE_LEAD,   /* duel with a leader of the board that cannot be planned */
    LAB_TUNE_LEAD_AGAIN,
    LAB_TUNE_PROVEN /* like LAB_TUNE_BEFORE, after passing all gates */
};

/* A space to search for a problem, with one kernel. */
typedef struct lab_tune_space {
    const char *name;       /* the caller's */
    const lab_space *space; /* likewise */
    char kernel[HEED_NAME_SIZE];
    int64_t points, pruned, launched; /* launched includes evolution */
    int64_t bred;                     /* by evolution */
    lab_figures figures;              /* numbers of compiled and right points */
} lab_tune_space;

/* A contest of a challenger (A) with a champion (B), in two rounds. */
typedef struct lab_tune_contest {
    lab_bench_pair pairs[LAB_ROUNDS];
    lab_bout bout;
    char times[LAB_ROUNDS][2][LAB_RECORD_TIME_SIZE]; /* start and end of each round */
    bool won;
    char why[LAB_TUNE_WHY_SIZE]; /* the outcome, as a sentence */
} lab_tune_contest;

/* One problem. */
typedef struct lab_tune_shape {
    const lab_bench_source *source;
    char spec[HEED_SPEC_SIZE];
    char champion[2 * HEED_NAME_SIZE]; /* the incumbent: of the board, else heed's plan */
    int64_t promoted;                  /* its leading trial on the board; 0: it does not lead */
    bool foreign; /* the leader of the board cannot be planned, such as a user's source; a kernel
                     that wins the contest with it replaces it */
    lab_leader leader;                      /* if foreign */
    lab_tune_contest lead;                  /* if foreign: B is the leader */
    lab_tune_space spaces[LAB_TUNE_SPACES]; /* the champion's kernel first */
    size_t space_count;
    char best[HEED_NAME_SIZE]; /* best of the search; "": nothing ran */
    double searched;           /* its seconds there, with selection bias */
    int64_t reused;
    lab_insight_course course;  /* the facts for the guide of evolution */
    lab_insight insight;        /* of the best that evolution began with or found */
    lab_tune_contest challenge; /* B is the champion */
    bool late;                  /* there was no time for another round */
    lab_proven proven;          /* of the finally leading kernel; LAB_UNPROVEN: no time */
    lab_bench_row before, after;
} lab_tune_shape;

/* The available spaces, with their names. */
typedef struct lab_tune_spaces {
    const char *const *names;
    const lab_space *items;
    size_t count;
} lab_tune_spaces;

typedef struct lab_tune {
    /* Set by the caller. Functions that fail set trouble; HEED_ERR_SYSTEM once interrupted. */
    lab_bench bench; /* with the rivals */
    lab_tune_spaces spaces;
    lab_tune_shape *shapes; /* with source and spec */
    size_t count;
    lab_session session; /* with its board, and where it measures */
    lab_prover prover;
    lab_rebuild_options rebuild; /* of leaders of the board */
    const char *device;          /* as the user named it */
    lab_insight_mode insights;
    double seconds; /* for the whole run, from start_ns */
    int64_t start_ns;
    int64_t trials; /* maximum of launches per problem; 0: unlimited */
    double duel;    /* maximum per comparison */
    double rivals;  /* maximum per match */

    lab_time_judge *judge; /* detects impossible times */
    lab_error trouble;
} lab_tune;

/* lab_tune_begin() begins the run on the board, or resumes one, and sets bench.deadline_ns, until
 * which rivals may be started. lab_tune_run() does the whole run. lab_tune_free() frees the
 * contents of the shapes. */
heed_status lab_tune_begin(lab_tune *tune);
heed_status lab_tune_run(lab_tune *tune);
void lab_tune_free(lab_tune *tune);

/* lab_tune_contender() returns the finally leading kernel of those that heed can plan.
 * lab_tune_proved_seconds() returns its time, not the one by which it was selected, if it has
 * passed all gates; 0: it has not, or was not timed. lab_tune_passed() returns the seconds since
 * the beginning. */
const char *lab_tune_contender(const lab_tune_shape *shape);
double lab_tune_proved_seconds(const lab_tune_shape *shape);
double lab_tune_passed(const lab_tune *tune);

/* -------------------------------------------------------------------------- */
/* For the files of this folder                                               */
/* -------------------------------------------------------------------------- */

/* Stages, in order of their deadlines. */
typedef enum lab_tune_stage {
    LAB_TUNE_BASELINES,
    LAB_TUNE_SEARCHES,
    LAB_TUNE_DUELS,
    LAB_TUNE_PROOFS, /* of winners */
    LAB_TUNE_AFTERWARDS,
    LAB_TUNE_STAGES
} lab_tune_stage;

/* lab_tune_until() returns the deadline of a stage, by heed_clock_ns(), lab_tune_left() the seconds
 * until then, at least 0; lab_tune_share() the end of the next of @parts equal parts of the
 * remaining time. */
int64_t lab_tune_until(const lab_tune *tune, lab_tune_stage stage);
double lab_tune_left(const lab_tune *tune, lab_tune_stage stage);
int64_t lab_tune_share(const lab_tune *tune, lab_tune_stage stage, size_t parts);

/* search.c: lab_tune_find_spaces() finds every space that has a kernel for the problem.
 * lab_tune_search() searches for all problems in the remaining time. */
void lab_tune_find_spaces(const lab_tune *tune, lab_tune_shape *shape);
heed_status lab_tune_search(lab_tune *tune);

/* contest.c: lab_tune_challenge() holds the contests of the best of each search with the champion,
 * and of the result with a leader of the board that cannot be planned; and puts winners through all
 * gates. The winners are then on the board. */
heed_status lab_tune_challenge(lab_tune *tune);

/* prove.c: runs all gates on the winners, or on unbeaten champions. A kernel that is refuted or not
 * proven loses its win. */
heed_status lab_tune_prove(lab_tune *tune, bool winners);

/* record.c: lab_tune_add_round() adds a round of a contest, lab_tune_add_row() the times of a match
 * with the rivals that began at @started, with *@id 0 if there are none. lab_tune_add_broken()
 * records the failure of a kernel that could not be timed. */
heed_status lab_tune_add_round(lab_tune *tune, const lab_tune_shape *shape,
                               const lab_tune_contest *contest, int round, int attempt,
                               int64_t *id);
heed_status lab_tune_add_row(lab_tune *tune, const lab_tune_shape *shape, const lab_bench_row *row,
                             int attempt, const char *started, int64_t *id);
heed_status lab_tune_add_broken(lab_tune *tune, const lab_tune_shape *shape, const char *kernel,
                                int attempt, lab_bench_outcome outcome, const char *reason);

#endif /* LAB_TUNE_H */
