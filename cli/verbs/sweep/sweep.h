/*
 * sweep.h - what the files of `heed sweep` share
 *
 * space, problems -> search, which asks an evaluator (compiled facts, then times) -> table or JSON
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "bench/engine.h"
#include "cli/base/cli.h"
#include "cli/verbs/board/board.h"
#include "cli/verbs/evolve/insight.h"
#include "search/guide.h"
#include "search/replay.h"
#include "search/search.h"
#include "search/trials.h"
#include "session/plausible.h"
#include "session/session.h"

typedef struct sweep_pool sweep_pool;

/* The verdict of the gates on a point. */
typedef struct sweep_proof {
    int64_t index;
    bool passed, refused;
} sweep_proof;

#define SWEEP_PROOFS 32

/* The number on the board of the trial that is timed beside what heed plans; others have their
 * effort. */
#define SWEEP_COMPARED 16

/* That of a finalist that does not pass all gates. */
#define SWEEP_REFUSED 17

#define SWEEP_SAMPLES_MAX 256

/* One problem, with what it takes to time kernels on it. */
typedef struct sweep_shape {
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
} sweep_shape;

/* Rows of their option tables. */
#define SWEEP_OPTION_SECONDS                                                        \
    {                                                                               \
        .name = "seconds", .kind = CLI_REAL, .argument = "S", .min = 0, .max = 1e7, \
        .help = "Time limit in seconds [default: none]"                             \
    }
#define SWEEP_OPTION_COLD                                                      \
    {                                                                          \
        .name = "cold", .kind = CLI_FLAG,                                      \
        .help = "Rotate through copies of the tensors that exceed every cache" \
    }

/* The options that several of sweep, evolve and tune have, read once: zero where a verb has not. */
typedef struct sweep_options {
    heed_options machine; /* see cli_machine() */
    uint64_t seed;
    int64_t trials; /* launches at most; 0: any */
    double seconds; /* 0: any */
    lab_insight_mode insights;
    bool cold, no_verify, no_compare, json;
} sweep_options;

typedef struct sweep_run {
    const cli_args *args; /* of heed sweep and heed evolve, for the steps before a search */
    sweep_options options;
    lab_space space;
    cli_problems problems;
    sweep_shape *shapes;
    heed_context *context; /* NULL: nothing runs, see --static */
    bool replay;           /* time by replays */
    int arch;              /* that code is compiled for; 0: none is */
    char device[64];
    char kernel[HEED_NAME_SIZE];
    int threads;      /* of the host, for compiling and references */
    sweep_pool *pool; /* NULL: nothing is compiled */
    lab_bounds limits;
    lab_trials known;      /* from before */
    lab_time_judge *judge; /* of times that cannot be; NULL: none are doubted */
    FILE *record;          /* NULL: none */
    lab_search *search;
    lab_progress progress;
    size_t total; /* points that may be launched, for progress */
    int64_t start_ns;
    int64_t reused;                     /* launches whose answers were known from before */
    char trouble[512];                  /* why the search ended early */
    double samples[SWEEP_SAMPLES_MAX];  /* of the last evaluation */
    char started[LAB_RECORD_TIME_SIZE]; /* when it began */
    lab_session *session;               /* of the trials on the board; NULL: none */
    bool ranks;                         /* its best point goes to that board as well */
    bool keeps_pruned;                  /* so do points that were pruned */
    bool answered;                      /* the last answer was on the board */
    const char *parents[2];             /* hashes of those that the next point was bred from */
    size_t parent_count;
    sweep_proof proofs[SWEEP_PROOFS];
    size_t proof_count;
    bool verified; /* the best point passed the gates, ... */
    int wrong;     /* points that were the best until a gate refused them */
    bool refuted;  /* or did not */
} sweep_run;

/* sweep_point_facts() is what is known of a point from its code, with the other points announced to
 * come; sweep_compile.c. */
typedef struct sweep_facts {
    lab_point_facts point_facts;
    double predicted; /* mean of the logarithms of the cost model's seconds; 0: none */
    bool failed;      /* it cannot be compiled, or is not legal on a shape: @why */
    char why[LAB_WHY_SIZE];
} sweep_facts;

/* sweep_pool_start() starts threads that compile; NULL if there is no memory.
 * sweep_pool_want() says what to compile next, sweep_pool_get() waits for a point. */
sweep_pool *sweep_pool_start(const sweep_run *run);
void sweep_pool_want(sweep_pool *pool, const lab_point *points, size_t count);
sweep_facts sweep_pool_get(sweep_pool *pool, int64_t point);

/* sweep_pool_until() says when its work ends: what would take longer is not begun in advance, so
 * that nobody has to wait for what nobody will ask for. */
void sweep_pool_until(sweep_pool *pool, int64_t until_ns);
void sweep_pool_stop(sweep_pool *pool);

/* sweep_findings() returns what the code of a point says about what holds it back, for the guide of
 * evolution; 0 where nothing is compiled. */
unsigned sweep_findings(const sweep_run *run, const lab_point *point);

/* sweep_options_read() reads those options of the table of @args. */
sweep_options sweep_options_read(const cli_args *args);

/* sweep_open.c: the steps before a search; each prints its failure. The problems are the operands
 * from number @first on. sweep_read_arch() is for --static, in the place of sweep_open_device();
 * the kernel is the one of --kernel, or the first of the space that runs there. */
extern const char
    *const sweep_spaces[]; /* that come with heed, for every kernel one; ends with NULL
                            */
cli_exit sweep_load_space(sweep_run *run);
cli_exit sweep_load_problems(sweep_run *run, int first);
cli_exit sweep_open_device(sweep_run *run);
cli_exit sweep_read_arch(sweep_run *run);
cli_exit sweep_choose_kernel(sweep_run *run);
cli_exit sweep_open_record(sweep_run *run);
cli_exit sweep_start_pool(sweep_run *run);

/* sweep_kernel_runs() says whether a kernel is for the problem on the device of @context: HEED_OK
 * if so. Nothing is compiled. */
heed_status sweep_kernel_runs(heed_context *context, const heed_problem *problem, const char *name);

/* sweep_find_usual() writes what heed plans by itself for each problem to its shape. */
void sweep_find_usual(sweep_run *run);

/* sweep_device.c: the evaluator on a device, and what is timed beside it. */
lab_evaluator sweep_evaluator(sweep_run *run);
void sweep_shapes_free(sweep_run *run);

/* sweep_open_shape() makes the tensors of a shape, and what to expect on them, if they are not
 * there yet. */
heed_status sweep_open_shape(const sweep_run *run, sweep_shape *shape);

/* sweep_time_anew() times a kernel on shape number @number once it was chosen, as long as those in
 * the finals. A failure of it is a result, and was printed. */
heed_status sweep_time_anew(sweep_run *run, size_t number, const char *name,
                            lab_evaluation *result);

/* sweep_find_point() returns the point whose kernel and config have that name; -1: none. */
int64_t sweep_find_point(const sweep_run *run, const char *wanted);

/* sweep_find_starts() returns the points that stand for what the cost model likes best on each
 * shape, *@count of them; to be freed. */
lab_point *sweep_find_starts(const sweep_run *run, size_t *count);

/* sweep_compare.c: sweep_start_engine() plans a kernel by its name and makes it ready for blocks.
 * sweep_meet_usual() lets @found, which is ready, and what heed plans for shape @number take turns,
 * and keeps what that said. Free @duel in any case. */
heed_status sweep_start_engine(const sweep_run *run, const sweep_shape *shape, const char *name,
                               lab_bench_engine *engine);
heed_status sweep_meet_usual(sweep_run *run, size_t number, const lab_side *found,
                             const lab_duel_options *options, lab_duel *duel);

/* sweep_compare() times the best point beside what heed usually plans, shape by
 * shape; where the best may be ranked on the board of a sweep, the plan is too. */
cli_exit sweep_compare(sweep_run *run, int64_t index);

/* sweep_verify.c: sweep_verify() lets a point through all gates, in a process of its own, unless
 * that was done before; run->verified and run->refuted are about that point then.
 * sweep_plan_passes() says whether what heed plans for shape @number does; why not is printed.
 * sweep_proof_word() says what came of it: "all", "refused", or "unknown". */
cli_exit sweep_verify(sweep_run *run, int64_t index);
bool sweep_plan_passes(const sweep_run *run, size_t number);
const char *sweep_proof_word(const sweep_run *run, int64_t index);

/* sweep_board.c: sweep_board_open() begins a run on the board, or goes on with one, unless
 * --no-board was given. sweep_trial() begins a trial, sweep_name_point() names the kernel of a
 * point with its parents, and sweep_add() adds a trial; run->trouble says why it failed. The others
 * add one of a point that came out best. */
cli_exit sweep_board_open(sweep_run *run, lab_session *session, cli_board_place *place);
lab_record_trial sweep_trial(const sweep_run *run, const lab_session_name *name, size_t shape,
                             int attempt);
void sweep_name_point(const sweep_run *run, const lab_point *point, lab_session_name *name);
heed_status sweep_add(sweep_run *run, lab_record_trial *trial, int64_t *id);
heed_status sweep_board_add_duel(sweep_run *run, const lab_point *point, size_t number,
                                 const lab_duel *duel);

/* sweep_board_add_alone() adds the time of the best point where it is what heed plans, and has
 * nobody to be timed beside. */
heed_status sweep_board_add_alone(sweep_run *run, const lab_point *point, size_t number,
                                  const lab_evaluation *result);

/* sweep_board_add_plan() ranks what heed plans, which passed all gates, by its side of @duel, B. */
heed_status sweep_board_add_plan(sweep_run *run, size_t number, const lab_duel *duel);

/* sweep_board_add_refused() adds that the gates of heed verify do not let a point pass on the
 * problems of the sweep. */
heed_status sweep_board_add_refused(sweep_run *run, const lab_point *point);

/* sweep_replay.c: strategies against the trials of --replay, without a device. */
cli_exit sweep_replay(const sweep_run *run, const char *path);

/* sweep_report.c: the answer. sweep_print_shapes() and sweep_json_shapes() tell what was found for
 * each problem beside what heed plans; @found is what the best is called, or its seconds, and @is
 * what the comparison is. Where there was none, the best has the @seconds of the search. */
cli_exit sweep_report(const sweep_run *run);
cli_exit sweep_print_shapes(const sweep_run *run, const double *seconds, const char *found,
                            const char *is);
json_t *sweep_json_shapes(const sweep_run *run, const char *found);

/* sweep_report_static() prints what is known of every point without running any. */
cli_exit sweep_report_static(sweep_run *run);

#endif /* CLI_SWEEP_H */
