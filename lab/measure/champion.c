/*
 * champion.c - the rule by which a challenger replaces a champion
 */
#include "champion.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "family.h"
#include "lab/tensor/random.h"

/* Counts one round. Returns true if the challenger won it. */
static bool won(lab_decision *decision, const lab_bout *bouts, size_t count, int round, double gain,
                size_t wins)
{
    decision->wins = decision->losses = 0;
    for (size_t i = 0; i < count; i++) {
        const lab_comparison *one = &bouts[i].compared[round];
        decision->wins += one->verdict == LAB_FASTER && one->ratio.low > 1 + gain;
        decision->losses += one->verdict == LAB_SLOWER;
    }
    decision->fresh = round > 0;
    return decision->wins >= wins && decision->losses == 0;
}

static void explain(lab_decision *decision, size_t count, double gain, size_t wins)
{
    const char *when = decision->fresh ? "on fresh samples " : "";
    if (decision->losses > 0)
        snprintf(decision->reason, sizeof decision->reason, "%sSLOWER on %zu of %zu shape%s", when,
                 decision->losses, count, lab_plural(count));
    else
        snprintf(decision->reason, sizeof decision->reason,
                 "%sFASTER by %.3g %% on %zu of %zu shape%s; %zu are needed", when, 100 * gain,
                 decision->wins, count, lab_plural(count), wins);
}

lab_decision lab_champion_decide(const lab_bout *bouts, size_t count, int rounds, double gain,
                                 size_t wins)
{
    lab_decision decision = { .ahead = true };
    gain = gain > 0 ? gain : LAB_CHAMPION_GAIN;
    wins = wins > 0 ? wins : LAB_CHAMPION_WINS;
    for (int round = 0; round < rounds && decision.ahead; round++)
        decision.ahead = won(&decision, bouts, count, round, gain, wins);
    explain(&decision, count, gain, wins);
    return decision;
}

bool lab_bout_won(const lab_bout *bout)
{
    return !bout->out && bout->rounds == LAB_ROUNDS && bout->decision.ahead;
}

static bool plays(const lab_bout *bout, int round)
{
    return !bout->out && bout->rounds == round && (round == 0 || bout->decision.ahead);
}

size_t lab_contest_players(const lab_contest *contest, int round)
{
    size_t players = 0;
    for (size_t i = 0; i < contest->count; i++)
        players += plays(&contest->bouts[i], round);
    return players;
}

/* Judges the bouts of a round as a family. */
static heed_status judge(const lab_contest *contest, int round, const lab_rules *rules)
{
    lab_family_member *members = calloc(contest->count + 1, sizeof *members);
    size_t count = 0;
    for (size_t i = 0; members && i < contest->count; i++) {
        lab_bout *bout = &contest->bouts[i];
        if (plays(bout, round))
            members[count++] = (lab_family_member){ lab_duel_series(bout->duels[round]),
                                                    &bout->compared[round] };
    }
    heed_status status = members ? lab_family_judge(members, count, rules) : HEED_ERR_NO_MEMORY;
    free(members);
    return status;
}

static void decide(lab_contest *contest, int round)
{
    const lab_decision all = lab_champion_decide(contest->bouts, contest->each ? 0 : contest->count,
                                                 round + 1, 0, contest->wins);
    for (size_t i = 0; i < contest->count; i++) {
        lab_bout *bout = &contest->bouts[i];
        if (!plays(bout, round))
            continue;
        bout->decision = contest->each ? lab_champion_decide(bout, 1, round + 1, 0, 1) : all;
        bout->rounds = round + 1;
    }
}

heed_status lab_contest_round(lab_contest *contest, int round, const lab_duel_options *options)
{
    const lab_rules rules = { .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
    lab_duel_options each = *options;
    heed_status status = HEED_OK;
    each.rules = lab_family_rules(&rules, lab_contest_players(contest, round));
    for (size_t i = 0; i < contest->count && status == HEED_OK; i++) {
        lab_bout *bout = &contest->bouts[i];
        if (!plays(bout, round))
            continue;
        each.seed = lab_random_stream(options->seed, i);
        status = contest->play(contest->data, i, round, each, &bout->duels[round]);
        bout->out = !bout->duels[round];
    }
    if (status == HEED_OK)
        status = judge(contest, round, &rules);
    if (status == HEED_OK)
        decide(contest, round);
    return status;
}
