/*
 * plausible.h - can a trial be as fast as it says?
 */
#ifndef CLI_PLAUSIBLE_H
#define CLI_PLAUSIBLE_H

#include "heed.h"
#include "record/record.h"

/* Facts found out about this machine while trials were judged. cli_judge_create() returns
 * NULL without memory; cli_judge_destroy() takes NULL. */
typedef struct cli_judge cli_judge;
cli_judge *cli_judge_create(void);
void cli_judge_destroy(void *judge);

/* cli_plausible() is the lab_record_judging of a cli_judge: false, with the figures in @why, if the
 * time of @trial is less than its device needs at least. A CPU of this machine's name is measured,
 * once for each type and number of threads, and again where that seems too little; a GPU that
 * machines.def knows is bound by its data sheet, others by four times the best of them; other CPUs
 * by lab_roofline_cpu(). */
bool cli_plausible(void *judge, const lab_record_trial *trial, lab_error *why);

/* cli_plausible_here() is the same of a time of one of heed's kernels on the device of @context. */
bool cli_plausible_here(cli_judge *judge, const heed_context *context, const heed_problem *problem,
                        bool cold, double seconds, lab_error *why);

#endif /* CLI_PLAUSIBLE_H */
