/*
 * profile.h - what the files of `heed profile` share
 *
 * counters: a plan -> ncu beside it (profile_ncu.c) -> its answer, judged (lab/inspect/profile.h)
 * scaling and timeline: heed's own clock, on any device
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli.h"
#include "inspect/profile.h"

/* The kernel to profile, in the words of --kernel and --source. */
typedef struct profile_subject {
    const char *kernel; /* NULL: heed's choice */
    const char *source; /* a file in the place of its own source; NULL: none */
} profile_subject;

/* profile_plan.c: profile_subject_read() reads both options. profile_plan() makes the plan of
 * @subject for @problem: the kernel's own, or that source launched as the kernel's config is.
 * Returns as heed_plan_create() does, or why the source cannot be read. */
profile_subject profile_subject_read(const cli_args *args);
heed_status profile_plan(const profile_subject *subject, heed_context *context,
                         const heed_problem *problem, heed_plan **plan);
#define PROFILE_OPTION_SOURCE                                                               \
    {                                                                                       \
        .name = "source", .kind = CLI_PATH, .argument = "FILE",                             \
        .help = "Use this CUDA source, which you trust, instead of the kernel's own, with " \
                "the same config and launch"                                                \
    }

/* -------------------------------------------------------------------------- */
/* profile_ncu.c: NVIDIA's profiler, watching one launch                      */
/* -------------------------------------------------------------------------- */

/* The launch to be counted: the first launch of `heed launch`. */
typedef struct profile_question {
    const char *ncu;    /* its file */
    const char *device; /* as --device takes it */
    const char *kernel; /* and its config */
    const char *source; /* file in the place of its own; NULL: none */
    const char *code;   /* file of compiled code in the place of any kernel; NULL: none */
    const char *launch; /* how that is launched, in words (lab/trial/launch.h) */
    const char *spec;
    int arch;               /* compute capability of the device, 10 * major + minor */
    bool keep_caches;       /* else they are emptied before each pass */
    double seconds;         /* that it may take, all attempts together */
    const lab_metric *only; /* what alone is to be counted, only_count of them; NULL: everything */
    size_t only_count;
} profile_question;

/* Why there are no counters. */
typedef struct profile_trouble {
    char reason[400];
    const char *fix; /* NULL: none is known */
} profile_trouble;

/* profile_find_ncu() writes where ncu is to @path: @wish if that is not NULL, else where doctor
 * looks. False, with @trouble filled in: it is not there. */
bool profile_find_ncu(const char *wish, char *path, size_t size, profile_trouble *trouble);

/* profile_count() starts ncu, once more for each metric that it does not know, and reads what it
 * says. CLI_OK; CLI_ENVIRONMENT with @trouble filled in; CLI_INTERRUPTED. Nothing is printed. */
cli_exit profile_count(const profile_question *question, lab_profile *profile,
                       profile_trouble *trouble);

/* -------------------------------------------------------------------------- */
/* profile_counters.c, profile_report.c: counters of every problem            */
/* -------------------------------------------------------------------------- */

typedef struct profile_row {
    char spec[HEED_SPEC_SIZE];   /* empty: of a recording */
    char kernel[HEED_NAME_SIZE]; /* and config; empty: of a recording */
    bool known;                  /* else only trouble is */
    lab_profile profile;
    lab_gate_result gates[LAB_PROFILE_GATES];
    lab_gate_verdict verdict;
    profile_trouble trouble;
} profile_row;

typedef struct profile_job {
    profile_subject subject;
    const char *asked; /* the device, as --device takes it */
    bool json;
    bool gate;
    bool keep_caches;
    double seconds;  /* for one problem */
    char device[64]; /* its name */
    char ncu[512];   /* file of ncu; empty: none */
    bool recorded;   /* what is shown was read from a file */
    profile_row *rows;
    size_t count;
} profile_job;

/* profile_counters() answers for every problem, or for the file of --read. */
cli_exit profile_counters(const cli_args *args);

/* profile_report() prints the rows. CLI_FINDING: --gate, and one fails; CLI_ENVIRONMENT: one is not
 * known. profile_report_exit() is that alone. */
cli_exit profile_report(const profile_job *job);
cli_exit profile_report_exit(const profile_job *job);

/* -------------------------------------------------------------------------- */
/* profile_scaling.c, profile_timeline.c                                      */
/* -------------------------------------------------------------------------- */

cli_exit profile_scaling(const cli_args *args);
cli_exit profile_timeline(const cli_args *args);

#endif /* CLI_PROFILE_H */
