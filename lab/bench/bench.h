/*
 * bench.h - kernels timed beside their rivals
 *
 *     lab_bench bench = { .context = context, .seconds = 1, .margin = 0.01, .seed = 1 };
 *     lab_bench_look_at_device(&bench, "cpu");
 *     lab_bench_rivals_open(&bench, &error);        or bench.rival_names = "none"
 *     lab_bench_measure(&bench, &source, &row);     for each problem
 *     ... row.summary, row.matches[i].comparison ...
 *     lab_bench_row_free(&row);
 *     lab_bench_rivals_close(&bench);
 *
 * Two kernels of heed's alone: pair.h. heed_context_stop() lets a caller end the work early:
 * functions then return HEED_ERR_SYSTEM, and heed_context_stopped() tells.
 */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "lab/base/error.h"
#include "lab/base/sink.h"
#include "lab/bench/sequences.h"
#include "lab/bench/tensors.h"
#include "lab/inspect/roofline.h"
#include "lab/measure/ceiling.h"
#include "lab/measure/duel.h"
#include "lab/measure/environment.h"
#include "lab/trial/peer/rival.h"
#include "src/device.h"

struct lab_behind;       /* measure/behind.h */
struct lab_bench_worker; /* worker.h */

/* How a figure came out. */
typedef enum lab_bench_outcome {
    LAB_BENCH_OK = 0,
    LAB_BENCH_REFUSED,   /* it cannot do the problem, and says why */
    LAB_BENCH_SKIPPED,   /* it would take too long */
    LAB_BENCH_FAILED,    /* it crashed, hung, broke the protocol */
    LAB_BENCH_WRONG,     /* its output is wrong: no figure is shown */
    LAB_BENCH_IMPOSSIBLE /* faster than the machine can compute: a measurement error, no figure */
} lab_bench_outcome;
const char *lab_bench_outcome_name(lab_bench_outcome outcome);

/* lab_bench_outcome_of() returns what the failure @status is for a figure, and writes why to
 * @reason, with heed_message(). */
lab_bench_outcome lab_bench_outcome_of(heed_status status, char reason[LAB_PEER_REASON_SIZE]);

/* heed against one opponent on one problem. */
typedef struct lab_bench_match {
    const char *name; /* of the opponent */
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless LAB_BENCH_OK */
    char method[LAB_RIVAL_TEXT_SIZE];  /* how the opponent does it */
    double error;                      /* see lab_bench_error(); negative: not looked at */
    double *heed;                      /* seconds per call of the blocks, pairs of them */
    double *other;
    size_t pairs;
    double seconds;    /* median of other */
    int64_t calls;     /* of a replay; 0: timed by blocks */
    lab_summary eager; /* of single calls, by the clock; n = 0: not timed */
    lab_comparison comparison;
    double asking; /* of a user's source: the share of its time that may be what its
                      process took to be asked; else 0 */
    bool looked;   /* it had the time of a look alone: it is not near the fastest */
} lab_bench_match;

/* One problem. */
typedef struct lab_bench_row {
    const lab_bench_source *source;
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE];
    char kernel[HEED_NAME_SIZE];
    double *samples; /* seconds per call, as taken; count of them */
    int count;
    lab_summary summary;
    lab_bench_sequences sequences; /* with the lengths of these tensors */
    lab_work work;                 /* that no exact kernel can leave out, with these lengths */
    double flops;                  /* operations per call */
    double ceiling;                /* operations per second that this machine can do of the type */
    double floor;   /* seconds that it needs at least, by its roofline; 0: not known */
    lab_roof binds; /* then */
    double error;
    int64_t rows_checked;
    int64_t copies;
    int64_t calls;     /* of a replay; 0: the samples are by the clock. With replays also: */
    double hot;        /* median seconds per call on the same buffers every time; 0: not timed */
    double cold;       /* on rotating ones */
    lab_summary eager; /* of single calls, by the clock, from start to completion */
    double launch;     /* median seconds of heed_execute() itself */
    heed_device_state state; /* of the device right after its samples */
    lab_bench_match *matches;
    size_t match_count;
} lab_bench_row;

/* A rival that was asked for: a peer, or one of its backends. */
typedef struct lab_bench_rival {
    char name[2 * LAB_PEER_NAME_SIZE];
    lab_rival *peer;           /* NULL: there is none */
    const char *backend;       /* of that peer, or NULL */
    bool open;                 /* it can be asked for problems */
    lab_bench_outcome outcome; /* if not: why, ... */
    char reason[LAB_PEER_REASON_SIZE];
    double rate; /* best operations per second so far; 0: not known */
} lab_bench_rival;

/* A user's kernel as an opponent. */
typedef struct lab_bench_own {
    const char *name; /* of its file, without folders */
    const char *path;
    struct lab_bench_worker *worker;
} lab_bench_own;

/* The whole run. */
typedef struct lab_bench {
    heed_context *context;
    const lab_sink *sink; /* of rivals that start, and of duels; NULL: nothing is shown */
    heed_effort effort;
    const char *kernel;      /* NULL: the planner's choice */
    const char *against;     /* another kernel as an opponent, or NULL */
    const char *rival_names; /* rivals, separated by commas, or "none"; NULL: all that are found */
    lab_bench_own *own;      /* a user's kernel as an opponent, or NULL */
    double seconds;          /* for heed alone, and for each match */
    double look; /* for heed alone, and for a first match with each rival, where all that is
                    asked is which is the fastest: it alone, and those near it, get the whole
                    time. 0: all do */
    double margin;
    int64_t deadline_ns; /* of heed_clock_ns(): no rival is started or met later; 0: none */
    bool cold;
    bool replay; /* time by replays, as on a device that works by itself, not by single calls */
    const struct lab_behind *behind; /* stands before each call of a replay, of all sides, and is in
                                        their figures; NULL: nothing does */
    char device[16];                 /* as rivals are told it, such as "cuda:0" */
    int host_threads;                /* for work of the laboratory itself */
    uint64_t seed;
    lab_rival **peers; /* the programs behind the rivals */
    size_t peer_count;
    lab_bench_rival *rivals;
    size_t rival_count;
    lab_environment environment;
    double ceilings[HEED_TYPE_COUNT]; /* operations per second, by type; 0: not measured */
    const char *ceiling_loops[HEED_TYPE_COUNT];
    double copy;           /* bytes per second */
    lab_ceilings roofline; /* as `heed roofline` has measured them; zeroed: it has not */
    double sgemm;          /* operations per second; 0: no rival tells */
    const char *sgemm_from;
    lab_bench_row *rows; /* those that are finished */
    size_t row_count;
} lab_bench;

/* lab_bench_look_at_device() reads environment, and fills in what the context of @bench, made for
 * @device such as "cuda:0", means for a run: replay, device, host_threads. */
void lab_bench_look_at_device(lab_bench *bench, const char *device);

/* lab_bench_ceiling() returns the ceiling for @type, measuring it the first time, and again if
 * @again. 0: it could not. */
double lab_bench_ceiling(lab_bench *bench, heed_type type, bool again);

/* lab_bench_of_roofline() returns what part of the time of a row with a figure its floor is, or,
 * where that is not known, its rate of the ceiling; 0: neither is known. */
double lab_bench_of_roofline(const lab_bench_row *row);

/* lab_bench_measure() times one problem: heed alone, then against each opponent. A failure of a
 * kernel or a rival is an outcome of the row; HEED_ERR_SYSTEM once stopped, with @row freed, is the
 * only failure. */
heed_status lab_bench_measure(lab_bench *bench, const lab_bench_source *source, lab_bench_row *row);
void lab_bench_row_free(lab_bench_row *row);

/* lab_bench_late() says whether the deadline of @bench has passed. */
bool lab_bench_late(const lab_bench *bench);

/* lab_bench_plan() makes the plan that was asked for. lab_bench_rotation_bytes() returns
 * how much memory copies of the tensors must take so that a rotation leaves every cache: twice the
 * last level; 0: one copy is enough. */
heed_status lab_bench_plan(const lab_bench *bench, const heed_problem *problem, heed_plan **plan);
int64_t lab_bench_rotation_bytes(const lab_bench *bench);

/* lab_bench_own_outcome() returns the worst that happened to bench->own. */
lab_bench_outcome lab_bench_own_outcome(const lab_bench *bench);

/* The kernel of one problem beside itself. */
typedef struct lab_bench_calibration {
    const lab_bench_source *source;
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE];
    char kernel[HEED_NAME_SIZE];
    int64_t copies;
    int64_t calls;     /* of a replay; 0: blocks are made of calls */
    double seconds;    /* median of a call */
    double detectable; /* the smallest difference that is detected, as a share; may be INFINITY */
    lab_duel duel;     /* free with lab_duel_free() */
} lab_bench_calibration;

/* lab_bench_calibrate_problem() measures it, for bench->seconds. A failure of the kernel is an
 * outcome of the row; HEED_ERR_SYSTEM once stopped is the only failure. */
heed_status lab_bench_calibrate_problem(const lab_bench *bench, const lab_bench_source *source,
                                        lab_bench_calibration *row);

/* lab_bench_rivals_open() starts those of bench->rival_names, and asks for their sgemm rate. A
 * rival that cannot be had is no failure; a name that no rival has is HEED_ERR_INVALID. Also
 * HEED_ERR_NO_MEMORY, and HEED_ERR_SYSTEM once stopped. */
heed_status lab_bench_rivals_open(lab_bench *bench, lab_error *error);

/* lab_bench_rivals_check() says whether there are rivals of these names, and starts none. */
heed_status lab_bench_rivals_check(lab_bench *bench, lab_error *error);
void lab_bench_rivals_close(lab_bench *bench);

#endif /* LAB_BENCH_H */
