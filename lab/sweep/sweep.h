/*
 * sweep.h - the evaluator of configs on a device, for a search or an evolution
 *
 *     lab_sweep sweep = { .sink = &sink, .space = space, .problems = problems, .shapes = shapes,
 *                         .context = context, .threads = threads, ... };
 *     const lab_evaluator evaluator = lab_sweep_evaluator(&sweep);
 *     lab_search_run(&search, &sweep.space, &evaluator, &options, &error);
 *     lab_sweep_prove(&gates, best, &proven);
 *     lab_sweep_compare(&gates, best, seed);
 *     lab_sweep_shapes_free(&sweep);
 *
 * A result comes from earlier trials, the board, or the device; announced points are compiled on
 * all cores meanwhile.
 */
#ifndef LAB_SWEEP_H
#define LAB_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heed.h"
#include "lab/base/sink.h"
#include "lab/bench/engine.h"
#include "lab/bench/pair.h"
#include "lab/inspect/cubin.h"
#include "lab/search/clues.h"
#include "lab/search/search.h"
#include "lab/search/trials.h"
#include "lab/session/plausible.h"
#include "lab/session/session.h"
#include "lab/shapes/shapes.h"
#include "src/cuda/facts.h"

typedef struct lab_sweep_pool lab_sweep_pool;

#define LAB_SWEEP_SAMPLES_MAX 256

/* One problem, with the data to time kernels on it. */
typedef struct lab_sweep_shape {
    lab_bench_source source;
    char spec[HEED_SPEC_SIZE];
    lab_bench_tensors tensors; /* zeroed until it is first needed */
    lab_expect *expect;
    double best;                /* minimum seconds so far; 0: none */
    char usual[HEED_NAME_SIZE]; /* heed's plan without wisdom */
    double usual_seconds;       /* 0: not timed */
    double found_seconds;       /* of the best point in the same duel; 0: not timed */
    double ratio, low, high;    /* time of usual over found, with its interval */
    const char *verdict;        /* on the found one; NULL: none */
    bool same;                  /* the best point is heed's plan */
} lab_sweep_shape;

typedef struct lab_sweep {
    const lab_sink *sink;
    lab_space space;
    lab_problems problems;
    lab_sweep_shape *shapes; /* of the problems */
    heed_context *context;   /* NULL: only compiles, runs nothing */
    bool replay;             /* time by replays */
    bool cold;               /* rotate through copies of the tensors that exceed every cache */
    int arch;                /* architecture to compile for; 0: none */
    char kernel[HEED_NAME_SIZE];
    int threads;          /* host threads, for compilation and references */
    lab_sweep_pool *pool; /* NULL: compiles nothing */
    lab_bounds limits;
    lab_trials known;        /* from earlier runs */
    lab_time_judge *judge;   /* detects impossible times; NULL: no check */
    FILE *record;            /* NULL: none */
    const char *record_path; /* of that file */
    lab_search *search;      /* the caller's search of its points; NULL: not begun */
    lab_session *session;    /* for trials on the board; NULL: none */
    bool ranks;              /* record the best point on that board, too */
    bool keeps_pruned;       /* record pruned points, too */

    /* The result. */
    int64_t reused;                        /* launches with already known results */
    bool answered;                         /* the last result was on the board */
    lab_error trouble;                     /* why the last function failed */
    double samples[LAB_SWEEP_SAMPLES_MAX]; /* of the last evaluation */
    char started[LAB_RECORD_TIME_SIZE];    /* its start time */
    const char *parents[2];                /* hashes of the parents of the next point */
    size_t parent_count;
} lab_sweep;

/* ---- compile.c: compiles points while the device times others ---- */

/* The facts of a point's code. */
typedef struct lab_sweep_facts {
    lab_point_facts point_facts;
    double predicted; /* mean of the logarithms of the cost model's seconds; 0: none */
    bool failed;      /* it cannot be compiled, or is illegal on a shape: see @why */
    char why[LAB_WHY_SIZE];
} lab_sweep_facts;

/* lab_sweep_pool_start() starts threads that compile, if there is anything to compile. Returns
 * HEED_OK, or a failure, with run->trouble. lab_sweep_pool_want() queues points to compile next,
 * lab_sweep_pool_get() waits for a point. */
heed_status lab_sweep_pool_start(lab_sweep *run);
void lab_sweep_pool_want(lab_sweep_pool *pool, const lab_point *points, size_t count);
lab_sweep_facts lab_sweep_pool_get(lab_sweep_pool *pool, int64_t point);

/* lab_sweep_pool_until() sets a deadline: a compilation that would end later is not begun ahead, so
 * the end is not delayed by unneeded code. */
void lab_sweep_pool_until(lab_sweep_pool *pool, int64_t until_ns);
void lab_sweep_pool_stop(lab_sweep_pool *pool);

/* lab_sweep_add_code() merges the facts of @code, for another kind of problem, into @facts;
 * lab_sweep_clues() makes clues from them. */
void lab_sweep_add_code(lab_point_facts *facts, const lab_cubin_kernel *code,
                        const heed_launch_facts *launch, int arch);
lab_clues lab_sweep_clues(const lab_point_facts *facts, int arch);

/* lab_sweep_findings() returns the limits of a point by its code, for the guide of evolution; 0 if
 * nothing is compiled. */
unsigned lab_sweep_findings(const lab_sweep *run, int64_t point);

/* ---- device.c: the evaluator on a device ---- */

lab_evaluator lab_sweep_evaluator(lab_sweep *run);
void lab_sweep_shapes_free(lab_sweep *run);

/* lab_sweep_open_shape() makes the tensors of a shape, and the expected results, if not done yet.
 */
heed_status lab_sweep_open_shape(const lab_sweep *run, lab_sweep_shape *shape);

/* lab_sweep_time_anew() times a selected kernel on shape number @number again, for the time of the
 * finals. A failure of the kernel is a result, and is reported to the sink. */
heed_status lab_sweep_time_anew(lab_sweep *run, size_t number, const char *name,
                                lab_evaluation *result);

/* lab_sweep_find_point() returns the point whose kernel and config have that name; -1: none. */
int64_t lab_sweep_find_point(const lab_sweep *run, const char *wanted);

/* lab_sweep_find_starts() returns the *@count points that the cost model predicts to be fastest on
 * each shape; the caller frees them. */
lab_point *lab_sweep_find_starts(const lab_sweep *run, size_t *count);

/* ---- judge.c: heed's plan without a search ---- */

/* lab_sweep_kernel_runs() returns HEED_OK if a kernel supports the problem on the device of
 * @context, without compiling. lab_sweep_try_kernel() does so for the architecture @arch, or for
 * the context if that is 0. */
heed_status lab_sweep_kernel_runs(heed_context *context, const heed_problem *problem,
                                  const char *name);
heed_status lab_sweep_try_kernel(heed_context *context, int arch, const heed_problem *problem,
                                 const char *name);

/* lab_sweep_find_usual() writes heed's plan without wisdom for each problem to its shape. */
void lab_sweep_find_usual(lab_sweep *run);

/* lab_sweep_play() starts both on the tensors of a shape, runs a duel, and stops them. For two
 * kernels of this process only the computation differs. Free @duel in any case. */
heed_status lab_sweep_play(const lab_sweep *run, size_t number, const lab_bench_contender *a,
                           const lab_bench_contender *b, const lab_duel_options *options,
                           lab_duel *duel);

/* lab_sweep_meet_usual() runs a duel of @found with heed's plan for the shape, and keeps the
 * result. */
heed_status lab_sweep_meet_usual(lab_sweep *run, size_t number, const lab_bench_contender *found,
                                 const lab_duel_options *options, lab_duel *duel);

/* ---- judge.c: the best points: gates, duels with heed's plan, the board ---- */

/* lab_sweep_trial() begins a trial for the board, and lab_sweep_add() adds it. */
lab_record_trial lab_sweep_trial(const lab_sweep *run, const lab_session_name *name, size_t shape,
                                 int attempt);
heed_status lab_sweep_add(lab_sweep *run, lab_record_trial *trial, int64_t *id);

/* lab_sweep_name_point() writes the name of a point's kernel. */
void lab_sweep_name_point(const lab_sweep *run, int64_t point, lab_session_name *name);

/* The verdicts of the gates on kernels, for the problems of a sweep. Set sweep, prover and
 * until_ns; free the items. */
typedef struct lab_sweep_gates {
    lab_sweep *sweep;
    lab_prover prover;
    int64_t until_ns; /* by heed_clock_ns(): a verification is stopped then; 0: never */
    struct lab_sweep_proof {
        int64_t point;
        lab_proven proven;
    } * items;
    size_t count;
} lab_sweep_gates;

/* lab_sweep_proven() returns the verdict on a point. lab_sweep_prove() runs the gates if there is
 * no verdict yet, and reports failures to the sink. HEED_ERR_SYSTEM once interrupted. */
lab_proven lab_sweep_proven(const lab_sweep_gates *gates, int64_t point);
heed_status lab_sweep_prove(lab_sweep_gates *gates, int64_t point, lab_proven *proven);

/* lab_sweep_confirm() times a kernel that passed all gates on shape number @number for the board,
 * with samples that did not influence its selection, unless that was done before. heed's plan is
 * verified now, if @gates is set. */
heed_status lab_sweep_confirm(lab_sweep *run, const lab_session_name *name, size_t number,
                              int attempt, const lab_sweep_gates *gates);

/* lab_sweep_compare() runs duels of the point with heed's plan, shape by shape; if the point may be
 * ranked on the board of a sweep, the plan is ranked too. */
heed_status lab_sweep_compare(const lab_sweep_gates *gates, int64_t point, uint64_t seed);

/* lab_sweep_add_refused() records on the board that a point failed the gates. */
heed_status lab_sweep_add_refused(lab_sweep *run, int64_t point);

#endif /* LAB_SWEEP_H */
