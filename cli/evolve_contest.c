/*
 * evolve_contest.c - does a challenger replace the champion?
 *
 * Its first times were luck in part, being the best of many. So it meets the champion in turns on
 * every problem, and if it wins once more on fresh samples, and then it has to pass all gates.
 */
#include <stdlib.h>
#include <string.h>

#include "evolve.h"

/* One round of duels on all problems, whose comparisons go to @out. */
static heed_status play(const evolve_contest *it, lab_duel *duels, lab_comparison *out,
                        uint64_t seed)
{
    const lab_duel_options options = { .rules = { .gain = LAB_CHAMPION_GAIN },
                                       .seconds = it->run->duel,
                                       .seed = seed };
    heed_status status = lab_family_run(duels, &it->family, &options);
    for (size_t i = 0; i < it->family.count && status == HEED_OK; i++)
        out[i] = duels[i].comparison;
    return status;
}

/* ---- On the board ---- */

static heed_status summarize(const double *seconds, size_t count, lab_summary *summary)
{
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return HEED_ERR_NO_MEMORY;
    memcpy(sorted, seconds, count * sizeof *sorted);
    *summary = (lab_summary){ 0 };
    if (count > 0)
        lab_stats_summarize(sorted, count, summary);
    free(sorted);
    return HEED_OK;
}

/* Only the second round may rank a kernel: nobody chose it by these samples. */
static heed_status add_duel(const evolve_contest *it, const lab_duel *duel, size_t shape,
                            int attempt, const lab_record_fact *decision)
{
    lab_record_timing timing = it->run->sweep.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    lab_summary own, other;
    heed_status status = summarize(duel->a, duel->pairs, &own);
    if (status == HEED_OK)
        status = summarize(duel->b, duel->pairs, &other);
    if (status != HEED_OK)
        return status;
    const lab_record_samples samples[2] = {
        { .against = it->champion, .kind = timing, .seconds = duel->a, .count = duel->pairs },
        { .against = it->champion,
          .other = true,
          .kind = timing,
          .seconds = duel->b,
          .count = duel->pairs },
    };
    const lab_record_comparison compared = cli_board_comparison(&duel->comparison, it->champion,
                                                                other.p50);
    lab_record_trial trial = it->trial(it->family.data, shape, attempt);
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = attempt > 1;
    trial.seconds = own.p50;
    trial.p90 = own.p90;
    trial.samples = samples;
    trial.sample_count = 2;
    trial.comparisons = &compared;
    trial.comparison_count = 1;
    trial.facts = decision;
    trial.fact_count = decision != NULL;
    return evolve_add(it->run, &trial, NULL);
}

static heed_status add_round(const evolve_contest *it, const lab_duel *duels, int attempt,
                             const lab_record_fact *decision)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < it->family.count && status == HEED_OK; i++)
        status = add_duel(it, &duels[i], i, attempt, decision);
    return status;
}

/* What was decided before, if this is a run that goes on. The problem that is added last tells. */
static heed_status find_decision(const evolve_contest *it, bool *known, bool *yes)
{
    evolve_run *run = it->run;
    lab_record_found found;
    double number = 0;
    const lab_record_trial trial = it->trial(it->family.data, it->family.count - 1, 1);
    heed_status status = lab_record_find(run->record, &trial, &found, &run->trouble);
    *known = status == HEED_OK && found.trial &&
             evolve_find_number(run, found.trial, "succeeds", &number);
    *yes = number > 0;
    return status;
}

/* ---- The rule ---- */

/* Both rounds, the gates, and their traces on the board: the decision last. */
static heed_status decide(const evolve_contest *it, lab_duel *first, lab_duel *again, bool *yes)
{
    evolve_run *run = it->run;
    size_t count = it->family.count, wins = count < 2 ? count : 0;
    lab_comparison one[LAB_SEARCH_SHAPES], other[LAB_SEARCH_SHAPES];
    uint64_t seed = run->seed * 1000003 + (uint64_t)it->number * 2;
    heed_status status = play(it, first, one, seed);
    if (status != HEED_OK)
        return status;
    lab_decision decision = lab_champion_decide(one, NULL, count, 0, wins);
    if (decision.succession == LAB_MEASURE_AGAIN) {
        status = play(it, again, other, seed + 1);
        if (status != HEED_OK)
            return status;
        decision = lab_champion_decide(one, other, count, 0, wins);
        *yes = decision.succession == LAB_NEW_CHAMPION;
        bool won = *yes;
        if (won)
            status = it->gates(it->family.data, yes);
        run->refuted += won && !*yes;
        if (status == HEED_OK)
            status = add_round(it, again, 2, NULL);
    }
    snprintf(run->last, sizeof run->last, "%s", decision.reason);
    const lab_record_fact fact = { .name = "succeeds", .number = *yes };
    return status == HEED_OK ? add_round(it, first, 1, &fact) : status;
}

heed_status evolve_contest_run(const evolve_contest *it, bool *yes)
{
    evolve_run *run = it->run;
    size_t count = it->family.count;
    bool known = false;
    *yes = false;
    heed_status status = find_decision(it, &known, yes);
    if (status != HEED_OK)
        return status;
    run->challenges++;
    if (known)
        return HEED_OK;
    lab_duel *duels = calloc(2 * count, sizeof *duels);
    if (!duels)
        return HEED_ERR_NO_MEMORY;
    status = decide(it, duels, duels + count, yes);
    for (size_t i = 0; i < 2 * count; i++)
        lab_duel_free(&duels[i]);
    free(duels);
    if (status != HEED_OK && !*run->trouble.text && !cli_interrupted())
        snprintf(run->trouble.text, sizeof run->trouble.text, "%s: %.200s", it->challenger,
                 heed_message());
    return status;
}
