/*
 * bench.h - what the files of `heed bench` share
 *
 * sources (what to time) -> a row for each (heed's samples, and a match against every opponent) ->
 * table or JSON
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli.h"
#include "measure/ceiling.h"
#include "measure/compare.h"
#include "measure/environment.h"
#include "tensor/tensor.h"
#include "tensor/view.h"
#include "trial/rival.h"
#include "verify/expect.h"

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

/* bench_sources_read() takes the problems of the command line, and every Q, K, V of --tensors. A
 * failure has been printed. Free with bench_sources_free(), also after a failure. */
cli_exit bench_sources_read(bench_sources *sources, const cli_args *args);
void bench_sources_free(bench_sources *sources);

/* -------------------------------------------------------------------------- */
/* bench_tensors.c: the memory that is computed in                            */
/* -------------------------------------------------------------------------- */

/* Q, K, V and O at the problem's strides, some copies of them at different addresses. */
typedef struct bench_tensors {
    heed_problem problem; /* normalized */
    int64_t copies;
    void **data; /* [copies][LAB_ROLES] */
} bench_tensors;

/* bench_tensors_create() makes the values of @source, random normal ones of @seed if it has none:
 * as many copies as it takes to exceed @bytes, and one at least. Returns HEED_OK or
 * HEED_ERR_NO_MEMORY, with @tensors zeroed. */
heed_status bench_tensors_create(bench_tensors *tensors, const bench_source *source, uint64_t seed,
                                 int64_t bytes);
void bench_tensors_free(bench_tensors *tensors);

/* bench_tensors_buffers() returns the copy that call number @call works on, without LSE and
 * workspace. */
heed_buffers bench_tensors_buffers(const bench_tensors *tensors, int64_t call);

/* bench_tensors_poison() fills every O with NaNs: what is not written afterwards cannot be right.
 */
void bench_tensors_poison(const bench_tensors *tensors);

/* bench_tensors_dense() returns a dense copy of one tensor, [batch, seq, heads, dim], which the
 * caller frees; NULL if there is no memory. */
void *bench_tensors_dense(const bench_tensors *tensors, lab_role role);

/* bench_error() returns the largest error of @o over the rows of @expect, as a multiple of what is
 * allowed: up to 1 is right. Not a number counts as infinite. */
double bench_error(const heed_problem *problem, const void *o, const lab_expect *expect);

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
    double seconds; /* median of other */
    lab_comparison comparison;
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
    double error;
    int64_t rows_checked;
    int64_t copies;
    bench_match *matches;
    size_t match_count;
} bench_row;

/* A rival that was asked for. */
typedef struct bench_rival {
    lab_rival rival;
    bool open;             /* it can be asked for problems */
    bench_outcome outcome; /* if not: why, ... */
    char reason[LAB_PEER_REASON_SIZE];
    double rate; /* best operations per second so far; 0: not known */
} bench_rival;

/* The whole run. */
typedef struct bench_run {
    const cli_args *args;
    heed_context *context;
    heed_effort effort;
    const char *kernel;  /* NULL: the planner's choice */
    const char *against; /* another kernel as an opponent, or NULL */
    double seconds;      /* for heed alone, and for each match */
    double margin;
    bool cold;
    uint64_t seed;
    bench_rival *rivals;
    size_t rival_count;
    lab_environment environment;
    double ceilings[3]; /* operations per second, by type; 0: not measured */
    const char *ceiling_loops[3];
    double copy;  /* bytes per second */
    double sgemm; /* operations per second; 0: no rival tells */
    const char *sgemm_from;
    bench_row *rows; /* those that are finished */
    size_t row_count;
} bench_run;

/* bench_ceiling() returns the ceiling for @type, measuring it the first time, and again if @again.
 * 0: it could not. */
double bench_ceiling(bench_run *bench, heed_type type, bool again);

/* bench_measure() times one problem: heed alone, then against each opponent. What goes wrong with a
 * kernel or a rival is an outcome of the row; CLI_ENVIRONMENT and CLI_INTERRUPTED, with @row freed,
 * are the only failures. */
cli_exit bench_measure(bench_run *bench, const bench_source *source, bench_row *row);
void bench_row_free(bench_row *row);

/* -------------------------------------------------------------------------- */
/* bench_rivals.c: which rivals there are                                     */
/* -------------------------------------------------------------------------- */

/* bench_rivals_open() starts the rivals of --peers, and asks for their sgemm rate. A rival that
 * cannot be had is no failure. */
cli_exit bench_rivals_open(bench_run *bench);
void bench_rivals_close(bench_run *bench);

/* -------------------------------------------------------------------------- */
/* bench_table.c, bench_json.c: the answer                                    */
/* -------------------------------------------------------------------------- */

cli_exit bench_print_table(const bench_run *bench);
cli_exit bench_print_json(const bench_run *bench);

#endif /* CLI_BENCH_H */
