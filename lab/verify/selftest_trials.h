/*
 * selftest_trials.h - which kernels a selftest tries on which problems
 */
#ifndef LAB_SELFTEST_TRIALS_H
#define LAB_SELFTEST_TRIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/verify/inputs.h"
#include "lab/verify/selftest.h"

/* A kernel on a problem: to be killed, or to be accepted. */
typedef struct lab_selftest_trial {
    size_t entry;                   /* of the result */
    const lab_behaviour *behaviour; /* NULL: the device's kernel, with ... */
    int mistake;                    /* ... this one */
    const char *spec;
    const lab_inputs *inputs;
    const lab_mutant_source *source; /* NULL: none; else what is tried instead */
    bool few, unlocked;
    bool nearby; /* on neighbours of the problem instead */
} lab_selftest_trial;

/* The entries of a result and the trials that fill them. */
typedef struct lab_selftest_maker {
    const lab_selftest_options *options;
    lab_selftest_entry *entries; /* NULL: they are only counted */
    size_t entry_count;
    lab_selftest_trial *trials; /* the same */
    size_t trial_count;
} lab_selftest_maker;

/* lab_selftest_make() adds all kernels of the suite, and trials for those that the options want.
 * Returns how many of the trials, the first ones, end by themselves. */
size_t lab_selftest_make(lab_selftest_maker *it);

#endif /* LAB_SELFTEST_TRIALS_H */
