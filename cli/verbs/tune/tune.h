/*
 * tune.h - what the files of `heed tune` share
 *
 * problems -> times before, beside the rivals -> for each a sweep of every space that applies, and
 * evolution from what it found -> the best in turns with what there was, twice -> all gates ->
 * board, wisdom -> times after -> gates for champions that nobody beat -> table or JSON
 *
 * Every trial of a search is on the board before the next one begins; a run that was interrupted is
 * done again with the answers of the board in the place of those of the device.
 *
 * All of it has to be done in the given seconds. Each stage ends at its share of them, and looks at
 * the clock between two pieces of work: the start of a rival, one problem beside one rival, a point
 * that is compiled and timed, a problem on which two kernels take turns. Only the unit of work
 * under way then may take longer; a verification is broken off.
 */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "build/rerun.h"
#include "cli/verbs/bench/bench.h"
#include "cli/verbs/board/board.h"
#include "cli/verbs/sweep/sweep.h"
#include "measure/champion.h"
#include "session/leader.h"
#include "sweep/evolve.h"

#define TUNE_WHY_SIZE 256
#define TUNE_SPACES 4 /* spaces for one problem */

/* Trials of the same kernel on the same problem in one run, by what they are of. Those of a search
 * have their effort for a number. */
enum {
    TUNE_FIRST = 16, /* in turns with the champion */
    TUNE_AGAIN,      /* the same on fresh samples */
    TUNE_BEFORE,     /* beside the rivals */
    TUNE_AFTER,
    TUNE_BROKEN, /* what failed in turns */
    TUNE_LEAD,   /* in turns with a leader of the board that cannot be planned */
    TUNE_LEAD_AGAIN,
    TUNE_PROVEN /* as TUNE_BEFORE, once it has passed all gates */
};

/* Stages, in order, by when they have to end. */
typedef enum tune_stage {
    TUNE_BASELINES,
    TUNE_SEARCHES,
    TUNE_DUELS,
    TUNE_PROOFS, /* of what won */
    TUNE_AFTERWARDS,
    TUNE_STAGES
} tune_stage;

/* A space that is searched for a problem, with one kernel. */
typedef struct tune_space {
    char name[64], kernel[HEED_NAME_SIZE];
    int64_t points, pruned, launched; /* launched: by evolution as well */
    int64_t bred;                     /* by evolution */
} tune_space;

/* The verdict of the gates on the kernel that leads in the end. */
typedef enum tune_proof {
    TUNE_NO_TIME, /* nothing: there was no time */
    TUNE_PROVED,
    TUNE_REFUTED,
    TUNE_UNTOLD /* nothing: 'heed verify' could not be run to its end */
} tune_proof;

/* A challenger (A) in turns with a champion (B), and that again. */
typedef struct tune_contest {
    lab_bench_pair pairs[LAB_ROUNDS];
    lab_bout bout;
    char times[LAB_ROUNDS][2][LAB_RECORD_TIME_SIZE]; /* when a round began and ended */
    bool won;
    char why[TUNE_WHY_SIZE]; /* what became of it, in a sentence */
} tune_contest;

/* One problem. */
typedef struct tune_shape {
    const lab_bench_source *source;
    char spec[HEED_SPEC_SIZE];
    char champion[2 * HEED_NAME_SIZE]; /* what there is: of the board, else what heed plans */
    int64_t promoted;                  /* the trial by which it leads the board; 0: it does not */
    bool foreign; /* the leader of the board cannot be planned, a user's source say: a kernel that
                     wins the contest with it takes its place */
    lab_leader leader;              /* then */
    tune_contest lead;              /* then: B is the leader */
    tune_space spaces[TUNE_SPACES]; /* the champion's kernel first */
    size_t space_count;
    char best[HEED_NAME_SIZE]; /* that the search found; "": nothing ran */
    double searched;           /* its seconds there, the luck of many included */
    int64_t reused;
    lab_insight_course course; /* what the guide of evolution is told */
    lab_insight insight;       /* of the best that evolution began with, or came to */
    tune_contest challenge;    /* B is the champion */
    bool late;                 /* there was no time for one more round of it */
    tune_proof proof;
    bool kept; /* as wisdom */
    lab_bench_row before, after;
} tune_shape;

typedef struct tune_run {
    const cli_args *args;
    lab_sweep_options options;
    lab_bench bench; /* with the rivals */
    bench_sources sources;
    tune_shape *shapes;
    size_t count;
    lab_session session;
    cli_board_place place;
    lab_rerun_place rerun; /* of leaders of the board */
    double duel;           /* for each comparison, at most */
    double rivals;         /* for each match, at most */
    int64_t start_ns;
    lab_time_judge *judge; /* of times that cannot be */
} tune_run;

/* tune_time.c: what is left of the time. tune_until() is the end of a stage, in ns of
 * heed_clock_ns(), tune_left() the seconds until then, 0 at least; tune_share() the end of the next
 * one of @parts equal parts of what is left. tune_passed() are the seconds since the beginning. */
int64_t tune_until(const tune_run *tune, tune_stage stage);
double tune_left(const tune_run *tune, tune_stage stage);
int64_t tune_share(const tune_run *tune, tune_stage stage, size_t parts);
double tune_passed(const tune_run *tune);

/* tune_open.c: the steps before; each prints its failure. */
cli_exit tune_open_problems(tune_run *tune);
cli_exit tune_open_run(tune_run *tune);
cli_exit tune_find_champions(tune_run *tune);
void tune_free(tune_run *tune);

/* tune_spaces.c: tune_check_space() makes sure that --space can be read, and more than once, before
 * any work. tune_find_spaces() finds every space that has a kernel for the problem. */
cli_exit tune_check_space(const tune_run *tune);
cli_exit tune_find_spaces(const tune_run *tune, tune_shape *shape);

/* tune_beside.c: tune_time_all() times all problems beside the rivals, or @after the search those
 * that have a new champion. */
cli_exit tune_time_all(tune_run *tune, bool after);

/* tune_search.c: tune_search() searches for all problems, in the time that is left. */
cli_exit tune_search(tune_run *tune);

/* One space at work on one problem. tune_job_take() makes a point that took @seconds, at the
 * highest effort, the best one that was found if it is. */
typedef struct tune_job {
    tune_run *tune;
    tune_shape *shape;
    tune_space *space;
    lab_sweep sweep; /* of one problem */
    lab_evaluator inner;
    double best; /* seconds of its best point; 0: none */
    lab_error error;
    lab_progress *progress;
} tune_job;
void tune_job_take(tune_job *job, const lab_point *point, double seconds);
void tune_job_show(tune_job *job);

/* tune_evolve.c: tune_evolve() goes on from the points that a sweep found, by evolution, until
 * @until_ns, or for @trials launches. */
cli_exit tune_evolve(tune_job *job, int64_t until_ns, int64_t trials);

/* tune_contest.c: tune_challenge() lets the best of each search and the champion take turns, and
 * what leads then and a leader of the board that cannot be planned; and sends what won through all
 * gates. The winners are on the board then. tune_contender() is the kernel that leads of those that
 * heed can plan, and has to pass the gates. */
cli_exit tune_challenge(tune_run *tune);
const char *tune_contender(const tune_shape *shape);

/* tune_prove.c: all gates of heed verify for the winners, or for those that nobody beat. A kernel
 * that is refuted, or has no proof, is no winner any more. */
cli_exit tune_prove(tune_run *tune, bool winners);

/* tune_keep() makes wisdom of the final leader, whether it is new or was there before, where
 * all gates have been passed. */
void tune_keep(tune_run *tune);

/* tune_record.c: tune_trial() begins a trial of @kernel, which gets that @name. tune_add_round()
 * adds a round of a contest, tune_add_row() times beside the rivals, which began at @started, with
 * *@id 0 if there are none. tune_add_broken() adds what became of a kernel that could not be timed.
 */
lab_record_trial tune_trial(const tune_run *tune, const tune_shape *shape, const char *kernel,
                            int attempt, lab_session_name *name);
heed_status tune_add_round(const tune_run *tune, const tune_shape *shape,
                           const tune_contest *contest, int round, int attempt, int64_t *id,
                           lab_error *error);
heed_status tune_add_row(const tune_run *tune, const tune_shape *shape, const lab_bench_row *row,
                         int attempt, const char *started, int64_t *id, lab_error *error);
heed_status tune_add_broken(const tune_run *tune, const tune_shape *shape, const char *kernel,
                            int attempt, lab_bench_outcome outcome, const char *reason,
                            lab_error *error);

/* tune_report.c: the answer. */
cli_exit tune_report(const tune_run *tune);

#endif /* CLI_TUNE_H */
