/*
 * sweep.h - points of a space of configs timed on a device, for a search or an evolution
 *
 *     lab_sweep sweep = { .sink = &sink, .options = options, .space = space, .problems = problems,
 *                         .shapes = shapes, .context = context, .threads = threads, ... };
 *     const lab_evaluator evaluator = lab_sweep_evaluator(&sweep);
 *     lab_search_run(&search, &sweep.space, &evaluator, &options, &error);
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
#include "lab/insight/insight.h"
#include "lab/search/guide.h"
#include "lab/search/search.h"
#include "lab/search/trials.h"
#include "lab/session/plausible.h"
#include "lab/session/session.h"
#include "lab/shapes/shapes.h"

typedef struct lab_sweep_pool lab_sweep_pool;

/* The verdict of the gates on a point. */
typedef struct lab_sweep_proof {
    int64_t index;
    bool passed, refused;
} lab_sweep_proof;

#define LAB_SWEEP_PROOFS 32

/* The number on the board of the trial that is timed beside what heed plans; others have their
 * effort. */
#define LAB_SWEEP_COMPARED 16

/* That of a finalist that does not pass all gates. */
#define LAB_SWEEP_REFUSED 17

#define LAB_SWEEP_SAMPLES_MAX 256

/* One problem, with what it takes to time kernels on it. */
typedef struct lab_sweep_shape {
    lab_bench_source source;
    char spec[HEED_SPEC_SIZE];
    lab_bench_tensors tensors; /* zeroed until it is first needed */
    lab_expect *expect;
    double best;                /* least seconds so far; 0: none */
    char usual[HEED_NAME_SIZE]; /* what heed plans without wisdom */
    double usual_seconds;       /* 0: not timed */
    double found_seconds;       /* of the best point beside it; 0: not timed */
    double ratio, low, high;    /* usual over found, with its interval */
    const char *verdict;        /* of the found one; NULL: none */
    bool same;                  /* the best point is what heed plans */
} lab_sweep_shape;

typedef struct lab_sweep_options {
    heed_options machine; /* the host's threads and CPU, the device */
    const char *strategy; /* of the search; NULL: none */
    uint64_t seed;
    int64_t trials; /* launches at most; 0: any */
    double seconds; /* 0: any */
    lab_insight_mode insights;
    bool cold, no_verify, no_compare, json;
} lab_sweep_options;

typedef struct lab_sweep {
    const lab_sink *sink;
    lab_sweep_options options;
    lab_space space;
    lab_problems problems;
    lab_sweep_shape *shapes; /* of the problems */
    heed_context *context;   /* NULL: nothing runs, code is compiled alone */
    bool replay;             /* time by replays */
    int arch;                /* that code is compiled for; 0: none is */
    char device[64];
    char kernel[HEED_NAME_SIZE];
    int threads;          /* of the host, for compiling and references */
    lab_sweep_pool *pool; /* NULL: nothing is compiled */
    lab_bounds limits;
    lab_trials known;        /* from before */
    lab_time_judge *judge;   /* of times that cannot be; NULL: none are doubted */
    FILE *record;            /* NULL: none */
    const char *record_path; /* of that file */
    lab_search *search;
    lab_progress progress;
    size_t total; /* points that may be launched, for progress */
    int64_t start_ns;
    int64_t reused;                        /* launches whose answers were known from before */
    char trouble[512];                     /* why the search ended early */
    double samples[LAB_SWEEP_SAMPLES_MAX]; /* of the last evaluation */
    char started[LAB_RECORD_TIME_SIZE];    /* when it began */
    lab_session *session;                  /* of the trials on the board; NULL: none */
    bool ranks;                            /* its best point goes to that board as well */
    bool keeps_pruned;                     /* so do points that were pruned */
    bool answered;                         /* the last answer was on the board */
    const char *parents[2];                /* hashes of those that the next point was bred from */
    size_t parent_count;
    lab_sweep_proof proofs[LAB_SWEEP_PROOFS];
    size_t proof_count;
    bool verified; /* the best point passed the gates, ... */
    int wrong;     /* points that were the best until a gate refused them */
    bool refuted;  /* or did not */
} lab_sweep;

/* ---- compile.c: points are compiled while the device is busy with others ---- */

/* The facts of a point, by its code. */
typedef struct lab_sweep_facts {
    lab_point_facts point_facts;
    double predicted; /* mean of the logarithms of the cost model's seconds; 0: none */
    bool failed;      /* it cannot be compiled, or is not legal on a shape: @why */
    char why[LAB_WHY_SIZE];
} lab_sweep_facts;

/* lab_sweep_pool_start() starts threads that compile; NULL if there is no memory.
 * lab_sweep_pool_want() says what to compile next, lab_sweep_pool_get() waits for a point. */
lab_sweep_pool *lab_sweep_pool_start(const lab_sweep *run);
void lab_sweep_pool_want(lab_sweep_pool *pool, const lab_point *points, size_t count);
lab_sweep_facts lab_sweep_pool_get(lab_sweep_pool *pool, int64_t point);

/* lab_sweep_pool_until() says when its work ends: what would take longer is not begun in advance,
 * so that nobody has to wait for what nobody will ask for. */
void lab_sweep_pool_until(lab_sweep_pool *pool, int64_t until_ns);
void lab_sweep_pool_stop(lab_sweep_pool *pool);

/* lab_sweep_findings() returns what the code of a point says about what holds it back, for the
 * guide of evolution; 0 where nothing is compiled. */
unsigned lab_sweep_findings(const lab_sweep *run, const lab_point *point);

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

/* ---- usual.c: what heed plans by itself ---- */

/* lab_sweep_kernel_runs() says whether a kernel is for the problem on the device of @context:
 * HEED_OK if so. Nothing is compiled. lab_sweep_try_kernel() does so for the architecture @arch, or
 * the context where that is 0. */
heed_status lab_sweep_kernel_runs(heed_context *context, const heed_problem *problem,
                                  const char *name);
heed_status lab_sweep_try_kernel(heed_context *context, int arch, const heed_problem *problem,
                                 const char *name);

/* lab_sweep_find_usual() writes what heed plans by itself for each problem to its shape. */
void lab_sweep_find_usual(lab_sweep *run);

/* lab_sweep_start_engine() plans a kernel by its name and makes it ready for blocks.
 * lab_sweep_meet_usual() lets @found, which is ready, and what heed plans for shape @number take
 * turns, and keeps what that said. Free @duel in any case. */
heed_status lab_sweep_start_engine(const lab_sweep *run, const lab_sweep_shape *shape,
                                   const char *name, lab_bench_engine *engine);
heed_status lab_sweep_meet_usual(lab_sweep *run, size_t number, const lab_side *found,
                                 const lab_duel_options *options, lab_duel *duel);

/* ---- board.c: trials on the board ---- */

/* lab_sweep_trial() begins a trial, lab_sweep_name_point() names the kernel of a point with its
 * parents, and lab_sweep_add() adds a trial; run->trouble says why it failed. The others add one of
 * a point that came out best. */
lab_record_trial lab_sweep_trial(const lab_sweep *run, const lab_session_name *name, size_t shape,
                                 int attempt);
void lab_sweep_name_point(const lab_sweep *run, const lab_point *point, lab_session_name *name);
heed_status lab_sweep_add(lab_sweep *run, lab_record_trial *trial, int64_t *id);
heed_status lab_sweep_board_add_duel(lab_sweep *run, const lab_point *point, size_t number,
                                     const lab_duel *duel);

/* lab_sweep_board_add_alone() adds the time of the best point where it is what heed plans, and has
 * nobody to be timed beside. */
heed_status lab_sweep_board_add_alone(lab_sweep *run, const lab_point *point, size_t number,
                                      const lab_evaluation *result);

/* lab_sweep_board_add_plan() ranks what heed plans, which passed all gates, by its side of @duel,
 * B. */
heed_status lab_sweep_board_add_plan(lab_sweep *run, size_t number, const lab_duel *duel);

/* lab_sweep_board_add_refused() adds that the gates of heed verify do not let a point pass on the
 * problems of the sweep. */
heed_status lab_sweep_board_add_refused(lab_sweep *run, const lab_point *point);

#endif /* LAB_SWEEP_H */
