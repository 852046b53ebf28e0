/*
 * program.c - the programs that trials start
 */
#include "lab/trial/compile/program.h"

#include <stdio.h>
#include <unistd.h>

#include "lab/base/beside.h"

bool lab_program_find(const char *name, char path[PATH_MAX], lab_trial_outcome *outcome)
{
    static const char *const places[] = { ".", "../lab", "../../lab", "../libexec/heed" };
    char folder[PATH_MAX - 64];

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!lab_beside(places[i], folder, sizeof folder))
            continue;
        snprintf(path, PATH_MAX, "%s/%s", folder, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM,
                                 "the program %s is not where heed is installed", name);
}
