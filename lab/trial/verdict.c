/*
 * verdict.c - what became of a candidate
 */
#include "lab/trial/verdict.h"

#include <stdarg.h>
#include <stdio.h>

#include "lab/trial/peer.h"

static const struct {
    const char *name;
    const char *sentence;
} verdicts[LAB_VERDICTS] = {
    [LAB_VERDICT_OK] = { "ok", "" },
    [LAB_VERDICT_REFUSED] = { "refused", "was refused before it was compiled" },
    [LAB_VERDICT_COMPILE_ERROR] = { "compile-error", "does not compile" },
    [LAB_VERDICT_UNSUPPORTED] = { "unsupported", "says that it cannot do this problem" },
    [LAB_VERDICT_HUNG] = { "hung", "was not done in time" },
    [LAB_VERDICT_CRASHED] = { "crashed", "crashed" },
    [LAB_VERDICT_ILLEGAL_ACCESS] = { "illegal-access", "touched memory that is not its own" },
    [LAB_VERDICT_OUT_OF_MEMORY] = { "out-of-memory", "needs more memory than it may have" },
    [LAB_VERDICT_GARBAGE] = { "garbage", "printed something, or spoke before it was asked" },
    [LAB_VERDICT_FLOODED] = { "flooded", "printed without end" },
    [LAB_VERDICT_FORKED] = { "forked", "tried to start a process or a thread" },
    [LAB_VERDICT_FILE] = { "file", "tried to open or change a file" },
    [LAB_VERDICT_NETWORK] = { "network", "tried to reach the network" },
    [LAB_VERDICT_FORBIDDEN] = { "forbidden", "asked the system for what computing does not need" },
    [LAB_VERDICT_EXITED] = { "exited", "ended its process before it was done" },
    [LAB_VERDICT_WROTE_OUTSIDE] = { "wrote-outside", "wrote beside its outputs" },
    [LAB_VERDICT_INTERRUPTED] = { "interrupted", "was interrupted" },
    [LAB_VERDICT_UNPROTECTED] = { "unprotected", "was not run: this system cannot hold it" },
    [LAB_VERDICT_LOST] = { "lost", "lost the device" },
    [LAB_VERDICT_SYSTEM] = { "system", "could not be tried" },
};

const char *lab_verdict_name(lab_verdict verdict)
{
    return (size_t)verdict < LAB_VERDICTS ? verdicts[verdict].name : "unknown";
}

const char *lab_verdict_sentence(lab_verdict verdict)
{
    return (size_t)verdict < LAB_VERDICTS ? verdicts[verdict].sentence : "is unknown";
}

bool lab_outcome_set(lab_outcome *outcome, lab_verdict verdict, const char *format, ...)
{
    va_list list;

    outcome->verdict = verdict;
    snprintf(outcome->text, sizeof outcome->text, "%s", lab_verdict_sentence(verdict));
    if (format) {
        va_start(list, format);
        vsnprintf(outcome->text, sizeof outcome->text, format, list);
        va_end(list);
    }
    lab_peer_tame(outcome->text);
    return verdict == LAB_VERDICT_OK;
}
