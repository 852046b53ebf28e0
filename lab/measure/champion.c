/*
 * champion.c - the rule of succession
 */
#include "champion.h"

#include <stdio.h>

/* Counts one round. True if the challenger won it. */
static bool won(lab_decision *decision, const lab_comparison *round, size_t count, double gain,
                size_t wins)
{
    decision->wins = decision->losses = decision->slowest = 0;
    for (size_t i = 0; i < count; i++) {
        decision->wins += round[i].verdict == LAB_FASTER && round[i].ratio.low > 1 + gain;
        decision->losses += round[i].verdict == LAB_SLOWER;
        if (round[i].ratio.estimate < round[decision->slowest].ratio.estimate)
            decision->slowest = i;
    }
    return decision->wins >= wins && decision->losses == 0;
}

static void explain(lab_decision *decision, size_t count, double gain, size_t wins)
{
    const char *when = decision->fresh ? "on fresh samples " : "";
    if (decision->losses > 0)
        snprintf(decision->reason, sizeof decision->reason, "%sSLOWER on %zu of %zu shapes", when,
                 decision->losses, count);
    else
        snprintf(decision->reason, sizeof decision->reason,
                 "%sFASTER by %.3g %% on %zu of %zu shapes; %zu are needed", when, 100 * gain,
                 decision->wins, count, wins);
}

lab_decision lab_champion_decide(const lab_comparison *first, const lab_comparison *again,
                                 size_t count, double gain, size_t wins)
{
    lab_decision decision = { .succession = LAB_KEEP_CHAMPION };
    gain = gain > 0 ? gain : LAB_CHAMPION_GAIN;
    wins = wins > 0 ? wins : LAB_CHAMPION_WINS;
    bool ahead = won(&decision, first, count, gain, wins);
    if (ahead && !again)
        decision.succession = LAB_MEASURE_AGAIN;
    if (ahead && again) {
        decision.fresh = true;
        if (won(&decision, again, count, gain, wins))
            decision.succession = LAB_NEW_CHAMPION;
    }
    explain(&decision, count, gain, wins);
    return decision;
}
