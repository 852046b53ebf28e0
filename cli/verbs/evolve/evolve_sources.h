/*
 * evolve_sources.h - what the files of `heed evolve --proposer` share
 *
 * proposer -> candidate, compiled and run in sandboxes -> gates, clock, board -> champion -> what
 * the proposer is told next. All that is known of a run is on the board, and is read from there
 * when it goes on.
 */
#ifndef CLI_EVOLVE_SOURCES_H
#define CLI_EVOLVE_SOURCES_H

#include "bench/worker.h"
#include "evolve.h"
#include "inspect/findings.h"
#include "search/guide.h"
#include "search/propose.h"
#include "trial/launch.h"
#include "trial/trial.h"
#include "verify/gates.h"
#include "verify/verify.h"

/* A source that was tried, or is being. */
typedef struct source_kernel {
    char *name;
    char *source;
    char *thought;
    char *log; /* what a compiler or a gate said; NULL: nothing */
    char hash[LAB_RECORD_HASH_SIZE];
    char parent[LAB_RECORD_HASH_SIZE]; /* "": none */
    lab_record_verdict verdict;
    bool known[LAB_SEARCH_SHAPES]; /* is the answer for a problem on the board? */
    double seconds[LAB_SEARCH_SHAPES];
    double score;   /* mean of the logarithms of seconds; INFINITY unless all is well */
    bool inspected; /* its machine code was looked at: ... */
    lab_point_facts point_facts; /* ... the worst that was found, over all kinds of problems */
    unsigned findings;           /* what binds it, see search/guide.h */
} source_kernel;

typedef struct evolve_sources {
    evolve_run *run;
    char path[1024];   /* of the first source */
    char *origin;      /* its text */
    char program[512]; /* of the proposer, and its name on the board */
    const char *proposer_name;
    lab_language language; /* of all sources */
    lab_way way;
    lab_limits limits;
    lab_proposer *proposer;
    source_kernel *kernels; /* the first one is the origin */
    size_t count;
    size_t champion; /* its number */
    bool has_champion;
    size_t measured;     /* number from 1 of the champion that was measured last; 0: none was */
    lab_insight insight; /* of that one */
    int64_t asked;       /* proposals that were asked for */
    int64_t refused;     /* that were no source, or one that was tried */
    char end[300];       /* why it ended; "" : the trials are used up */
} evolve_sources;

/* evolve_sources_check() makes sure that --source and --proposer can be used, before anything that
 * takes time; the error has been printed. */
cli_exit evolve_sources_check(const cli_args *args);

/* evolve_sources_run() does the whole run, of which problems, board and device are open. */
cli_exit evolve_sources_run(evolve_run *run);

/* evolve_desk.c: a source in its process, and what is known of it. */
#define SOURCE_SAMPLES_MAX 256
typedef struct source_gates {
    lab_record_gate items[LAB_GATES + 1]; /* each of them, and "verify" if all let it pass */
    char details[LAB_GATES][200];
    size_t count;
} source_gates;
typedef struct source_words { /* that a trial of it points to */
    const char *parents[1];
    char artifact[LAB_RECORD_HASH_SIZE];
    char launch[LAB_LAUNCH_SIZE];
} source_words;
typedef struct source_desk {
    evolve_sources *all;
    const source_kernel *kernel;
    const source_kernel *beside; /* that has as many calls in a block, in a contest */
    size_t shape;                /* the problem of it that it was started on last */
    source_words words;
    lab_bench_worker worker;            /* that runs it */
    double samples[SOURCE_SAMPLES_MAX]; /* of the problem that was timed last */
    size_t sample_count;
    char started[LAB_RECORD_TIME_SIZE];
    source_gates gates; /* what they said on it */
} source_desk;

/* source_desk_open() is lab_bench_worker_open() of desk->kernel. */
bool source_desk_open(source_desk *desk, const heed_problem *problem);
void source_desk_close(source_desk *desk);

/* source_desk_inspect() writes what the machine code of the open trial says: its facts, and what
 * inspection finds. False: there is none, or it cannot be read. */
typedef struct source_clues {
    lab_clues clues;
    lab_clue found[LAB_CODE_FINDINGS_MAX];
} source_clues;
bool source_desk_inspect(const source_desk *desk, source_clues *it);

/* source_launch_words() writes how it is launched on a problem; false: it is in C, or says nothing.
 */
bool source_launch_words(const evolve_sources *all, const source_kernel *kernel,
                         const heed_problem *problem, char words[LAB_LAUNCH_SIZE]);

/* evolve_source_trial.c: trying one. source_judge() fills in what came of @kernel on the problems
 * that are not known yet, and puts it on the board. */
heed_status source_judge(evolve_sources *all, source_kernel *kernel);

/* All that lab_prove() asks on one problem, by a seed of its own that nobody knows before. Verdict
 * and log of @kernel are set if a gate refuses it. */
heed_status source_pass_gates(source_desk *desk, source_kernel *kernel, size_t shape);

/* evolve_source_contest.c: source_lead() is evolve_lead() of the champion. */
heed_status source_lead(evolve_sources *all);

/* source_falls() takes the champion's place from kernel @number, if it was found to be wrong, or
 * broke a rule, in @worker on problem number @shape; false: it did nothing of the kind. */
bool source_falls(evolve_sources *all, size_t number, size_t shape, const lab_bench_worker *worker);

/* source_contest() is evolve_contest_champion() of two of them. */
heed_status source_contest(evolve_sources *all, size_t challenger, bool *yes);

/* source_artifact() returns what a compiler made of it, where a trial of it is open at @desk. */
lab_record_artifact source_artifact(const source_desk *desk, const source_kernel *kernel,
                                    char hash[LAB_RECORD_HASH_SIZE]);

/* source_trial() returns a trial of it as the board has it, without its outcome. */
lab_record_trial source_trial(const evolve_sources *all, const source_kernel *kernel, size_t shape,
                              int attempt, source_words *words);

/* source_add_fault() puts on the board what @process found of @kernel after it had passed: it was
 * wrong, or broke a rule, when it met another one on problem number @shape, so that it is ranked no
 * more. */
heed_status source_add_fault(const evolve_sources *all, const source_kernel *kernel, size_t shape,
                             const lab_bench_process *process);

/* evolve_source_list.c: source_add() takes over nothing: it copies. NULL: no memory. */
source_kernel *source_add(evolve_sources *all, const char *name, const char *source,
                          const char *thought);
bool source_is_new(const evolve_sources *all, const char *source);
void source_set_log(source_kernel *kernel, const char *log);
void source_score(const evolve_sources *all, source_kernel *kernel);
void sources_free(evolve_sources *all);

/* sources_restore() reads the kernels of a run that goes on from the board. */
heed_status sources_restore(evolve_sources *all);

/* evolve_source_insight.c: source_measure() finds out what hardware counts of the champion, on the
 * first problem, and adds what that says to its findings. source_insight_json() is the report's. */
heed_status source_measure(evolve_sources *all);
json_t *source_insight_json(const evolve_sources *all);

/* evolve_source_tell.c: what the proposer is told: source_ask() asks for the next kernel. */
heed_status source_ask(evolve_sources *all, lab_proposal *proposal, lab_error *error);

/* evolve_source_plan.c: source_meet_plan() lets the champion take turns with what heed plans, for
 * the report. */
heed_status source_meet_plan(evolve_sources *all);

/* evolve_source_report.c: the answer. */
cli_exit sources_report(const evolve_sources *all);

#endif /* CLI_EVOLVE_SOURCES_H */
