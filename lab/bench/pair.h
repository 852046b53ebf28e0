/*
 * pair.h - two of heed's kernels on one problem, in turns
 *
 *     const lab_bench bench = { .context = context, .seed = 1, .host_threads = 2 };
 *     lab_bench_pair pair = { .names = { "fwd_any_avx512_tile__m96n64s1", NULL } };
 *     lab_bench_pair_run(&pair, &bench, &source, &options);
 *     ... pair.outcome, pair.duel.comparison ...
 *     lab_bench_pair_free(&pair);
 */
#ifndef LAB_BENCH_PAIR_H
#define LAB_BENCH_PAIR_H

#include "lab/bench/bench.h"
#include "lab/bench/engine.h"

/* An external side of the comparison. start() makes it ready for the values of @tensors, and writes
 * the seconds of a call; then @side is valid until stop(), which may be called even if start()
 * failed or was not called.
 */
typedef struct lab_bench_contender {
    void *data; /* of these functions */
    const char *name;
    heed_status (*start)(void *data, const lab_bench_tensors *tensors, double *seconds);
    lab_side side;
    void (*stop)(void *data);

    /* The worst error so far, see lab_bench_error(), if it has memory of its own; its block fails
     * if the result is wrong. */
    double (*error)(void *data);
} lab_bench_contender;

/* A source of plans in place of B's. plan() makes one for the problem, normalized; failures have
 * heed's message. */
typedef struct lab_bench_maker {
    void *data;
    const char *name;
    heed_status (*plan)(void *data, const heed_problem *problem, heed_plan **plan);
    const lab_library *library; /* the libheed that makes the plan; NULL: this program's */
} lab_bench_maker;

/* A plan as a contender. Set context and replay, and name or maker. */
typedef struct lab_bench_player {
    heed_context *context;
    bool replay;
    char name[2 * HEED_NAME_SIZE]; /* with or without a config */
    const lab_bench_maker *maker;  /* NULL: it is planned by name */
    lab_bench_engine engine;
} lab_bench_player;

/* lab_bench_player_contender() returns a contender for @player, which must not be moved. */
lab_bench_contender lab_bench_player_contender(lab_bench_player *player);

/* A is side 0 of the comparison, B side 1. */
typedef struct lab_bench_pair {
    const char *names[2]; /* kernels with or without config; NULL: the planner's choice */
    const lab_bench_contender *contender; /* in place of names[1], with its error(); or NULL */
    const lab_bench_maker *maker;         /* likewise */
    char planned[2][HEED_NAME_SIZE];      /* their full names */
    lab_bench_outcome outcome;            /* unless LAB_BENCH_OK there is no comparison, ... */
    int blame;                            /* ... because of this side, or -1 */
    char reason[LAB_PEER_REASON_SIZE];    /* in a sentence */
    double error[2];                      /* see lab_bench_error() */
    double seconds[2];                    /* medians of the blocks; 0: not timed */
    int64_t copies;                       /* of the tensors */
    int64_t calls;                        /* of a replay; 0: blocks are made of calls */
    bool itself;                          /* set it for a duel of a kernel with itself */
    bool same; /* else, if both are the same kernel and config, only A is timed, briefly */
    lab_duel duel;
} lab_bench_pair;

/* lab_bench_pair_run() plans both, checks their outputs, times them in turns by @options, with some
 * values changed before every block, and checks again. It uses context, cold, replay, seed and
 * host_threads of @bench. A failure of a kernel is an outcome; HEED_ERR_SYSTEM once stopped is the
 * only failure. Free in any case. */
heed_status lab_bench_pair_run(lab_bench_pair *pair, const lab_bench *bench,
                               const lab_bench_source *source, const lab_duel_options *options);
void lab_bench_pair_free(lab_bench_pair *pair);

/* A duel of a kernel with itself on one problem. */
typedef struct lab_bench_calibration {
    const lab_bench_source *source;
    lab_bench_pair pair;
    double seconds;    /* median of a call */
    double detectable; /* the smallest detectable difference, as a share; may be INFINITY */
} lab_bench_calibration;

/* lab_bench_calibrate_problem() runs the duel for bench->seconds, with the plan of bench->kernel or
 * bench->effort. Returns as lab_bench_pair_run() does. */
heed_status lab_bench_calibrate_problem(const lab_bench *bench, const lab_bench_source *source,
                                        lab_bench_calibration *row);

/* lab_bench_pair_doubt() writes to @reason why the comparison @of of the pair is AMBIGUOUS for
 * @margin, with the smallest detectable difference. */
void lab_bench_pair_doubt(const lab_bench_pair *pair, const lab_comparison *of, double margin,
                          uint64_t seed, char *reason, size_t size);

#endif /* LAB_BENCH_PAIR_H */
