/*
 * sources.h - evolution of sources, which an outside program proposes
 *
 * proposer -> candidate, compiled and run in sandboxes -> gates, clock, board -> champion -> what
 * the proposer is told next. All that is known of a run is on the board, and is read from there
 * when it goes on.
 *
 *     lab_sources all = { .run = &run, .origin = text, .language = LAB_LANGUAGE_C,
 *                         .program = "heed-propose-regions", ... };
 *     lab_evolve_begin(&run);
 *     lab_sources_begin(&all, false);
 *     lab_sources_run(&all);
 *     lab_session_end(&run.session, ...);
 *     lab_sources_free(&all);
 */
#ifndef LAB_EVOLVE_SOURCES_H
#define LAB_EVOLVE_SOURCES_H

#include "lab/bench/worker.h"
#include "lab/evolve/evolve.h"
#include "lab/inspect/findings.h"
#include "lab/search/propose.h"
#include "lab/trial/launch.h"
#include "lab/trial/trial.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/verify.h"

/* A source that was tried, or is being. */
typedef struct lab_sources_kernel {
    char *name;
    char *source;
    char *thought;
    char *log; /* of a compiler or a gate; NULL: none */
    char hash[LAB_RECORD_HASH_SIZE];
    char parent[LAB_RECORD_HASH_SIZE]; /* "": none */
    lab_record_verdict verdict;
    bool known[LAB_SEARCH_SHAPES]; /* is the answer for a problem on the board? */
    double seconds[LAB_SEARCH_SHAPES];
    double score;   /* mean of the logarithms of seconds; INFINITY unless all is well */
    bool inspected; /* its machine code was looked at: ... */
    lab_point_facts point_facts; /* ... the worst that was found, over all kinds of problems */
    unsigned findings;           /* its limits, see lab/search/guide.h */
} lab_sources_kernel;

typedef struct lab_sources {
    /* The caller's. */
    lab_evolve *run;       /* without space, kernel and compilers */
    char *origin;          /* the text of the first source, to be freed */
    bool named;            /* that is somebody's work, and may lead the board */
    const char *program;   /* of the proposer */
    lab_language language; /* of all sources */
    lab_way way;
    lab_limits limits;

    /* The result. */
    const char *proposer_name; /* on the board */
    lab_proposer *proposer;
    lab_sources_kernel *kernels; /* the first one is the origin */
    size_t count;
    size_t champion; /* its number */
    bool has_champion;
    lab_insight_course course; /* how much is measured of champions, and what it came to */
    size_t measured;           /* number from 1 of the champion that was measured last; 0: none */
    lab_insight insight;       /* of that one */
    int64_t right;             /* sources that ran right on all problems */
    int64_t refused;           /* proposals that were no source, or one that was tried */
    int64_t tokens_in, tokens_out; /* that its proposals took, since it was begun here; -1: not
                                      told */
    char end[300];                 /* why it ended; "" : the trials are used up */
} lab_sources;

/* lab_sources_begin() begins the run on the board, or goes on with one unless it is @afresh.
 * lab_sources_run() does the whole run: HEED_ERR_SYSTEM once interrupted, and HEED_OK without a
 * champion if the first source is unfit. */
heed_status lab_sources_begin(lab_sources *all, bool afresh);
heed_status lab_sources_run(lab_sources *all);
void lab_sources_free(lab_sources *all);

/* -------------------------------------------------------------------------- */
/* For the files of this folder                                               */
/* -------------------------------------------------------------------------- */

/* ---- source_desk.c: a source in its process, and on the board ---- */

#define LAB_DESK_SAMPLES 256
typedef struct lab_desk_gates {
    lab_record_gate items[LAB_GATES + 1]; /* each of them, and "verify" if all let it pass */
    char details[LAB_GATES][200];
    size_t count;
} lab_desk_gates;
typedef struct lab_desk_words { /* that a trial of it points to */
    const char *parents[1];
    char artifact[LAB_RECORD_HASH_SIZE];
    char launch[LAB_LAUNCH_SIZE];
} lab_desk_words;
typedef struct lab_desk {
    lab_sources *all;
    const lab_sources_kernel *kernel;
    const lab_sources_kernel *beside; /* that has as many calls in a block, in a contest */
    size_t shape;                     /* the problem of it that it was started on last */
    lab_desk_words words;
    lab_bench_worker worker;          /* that runs it */
    double samples[LAB_DESK_SAMPLES]; /* of the problem that was timed last */
    size_t sample_count;
    char started[LAB_RECORD_TIME_SIZE];
    lab_desk_gates gates; /* their verdict on it */
} lab_desk;

/* lab_desk_new() returns a desk of kernel @number, which may meet kernel @beside; NULL: no memory.
 * lab_desk_open() is lab_bench_worker_open() of it. lab_desk_free() takes NULL. */
lab_desk *lab_desk_new(lab_sources *all, size_t number, size_t beside);
bool lab_desk_open(lab_desk *desk, const heed_problem *problem);
void lab_desk_free(lab_desk *desk);

/* lab_desk_inspect() adds what the machine code of the open trial says to @kernel. */
void lab_desk_inspect(const lab_desk *desk, lab_sources_kernel *kernel);

/* lab_desk_pass_gates() is all that lab_prove() asks on one problem, by a seed of its own that
 * nobody knows before. Verdict and log of @kernel are set if a gate refuses it. */
heed_status lab_desk_pass_gates(lab_desk *desk, lab_sources_kernel *kernel, size_t shape);

/* lab_desk_trial() returns a trial of it as the board has it, without its outcome, and
 * lab_desk_artifact() what a compiler made of it, where a trial of it is open. */
lab_record_trial lab_desk_trial(const lab_sources *all, const lab_sources_kernel *kernel,
                                size_t shape, int attempt, lab_desk_words *words);
lab_record_artifact lab_desk_artifact(const lab_desk *desk, const lab_sources_kernel *kernel,
                                      char hash[LAB_RECORD_HASH_SIZE]);

/* lab_desk_take_outcome() takes what became of a trial as the verdict of @kernel. */
void lab_desk_take_outcome(lab_sources_kernel *kernel, const lab_trial_outcome *outcome);

/* lab_desk_add_fault() puts on the board what @desk's process found after its kernel had passed: it
 * was wrong, or broke a rule, when it met another one on problem number @shape, so that it is
 * ranked no more. */
heed_status lab_desk_add_fault(lab_desk *desk, size_t shape);

/* lab_sources_measure() finds out what hardware counts of the champion, on the first problem, and
 * adds what that says to its findings. */
heed_status lab_sources_measure(lab_sources *all);

/* ---- source_trial.c ---- */

/* lab_sources_judge() fills in what came of @kernel on the problems that are not known yet, and
 * puts it on the board. */
heed_status lab_sources_judge(lab_sources *all, lab_sources_kernel *kernel);

/* ---- source_contest.c: sources that take turns ---- */

/* lab_sources_contest() is lab_evolve_contest_champion() of a challenger and the champion;
 * lab_sources_lead() is lab_evolve_lead() of the champion, and lab_sources_meet_plan() lets it take
 * turns with what heed plans, for the report. One that falls there is no champion any more. */
heed_status lab_sources_contest(lab_sources *all, size_t challenger, bool *yes);
heed_status lab_sources_lead(lab_sources *all);
heed_status lab_sources_meet_plan(lab_sources *all);

/* ---- source_list.c: the sources of a run, in memory and as the board has them ---- */

/* lab_sources_add() takes over nothing: it copies. NULL: no memory. */
lab_sources_kernel *lab_sources_add(lab_sources *all, const char *name, const char *source,
                                    const char *thought);
bool lab_sources_is_new(const lab_sources *all, const char *source);
void lab_sources_set_log(lab_sources_kernel *kernel, const char *log);
void lab_sources_score(const lab_sources *all, lab_sources_kernel *kernel);

/* lab_sources_restore() reads the kernels of a run that goes on from the board. */
heed_status lab_sources_restore(lab_sources *all);

/* ---- source_tell.c ---- */

/* lab_sources_ask() asks the proposer for the next kernel, and tells it what is known. */
heed_status lab_sources_ask(lab_sources *all, lab_proposal *proposal, lab_error *error);

#endif /* LAB_EVOLVE_SOURCES_H */
