/*
 * times.c - is a solution as fast as it seems to suites?
 */
#include "lab/suite/judge/times.h"

#include <math.h>
#include <stdio.h>

/* Calls on other tensors are slower if even the fastest takes so many times as long as those on the
 * same ones do on average, by either clock, and so much longer, and so many times what is honest.
 */
#define SLOWER 2
#define SLOWER_SECONDS 3e-4

/* A process lies about its time if more than half of it is missing, and more than asking takes. */
#define MISSING 0.5
#define MISSING_SECONDS 0.05

bool lab_times_judge(lab_judgement *judgement, double cold)
{
    const double missing = judgement->repeated - judgement->claimed;
    const double seen = fmax(judgement->repeated, judgement->claimed);
    if (missing > MISSING * judgement->repeated && missing * LAB_TIMES_CALLS > MISSING_SECONDS) {
        judgement->judged = LAB_JUDGED_CHEATS;
        snprintf(judgement->evidence, sizeof judgement->evidence,
                 "its process says %.3g ms a call, and the same calls took %.3g ms each",
                 judgement->claimed * 1e3, judgement->repeated * 1e3);
        return false;
    }
    const double honest = SLOWER * fmax(cold, 0) + SLOWER_SECONDS;
    if (judgement->fresh > SLOWER * seen && judgement->fresh - seen > honest) {
        judgement->judged = LAB_JUDGED_MEASURED;
        snprintf(judgement->evidence, sizeof judgement->evidence,
                 "%.3g ms a call on tensors that it has seen before, %.3g ms on others", seen * 1e3,
                 judgement->fresh * 1e3);
        return false;
    }
    return true;
}
