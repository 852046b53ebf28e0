/*
 * words.c - names and meanings of the verdicts on trials
 */
#include <string.h>

#include "record.h"

static const struct {
    const char *name, *meaning;
} verdicts[LAB_RECORD_VERDICTS] = {
    [LAB_RECORD_OK] = { "ok", "right, and timed" },
    [LAB_RECORD_PRUNED] = { "pruned", "not tried: static facts speak against it" },
    [LAB_RECORD_SKIPPED] = { "skipped", "not tried: it would take too long" },
    [LAB_RECORD_REFUSED] = { "refused",
                             "an option, an include or a size that candidates may not have" },
    [LAB_RECORD_COMPILE] = { "compile", "does not compile" },
    [LAB_RECORD_UNFIT] = { "unfit", "cannot do the problem, and says so" },
    [LAB_RECORD_HANG] = { "hang", "was not ready in time" },
    [LAB_RECORD_CRASH] = { "crash", "ended by a signal" },
    [LAB_RECORD_ACCESS] = { "access", "touched memory that is not its own" },
    [LAB_RECORD_MEMORY] = { "memory", "asked for more memory than there is for it" },
    [LAB_RECORD_PROTOCOL] = { "protocol", "answered with garbage" },
    [LAB_RECORD_FLOOD] = { "flood", "said more than it may" },
    [LAB_RECORD_FORK] = { "fork", "tried to start a process or a thread" },
    [LAB_RECORD_FILES] = { "files", "tried to reach a file" },
    [LAB_RECORD_NETWORK] = { "network", "tried to reach the network" },
    [LAB_RECORD_FORBIDDEN] = { "forbidden", "asked the system for what computing does not need" },
    [LAB_RECORD_EXITED] = { "exited", "ended before it was told to" },
    [LAB_RECORD_OUTSIDE] = { "outside", "wrote outside its outputs" },
    [LAB_RECORD_LOST] = { "lost", "the device was lost" },
    [LAB_RECORD_WRONG] = { "wrong", "a gate did not let it pass" },
    [LAB_RECORD_IMPOSSIBLE] = { "impossible", "timed as faster than the device can be" },
    [LAB_RECORD_UNPROTECTED] = { "unprotected", "not tried: this system cannot hold it" },
    [LAB_RECORD_STOPPED] = { "interrupted", "it was interrupted" },
    [LAB_RECORD_FAILED] = { "failed", "the laboratory failed, not the candidate" },
};

static bool is_verdict(lab_record_verdict verdict)
{
    return (unsigned)verdict < LAB_RECORD_VERDICTS;
}

const char *lab_record_verdict_name(lab_record_verdict verdict)
{
    return is_verdict(verdict) ? verdicts[verdict].name : "unknown";
}

const char *lab_record_verdict_meaning(lab_record_verdict verdict)
{
    return is_verdict(verdict) ? verdicts[verdict].meaning : "unknown";
}

lab_record_verdict lab_record_verdict_find(const char *name)
{
    for (int i = 0; name && i < LAB_RECORD_VERDICTS; i++)
        if (strcmp(verdicts[i].name, name) == 0)
            return (lab_record_verdict)i;
    return LAB_RECORD_VERDICTS;
}
