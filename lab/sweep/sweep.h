/*
 * sweep.h - points of a space of configs timed on a device, for a search or an evolution
 *
 *     lab_sweep sweep = { .sink = &sink, .space = space, .problems = problems, .shapes = shapes,
 *                         .context = context, .threads = threads, ... };
 *     const lab_evaluator evaluator = lab_sweep_evaluator(&sweep);
 *     lab_search_run(&search, &sweep.space, &evaluator, &options, &error);
 *     lab_sweep_prove(&gates, best, &proven);
 *     lab_sweep_compare(&gates, best, seed);
 *     lab_sweep_shapes_free(&sweep);
 *
 * An answer comes from the trials of before, from the board, or from the device; points that are
 * announced are compiled on all cores meanwhile.
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
#include "lab/session/prover.h"
#include "lab/session/session.h"
#include "lab/shapes/shapes.h"
#include "src/cuda/facts.h"

typedef struct lab_sweep_pool lab_sweep_pool;

#define LAB_SWEEP_SAMPLES_MAX 256

/* One problem, with what it takes to time kernels on it. */
typedef struct lab_sweep_shape {
    lab_bench_source source;
    char spec[HEED_SPEC_SIZE];
    lab_bench_tensors tensors; /* zeroed until it is first needed */
    lab_expect *expect;
    double best;                /* least seconds so far; 0: none */
    char usual[HEED_NAME_SIZE]; /* heed's plan without wisdom */
    double usual_seconds;       /* 0: not timed */
    double found_seconds;       /* of the best point beside it; 0: not timed */
    double ratio, low, high;    /* usual over found, with its interval */
    const char *verdict;        /* of the found one; NULL: none */
    bool same;                  /* the best point is what heed plans */
} lab_sweep_shape;

typedef struct lab_sweep {
    const lab_sink *sink;
    lab_space space;
    lab_problems problems;
    lab_sweep_shape *shapes; /* of the problems */
    heed_context *context;   /* NULL: nothing runs, code is compiled alone */
    bool replay;             /* time by replays */
    bool cold;               /* rotate through copies of the tensors that exceed every cache */
    int arch;                /* that code is compiled for; 0: none is */
    char kernel[HEED_NAME_SIZE];
    int threads;          /* of the host, for compiling and references */
    lab_sweep_pool *pool; /* NULL: nothing is compiled */
    lab_bounds limits;
    lab_trials known;        /* from before */
    lab_time_judge *judge;   /* of times that cannot be; NULL: none are doubted */
    FILE *record;            /* NULL: none */
    const char *record_path; /* of that file */
    lab_search *search;      /* of its points, the caller's; NULL: not begun */
    lab_session *session;    /* of the trials on the board; NULL: none */
    bool ranks;              /* its best point goes to that board as well */
    bool keeps_pruned;       /* so do points that were pruned */

    /* The result. */
    int64_t reused;                        /* launches whose answers were known from before */
    bool answered;                         /* the last answer was on the board */
    lab_error trouble;                     /* why the last function failed */
    double samples[LAB_SWEEP_SAMPLES_MAX]; /* of the last evaluation */
    char started[LAB_RECORD_TIME_SIZE];    /* when it began */
    const char *parents[2];                /* hashes of those that the next point was bred from */
    size_t parent_count;
} lab_sweep;

/* ---- compile.c: points are compiled while the device is busy with others ---- */

/* The facts of a point, by its code. */
typedef struct lab_sweep_facts {
    lab_point_facts point_facts;
    double predicted; /* mean of the logarithms of the cost model's seconds; 0: none */
    bool failed;      /* it cannot be compiled, or is not legal on a shape: @why */
    char why[LAB_WHY_SIZE];
} lab_sweep_facts;

/* lab_sweep_pool_start() starts threads that compile, where there is something to compile; returns
 * HEED_OK, or why not, with run->trouble. lab_sweep_pool_want() says what to compile next,
 * lab_sweep_pool_get() waits for a point. */
heed_status lab_sweep_pool_start(lab_sweep *run);
void lab_sweep_pool_want(lab_sweep_pool *pool, const lab_point *points, size_t count);
lab_sweep_facts lab_sweep_pool_get(lab_sweep_pool *pool, int64_t point);

/* lab_sweep_pool_until() says when its work ends: a compilation that would take longer is not begun
 * in advance, so that nobody has to wait for code that nobody will ask for. */
void lab_sweep_pool_until(lab_sweep_pool *pool, int64_t until_ns);
void lab_sweep_pool_stop(lab_sweep_pool *pool);

/* lab_sweep_add_code() adds the facts of @code, one more kind of problem, to @facts;
 * lab_sweep_clues() makes clues of them. */
void lab_sweep_add_code(lab_point_facts *facts, const lab_cubin_kernel *code,
                        const heed_launch_facts *launch, int arch);
lab_clues lab_sweep_clues(const lab_point_facts *facts, int arch);

/* lab_sweep_findings() returns what the code of a point says about what holds it back, for the
 * guide of evolution; 0 where nothing is compiled. */
unsigned lab_sweep_findings(const lab_sweep *run, int64_t point);

/* ---- device.c: the evaluator on a device ---- */

lab_evaluator lab_sweep_evaluator(lab_sweep *run);
void lab_sweep_shapes_free(lab_sweep *run);

/* lab_sweep_open_shape() makes the tensors of a shape, and what to expect on them, if they are not
 * there yet. */
heed_status lab_sweep_open_shape(const lab_sweep *run, lab_sweep_shape *shape);

/* lab_sweep_time_anew() times a kernel on shape number @number once it was chosen, as long as those
 * in the finals. A failure of it is a result, and the sink is told. */
heed_status lab_sweep_time_anew(lab_sweep *run, size_t number, const char *name,
                                lab_evaluation *result);

/* lab_sweep_find_point() returns the point whose kernel and config have that name; -1: none. */
int64_t lab_sweep_find_point(const lab_sweep *run, const char *wanted);

/* lab_sweep_find_starts() returns the points that stand for what the cost model likes best on each
 * shape, *@count of them; to be freed. */
lab_point *lab_sweep_find_starts(const lab_sweep *run, size_t *count);

/* ---- usual.c: heed's plan without a search ---- */

/* lab_sweep_kernel_runs() says whether a kernel is for the problem on the device of @context:
 * HEED_OK if so. Nothing is compiled. lab_sweep_try_kernel() does so for the architecture @arch, or
 * the context where that is 0. */
heed_status lab_sweep_kernel_runs(heed_context *context, const heed_problem *problem,
                                  const char *name);
heed_status lab_sweep_try_kernel(heed_context *context, int arch, const heed_problem *problem,
                                 const char *name);

/* lab_sweep_find_usual() writes what heed plans by itself for each problem to its shape. */
void lab_sweep_find_usual(lab_sweep *run);

/* A kernel that is planned by its name, as a side. Set sweep and name. */
typedef struct lab_sweep_player {
    const lab_sweep *sweep;
    char name[2 * HEED_NAME_SIZE];
    lab_bench_engine engine;
} lab_sweep_player;

/* lab_sweep_contender() returns a player that can be started; it must not be moved then. */
lab_bench_contender lab_sweep_contender(lab_sweep_player *player);

/* lab_sweep_play() starts both on the tensors of a shape, lets them take turns, and stops them. Two
 * kernels of this process differ in nothing but what they compute. Free @duel in any case. */
heed_status lab_sweep_play(const lab_sweep *run, size_t number, const lab_bench_contender *a,
                           const lab_bench_contender *b, const lab_duel_options *options,
                           lab_duel *duel);

/* lab_sweep_meet_usual() lets @found play against what heed plans for the shape, and keeps what
 * that said. */
heed_status lab_sweep_meet_usual(lab_sweep *run, size_t number, const lab_bench_contender *found,
                                 const lab_duel_options *options, lab_duel *duel);

/* ---- judge.c: the best points: gates, turns with heed's plan, the board ---- */

/* lab_sweep_trial() begins a trial for the board, and lab_sweep_add() adds it. */
lab_record_trial lab_sweep_trial(const lab_sweep *run, const lab_session_name *name, size_t shape,
                                 int attempt);
heed_status lab_sweep_add(lab_sweep *run, lab_record_trial *trial, int64_t *id);

/* lab_sweep_name_point() names the kernel of a point. */
void lab_sweep_name_point(const lab_sweep *run, int64_t point, lab_session_name *name);

/* The verdicts of the gates on kernels, on the problems of a sweep. Set sweep, prover and until_ns;
 * free the items. */
typedef struct lab_sweep_gates {
    lab_sweep *sweep;
    lab_prover prover;
    int64_t until_ns; /* of heed_clock_ns(): a verification is stopped then; 0: never */
    struct lab_sweep_proof {
        int64_t point;
        lab_proven proven;
    } * items;
    size_t count;
} lab_sweep_gates;

/* lab_sweep_proven() returns what they said of a point. lab_sweep_prove() asks them unless they
 * have told; the sink is told what is wrong. HEED_ERR_SYSTEM once interrupted. */
lab_proven lab_sweep_proven(const lab_sweep_gates *gates, int64_t point);
heed_status lab_sweep_prove(lab_sweep_gates *gates, int64_t point, lab_proven *proven);

/* lab_sweep_confirm() times a kernel that passed all gates on shape number @number for the board,
 * by samples that nobody chose it by, unless that was done before. Heed's own plan is proved now,
 * if
 * @gates is set. */
heed_status lab_sweep_confirm(lab_sweep *run, const lab_session_name *name, size_t number,
                              int attempt, const lab_sweep_gates *gates);

/* lab_sweep_compare() times the point beside what heed plans, shape by shape; where it may be
 * ranked on the board of a sweep, the plan is too. */
heed_status lab_sweep_compare(const lab_sweep_gates *gates, int64_t point, uint64_t seed);

/* lab_sweep_add_refused() puts on the board that the gates refuse a point. */
heed_status lab_sweep_add_refused(lab_sweep *run, int64_t point);

#endif /* LAB_SWEEP_H */
