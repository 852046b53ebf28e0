/*
 * profile_scaling.h - what the files of `heed profile --scaling` share
 */
#ifndef CLI_PROFILE_SCALING_H
#define CLI_PROFILE_SCALING_H

#include "cli/base/cli.h"
#include "inspect/scaling.h"
#include "profile.h"

#define POINTS_MAX 20

/* One size of an axis. */
typedef struct scaling_point {
    heed_problem problem;
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    char reason[256]; /* why it was not timed; empty: it was */
} scaling_point;

typedef struct scaling_axis {
    lab_axis axis;
    size_t count;
    scaling_point points[POINTS_MAX];
    lab_scale_point figures[POINTS_MAX];
    lab_scale_finding finding;
} scaling_axis;

typedef struct scaling_job {
    profile_subject subject;
    bool json;
    size_t steps; /* points of an axis */
    heed_context *context;
    double seconds;
    lab_progress progress;
    size_t done;
    bool found;
    json_t *problems; /* of --json */
} scaling_job;

/* profile_scaling_report.c: adds a problem to the answer, prints it if that is text; and the end of
 * the answer. */
cli_exit scaling_report_problem(scaling_job *job, const char *spec, const scaling_axis *axes,
                                size_t count);
cli_exit scaling_report_end(const scaling_job *job);

#endif /* CLI_PROFILE_SCALING_H */
