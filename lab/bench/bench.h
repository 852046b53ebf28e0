/*
 * bench.h - kernels timed against their rivals
 *
 *     lab_bench bench = { .context = context, .seconds = 1, .margin = 0.01, .seed = 1 };
 *     lab_bench_look_at_device(&bench, "cpu");
 *     lab_bench_rivals_open(&bench, &error);        or bench.rival_names = "none"
 *     lab_bench_measure(&bench, &source, &row);     for each problem
 *     ... row.summary, row.matches[i].comparison ...
 *     lab_bench_row_free(&row);
 *     lab_bench_rivals_close(&bench);
 *
 * For a comparison of two of heed's kernels see pair.h. A caller can end the work early with
 * heed_context_stop(): functions then return HEED_ERR_SYSTEM, and heed_context_stopped() is true.
 */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "lab/base/error.h"
#include "lab/base/sink.h"
#include "lab/bench/tensors.h"
#include "lab/inspect/roofline.h"
#include "lab/measure/ceiling.h"
#include "lab/measure/duel.h"
#include "lab/measure/environment.h"
#include "lab/trial/peer/rival.h"
#include "src/device.h"

struct lab_behind;       /* measure/behind.h */
struct lab_bench_worker; /* worker.h */

/* The outcome of a measurement. */
typedef enum lab_bench_outcome {
    LAB_BENCH_OK = 0,
    LAB_BENCH_REFUSED,   /* it cannot do the problem, for the given reason */
    LAB_BENCH_SKIPPED,   /* it would take too long */
    LAB_BENCH_FAILED,    /* it crashed, hung or broke the protocol */
    LAB_BENCH_WRONG,     /* its output is wrong: no figure is shown */
    LAB_BENCH_IMPOSSIBLE /* faster than the machine's peak: a measurement error, no figure */
} lab_bench_outcome;
const char *lab_bench_outcome_name(lab_bench_outcome outcome);

/* lab_bench_outcome_of() returns the outcome for the failure @status, and writes heed_message() to
 * @reason. */
lab_bench_outcome lab_bench_outcome_of(heed_status status, char reason[LAB_PEER_REASON_SIZE]);

/* heed against one opponent on one problem. */
typedef struct lab_bench_match {
    const char *name; /* of the opponent */
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless LAB_BENCH_OK */
    char method[LAB_RIVAL_TEXT_SIZE];  /* the opponent's method */
    double error;                      /* see lab_bench_error(); negative: not checked */
    double *heed;                      /* seconds per call of each block; pairs of them */
    double *other;
    size_t pairs;
    double seconds;    /* median of other */
    int64_t calls;     /* of a replay; 0: timed by blocks */
    lab_summary eager; /* of single calls, by the clock; n = 0: not timed */
    lab_comparison comparison;
    double asking; /* of a user's source: the share of its time that may be overhead of its process;
                      else 0 */
    bool looked;   /* it was timed for a first look only, as it is not near the fastest */
} lab_bench_match;

/* The sequences of one problem with lengths, or with packed ones. */
typedef struct lab_bench_sequences {
    int64_t count;    /* 0: the problem has neither */
    int64_t queries;  /* of all together */
    int64_t keys;     /* likewise */
    int64_t shortest; /* keys of a sequence */
    int64_t longest;
    double flops;  /* of all, each as a separate problem */
    lab_work work; /* the least work of any exact kernel, see lab_roofline_work() */
} lab_bench_sequences;

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
    lab_work work;                 /* the least work of any exact kernel, with these lengths */
    double flops;                  /* operations per call */
    double ceiling;                /* peak operations per second of this machine for the type */
    double floor;                  /* least seconds per call by the roofline; 0: not known */
    lab_roof binds;                /* the binding roof, if floor is known */
    double error;
    int64_t rows_checked;
    int64_t copies;
    int64_t calls;     /* of a replay; 0: the samples are by the clock. With replays, also: */
    double hot;        /* median seconds per call on the same buffers every time; 0: not timed */
    double cold;       /* on rotating buffers */
    lab_summary eager; /* of single calls, by the clock, from launch to completion */
    double launch;     /* median seconds of heed_execute() itself */
    heed_device_state state; /* of the device right after its samples */
    lab_bench_match *matches;
    size_t match_count;
} lab_bench_row;

/* A rival that was asked for: a peer, or one of its backends. */
typedef struct lab_bench_rival {
    char name[2 * LAB_PEER_NAME_SIZE];
    lab_rival *peer;           /* NULL: not available */
    const char *backend;       /* of that peer, or NULL */
    bool open;                 /* it accepts problems */
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
    const lab_sink *sink; /* shows starting rivals and duels; NULL: shows nothing */
    heed_effort effort;
    const char *kernel;      /* NULL: the planner's choice */
    const char *against;     /* another kernel as an opponent, or NULL */
    const char *rival_names; /* rivals, separated by commas, or "none"; NULL: all that are found */
    lab_bench_own *own;      /* a user's kernel as an opponent, or NULL */
    double seconds;          /* for heed alone, and for each match */
    double look; /* if only the fastest rival matters: time for heed alone, and for a first match
                    with each rival; only the fastest and those near it then get the full time. 0:
                    all get it */
    double margin;
    int64_t deadline_ns; /* by heed_clock_ns(): no rival is started or timed later; 0: none */
    bool cold;
    bool replay;                     /* time replays, for asynchronous devices, not single calls */
    const struct lab_behind *behind; /* runs before each call of a replay, on all sides, and counts
                                        in their figures; NULL: nothing */
    char device[16];                 /* name for rivals, such as "cuda:0" */
    int host_threads;                /* for work of the laboratory itself */
    uint64_t seed;
    lab_rival **peers; /* the programs that provide the rivals */
    size_t peer_count;
    lab_bench_rival *rivals;
    size_t rival_count;
    lab_environment environment;
    double ceilings[HEED_TYPE_COUNT]; /* operations per second, by type; 0: not measured */
    const char *ceiling_loops[HEED_TYPE_COUNT];
    double copy;           /* bytes per second */
    lab_ceilings roofline; /* as measured by `heed roofline`; zeroed: not measured */
    double sgemm;          /* operations per second; 0: not reported by any rival */
    const char *sgemm_from;
    lab_bench_row *rows; /* finished ones */
    size_t row_count;
} lab_bench;

/* lab_bench_look_at_device() sets environment, replay, device and host_threads of @bench from its
 * context, which was made for @device, such as "cuda:0". */
void lab_bench_look_at_device(lab_bench *bench, const char *device);

/* lab_bench_ceiling() returns the ceiling for @type, and measures it the first time, or again if
 * @again. 0 if that fails. */
double lab_bench_ceiling(lab_bench *bench, heed_type type, bool again);

/* lab_bench_of_roofline() returns the floor of a row with a figure as a share of its time. Where
 * the floor is not known, it returns the rate as a share of the ceiling; 0: neither is known. */
double lab_bench_of_roofline(const lab_bench_row *row);

/* lab_bench_measure() times one problem: heed alone, then against each opponent. A failure of a
 * kernel or a rival is an outcome of the row; HEED_ERR_SYSTEM once stopped, with @row freed, is the
 * only failure. */
heed_status lab_bench_measure(lab_bench *bench, const lab_bench_source *source, lab_bench_row *row);
void lab_bench_row_free(lab_bench_row *row);

/* lab_bench_sequences_of() reads the lengths in @data of @problem, normalized; the cumulative ones
 * if queries or keys are packed. */
lab_bench_sequences lab_bench_sequences_of(const heed_problem *problem, const heed_buffers *data);

/* lab_bench_late() returns true if the deadline of @bench has passed. */
bool lab_bench_late(const lab_bench *bench);

/* lab_bench_plan() makes a plan with bench->kernel. lab_bench_rotation_bytes() returns the total
 * size of the copies of the tensors with which a rotation finds every cache cold, twice the last
 * level; 0: one copy is enough. */
heed_status lab_bench_plan(const lab_bench *bench, const heed_problem *problem, heed_plan **plan);
int64_t lab_bench_rotation_bytes(const lab_bench *bench);

/* lab_bench_own_outcome() returns the worst outcome of bench->own. */
lab_bench_outcome lab_bench_own_outcome(const lab_bench *bench);

/* lab_bench_rivals_open() starts the rivals in bench->rival_names, and gets their sgemm rate. An
 * unavailable rival is not a failure; an unknown name is HEED_ERR_INVALID. Also HEED_ERR_NO_MEMORY,
 * and HEED_ERR_SYSTEM once stopped. */
heed_status lab_bench_rivals_open(lab_bench *bench, lab_error *error);

/* lab_bench_rivals_check() checks that rivals of these names exist, and starts none. */
heed_status lab_bench_rivals_check(lab_bench *bench, lab_error *error);
void lab_bench_rivals_close(lab_bench *bench);

#endif /* LAB_BENCH_H */
