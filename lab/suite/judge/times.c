/*
 * times.c - judges whether a solution is as fast as it appears to suites
 */
#include "lab/suite/judge/times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Calls on other tensors count as slower if even the fastest exceeds the average on the same
 * tensors, by either clock, by this factor and by this much, and by this multiple of the normal
 * difference.
 */
#define SLOWER 2
#define SLOWER_SECONDS 3e-4

/* Observed wake-up latency of idle CPU threads. */
#define COLD_CPU 3e-3

/* A reported time is false if more than half of it is missing, for times of at least this many
 * seconds. */
#define MISSING 0.5
#define MISSING_SECONDS 0.5

#define CALLS 20
#define MEANS 3 /* the minimum of these is used: a busy machine may stretch any */
#define MORE 4
#define CALLS_MOST 1000000

static bool missing(double claimed, double repeated)
{
    return repeated - claimed > MISSING * repeated;
}

/* The minimum of means of @calls calls by the laboratory's clock, and the process's report. */
static bool repeat(lab_box *box, int calls, double *claimed, double *repeated)
{
    *repeated = INFINITY;
    for (int i = 0; i < MEANS; i++) {
        double own, ours;
        if (!lab_box_repeat(box, calls, &own, &ours))
            return false;
        if (ours >= *repeated)
            continue;
        *claimed = own;
        *repeated = ours;
    }
    return true;
}

bool lab_times_repeat(lab_box *box, double *claimed, double *repeated)
{
    int calls = CALLS;
    while (repeat(box, calls, claimed, repeated)) {
        if (!missing(*claimed, *repeated) || *repeated * calls > MISSING_SECONDS ||
            calls > CALLS_MOST)
            return true;
        calls *= MORE;
    }
    return false;
}

bool lab_times_judge(lab_judgement *judgement, const char *device, double cold)
{
    const double seen = fmax(judgement->repeated, judgement->claimed);
    if (missing(judgement->claimed, judgement->repeated)) {
        judgement->judged = LAB_JUDGED_CHEATS;
        snprintf(judgement->evidence, sizeof judgement->evidence,
                 "its process says %.3g ms a call, and the same calls took %.3g ms each",
                 judgement->claimed * 1e3, judgement->repeated * 1e3);
        return false;
    }
    const double least = strcmp(device, "cpu") == 0 ? COLD_CPU : 0;
    const double honest = SLOWER * fmax(cold, least) + SLOWER_SECONDS;
    if (judgement->fresh > SLOWER * seen && judgement->fresh - seen > honest) {
        judgement->judged = LAB_JUDGED_MEASURED;
        snprintf(judgement->evidence, sizeof judgement->evidence,
                 "%.3g ms a call on tensors that it has seen before, %.3g ms on others", seen * 1e3,
                 judgement->fresh * 1e3);
        return false;
    }
    return true;
}
