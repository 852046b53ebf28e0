/*
 * trial.h - the record of a trial: verdict, candidate, device and environment, samples, comparisons
 *
 * NULL texts are unknown; so are numbers that are NaN, or 0 where 0 makes no sense.
 */
#ifndef LAB_RECORD_TRIAL_H
#define LAB_RECORD_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef enum lab_record_verdict {
#define LAB_RECORD_VERDICT(id, name, meaning) id,
#include "record/verdicts.def"
#undef LAB_RECORD_VERDICT
    LAB_RECORD_VERDICTS
} lab_record_verdict;

/* lab_record_verdict_name() returns the word for @verdict, such as "compile" or "wrong"; "unknown"
 * outside the enum. lab_record_verdict_find() is its inverse: LAB_RECORD_VERDICTS if not found.
 * lab_record_verdict_meaning() returns its meaning in a few words. */
const char *lab_record_verdict_name(lab_record_verdict verdict);
lab_record_verdict lab_record_verdict_find(const char *name);
const char *lab_record_verdict_meaning(lab_record_verdict verdict);

/* A kernel in a config. Kernel, config, language and source identify it; the other fields are
 * recorded when it is first seen. */
typedef struct lab_record_candidate {
    const char *kernel;   /* without its config */
    const char *config;   /* knob values in one word, "" if none; NULL means "" */
    const char *language; /* "c" or "cuda"; NULL: one of heed's kernels, without a source */
    const char *source;
    const char *proposer; /* its author: "sweep", "evolve", a program */
    uint64_t seed;
    const char *thought;
    const char *const *parents; /* hashes of candidates on the board */
    size_t parent_count;
} lab_record_candidate;

/* lab_record_candidate_hash() writes the hash that names a candidate on every board. */
#define LAB_RECORD_HASH_SIZE 65
void lab_record_candidate_hash(const lab_record_candidate *candidate,
                               char hash[LAB_RECORD_HASH_SIZE]);

/* lab_record_hash() writes the SHA-256 of @size bytes, for sha256 fields. */
void lab_record_hash(const void *data, size_t size, char hash[LAB_RECORD_HASH_SIZE]);

typedef struct lab_record_device {
    const char *name;    /* from heed_context_device() */
    const char *backend; /* "cpu" or "cuda" */
    double memory_bytes, cache_bytes, multiprocessors, clock_hz, bandwidth;
} lab_record_device;

/* A file of heed's sources, and the set of all: enough to rebuild a libheed. */
typedef struct lab_record_file {
    const char *path; /* from the root of the source tree */
    const char *text;
} lab_record_file;
typedef struct lab_record_library {
    const lab_record_file *files;
    size_t count;
} lab_record_library;

typedef struct lab_record_environment {
    const char *features; /* as in wisdom, for `heed wisdom export` */
    int threads;
    const char *build;  /* of the kernels, as in wisdom */
    const char *heed;   /* version */
    const char *commit; /* ends with "-dirty" if there were uncommitted changes */
    const char *driver, *nvrtc, *compiler, *libraries;
    const char *cpu, *system, *governor;
    const lab_record_library *library; /* the sources of that build, stored once; NULL: not known */
    const char *manifest; /* hash of the manifest of its tools and libraries; NULL: not known */
    const char *manifest_text; /* its parts, whose hash that is, stored once; NULL: not known */
} lab_record_environment;

/* The output of a compiler, without the bytes. */
typedef struct lab_record_artifact {
    const char *sha256; /* NULL: none */
    const char *form;   /* "cubin", "ptx" or "so" */
    int64_t bytes;
    int64_t registers, spill_bytes, shared_bytes; /* negative: not known */
} lab_record_artifact;

typedef enum lab_record_timing {
    LAB_RECORD_UNTIMED,
    LAB_RECORD_COLD,
    LAB_RECORD_HOT,
    LAB_RECORD_EAGER /* single calls by the clock; only for samples */
} lab_record_timing;

/* Seconds per call, in the order in which they were taken. */
typedef struct lab_record_samples {
    const char *against; /* NULL: the candidate alone; else the opponent in the comparison */
    bool other;          /* of the opponent */
    lab_record_timing kind;
    int64_t calls; /* number that each is the mean of; 0: not known */
    const double *seconds;
    size_t count;
} lab_record_samples;

typedef struct lab_record_comparison {
    const char *against; /* a rival, or a kernel with its config */
    const char *other;   /* its hash if it is a candidate, or NULL */
    const char *version;
    const char *method;
    const char *outcome; /* "ok", or a word for why there is no figure, with @reason */
    const char *reason;
    double seconds;          /* of the opponent */
    double ratio, low, high; /* seconds of the opponent over those of the candidate */
    double margin;
    const char *verdict; /* "FASTER", "SLOWER", "EQUIVALENT" or "AMBIGUOUS" */
    int64_t pairs;
} lab_record_comparison;

typedef struct lab_record_gate {
    const char *name;
    bool passed;
    const char *detail; /* facts to reproduce a failure */
    uint64_t seed;
} lab_record_gate;

/* Another fact: a number, or @text if that is not NULL. Omitted if it has neither. */
typedef struct lab_record_fact {
    const char *name;
    double number;
    const char *text;
} lab_record_fact;

typedef struct lab_record_trial {
    /* Its identity: no two trials of a record agree in all of these. */
    int64_t run;
    lab_record_candidate candidate;
    const heed_problem *problem;
    int attempt; /* 0, 1, ...: repetitions, such as the confirmation of a winner */

    /* Where and how. */
    lab_record_device device;
    lab_record_environment environment;
    lab_record_artifact artifact;
    int64_t selftest;   /* its number; 0: none */
    const char *launch; /* how device code is compiled and launched, as text; NULL: not known, or
                           left to lab_record_describe() */
    uint64_t seed;
    const char *started; /* in the format of lab_record_now(); NULL: now */
    const char *ended;

    /* Its result. */
    lab_record_verdict verdict;
    const char *reason; /* a sentence */
    bool confirmed; /* the samples were taken after its selection: only such trials are ranked */
    lab_record_timing timing; /* of the figures below: LAB_RECORD_COLD or LAB_RECORD_HOT */
    double seconds;           /* median; 0: not timed */
    double p90;
    double of_roofline;
    const lab_record_samples *samples;
    size_t sample_count;
    const lab_record_comparison *comparisons;
    size_t comparison_count;
    const lab_record_gate *gates;
    size_t gate_count;
    const lab_record_fact *facts;
    size_t fact_count;
} lab_record_trial;

#endif /* LAB_RECORD_TRIAL_H */
