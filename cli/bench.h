/*
 * bench.h - what the files of `heed bench` share
 *
 * sources (what to time) -> a row for each (heed's samples, and a match against every opponent) ->
 * table or JSON
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "../src/device.h"
#include "base/error.h"
#include "cli.h"
#include "inspect/roofline.h"
#include "measure/ceiling.h"
#include "measure/duel.h"
#include "measure/environment.h"
#include "report/table.h"
#include "tensor/tensor.h"
#include "tensor/view.h"
#include "trial/rival.h"
#include "verify/expect.h"

/* The options of `heed bench` that are not of a bench_run. */
typedef struct bench_options {
    bool json;
    const char *record; /* the folder of records, or NULL */
    const char *shapes; /* the file of the problems, or NULL */
    bool calibrate;
    double detect;      /* the difference that --calibrate is asked about */
    size_t duels;       /* 0: none */
    const char *source; /* whose kernel stands beside itself in --duels; NULL: heed's plan */
    double planted;     /* how much longer its copy is to take, as a share; 0: as long */
    double time_limit;  /* seconds, of all duels */
} bench_options;

/* -------------------------------------------------------------------------- */
/* bench_sources.c: what to time                                              */
/* -------------------------------------------------------------------------- */

/* One problem, with captured values or without. */
typedef struct bench_source {
    heed_problem problem;              /* normalized */
    char label[64];                    /* of captured values: their prefix in the file, else "" */
    lab_tensor tensors[LAB_ROLES - 1]; /* Q, K, V; zeroed: random values are to be made */
} bench_source;

typedef struct bench_sources {
    bench_source *items;
    size_t count;
} bench_sources;

/* bench_sources_read() takes the problems of the command line, and every Q, K, V of --tensors, if
 * the verb has that. A failure has been printed. Free with bench_sources_free(), also after a
 * failure. */
cli_exit bench_sources_read(bench_sources *sources, const cli_args *args);
void bench_sources_free(bench_sources *sources);

/* bench_sources_unique() drops problems that were named before, and says so: for verbs in whose
 * rules problems are counted. */
void bench_sources_unique(bench_sources *sources);

/* bench_sources_canonical() takes the canonical shapes, shapes/seed.txt, for those who name none.
 */
cli_exit bench_sources_canonical(bench_sources *sources);

/* -------------------------------------------------------------------------- */
/* bench_tensors.c: the memory that is computed in                            */
/* -------------------------------------------------------------------------- */

/* Q, K, V and O at the problem's strides in memory of the device, some copies of them at different
 * addresses. */
typedef struct bench_tensors {
    heed_problem problem;  /* normalized */
    heed_context *context; /* whose device it is */
    int64_t copies;
    void **data;                 /* [copies][LAB_ROLES], on the device */
    void *values[LAB_ROLES - 1]; /* Q, K, V as if dense, [batch, seq, heads, dim]: element i of one
                                    is its number i modulo period */
    int64_t period;
    void *host[LAB_ROLES - 1]; /* Q, K, V at the problem's strides in host memory; those of the
                                  first copy, where that is host memory */
} bench_tensors;

/* bench_tensors_create() makes the values of @source, random normal ones of @seed if it has none:
 * as many copies as it takes to exceed @bytes, and one at least. Random values repeat after a
 * million. Returns HEED_OK or what the device returned, HEED_ERR_NO_MEMORY say, with @tensors
 * zeroed. */
heed_status bench_tensors_create(bench_tensors *tensors, heed_context *context,
                                 const bench_source *source, uint64_t seed, int64_t bytes);
void bench_tensors_free(bench_tensors *tensors);

/* bench_tensors_buffers() returns the copy that call number @call works on, without LSE and
 * workspace. bench_tensors_inputs() returns Q, K and V in host memory. */
heed_buffers bench_tensors_buffers(const bench_tensors *tensors, int64_t call);
heed_buffers bench_tensors_inputs(const bench_tensors *tensors);

/* bench_tensors_poison() fills every O with NaNs: what is not written afterwards cannot be right.
 * Returns as heed_device_upload() does. */
heed_status bench_tensors_poison(const bench_tensors *tensors);

/* bench_tensors_dense() returns a dense copy of one tensor, [batch, seq, heads, dim], which the
 * caller frees; NULL if there is no memory. */
void *bench_tensors_dense(const bench_tensors *tensors, lab_role role);

/* bench_tensors_error() writes bench_error() of the O of call number @call to *@error, bringing no
 * more of it from the device than is looked at. */
heed_status bench_tensors_error(const bench_tensors *tensors, int64_t call,
                                const lab_expect *expect, double *error);

/* bench_error() returns the largest error of @o, in host memory, over the rows of @expect, as a
 * multiple of what is allowed: up to 1 is right. Not a number counts as infinite.
 * bench_rows_error() is the same for these rows alone, one after another. */
double bench_error(const heed_problem *problem, const void *o, const lab_expect *expect);
double bench_rows_error(heed_type type, const void *rows, const lab_expect *expect);

/* -------------------------------------------------------------------------- */
/* bench_measure.c: the timing                                                */
/* -------------------------------------------------------------------------- */

/* How a figure came out. */
typedef enum bench_outcome {
    BENCH_OK = 0,
    BENCH_REFUSED,   /* it cannot do the problem, and says why */
    BENCH_SKIPPED,   /* it would take too long */
    BENCH_FAILED,    /* it crashed, hung, broke the protocol */
    BENCH_WRONG,     /* its output is wrong: no figure is shown */
    BENCH_IMPOSSIBLE /* faster than the machine can compute: a measurement error, no figure is shown
                      */
} bench_outcome;
const char *bench_outcome_name(bench_outcome outcome);

/* bench_outcome_of() returns what the failure @status is for a figure, and writes why to @reason,
 * with heed_message(). bench_exit_of() returns the exit code of an outcome of heed's own. */
bench_outcome bench_outcome_of(heed_status status, char reason[LAB_PEER_REASON_SIZE]);
cli_exit bench_exit_of(bench_outcome outcome);

/* bench_exit_of_work() returns the exit code of timing that nothing but Ctrl-C can end early. */
cli_exit bench_exit_of_work(heed_status status);

/* heed against one opponent on one problem. */
typedef struct bench_match {
    const char *name; /* of the opponent */
    bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless BENCH_OK */
    char method[LAB_RIVAL_TEXT_SIZE];  /* how the opponent does it */
    double error;                      /* see bench_error(); negative: not looked at */
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
} bench_match;

/* One problem. */
typedef struct bench_row {
    const bench_source *source;
    bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE];
    char kernel[HEED_NAME_SIZE];
    double *samples; /* seconds per call, as taken; count of them */
    int count;
    lab_summary summary;
    double flops;   /* operations per call */
    double ceiling; /* operations per second that this machine can do of the type */
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
    bench_match *matches;
    size_t match_count;
} bench_row;

/* A rival that was asked for: a peer, or one of its backends. */
typedef struct bench_rival {
    char name[2 * LAB_PEER_NAME_SIZE];
    lab_rival *peer;       /* NULL: there is none */
    const char *backend;   /* of that peer, or NULL */
    bool open;             /* it can be asked for problems */
    bench_outcome outcome; /* if not: why, ... */
    char reason[LAB_PEER_REASON_SIZE];
    double rate; /* best operations per second so far; 0: not known */
} bench_rival;

/* A user's kernel as an opponent. */
typedef struct bench_own {
    const char *name; /* of its file, without folders */
    const char *path;
    struct cli_worker *worker;
} bench_own;

/* The whole run. */
typedef struct bench_run {
    heed_context *context;
    const lab_sink *sink; /* NULL: nothing is shown */
    heed_effort effort;
    const char *kernel;      /* NULL: the planner's choice */
    const char *against;     /* another kernel as an opponent, or NULL */
    const char *rival_names; /* rivals, separated by commas, or "none"; NULL: all that are found */
    bench_own *own;          /* a user's kernel as an opponent, or NULL */
    double seconds;          /* for heed alone, and for each match */
    double look; /* for heed alone, and for a first match with each rival, where all that is
                    asked is which is the fastest: it alone, and those near it, get the whole
                    time. 0: all do */
    double margin;
    int64_t deadline_ns; /* of heed_clock_ns(): no rival is started or met later; 0: none */
    bool cold;
    bool replay;     /* time by replays, as on a device that works by itself, not by single calls */
    char device[16]; /* as rivals are told it, such as "cuda:0" */
    int host_threads; /* for work of the laboratory itself */
    uint64_t seed;
    lab_rival **peers; /* what the rivals are made of */
    size_t peer_count;
    bench_rival *rivals;
    size_t rival_count;
    lab_environment environment;
    double ceilings[3]; /* operations per second, by type; 0: not measured */
    const char *ceiling_loops[3];
    double copy;           /* bytes per second */
    lab_ceilings roofline; /* as `heed roofline` has measured them; zeroed: it has not */
    double sgemm;          /* operations per second; 0: no rival tells */
    const char *sgemm_from;
    bench_row *rows; /* those that are finished */
    size_t row_count;
} bench_run;

/* bench_look_at_device() reads environment, and fills in what the context of @bench, made for
 * @device such as "cuda:0", means for a run: replay, device, host_threads. */
void bench_look_at_device(bench_run *bench, const char *device);

/* bench_ceiling() returns the ceiling for @type, measuring it the first time, and again if @again.
 * 0: it could not. */
double bench_ceiling(bench_run *bench, heed_type type, bool again);

/* bench_of_roofline() returns what part of the time of a row with a figure its floor is, or, where
 * that is not known, its rate of the ceiling; 0: neither is known. */
double bench_of_roofline(const bench_row *row);

/* bench_measure() times one problem: heed alone, then against each opponent. A failure of a
 * kernel or a rival is an outcome of the row; HEED_ERR_SYSTEM after Ctrl-C, with @row freed, is the
 * only failure. */
heed_status bench_measure(bench_run *bench, const bench_source *source, bench_row *row);
void bench_row_free(bench_row *row);

/* bench_late() says whether the deadline of @bench has passed. */
bool bench_late(const bench_run *bench);

/* -------------------------------------------------------------------------- */
/* bench_own.c: a user's source                                    */
/* -------------------------------------------------------------------------- */

/* bench_own_outcome() returns the worst that happened to bench->own. */
bench_outcome bench_own_outcome(const bench_run *bench);

/* -------------------------------------------------------------------------- */
/* bench_calibrate.c: what can be told on this machine                        */
/* -------------------------------------------------------------------------- */

/* The kernel of one problem beside itself. */
typedef struct bench_calibration {
    const bench_source *source;
    bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE];
    char kernel[HEED_NAME_SIZE];
    int64_t copies;
    int64_t calls;     /* of a replay; 0: blocks are made of calls */
    double seconds;    /* median of a call */
    double detectable; /* the smallest difference that is detected, as a share; may be INFINITY */
    lab_duel duel;     /* free with lab_duel_free() */
} bench_calibration;

/* bench_calibrate_problem() measures it, for bench->seconds. A failure of the kernel is an
 * outcome of the row; HEED_ERR_SYSTEM after Ctrl-C is the only failure. */
heed_status bench_calibrate_problem(const bench_run *bench, const bench_source *source,
                                    bench_calibration *row);

/* bench_calibrate() does so for all problems and prints what differences can be detected. */
cli_exit bench_calibrate(bench_run *bench, const bench_sources *sources,
                         const bench_options *options);

/* bench_duels.c: bench_duel_itself() runs --duels of what a problem is computed by with itself, and
 * prints how often the verdicts are right. */
cli_exit bench_duel_itself(const bench_run *bench, const bench_sources *sources,
                           const bench_options *options);

/* -------------------------------------------------------------------------- */
/* bench_rivals.c: which rivals there are                                     */
/* -------------------------------------------------------------------------- */

/* bench_rivals_open() starts those of bench->rival_names, and asks for their sgemm rate. A rival
 * that cannot be had is no failure; a name that no rival has is HEED_ERR_INVALID. Also
 * HEED_ERR_NO_MEMORY, and HEED_ERR_SYSTEM after Ctrl-C. bench_open_peers() does so for the peers of
 * --peers and prints an error. */
heed_status bench_rivals_open(bench_run *bench, lab_error *error);
cli_exit bench_open_peers(bench_run *bench);
void bench_rivals_close(bench_run *bench);

/* -------------------------------------------------------------------------- */
/* bench_table.c, bench_summary.c, bench_json.c, bench_record.c: the answer    */
/* -------------------------------------------------------------------------- */

/* bench_print_machine() prints the lines above the table: the machine, and what the figures are. */
void bench_print_machine(const bench_run *bench);
cli_exit bench_print_table(const bench_run *bench);

/* @manifest: what it was made with (manifest.h), where it is recorded; else NULL. */
cli_exit bench_print_json(const bench_run *bench, const json_t *manifest);

/* bench_summary() returns a table with a line for each problem and a column for each opponent, and
 * their means; NULL if there is no memory. bench_summary_key says what its signs mean. */
lab_table *bench_summary(const bench_run *bench);
extern const char bench_summary_key[];

/* bench_json_device() returns the facts of the device. */
json_t *bench_json_device(const bench_run *bench);

/* bench_json() returns everything, for the caller to release; NULL if there is no memory. */
json_t *bench_json(const bench_run *bench, const json_t *manifest);

/* bench_record() writes everything to one file of compact JSON in the folder of the device and the
 * date below options->record, with the manifest's parts. Says on stderr where it is. */
cli_exit bench_record(const bench_run *bench, const bench_options *options, const json_t *manifest);

#endif /* CLI_BENCH_H */
