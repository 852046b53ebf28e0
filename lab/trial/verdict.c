/*
 * verdict.c - the verdicts on candidates
 */
#include "lab/trial/verdict.h"

#include <stdarg.h>
#include <stdio.h>

#include "lab/trial/peer/peer.h"

static const struct {
    const char *name;
    const char *sentence;
} verdicts[LAB_TRIAL_VERDICTS] = {
    [LAB_TRIAL_OK] = { "ok", "" },
    [LAB_TRIAL_REFUSED] = { "refused", "was refused before it was compiled" },
    [LAB_TRIAL_COMPILE_ERROR] = { "compile", "does not compile" },
    [LAB_TRIAL_UNSUPPORTED] = { "unfit", "says that it cannot do this problem" },
    [LAB_TRIAL_HUNG] = { "hang", "was not done in time" },
    [LAB_TRIAL_CRASHED] = { "crash", "crashed" },
    [LAB_TRIAL_ILLEGAL_ACCESS] = { "access", "touched memory that is not its own" },
    [LAB_TRIAL_OUT_OF_MEMORY] = { "memory", "needs more memory than it may have" },
    [LAB_TRIAL_GARBAGE] = { "protocol", "printed something, or spoke before it was asked" },
    [LAB_TRIAL_FLOODED] = { "flood", "printed without end" },
    [LAB_TRIAL_FORKED] = { "fork", "tried to start a process or a thread" },
    [LAB_TRIAL_FILE] = { "files", "tried to open or change a file" },
    [LAB_TRIAL_NETWORK] = { "network", "tried to reach the network" },
    [LAB_TRIAL_FORBIDDEN] = { "forbidden", "asked the system for what computing does not need" },
    [LAB_TRIAL_EXITED] = { "exited", "ended its process before it was done" },
    [LAB_TRIAL_WROTE_OUTSIDE] = { "outside", "wrote beside its outputs" },
    [LAB_TRIAL_INTERRUPTED] = { "interrupted", "was interrupted" },
    [LAB_TRIAL_UNPROTECTED] = { "unprotected", "was not run: this system cannot hold it" },
    [LAB_TRIAL_LOST] = { "lost", "lost the device" },
    [LAB_TRIAL_SYSTEM] = { "failed", "could not be tried" },
};

const char *lab_trial_verdict_name(lab_trial_verdict verdict)
{
    return (size_t)verdict < LAB_TRIAL_VERDICTS ? verdicts[verdict].name : "unknown";
}

const char *lab_trial_verdict_sentence(lab_trial_verdict verdict)
{
    return (size_t)verdict < LAB_TRIAL_VERDICTS ? verdicts[verdict].sentence : "is unknown";
}

bool lab_trial_outcome_set(lab_trial_outcome *outcome, lab_trial_verdict verdict,
                           const char *format, ...)
{
    va_list list;

    outcome->verdict = verdict;
    snprintf(outcome->text, sizeof outcome->text, "%s", lab_trial_verdict_sentence(verdict));
    if (format) {
        va_start(list, format);
        vsnprintf(outcome->text, sizeof outcome->text, format, list);
        va_end(list);
    }
    lab_peer_tame(outcome->text);
    return verdict == LAB_TRIAL_OK;
}
