/*
 * selftest_trials.h - the list of a selftest's trials: kernels and problems
 */
#ifndef LAB_SELFTEST_TRIALS_H
#define LAB_SELFTEST_TRIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/verify/inputs.h"
#include "lab/verify/selftest.h"

/* A kernel on a problem, which must be killed or accepted. */
typedef struct lab_selftest_trial {
    size_t entry;                   /* of the result */
    const lab_behaviour *behaviour; /* NULL: the device's kernel, with ... */
    int mistake;                    /* ... this one */
    const char *spec;
    const lab_inputs *inputs;
    const lab_mutant_source *source; /* NULL: none; else the source to try instead */
    bool few, unlocked;
    bool nearby; /* tried on neighbours of the problem instead */
} lab_selftest_trial;

/* The entries of a result and the trials that fill them. */
typedef struct lab_selftest_maker {
    const lab_selftest_options *options;
    lab_selftest_entry *entries; /* NULL: only count them */
    size_t entry_count;
    lab_selftest_trial *trials; /* the same */
    size_t trial_count;
} lab_selftest_maker;

/* lab_selftest_make() adds all kernels of the suite, and trials for those that the options select.
 * Trials that end by themselves come first; returns their number. */
size_t lab_selftest_make(lab_selftest_maker *it);

#endif /* LAB_SELFTEST_TRIALS_H */
