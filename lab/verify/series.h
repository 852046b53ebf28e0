/*
 * series.h - many verifications of one problem: every contender with every kind of inputs
 */
#ifndef LAB_SERIES_H
#define LAB_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/verify/isolate.h"
#include "lab/verify/verify.h"

/* A kernel under a mask of CPU features. */
typedef struct lab_contender {
    const char *cpu;    /* as in heed_options */
    const char *kernel; /* NULL: what the planner chooses */
    int threads;        /* as in heed_options */
} lab_contender;

typedef struct lab_series {
    heed_problem problem;
    const lab_inputs *const *inputs;
    size_t input_count;
    const lab_contender *contenders;
    size_t contender_count;
    const lab_values *values; /* of lab_inputs_captured; NULL without them */
    lab_verify_options options;
    unsigned deadline_s; /* for each contender with each inputs; 0: none */
    bool together;       /* all in this process: for a debugger */
    bool (*stop)(void);  /* see lab_isolation */
} lab_series;

/* One contender with one kind of inputs. */
typedef struct lab_series_result {
    lab_report report; /* a crash is a failure of its first gate */
    lab_ended ended;
} lab_series_result;

/* lab_series_run() verifies every contender with every kind of inputs, each crash costing no more
 * than itself. @results has room for input_count * contender_count, [input][contender]. Returns as
 * lab_isolate() does; also HEED_ERR_NO_MEMORY. */
heed_status lab_series_run(const lab_series *series, lab_series_result *results);

#endif /* LAB_SERIES_H */
