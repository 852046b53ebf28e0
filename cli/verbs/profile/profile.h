/*
 * profile.h - declarations shared by the files of `heed profile`
 *
 * counters: a plan -> ncu running it (lab/insight/ncu.h) -> its output, judged
 * (lab/inspect/profile.h) scaling and timeline: heed's own clock, on any device
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli/base/cli.h"

/* profile_plan() makes the plan of --kernel for @problem: the kernel's own or, with --source, that
 * source launched like the kernel's config. Returns as heed_plan_create() does, or the error of
 * reading the source. */
heed_status profile_plan(const cli_args *args, heed_context *context, const heed_problem *problem,
                         heed_plan **plan);
#define PROFILE_OPTION_SOURCE                                                            \
    OPT_PATH("source", 0, "FILE",                                                        \
             "Use this CUDA source, which you trust, instead of the kernel's own, with " \
             "the same config and launch")

/* profile_counters.c, profile_scaling.c, profile_timeline.c: each reports every problem;
 * profile_counters() the file of --read in place of problems. */
cli_exit profile_counters(const cli_args *args);
cli_exit profile_scaling(const cli_args *args);
cli_exit profile_timeline(const cli_args *args);

#endif /* CLI_PROFILE_H */
