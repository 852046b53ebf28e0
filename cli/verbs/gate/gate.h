/*
 * gate.h - declarations shared by the files of `heed gate`
 *
 * champions of the board -> each in turns with what heed plans now -> table or JSON, exit code
 */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include "bench/worker.h"
#include "build/rebuild.h"
#include "cli/verbs/bench/bench.h"
#include "cli/verbs/board/board.h"

typedef enum gate_verdict {
    GATE_AMBIGUOUS = 0, /* undecided, for a reason */
    GATE_PASS,          /* slower by more than the limit has been ruled out */
    GATE_SAME,          /* the champion is heed's current plan, from the same code */
    GATE_SLOWER,
    GATE_WRONG, /* one of the two computes a wrong result */
    GATE_VERDICTS
} gate_verdict;

#define GATE_WHY_SIZE LAB_REBUILD_WHY_SIZE

/* A champion, and its result. */
typedef struct gate_shape {
    lab_bench_source source;
    char spec[HEED_SPEC_SIZE];
    int64_t trial; /* on the board */
    char champion[2 * HEED_NAME_SIZE];
    bool cold;
    bool damaged;              /* the trial was changed after it was added */
    bool rebuilt_elsewhere;    /* the code of heed's kernels has changed since */
    char build[96];            /* of the champion */
    char *code;                /* the source of a candidate; NULL: a kernel of heed's */
    char *launch;              /* how its code is launched on a GPU; NULL: unknown */
    size_t library;            /* index in gate_run.libraries, from 1; 0: none */
    bool rebuilt;              /* it was rebuilt from its original code */
    char lost[GATE_WHY_SIZE];  /* why it was not, though it should be */
    lab_bench_worker worker;   /* runs it */
    double overhead;           /* share of its time that may be overhead */
    double then;               /* median seconds when recorded; only for history */
    lab_bench_pair pair;       /* A: heed's plan now, B: the champion */
    bool judged;               /* there is a comparison */
    lab_comparison comparison; /* among all the shapes */
    gate_verdict verdict;
    char why[GATE_WHY_SIZE];
} gate_shape;

typedef struct gate_run {
    const cli_args *args;
    lab_rebuild_options options;
    heed_options machine; /* see cli_machine() */
    lab_bench bench;
    double limit; /* slower by more than this share fails */
    gate_shape *shapes;
    size_t count;
    lab_rebuild_library *libraries;
    size_t library_count;
    size_t elsewhere; /* champions with other numbers of threads, left out */
    bool unverified;  /* heed verify could not be run */
} gate_run;

/* gate_judge.c: gate_time() times every champion in turns with heed's current plan; gate_verify()
 * verifies the planned kernels with all gates; then gate_judge() judges all shapes together. */
cli_exit gate_time(gate_run *gate);
cli_exit gate_verify(gate_run *gate);
cli_exit gate_judge(gate_run *gate);

/* gate_criteria.c: judges all criteria on the problems of @args. The caller has set context, peers,
 * seconds, margin, seed and the device's settings of @bench. CLI_FINDING if a criterion fails,
 * CLI_ENVIRONMENT if one is unknown. */
cli_exit gate_criteria(lab_bench *bench, const cli_args *args);

#endif /* CLI_GATE_H */
