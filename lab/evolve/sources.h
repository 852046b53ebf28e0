/*
 * sources.h - evolution of sources proposed by an external program
 *
 * proposer -> candidate, compiled and run in sandboxes -> gates, clock, board -> champion -> next
 * request to the proposer. The whole state of a run is on the board, from which it is resumed.
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

/* A source that was tried or is being tried. */
typedef struct lab_sources_kernel {
    char *name;
    char *source;
    char *thought;
    char *log; /* of a compiler or a gate; NULL: none */
    char hash[LAB_RECORD_HASH_SIZE];
    char parent[LAB_RECORD_HASH_SIZE]; /* "": none */
    lab_record_verdict verdict;
    bool known[LAB_SEARCH_SHAPES]; /* the result for a problem is on the board */
    double seconds[LAB_SEARCH_SHAPES];
    double score;   /* mean of the logarithms of seconds; INFINITY unless all are right */
    bool inspected; /* its machine code was inspected: ... */
    lab_point_facts point_facts; /* ... the worst figures over all kinds of problems */
    unsigned findings;           /* its limits, see lab/search/guide.h */
} lab_sources_kernel;

typedef struct lab_sources {
    /* Set by the caller. */
    lab_evolve *run;       /* without space, kernel and compilers */
    char *origin;          /* the text of the first source, to be freed */
    bool named;            /* it has an author, and may lead the board */
    const char *program;   /* of the proposer */
    lab_language language; /* of all sources */
    lab_way way;
    lab_limits limits;

    /* The result. */
    const char *proposer_name; /* on the board */
    lab_peer *proposer;
    lab_sources_kernel *kernels; /* the first one is the origin */
    size_t count;
    size_t champion; /* its number */
    bool has_champion;
    lab_insight_course course;     /* budget and progress of measurements of champions */
    size_t measured;               /* one-based number of the last measured champion; 0: none */
    lab_insight insight;           /* of that one */
    int64_t right;                 /* sources that ran right on all problems */
    int64_t refused;               /* proposals that were not a source, or a repeated one */
    int64_t tokens_in, tokens_out; /* of proposals in this process; -1: not known */
    char end[300];                 /* why it ended; "": the trials are used up */
} lab_sources;

/* lab_sources_begin() begins the run on the board, or resumes one unless @afresh. lab_sources_run()
 * does the whole run: HEED_ERR_SYSTEM once interrupted, and HEED_OK without a champion if the first
 * source is unfit. */
heed_status lab_sources_begin(lab_sources *all, bool afresh);
heed_status lab_sources_run(lab_sources *all);
void lab_sources_free(lab_sources *all);

/* -------------------------------------------------------------------------- */
/* For the files of this folder                                               */
/* -------------------------------------------------------------------------- */

/* ---- source_desk.c: a source in its process, and on the board ---- */

#define LAB_DESK_SAMPLES 256
typedef struct lab_desk_gates {
    lab_record_gate items[LAB_GATES + 1]; /* each gate, and "verify" if all passed */
    char details[LAB_GATES][200];
    size_t count;
} lab_desk_gates;
typedef struct lab_desk_words { /* text that its trials point to */
    const char *parents[1];
    char artifact[LAB_RECORD_HASH_SIZE];
    char launch[LAB_LAUNCH_SIZE];
} lab_desk_words;
typedef struct lab_desk {
    lab_sources *all;
    const lab_sources_kernel *kernel;
    const lab_sources_kernel
        *beside;  /* its opponent in a contest, for blocks of the same number of calls */
    size_t shape; /* the problem on which it was last started */
    lab_desk_words words;
    lab_bench_worker worker;          /* runs it */
    double samples[LAB_DESK_SAMPLES]; /* of the last timed problem */
    size_t sample_count;
    char started[LAB_RECORD_TIME_SIZE];
    lab_desk_gates gates; /* the verdicts on it */
} lab_desk;

/* lab_desk_new() returns a desk for kernel @number, with kernel @beside as its opponent; NULL: no
 * memory. lab_desk_free() accepts NULL. */
lab_desk *lab_desk_new(lab_sources *all, size_t number, size_t beside);
void lab_desk_free(lab_desk *desk);

/* lab_desk_inspect() adds facts from the machine code of the open trial to @kernel. */
void lab_desk_inspect(const lab_desk *desk, lab_sources_kernel *kernel);

/* lab_desk_pass_gates() runs all gates of lab_prove() on one problem, with an unpredictable seed.
 * If a gate fails, it sets verdict and log of @kernel. */
heed_status lab_desk_pass_gates(lab_desk *desk, lab_sources_kernel *kernel, size_t shape);

/* lab_desk_trial() returns its trial for the board, without the outcome, and lab_desk_artifact()
 * its compiled code, if a trial of it is open. */
lab_record_trial lab_desk_trial(const lab_sources *all, const lab_sources_kernel *kernel,
                                size_t shape, int attempt, lab_desk_words *words);
lab_record_artifact lab_desk_artifact(const lab_desk *desk, const lab_sources_kernel *kernel,
                                      char hash[LAB_RECORD_HASH_SIZE]);

/* lab_desk_take_outcome() sets the verdict of @kernel from the outcome of a trial. */
void lab_desk_take_outcome(lab_sources_kernel *kernel, const lab_trial_outcome *outcome);

/* lab_desk_add_fault() records on the board that the kernel of @desk, which had passed the gates,
 * was wrong or broke a rule in a contest on problem number @shape. It is then no longer ranked. */
heed_status lab_desk_add_fault(lab_desk *desk, size_t shape);

/* lab_sources_measure() reads hardware counters of the champion on the first problem, and adds the
 * findings from them. */
heed_status lab_sources_measure(lab_sources *all);

/* ---- source_trial.c ---- */

/* lab_sources_judge() tries @kernel on the problems without a result yet, and records the results
 * on the board. */
heed_status lab_sources_judge(lab_sources *all, lab_sources_kernel *kernel);

/* ---- source_contest.c: contests of sources ---- */

/* lab_sources_contest() is lab_evolve_contest_champion() for a challenger and the champion;
 * lab_sources_lead() is lab_evolve_lead() for the champion, and lab_sources_meet_plan() compares it
 * with heed's plan, for the report. A champion that fails there loses its place. */
heed_status lab_sources_contest(lab_sources *all, size_t challenger, bool *yes);
heed_status lab_sources_lead(lab_sources *all);
heed_status lab_sources_meet_plan(lab_sources *all);

/* ---- sources.c ---- */

void lab_sources_set_log(lab_sources_kernel *kernel, const char *log);
void lab_sources_score(const lab_sources *all, lab_sources_kernel *kernel);

/* ---- source_tell.c ---- */

/* lab_sources_ask() sends what is known to the proposer and gets the next kernel. */
heed_status lab_sources_ask(lab_sources *all, lab_proposal *proposal, lab_error *error);

#endif /* LAB_EVOLVE_SOURCES_H */
