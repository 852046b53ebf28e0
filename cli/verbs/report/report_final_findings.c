/*
 * report_final_findings.c - the limits of a search's kernels, from counters, ablations and machine
 * code, and the changes that made them faster, from the challenges that were won
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report_final.h"

#define TOP 3        /* steps and ablations of a summary */
#define CLEAR 0.01   /* smaller effects count as none */
#define NAMES_MAX 64 /* of ablations */

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

/* ---- The search ---- */

static void say_search(lab_page *page, const lab_final_search *it)
{
    const lab_final_trial *trial = it->first;
    lab_page_item(
        page,
        "Run %lld, %s%s%s%s%s, seed %lld: %zu kernel%s, %zu of them right, %zu challenge%s "
        "won; %s.",
        (long long)trial->row.run, or_nothing(trial->command), trial->proposer ? ", proposer " : "",
        or_nothing(trial->proposer), trial->budget ? ", " : "", or_nothing(trial->budget),
        (long long)trial->seed, it->kernels, lab_plural(it->kernels), it->right, it->step_count,
        lab_plural(it->step_count),
        trial->events ? trial->events : "the board does not say when it was");
}

static void say_ends(lab_page *page, const lab_final_search *it)
{
    char first[LAB_FINAL_NAME], last[LAB_FINAL_NAME], before[32], after[32];
    const lab_final_trial *a = it->first, *b = it->champion;
    if (strcmp(or_nothing(a->hash), or_nothing(b->hash)) == 0) {
        lab_page_item(
            page, "The champion is the kernel that it began with, %s (trial %lld), %s: %s.",
            lab_final_name(a, first), (long long)a->row.trial, report_time(a->row.seconds, before),
            strcmp(or_nothing(a->verb), "evolve") == 0 ? "no challenge was won"
                                                       : "nothing faster was confirmed");
        return;
    }
    lab_page_item(
        page,
        "It began with %s (trial %lld), %s, and ended with %s (trial %lld), %s: %.2f times "
        "as fast, by two medians that were not taken in turns.",
        lab_final_name(a, first), (long long)a->row.trial, report_time(a->row.seconds, before),
        lab_final_name(b, last), (long long)b->row.trial, report_time(b->row.seconds, after),
        a->row.seconds / b->row.seconds);
}

/* ---- Challenges that were won ---- */

/* The kernel that the winner of a challenge was compared with. */
static const lab_final_side *met(const lab_final_trial *trial)
{
    for (size_t i = 0; i < trial->side_count; i++)
        if (trial->sides[i].ratio > 0)
            return &trial->sides[i];
    return NULL;
}

static int by_gain(const void *a, const void *b)
{
    const lab_final_side *x = met(*(const lab_final_trial *const *)a);
    const lab_final_side *y = met(*(const lab_final_trial *const *)b);
    double left = x ? x->ratio : 0, right = y ? y->ratio : 0;
    return (left < right) - (left > right);
}

static void say_steps(lab_page *page, const lab_final_search *it, size_t most)
{
    char name[LAB_FINAL_NAME];
    size_t count = it->step_count;
    const lab_final_trial **steps = calloc(count + 1, sizeof *steps);
    page->failed |= !steps;
    if (steps && count > 0) {
        memcpy((void *)steps, (const void *)it->steps, count * sizeof *steps);
        qsort((void *)steps, count, sizeof *steps, by_gain);
    }
    for (size_t i = 0; steps && i < count && i < most; i++) {
        const lab_final_side *side = met(steps[i]);
        if (side)
            lab_page_item(page,
                          "Lifted %.3fx (%.3f to %.3f, %s in turns with %s) by %s (trial %lld)%s%s",
                          side->ratio, side->low, side->high, side->verdict, side->name,
                          lab_final_name(steps[i], name), (long long)steps[i]->row.trial,
                          steps[i]->thought ? ": " : ", without a description by its proposer",
                          or_nothing(steps[i]->thought));
    }
    free((void *)steps);
}

/* ---- Limits of the kernels ---- */

static const char *what_measures(const lab_final_trial *trial)
{
    bool cuda = strcmp(trial->row.backend, "cuda") == 0;
    return !trial->row.foreign ? "'heed ablate' and 'heed profile' with the kernel measure it."
           : cuda ? "'heed inspect --source' and 'heed profile --source' with the source of 'heed "
                    "board show' measure it."
                  : "On a CPU nothing measures that of a source.";
}

static void say_binds(lab_page *page, const lab_final_search *it, const lab_final_trial *trial)
{
    char name[LAB_FINAL_NAME];
    const lab_final_fact *binds = lab_final_fact_in(it, trial, "binds");
    if (binds && binds->text)
        lab_page_item(page, "%s was bound by: %s.", lab_final_name(trial, name), binds->text);
    else
        lab_page_item(
            page,
            "The limit of %s is not known: the search found nothing that binds in its code, "
            "counters or ablations. %s",
            lab_final_name(trial, name), what_measures(trial));
}

static void say_reason(lab_page *page, const lab_final_search *it, const lab_final_trial *trial,
                       const char *what, const char *name)
{
    const lab_final_fact *fact = lab_final_fact_in(it, trial, name);
    if (fact && fact->text)
        lab_page_item(page, "%s of the champion are not all known: %s.", what, fact->text);
}

/* An ablation, by the board's names for it and for the ends of its interval. */
typedef struct effect {
    const char *name;
    double ratio, low, high;
} effect;

static int by_size(const void *a, const void *b)
{
    double left = fabs(log(((const effect *)a)->ratio)),
           right = fabs(log(((const effect *)b)->ratio));
    return (left < right) - (left > right);
}

/* Finds the clear effects: the whole interval is beyond CLEAR. */
static size_t find_effects(const lab_final_trial *trial, effect effects[NAMES_MAX])
{
    static const char begin[] = "ablation ";
    size_t count = 0;
    for (size_t i = 0; i < trial->fact_count && count < NAMES_MAX; i++) {
        const lab_final_fact *fact = &trial->facts[i];
        char low[96], high[96];
        if (fact->text || strncmp(fact->name, begin, sizeof begin - 1) != 0 ||
            strchr(fact->name + sizeof begin - 1, ' '))
            continue;
        snprintf(low, sizeof low, "%.80s low", fact->name);
        snprintf(high, sizeof high, "%.80s high", fact->name);
        const lab_final_fact *from = lab_final_fact_of(trial, low);
        const lab_final_fact *to = lab_final_fact_of(trial, high);
        if (from && to && fact->number > 0 && (from->number > 1 + CLEAR || to->number < 1 - CLEAR))
            effects[count++] = (effect){ fact->name + sizeof begin - 1, fact->number, from->number,
                                         to->number };
    }
    qsort(effects, count, sizeof *effects, by_size);
    return count;
}

static void say_effects(lab_page *page, const lab_final_search *it, size_t most)
{
    effect effects[NAMES_MAX];
    for (size_t i = 0; i < it->trial_count; i++) {
        const lab_final_trial *trial = &it->trials[i];
        if (trial->row.run != it->champion->row.run ||
            strcmp(or_nothing(trial->hash), or_nothing(it->champion->hash)) != 0)
            continue;
        size_t count = find_effects(trial, effects);
        for (size_t j = 0; j < count && j < most; j++)
            lab_page_item(
                page,
                "Ablation %s: built so, the champion takes %.3f (%.3f to %.3f) of its time "
                "(trial %lld).",
                effects[j].name, effects[j].ratio, effects[j].low, effects[j].high,
                (long long)trial->row.trial);
        if (count > 0)
            return;
    }
}

static void say_counters(lab_page *page, const lab_final_search *it)
{
    for (size_t i = 0; i < it->trial_count; i++) {
        const lab_final_trial *trial = &it->trials[i];
        char text[400] = "";
        size_t length = 0;
        if (strcmp(or_nothing(trial->hash), or_nothing(it->champion->hash)) != 0)
            continue;
        for (size_t j = 0; j < trial->fact_count && length < sizeof text; j++)
            if (!trial->facts[j].text && strncmp(trial->facts[j].name, "counter ", 8) == 0)
                length += (size_t)snprintf(text + length, sizeof text - length, "%s%.60s %.3g",
                                           length ? ", " : "", trial->facts[j].name + 8,
                                           trial->facts[j].number);
        if (length > 0) {
            lab_page_item(page,
                          "Counters of the champion, most as shares of what the device can do: "
                          "%s (trial %lld).",
                          text, (long long)trial->row.trial);
            return;
        }
    }
}

/* "168 registers, 0 spilled bytes, 49152 bytes of shared memory" */
static const char *code_of(const lab_final_trial *trial, char text[160])
{
    size_t length = 0;
    const struct {
        const char *what;
        int64_t value;
    } facts[] = { { "registers", trial->registers },
                  { "spilled bytes", trial->spills },
                  { "bytes of shared memory", trial->shared } };
    *text = '\0';
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].value >= 0)
            length += (size_t)snprintf(text + length, 160 - length, "%s%lld %s", length ? ", " : "",
                                       (long long)facts[i].value, facts[i].what);
    if (trial->warps > 0)
        snprintf(text + length, 160 - length, "%s%lld of %lld warps on a multiprocessor",
                 length ? ", " : "", (long long)trial->warps, (long long)trial->warps_max);
    return text;
}

static void say_code(lab_page *page, const lab_final_search *it)
{
    char before[160], after[160];
    if (*code_of(it->first, before) && *code_of(it->champion, after))
        lab_page_item(page, "Code: first %s; champion %s.", before, after);
}

/* ---- Distance from the limit ---- */

static bool is_champion(const lab_final_search *it, const lab_final_trial *trial)
{
    return strcmp(or_nothing(trial->row.timing), or_nothing(it->champion->row.timing)) == 0 &&
           strcmp(or_nothing(trial->hash), or_nothing(it->champion->hash)) == 0;
}

/* The last trial of the champion with a share of the limit, of ceilings that were known then. */
static const lab_final_trial *with_share(const lab_final_search *it)
{
    const lab_final_trial *found = NULL;
    for (size_t i = 0; i < it->trial_count; i++)
        if (is_champion(it, &it->trials[i]) && it->trials[i].row.of_roofline > 0)
            found = &it->trials[i];
    return found;
}

static void say_limit(lab_page *page, const lab_final_search *it)
{
    const lab_final_trial *trial = it->champion, *shared = with_share(it);
    const lab_final_place place = { trial->row.device, trial->row.features, trial->row.threads,
                                    trial->row.timing && strcmp(trial->row.timing, "cold") == 0 };
    lab_final_limit limit;
    if (lab_final_limit_of(&limit, &place, trial->row.problem))
        lab_page_item(
            page,
            "The champion takes %.2f times the least time that the device needs; %s binds "
            "there (ceilings: %s).",
            trial->row.seconds / limit.seconds, limit.binds, limit.from);
    else if (shared)
        lab_page_item(page, "In trial %lld the champion had %.1f %% of the limit.",
                      (long long)shared->row.trial, 100 * shared->row.of_roofline);
    else
        lab_page_item(page, "How far the champion is from the limit is not known: the device's "
                            "ceilings are not. 'heed roofline' measures them on it.");
}

static void say_leader(lab_page *page, const lab_final_search *it)
{
    char name[LAB_FINAL_NAME], time[32];
    for (size_t i = 0; i < it->trial_count; i++) {
        const lab_final_trial *trial = &it->trials[i];
        if (!trial->leads ||
            strcmp(or_nothing(trial->row.timing), or_nothing(it->champion->row.timing)) != 0)
            continue;
        if (strcmp(or_nothing(trial->hash), or_nothing(it->champion->hash)) == 0)
            lab_page_item(page, "The champion leads the board (trial %lld).",
                          (long long)trial->row.trial);
        else
            lab_page_item(page, "The champion does not lead the board: %s does (trial %lld), %s.",
                          lab_final_name(trial, name), (long long)trial->row.trial,
                          report_time(trial->row.seconds, time));
        return;
    }
    lab_page_item(page, "The board has no leader of this problem.");
}

/* ---- All of it ---- */

static void say_findings(lab_page *page, const lab_final_search *it, bool all)
{
    size_t most = all ? SIZE_MAX : TOP;
    lab_page_heading(page, 3, "%s on %s, %d thread%s", it->first->row.problem,
                     it->first->row.device, it->first->row.threads,
                     lab_plural(it->first->row.threads));
    if (all)
        say_search(page, it);
    say_ends(page, it);
    say_steps(page, it, most);
    if (strcmp(or_nothing(it->first->hash), or_nothing(it->champion->hash)) != 0)
        say_binds(page, it, it->first);
    say_binds(page, it, it->champion);
    say_effects(page, it, most);
    if (all) {
        say_counters(page, it);
        say_reason(page, it, it->champion, "Counters", "counters unknown");
        say_reason(page, it, it->champion, "Effects of ablation", "ablations unknown");
        say_code(page, it);
    }
    say_limit(page, it);
    say_leader(page, it);
}

void report_final_findings(lab_page *page, const report_final *final, bool all)
{
    lab_page_heading(page, 2, all ? "Findings" : "Top findings");
    for (size_t i = 0; i < final->search_count; i++)
        say_findings(page, &final->searches[i], all);
    if (final->search_count == 0)
        lab_page_paragraph(page, "There is no search on the board: 'heed evolve' makes one.");
}
