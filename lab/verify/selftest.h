/*
 * selftest.h - tests the gates on kernels known to be right or wrong
 *
 * Every mutant of the suite (mutants/suite.h) must be killed by a gate, and every control must be
 * accepted by all. Otherwise results of the gates cannot be trusted. A selftest's result has the
 * field @trusted, which should be stored together with the counts and the digest.
 */
#ifndef LAB_SELFTEST_H
#define LAB_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/mutants/suite.h"

/* Launches CUDA kernels on a device. The suite is then that of mutants/device.c. */
typedef struct lab_selftest_device {
    void *data;

    /* Makes attend.cu with @mistake a subject of verification, in a child process. Returns HEED_OK,
     * or why not, with a heed_message(). */
    heed_status (*open)(void *data, int mistake, lab_subject *subject);
    void (*close)(void *data, lab_subject *subject);
} lab_selftest_device;

/* Judges other than gates that may stop a source: the sandbox, before it computes, and the timed
 * blocks. Their bits of lab_selftest_entry.failed follow those of the gates. */
enum {
    LAB_JUDGE_SANDBOX = LAB_GATES,
    LAB_JUDGE_TIMED,
    LAB_JUDGES
};

/* lab_judge_name() returns the name of a gate or of another judge; NULL past the last.
 * lab_judge_index() returns the index of that name, or LAB_JUDGES. */
const char *lab_judge_name(size_t index);
size_t lab_judge_index(const char *name);

/* The outcome of a source. */
typedef struct lab_selftest_outcome {
    uint32_t failed; /* judges that rejected it */
    char reason[LAB_TEXT_SIZE];
} lab_selftest_outcome;

/* Tries sources as `heed evolve` does: compiles, proves (lab_prove()) and times them. */
typedef struct lab_selftest_sources {
    void *data;
    void (*run)(void *data, const lab_mutant *source, lab_selftest_outcome *outcome);
} lab_selftest_sources;

typedef struct lab_selftest_options {
    uint64_t seed;  /* of values, rows of samples, poison */
    uint32_t gates; /* bit i: the i-th is used; without the first, a crash or a hang does not reject
                     * a kernel */
    int jobs;       /* child processes at a time; 0: one */
    unsigned deadline_s;               /* for each kernel on one problem; 0: none */
    const char *only;                  /* the name of one mutant or control; NULL: all */
    const char *gate;                  /* only mutants that this gate is meant to kill; NULL: all */
    const lab_selftest_device *device; /* NULL: kernels are functions of the host */
    const lab_selftest_sources *sources; /* NULL: no sources are tried */
    bool (*stop)(void);                  /* called now and then: true ends the run early. May be
                                          * NULL */
    void (*progress)(void *data, size_t done, size_t total); /* may be NULL */
    void *data;                                              /* for progress() */
} lab_selftest_options;

/* lab_selftest_standard() returns the usual options: seed 1, all gates. */
lab_selftest_options lab_selftest_standard(void);

/* The outcome of one kernel: mutants first, then controls, in the order of the suite. */
typedef struct lab_selftest_entry {
    const lab_mutant *kernel;
    bool done;                  /* it was tried: the run was not stopped before */
    uint32_t failed;            /* gates that failed it: bit i for the i-th */
    bool meant;                 /* of a mutant: they include the gate meant to kill it */
    const char *spec;           /* the problem and the inputs; of a control those that */
    const char *inputs;         /* rejected it, or "" */
    char reason[LAB_TEXT_SIZE]; /* given by the meant gate, else by the first that failed; or why a
                                 * survivor was not tried */
} lab_selftest_entry;

/* The record of one gate. */
typedef struct lab_selftest_gate {
    size_t kills; /* mutants */
    size_t alone; /* kills that no other gate shares */
} lab_selftest_gate;

typedef struct lab_selftest_result {
    bool trusted; /* all were tried with all gates, every mutant was killed, every control accepted
                   */
    size_t mutants;
    size_t killed;
    size_t controls;
    size_t accepted;
    size_t skipped;  /* not tried: the run was stopped, or limited to others */
    uint64_t digest; /* of the suite: see lab_suite_digest() */
    double seconds;  /* of the run */
    lab_selftest_gate gates[LAB_JUDGES];
    lab_selftest_entry *entries; /* [entry_count] */
    size_t entry_count;
} lab_selftest_result;

/* lab_selftest_run() tries all kernels, each problem in a child process. The calling process must
 * have a single thread. Returns HEED_OK whatever the gates found; HEED_ERR_INVALID if no kernel has
 * the name options->only; else as lab_isolate() does. On failure *@result is zeroed. Free it with
 * lab_selftest_free(). */
heed_status lab_selftest_run(const lab_selftest_options *options, lab_selftest_result *result);
void lab_selftest_free(lab_selftest_result *result);

#endif /* LAB_SELFTEST_H */
