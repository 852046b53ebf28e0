/*
 * profile.h - declarations shared by the files of `heed profile`
 *
 * counters: a plan -> ncu running it (lab/insight/ncu.h) -> its output, judged
 * (lab/inspect/profile.h) scaling and timeline: heed's own clock, on any device
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli/base/cli.h"
#include "insight/ncu.h"

/* profile_plan() makes the plan of --kernel for @problem: the kernel's own or, with --source, that
 * source launched like the kernel's config. Returns as heed_plan_create() does, or the error of
 * reading the source. */
heed_status profile_plan(const cli_args *args, heed_context *context, const heed_problem *problem,
                         heed_plan **plan);
#define PROFILE_OPTION_SOURCE                                                            \
    OPT_PATH("source", 0, "FILE",                                                        \
             "Use this CUDA source, which you trust, instead of the kernel's own, with " \
             "the same config and launch")

/* -------------------------------------------------------------------------- */
/* profile_counters.c, profile_report.c: counters of every problem            */
/* -------------------------------------------------------------------------- */

typedef struct profile_row {
    char spec[HEED_SPEC_SIZE];   /* empty: from a recording */
    char kernel[HEED_NAME_SIZE]; /* and config; empty: from a recording */
    bool known;                  /* false: only the trouble is */
    lab_profile profile;
    lab_gate_result gates[LAB_PROFILE_GATES];
    lab_gate_verdict verdict;
    lab_ncu_trouble trouble;
} profile_row;

typedef struct profile_job {
    const cli_args *args;
    bool keep_caches;
    char device[64]; /* its name */
    char ncu[512];   /* path of ncu; empty: none */
    bool recorded;   /* the counters were read from a file */
    profile_row *rows;
    size_t count;
} profile_job;

/* profile_counters() reports every problem, or the file of --read. */
cli_exit profile_counters(const cli_args *args);

/* profile_report() prints the rows. CLI_FINDING: --gate was given and one fails; CLI_ENVIRONMENT:
 * one is unknown. profile_report_exit() only returns the exit code. */
cli_exit profile_report(const profile_job *job);
cli_exit profile_report_exit(const profile_job *job);

/* -------------------------------------------------------------------------- */
/* profile_scaling.c, profile_timeline.c                                      */
/* -------------------------------------------------------------------------- */

cli_exit profile_scaling(const cli_args *args);
cli_exit profile_timeline(const cli_args *args);

#endif /* CLI_PROFILE_H */
