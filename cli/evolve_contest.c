/*
 * evolve_contest.c - does a challenger replace the champion?
 *
 * Its first times were luck in part, being the best of many. So it meets the champion in turns on
 * every problem, and if it wins once more on fresh samples, and then it has to pass all gates.
 */
#include <stdlib.h>

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

static size_t shape_of(const evolve_contest *it, size_t index)
{
    return it->shapes ? it->shapes[index] : index;
}

/* Of its first round on the board. */
static int first_attempt(const evolve_contest *it)
{
    return it->attempt > 0 ? it->attempt : 1;
}

heed_status evolve_summarize(const double *seconds, size_t count, lab_summary *summary)
{
    *summary = lab_stats_summary_of(seconds, count);
    return summary->n == count ? HEED_OK : HEED_ERR_NO_MEMORY;
}

/* The parts that all trials of a round have in common. */
typedef struct round_words {
    int attempt;
    bool confirmed;                  /* nobody chose it by these samples, and it passed all gates */
    const lab_record_gate *gate;     /* what they said; NULL: they were not asked */
    const lab_record_fact *decision; /* or NULL */
} round_words;

static heed_status add_duel(const evolve_contest *it, const lab_duel *duel, size_t index,
                            const round_words *words, int64_t *id)
{
    const char *against = it->holders ? it->holders[index] : it->champion;
    lab_record_timing timing = it->run->sweep.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    lab_summary own, other;
    heed_status status = evolve_summarize(duel->a, duel->pairs, &own);
    if (status == HEED_OK)
        status = evolve_summarize(duel->b, duel->pairs, &other);
    if (status != HEED_OK)
        return status;
    const lab_record_samples samples[2] = {
        { .against = against, .kind = timing, .seconds = duel->a, .count = duel->pairs },
        { .against = against,
          .other = true,
          .kind = timing,
          .seconds = duel->b,
          .count = duel->pairs },
    };
    const lab_record_comparison compared = cli_board_comparison(&duel->comparison, against,
                                                                other.p50);
    lab_record_trial trial = it->trial(it->family.data, shape_of(it, index), words->attempt);
    bool refused = words->gate && !words->gate->passed;
    trial.verdict = refused ? LAB_RECORD_WRONG : LAB_RECORD_OK;
    trial.reason = refused ? words->gate->detail : NULL;
    trial.confirmed = words->confirmed;
    trial.gates = words->gate;
    trial.gate_count = words->gate != NULL;
    trial.seconds = own.p50;
    trial.p90 = own.p90;
    trial.samples = samples;
    trial.sample_count = 2;
    trial.comparisons = &compared;
    trial.comparison_count = 1;
    trial.facts = words->decision;
    trial.fact_count = words->decision != NULL;
    return evolve_add(it->run, &trial, id);
}

static heed_status add_round(const evolve_contest *it, const lab_duel *duels,
                             const round_words *words, int64_t ids[LAB_SEARCH_SHAPES])
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < it->family.count && status == HEED_OK; i++)
        status = add_duel(it, &duels[i], i, words, &ids[i]);
    return status;
}

/* The earlier decision, if this is a run that goes on: the problem that is added last tells. */
static heed_status find_decision(const evolve_contest *it, bool *known, bool *yes)
{
    evolve_run *run = it->run;
    lab_record_found found;
    double number = 0;
    const lab_record_trial trial = it->trial(it->family.data, shape_of(it, it->family.count - 1),
                                             first_attempt(it));
    heed_status status = lab_record_find(run->record, &trial, &found, &run->trouble);
    *known = status == HEED_OK && found.trial &&
             evolve_find_number(run, found.trial, "succeeds", &number);
    *yes = number > 0;
    return status;
}

/* ---- The rule ---- */

/* The consequences of having won, before the decision is on the board. */
static heed_status tell_won(const evolve_contest *it, const lab_comparison *fresh,
                            const int64_t *ids, const char *reason)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; it->won && i < it->family.count && status == HEED_OK; i++)
        status = it->won(it->family.data, i, &fresh[i], ids[i], reason);
    return status;
}

/* Both rounds, the gates, and their traces on the board: the decision last. */
static heed_status decide(const evolve_contest *it, lab_duel *first, lab_duel *again, bool *yes)
{
    evolve_run *run = it->run;
    size_t count = it->family.count, wins = it->run->sweep.problems.count < 2 ? 1 : 0;
    lab_comparison one[LAB_SEARCH_SHAPES], other[LAB_SEARCH_SHAPES];
    int64_t ids[LAB_SEARCH_SHAPES] = { 0 };
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
        bool won = *yes, asked = false;
        if (won)
            status = it->gates(it->family.data, yes, &asked);
        run->refuted += won && !*yes;
        const lab_record_gate gate = { .name = "verify",
                                       .passed = *yes || !asked,
                                       .detail = *yes || !asked
                                                     ? NULL
                                                     : "the gates refuse it on these problems",
                                       .seed = seed };
        const round_words words = { .attempt = first_attempt(it) + 1,
                                    .confirmed = it->proved || (asked && *yes),
                                    .gate = asked || it->proved ? &gate : NULL };
        if (status == HEED_OK)
            status = add_round(it, again, &words, ids);
        if (status == HEED_OK && *yes)
            status = tell_won(it, other, ids, decision.reason);
    }
    snprintf(run->last, sizeof run->last, "%s", decision.reason);
    const lab_record_fact fact = { .name = "succeeds", .number = *yes };
    const round_words words = { .attempt = first_attempt(it), .decision = &fact };
    return status == HEED_OK ? add_round(it, first, &words, ids) : status;
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
