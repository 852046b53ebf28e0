/*
 * clues.c - derives the limits of a kernel from facts about it
 */
#include "lab/search/clues.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/inspect/ablate.h"
#include "lab/inspect/profile.h"

static const char *const names[LAB_FINDINGS] = {
    [LAB_FINDING_SPILLS] = "spills",
    [LAB_FINDING_LOW_OCCUPANCY] = "low_occupancy",
    [LAB_FINDING_SMEM_BOUND] = "smem_bound",
    [LAB_FINDING_EXP_BOUND] = "exp_bound",
    [LAB_FINDING_TENSOR_BOUND] = "tensor_bound",
    [LAB_FINDING_MEMORY_BOUND] = "memory_bound",
    [LAB_FINDING_LATENCY_BOUND] = "latency_bound",
    [LAB_FINDING_UNCOALESCED] = "uncoalesced",
    [LAB_FINDING_BANK_CONFLICTS] = "bank_conflicts",
    [LAB_FINDING_FEW_BLOCKS] = "few_blocks",
    [LAB_FINDING_IDLE_STAGES] = "idle_stages",
};

const char *lab_finding_name(lab_finding finding)
{
    return finding < LAB_FINDINGS ? names[finding] : "unknown";
}

lab_finding lab_finding_of(const char *name)
{
    int i = 0;
    while (i < LAB_FINDINGS && strcmp(names[i], name) != 0)
        i++;
    return (lab_finding)i;
}

unsigned lab_findings_shared(unsigned findings)
{
    return findings & ~(1u << LAB_FINDING_SPILLS | 1u << LAB_FINDING_LOW_OCCUPANCY |
                        1u << LAB_FINDING_SMEM_BOUND);
}

const char *lab_clue_explain(unsigned findings, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < LAB_FINDINGS && length < size; i++)
        if (findings >> i & 1)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                       names[i]);
    return text;
}

/* ---- The rules ---- */

/* A unit that is busy 70 % of the time is the bottleneck. The gain without a unit's work is the
 * cost of that unit; a loss with less overlap means that latency is the bottleneck; a gain with
 * less overlap means that the overlap is not worthwhile. */
static const lab_clue_rule rules[] = {
    { LAB_CLUE_INSPECTION, "spills", false, 0, LAB_FINDING_SPILLS },
    { LAB_CLUE_INSPECTION, "local-memory-in-loop", false, 0, LAB_FINDING_SPILLS },
    { LAB_CLUE_COUNTER, "local", false, 0, LAB_FINDING_SPILLS },
    { LAB_CLUE_INSPECTION, "low-occupancy", false, 0, LAB_FINDING_LOW_OCCUPANCY },
    { LAB_CLUE_INSPECTION, "smem-limits-occupancy", false, 0, LAB_FINDING_SMEM_BOUND },
    { LAB_CLUE_COUNTER, "exp", false, 0.7, LAB_FINDING_EXP_BOUND },
    { LAB_CLUE_ABLATION, "no-exp", false, 0.05, LAB_FINDING_EXP_BOUND },
    { LAB_CLUE_COUNTER, "tensor", false, 0.7, LAB_FINDING_TENSOR_BOUND },
    { LAB_CLUE_ABLATION, "no-products", false, 0.10, LAB_FINDING_TENSOR_BOUND },
    { LAB_CLUE_COUNTER, "memory", false, 0.7, LAB_FINDING_MEMORY_BOUND },
    { LAB_CLUE_ABLATION, "no-loads", false, 0.10, LAB_FINDING_MEMORY_BOUND },
    { LAB_CLUE_ABLATION, "half-stages", false, 0.03, LAB_FINDING_LATENCY_BOUND },
    { LAB_CLUE_ABLATION, "no-overlap", false, 0.03, LAB_FINDING_LATENCY_BOUND },
    { LAB_CLUE_ABLATION, "in-order", false, 0.03, LAB_FINDING_LATENCY_BOUND },
    { LAB_CLUE_ABLATION, "extra-barrier", false, 0.03, LAB_FINDING_LATENCY_BOUND },
    { LAB_CLUE_INSPECTION, "narrow-global-loads", false, 0, LAB_FINDING_UNCOALESCED },
    { LAB_CLUE_INSPECTION, "lanes-rows-apart", false, 0, LAB_FINDING_UNCOALESCED },
    { LAB_CLUE_COUNTER, "sectors", true, 0.7, LAB_FINDING_UNCOALESCED },
    { LAB_CLUE_INSPECTION, "bank-conflicts", false, 0, LAB_FINDING_BANK_CONFLICTS },
    { LAB_CLUE_COUNTER, "conflicts", false, 0.05, LAB_FINDING_BANK_CONFLICTS },
    { LAB_CLUE_INSPECTION, "grid-too-small", false, 0, LAB_FINDING_FEW_BLOCKS },
    { LAB_CLUE_COUNTER, "grid", true, 0.7, LAB_FINDING_FEW_BLOCKS },
    { LAB_CLUE_ABLATION, "tiny-blocks", true, -0.02, LAB_FINDING_FEW_BLOCKS },
    { LAB_CLUE_ABLATION, "half-stages", true, -0.02, LAB_FINDING_IDLE_STAGES },
    { LAB_CLUE_ABLATION, "no-overlap", true, -0.02, LAB_FINDING_IDLE_STAGES },
    { LAB_CLUE_ABLATION, "in-order", true, -0.02, LAB_FINDING_IDLE_STAGES },
};
#define RULES (sizeof rules / sizeof *rules)

const lab_clue_rule *lab_clue_rule_at(size_t index)
{
    return index < RULES ? &rules[index] : NULL;
}

/* True if it is the first rule for the ablation of that name. */
static bool is_first(size_t index)
{
    size_t i = 0;
    while (rules[i].source != LAB_CLUE_ABLATION || strcmp(rules[i].name, rules[index].name) != 0)
        i++;
    return i == index;
}

const char *lab_clue_ablations(char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < RULES && length < size; i++)
        if (rules[i].source == LAB_CLUE_ABLATION && is_first(i))
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? "," : "",
                                       rules[i].name);
    return text;
}

static unsigned apply(lab_clue_source source, const lab_clue *clues, size_t count)
{
    unsigned set = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < RULES; j++) {
            const lab_clue_rule *rule = &rules[j];
            bool holds = source == LAB_CLUE_INSPECTION ||
                         (rule->below ? clues[i].value < rule->limit
                                      : clues[i].value > rule->limit);
            if (rule->source == source && holds && strcmp(rule->name, clues[i].name) == 0)
                set |= 1u << rule->finding;
        }
    return set;
}

/* ---- Limits ---- */

#define FEW_WARPS 0.25 /* of the maximum per multiprocessor */

static unsigned of_code(const lab_clues *clues)
{
    const int64_t *fact = clues->point_facts.value;
    unsigned set = 0;
    if (fact[LAB_FACT_SPILLS] > 0)
        set |= 1u << LAB_FINDING_SPILLS;
    if (clues->warps_max > 0 && fact[LAB_FACT_WARPS] >= 0 &&
        (double)fact[LAB_FACT_WARPS] < FEW_WARPS * (double)clues->warps_max)
        set |= 1u << LAB_FINDING_LOW_OCCUPANCY;
    if (clues->smem_max > 0 && fact[LAB_FACT_SMEM] > 0 && fact[LAB_FACT_BLOCKS] >= 0 &&
        fact[LAB_FACT_SMEM] * (fact[LAB_FACT_BLOCKS] + 1) > clues->smem_max)
        set |= 1u << LAB_FINDING_SMEM_BOUND;
    return set;
}

/* Clues named like a finding mean that finding. */
static unsigned of_words(const lab_clue *clues, size_t count)
{
    unsigned set = 0;
    for (size_t i = 0; i < count; i++) {
        lab_finding finding = lab_finding_of(clues[i].name);
        if (finding < LAB_FINDINGS)
            set |= 1u << finding;
    }
    return set;
}

/* True if all units are known, and none is busy. */
static bool is_waiting(const lab_clues *clues)
{
    static const char *const units[] = { "tensor", "exp", "memory" };
    size_t idle = 0;
    for (size_t i = 0; i < clues->counter_count; i++)
        for (size_t j = 0; j < sizeof units / sizeof *units; j++)
            idle += strcmp(units[j], clues->counters[i].name) == 0 &&
                    clues->counters[i].value < LAB_CLUE_IDLE;
    return idle == sizeof units / sizeof *units;
}

unsigned lab_clues_findings(const lab_clues *clues)
{
    unsigned set = of_code(clues) | of_words(clues->findings, clues->finding_count);
    set |= apply(LAB_CLUE_INSPECTION, clues->findings, clues->finding_count);
    set |= apply(LAB_CLUE_COUNTER, clues->counters, clues->counter_count);
    set |= apply(LAB_CLUE_ABLATION, clues->effects, clues->effect_count);
    if (is_waiting(clues))
        set |= 1u << LAB_FINDING_LATENCY_BOUND;
    return set;
}

/* ---- Where clues come from ---- */

lab_clues lab_clues_unknown(void)
{
    return (lab_clues){ .point_facts = lab_point_facts_unknown() };
}

static double share(double percent)
{
    return percent / 100;
}

static double of_memory(const lab_profile *profile)
{
    return share(fmax(profile->value[LAB_METRIC_L2], profile->value[LAB_METRIC_DRAM]));
}

/* A wave has as many blocks as fit on all multiprocessors together. */
static double of_grid(const lab_profile *profile)
{
    int blocks = 0;
    if (!lab_profile_limiter(profile, &blocks))
        return NAN;
    double each = profile->value[LAB_METRIC_WAVES] * blocks;
    return each > 1 ? 1 : each;
}

static double of_local(const lab_profile *profile)
{
    return profile->value[LAB_METRIC_LOCAL_LOADS] + profile->value[LAB_METRIC_LOCAL_STORES];
}

static const char *const counters[LAB_CLUE_COUNTERS + 1] = { "tensor",  "exp",       "memory",
                                                             "sectors", "conflicts", "grid",
                                                             "local",   NULL };

const char *lab_clue_counter(size_t index)
{
    return index < LAB_CLUE_COUNTERS ? counters[index] : NULL;
}

void lab_counters_of_profile(const lab_profile *profile, double values[LAB_CLUE_COUNTERS])
{
    const double all[LAB_CLUE_COUNTERS] = {
        share(profile->value[LAB_METRIC_TENSOR]),
        share(profile->value[LAB_METRIC_EXP]),
        of_memory(profile),
        share(lab_profile_sectors(profile)),
        share(lab_profile_conflicts(profile)),
        of_grid(profile),
        of_local(profile),
    };
    memcpy(values, all, sizeof all);
}

bool lab_clue_of_effect(const lab_effect *effect, lab_clue *clue)
{
    lab_effect_word word = lab_effect_of(effect);
    *clue = (lab_clue){ .name = effect->name, .value = lab_effect_value(effect) };
    return word == LAB_EFFECT_FASTER || word == LAB_EFFECT_SLOWER;
}
