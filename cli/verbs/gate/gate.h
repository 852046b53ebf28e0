/*
 * gate.h - declarations shared by the files of `heed gate`
 *
 * champions of the board -> each in turns with what heed plans now -> table or JSON, exit code
 */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include <stdarg.h>

#include "bench/worker.h"
#include "build/rebuild.h"
#include "cli/verbs/bench/bench.h"
#include "cli/verbs/board/board.h"

typedef enum gate_verdict {
    GATE_AMBIGUOUS = 0, /* it cannot be told whether it is slower, for a reason */
    GATE_PASS,          /* slower by more than the limit has been ruled out */
    GATE_SAME,          /* the champion is what heed plans now, from the same code */
    GATE_SLOWER,
    GATE_WRONG, /* one of the two computes a wrong result */
    GATE_VERDICTS
} gate_verdict;

#define GATE_WHY_SIZE LAB_REBUILD_WHY_SIZE

/* A champion, and what became of it. */
typedef struct gate_shape {
    lab_bench_source source;
    char spec[HEED_SPEC_SIZE];
    int64_t trial; /* on the board */
    char champion[2 * HEED_NAME_SIZE];
    bool cold;
    bool damaged;           /* the trial is not what was added */
    bool rebuilt_elsewhere; /* the code of heed's kernels has changed since */
    char build[96];         /* of which heed that was */
    char *code;     /* its source, if it is a candidate with one; NULL: a kernel of heed's own */
    char *launch;   /* how its code is launched on a GPU; NULL: not known */
    size_t library; /* of gate_run.libraries, from 1; 0: there is none for it */
    bool rebuilt;   /* it is made of the code of its day */
    char lost[GATE_WHY_SIZE];  /* why it is not, where it should be */
    lab_bench_worker worker;   /* that runs it */
    double overhead;           /* share of its time that may not be its own */
    double then;               /* median seconds of that day; history alone */
    lab_bench_pair pair;       /* A: heed's plan now, B: the champion */
    bool judged;               /* is there a comparison? */
    lab_comparison comparison; /* among all the shapes */
    gate_verdict verdict;
    char why[GATE_WHY_SIZE];
} gate_shape;

typedef struct gate_run {
    lab_rebuild_options options;
    heed_options machine; /* see cli_machine() */
    const char *problem;  /* the champions of this one alone; NULL: all */
    bool json;
    bool allow_ambiguous;
    lab_bench bench;
    double limit; /* slower by more than this share fails */
    double seconds;
    gate_shape *shapes;
    size_t count;
    lab_rebuild_library *libraries;
    size_t library_count;
    size_t elsewhere; /* champions of other numbers of threads, left out */
    bool unverified;  /* heed verify could not be run */
} gate_run;

/* gate_board.c: the champions of @record for the device of gate->bench.context. CLI_ENVIRONMENT
 * where there are none: a gate without a champion must not pass. */
cli_exit gate_read_champions(gate_run *gate, lab_record *record);
void gate_free(gate_run *gate);

/* gate_judge.c: gate_time() lets every champion and what heed plans now take turns; gate_verify()
 * sends what is planned through all gates; then gate_judge() judges all shapes together. */
cli_exit gate_time(gate_run *gate);
cli_exit gate_verify(gate_run *gate);
cli_exit gate_judge(gate_run *gate);

/* gate_report.c: the answer. gate_exit() is the exit code that it comes to. */
cli_exit gate_report(const gate_run *gate);
cli_exit gate_exit(const gate_run *gate);
size_t gate_count(const gate_run *gate, gate_verdict verdict);

typedef enum criterion_verdict {
    CRITERION_UNKNOWN = 0, /* it was not measured: a rival, a GPU or a tool is missing */
    CRITERION_PASS,
    CRITERION_FAIL,
    CRITERION_AMBIGUOUS, /* measured, but not well enough to tell */
    CRITERION_VERDICTS
} criterion_verdict;

#define CRITERIA 5

typedef struct criterion {
    const char *name;
    criterion_verdict verdict;
    char figure[320]; /* the measurement, or why there is none */
} criterion;

void criterion_set(criterion *it, criterion_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* gate_code.c: of the machine code of the kernels that @bench has timed. criterion_spills()
 * compiles them once more, for what the assembler says; criterion_conflicts() lets ncu count while
 * heed runs.
 */
void criterion_spills(criterion *it, const lab_bench *bench);
void criterion_conflicts(criterion *it, const lab_bench *bench);

/* gate_criteria.c: all of it, on the problems of @args; of @bench context, peers, seconds, margin,
 * seed and what the device means have been set. CLI_FINDING if a criterion fails, CLI_ENVIRONMENT
 * if one is not known. */
cli_exit gate_criteria(lab_bench *bench, const cli_args *args);

#endif /* CLI_GATE_H */
