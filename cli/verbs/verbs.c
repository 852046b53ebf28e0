/*
 * verbs.c - the table of verbs, in the order in which people meet them
 */
#include <string.h>

#include "cli/base/cli.h"

extern const cli_verb cli_verb_ablate;
extern const cli_verb cli_verb_bench;
extern const cli_verb cli_verb_board;
extern const cli_verb cli_verb_doctor;
extern const cli_verb cli_verb_gate;
extern const cli_verb cli_verb_evolve;
extern const cli_verb cli_verb_generate;
extern const cli_verb cli_verb_inspect;
extern const cli_verb cli_verb_launch;
extern const cli_verb cli_verb_plan;
extern const cli_verb cli_verb_report;
extern const cli_verb cli_verb_roofline;
extern const cli_verb cli_verb_profile;
extern const cli_verb cli_verb_run;
extern const cli_verb cli_verb_selftest;
extern const cli_verb cli_verb_sweep;
extern const cli_verb cli_verb_tune;
extern const cli_verb cli_verb_verify;
extern const cli_verb cli_verb_wisdom;

const cli_verb *const cli_verbs[] = {
    &cli_verb_doctor, &cli_verb_plan,   &cli_verb_run,      &cli_verb_verify,   &cli_verb_selftest,
    &cli_verb_bench,  &cli_verb_sweep,  &cli_verb_evolve,   &cli_verb_tune,     &cli_verb_board,
    &cli_verb_gate,   &cli_verb_report, &cli_verb_wisdom,   &cli_verb_inspect,  &cli_verb_profile,
    &cli_verb_ablate, &cli_verb_launch, &cli_verb_roofline, &cli_verb_generate, NULL,
};

const cli_verb *cli_verb_find(const char *name)
{
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}
