/*
 * verbs.c - the table of verbs, in the order of typical use
 */
#include <string.h>

#include "cli/base/cli.h"

const cli_verb *const cli_verbs[] = {
    &cli_verb_doctor, &cli_verb_plan,     &cli_verb_run,
    &cli_verb_verify, &cli_verb_selftest, &cli_verb_bench,
    &cli_verb_sweep,  &cli_verb_evolve,   &cli_verb_tune,
    &cli_verb_board,  &cli_verb_gate,     &cli_verb_report,
    &cli_verb_wisdom, &cli_verb_inspect,  &cli_verb_profile,
    &cli_verb_ablate, &cli_verb_launch,   &cli_verb_roofline,
    &cli_verb_suite,  &cli_verb_generate, NULL,
};

const cli_verb *cli_verb_find(const char *name)
{
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}
