/*
 * roofline.h - declarations shared by the files of `heed roofline` and verbs that use its ceilings
 *
 * ceilings (measured, cached, or by a data sheet) -> a floor for each problem -> table or JSON
 */
#ifndef CLI_ROOFLINE_H
#define CLI_ROOFLINE_H

#include "cli/base/cli.h"
#include "inspect/roofline.h"
#include "src/cuda/gpu.h"

/* Ceilings older than this are reported. */
#define ROOFLINE_DAYS 30

/* -------------------------------------------------------------------------- */
/* roofline_measure.c                                                         */
/* -------------------------------------------------------------------------- */

/* roofline_get() reads the ceilings of the device of @context from their file. With @fresh, or
 * without a valid file, it measures them and saves them. That takes one to eight seconds, and
 * prints a message. A damaged file is replaced, with a warning; a failure to save is a warning too.
 * *@path, if not NULL, becomes the file's name, "" if there is none. A failure has been printed. */
cli_exit roofline_get(lab_ceilings *ceilings, heed_context *context, bool fresh,
                      char path[LAB_CEILINGS_PATH]);

/* roofline_known() only reads them from their file; false if there is no valid one. */
bool roofline_known(lab_ceilings *ceilings, heed_context *context);

/* roofline_age() returns the seconds since they were measured, at least 0. */
double roofline_age(const lab_ceilings *ceilings);

/* -------------------------------------------------------------------------- */
/* roofline_judge.c                                                           */
/* -------------------------------------------------------------------------- */

typedef struct roofline_run {
    const cli_args *args;
    heed_context *context; /* NULL with --machine */
    bool machine;          /* ceilings and predictions are for gpu */
    heed_gpu gpu;
    lab_ceilings ceilings;
    char path[LAB_CEILINGS_PATH];
    lab_problems problems; /* none: only the ceilings */
} roofline_run;

/* roofline_judge() compares the cost model with times of a sweep: those of --trials, or of a sweep
 * that it runs. CLI_FINDING if their rank correlation is less than ROOFLINE_JUDGE_LEAST. */
#define ROOFLINE_JUDGE_LEAST 0.7
cli_exit roofline_judge(roofline_run *run);

#endif /* CLI_ROOFLINE_H */
