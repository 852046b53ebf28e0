/*
 * tune.h - the fastest kernel and config for each problem, and the proof
 *
 * problems -> times before, beside the rivals -> for each a sweep of every space that applies, and
 * evolution from what it found -> the best in turns with what there was, twice -> all gates ->
 * board, wisdom -> times after -> gates for champions that nobody beat -> table or JSON
 *
 * Every trial of a search is on the board before the next one begins; a run that was interrupted is
 * done again with the answers of the board in place of those of the device.
 *
 * All of it has to be done in the given seconds. Each stage ends at its share of them, and looks at
 * the clock between two pieces of work: the start of a rival, one problem beside one rival, a point
 * that is compiled and timed, a problem on which two kernels take turns. Only the unit of work
 * under way then may take longer; a verification is broken off.
 */
#ifndef LAB_TUNE_H
#define LAB_TUNE_H

#include "lab/build/rerun.h"
#include "lab/measure/champion.h"
#include "lab/search/figures.h"
#include "lab/session/leader.h"
#include "lab/session/prover.h"
#include "lab/sweep/evolve.h"

#define LAB_TUNE_WHY_SIZE 256
#define LAB_TUNE_SPACES 4 /* spaces for one problem */

/* Trials of the same kernel on the same problem in one run, by what they are of. Those of a search
 * have their effort for a number. */
enum {
    LAB_TUNE_FIRST = 16, /* in turns with the champion */
    LAB_TUNE_AGAIN,      /* the same on fresh samples */
    LAB_TUNE_BEFORE,     /* beside the rivals */
    LAB_TUNE_AFTER,
    LAB_TUNE_BROKEN, /* a comparison that failed */
    LAB_TUNE_LEAD,   /* in turns with a leader of the board that cannot be planned */
    LAB_TUNE_LEAD_AGAIN,
    LAB_TUNE_PROVEN /* as LAB_TUNE_BEFORE, once it has passed all gates */
};

/* A space that is searched for a problem, with one kernel. */
typedef struct lab_tune_space {
    const char *name;       /* the caller's */
    const lab_space *space; /* likewise */
    char kernel[HEED_NAME_SIZE];
    int64_t points, pruned, launched; /* launched: by evolution as well */
    int64_t bred;                     /* by evolution */
    lab_figures figures;              /* how many were made, and right */
} lab_tune_space;

/* A challenger (A) in turns with a champion (B), and that again. */
typedef struct lab_tune_contest {
    lab_bench_pair pairs[LAB_ROUNDS];
    lab_bout bout;
    char times[LAB_ROUNDS][2][LAB_RECORD_TIME_SIZE]; /* when a round began and ended */
    bool won;
    char why[LAB_TUNE_WHY_SIZE]; /* the outcome, in a sentence */
} lab_tune_contest;

/* One problem. */
typedef struct lab_tune_shape {
    const lab_bench_source *source;
    char spec[HEED_SPEC_SIZE];
    char champion[2 * HEED_NAME_SIZE]; /* the incumbent: of the board, else heed's plan */
    int64_t promoted;                  /* the trial by which it leads the board; 0: it does not */
    bool foreign; /* the leader of the board cannot be planned, a user's source say: a kernel that
                     wins the contest with it takes its place */
    lab_leader leader;                      /* then */
    lab_tune_contest lead;                  /* then: B is the leader */
    lab_tune_space spaces[LAB_TUNE_SPACES]; /* the champion's kernel first */
    size_t space_count;
    char best[HEED_NAME_SIZE]; /* that the search found; "": nothing ran */
    double searched;           /* its seconds there, the luck of many included */
    int64_t reused;
    lab_insight_course course;  /* the facts for the guide of evolution */
    lab_insight insight;        /* of the best that evolution began with, or came to */
    lab_tune_contest challenge; /* B is the champion */
    bool late;                  /* there was no time for one more round of it */
    lab_proven proven;          /* of the kernel that leads in the end; LAB_UNPROVEN: no time */
    lab_bench_row before, after;
} lab_tune_shape;

/* The spaces that may be searched, with their names. */
typedef struct lab_tune_spaces {
    const char *const *names;
    const lab_space *items;
    size_t count;
} lab_tune_spaces;

typedef struct lab_tune {
    /* The caller's. Functions that fail say why in trouble; HEED_ERR_SYSTEM once interrupted. */
    lab_bench bench; /* with the rivals */
    lab_tune_spaces spaces;
    lab_tune_shape *shapes; /* with source and spec */
    size_t count;
    lab_session session; /* with its board, and where it measures */
    lab_prover prover;
    lab_rerun_place rerun; /* of leaders of the board */
    const char *device;    /* as it was asked for */
    lab_insight_mode insights;
    double seconds; /* for everything, from start_ns on */
    int64_t start_ns;
    int64_t trials; /* launches for each problem at most; 0: any */
    double duel;    /* for each comparison, at most */
    double rivals;  /* for each match, at most */

    lab_time_judge *judge; /* of times that cannot be */
    lab_error trouble;
} lab_tune;

/* lab_tune_begin() begins the run on the board, or goes on with one; rivals may be started for as
 * long as bench.deadline_ns says then. lab_tune_run() does all of it. lab_tune_free() frees what
 * the shapes hold. */
heed_status lab_tune_begin(lab_tune *tune);
heed_status lab_tune_run(lab_tune *tune);
void lab_tune_free(lab_tune *tune);

/* lab_tune_contender() is the kernel that leads in the end of those that heed can plan.
 * lab_tune_proved_seconds() is its time, if it has passed all gates: not the one that it was chosen
 * by; 0: it has not, or was not timed. lab_tune_passed() are the seconds since the beginning. */
const char *lab_tune_contender(const lab_tune_shape *shape);
double lab_tune_proved_seconds(const lab_tune_shape *shape);
double lab_tune_passed(const lab_tune *tune);

/* -------------------------------------------------------------------------- */
/* For the files of this folder                                               */
/* -------------------------------------------------------------------------- */

/* Stages, in order, by when they have to end. */
typedef enum lab_tune_stage {
    LAB_TUNE_BASELINES,
    LAB_TUNE_SEARCHES,
    LAB_TUNE_DUELS,
    LAB_TUNE_PROOFS, /* of what won */
    LAB_TUNE_AFTERWARDS,
    LAB_TUNE_STAGES
} lab_tune_stage;

/* lab_tune_until() is the end of a stage, in ns of heed_clock_ns(), lab_tune_left() the seconds
 * until then, 0 at least; lab_tune_share() the end of the next one of @parts equal parts of what is
 * left. */
int64_t lab_tune_until(const lab_tune *tune, lab_tune_stage stage);
double lab_tune_left(const lab_tune *tune, lab_tune_stage stage);
int64_t lab_tune_share(const lab_tune *tune, lab_tune_stage stage, size_t parts);

/* search.c: lab_tune_find_spaces() finds every space that has a kernel for the problem.
 * lab_tune_search() searches for all problems, in the time that is left. */
void lab_tune_find_spaces(const lab_tune *tune, lab_tune_shape *shape);
heed_status lab_tune_search(lab_tune *tune);

/* contest.c: lab_tune_challenge() lets the best of each search and the champion take turns, and
 * what leads then and a leader of the board that cannot be planned; and sends what won through all
 * gates. The winners are on the board then. */
heed_status lab_tune_challenge(lab_tune *tune);

/* prove.c: all gates for the winners, or for those that nobody beat. A kernel that is refuted, or
 * has no proof, is no winner any more. */
heed_status lab_tune_prove(lab_tune *tune, bool winners);

/* record.c: lab_tune_add_round() adds a round of a contest, lab_tune_add_row() times beside the
 * rivals, which began at @started, with *@id 0 if there are none. lab_tune_add_broken() adds what
 * became of a kernel that could not be timed. */
heed_status lab_tune_add_round(lab_tune *tune, const lab_tune_shape *shape,
                               const lab_tune_contest *contest, int round, int attempt,
                               int64_t *id);
heed_status lab_tune_add_row(lab_tune *tune, const lab_tune_shape *shape, const lab_bench_row *row,
                             int attempt, const char *started, int64_t *id);
heed_status lab_tune_add_broken(lab_tune *tune, const lab_tune_shape *shape, const char *kernel,
                                int attempt, lab_bench_outcome outcome, const char *reason);

#endif /* LAB_TUNE_H */
