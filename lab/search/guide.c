/*
 * guide.c - which way to turn which knob
 */
#include "lab/search/guide.h"

#include <stdio.h>
#include <string.h>

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

/* ---- What binds ---- */

#define FEW_WARPS 0.25      /* of those that a multiprocessor holds */
#define BUSY 0.7            /* a unit that is busy for so much of the time binds */
#define IDLE 0.5            /* no unit above that: warps wait */
#define SECTORS_WASTED 0.7  /* of the sectors touched fewer than that were needed */
#define CONFLICTS_MANY 0.05 /* of the cycles */

unsigned lab_findings(const lab_prospect *prospect, int64_t warps_max, int64_t smem_max,
                      const lab_counters *counters)
{
    const int64_t *fact = prospect->value;
    unsigned set = 0;
    if (fact[LAB_FACT_SPILLS] > 0)
        set |= 1u << LAB_FINDING_SPILLS;
    if (warps_max > 0 && fact[LAB_FACT_WARPS] >= 0 &&
        (double)fact[LAB_FACT_WARPS] < FEW_WARPS * (double)warps_max)
        set |= 1u << LAB_FINDING_LOW_OCCUPANCY;
    if (smem_max > 0 && fact[LAB_FACT_SMEM] > 0 && fact[LAB_FACT_BLOCKS] >= 0 &&
        fact[LAB_FACT_SMEM] * (fact[LAB_FACT_BLOCKS] + 1) > smem_max)
        set |= 1u << LAB_FINDING_SMEM_BOUND;
    if (!counters)
        return set;
    if (counters->exp > BUSY)
        set |= 1u << LAB_FINDING_EXP_BOUND;
    if (counters->tensor > BUSY)
        set |= 1u << LAB_FINDING_TENSOR_BOUND;
    if (counters->memory > BUSY)
        set |= 1u << LAB_FINDING_MEMORY_BOUND;
    if (counters->sectors >= 0 && counters->sectors < SECTORS_WASTED)
        set |= 1u << LAB_FINDING_UNCOALESCED;
    if (counters->conflicts > CONFLICTS_MANY)
        set |= 1u << LAB_FINDING_BANK_CONFLICTS;
    if (counters->tensor >= 0 && counters->exp >= 0 && counters->memory >= 0 &&
        counters->tensor < IDLE && counters->exp < IDLE && counters->memory < IDLE)
        set |= 1u << LAB_FINDING_LATENCY_BOUND;
    return set;
}

/* ---- What others found ---- */

lab_clues lab_clues_unknown(void)
{
    return (lab_clues){ .prospect = lab_prospect_unknown() };
}

/* What inspection's names come to. */
static const struct {
    const char *name;
    lab_finding finding;
} inspected[] = {
    { "spills", LAB_FINDING_SPILLS },
    { "local-memory-in-loop", LAB_FINDING_SPILLS },
    { "low-occupancy", LAB_FINDING_LOW_OCCUPANCY },
    { "smem-limits-occupancy", LAB_FINDING_SMEM_BOUND },
    { "narrow-global-loads", LAB_FINDING_UNCOALESCED },
    { "uncoalesced-access", LAB_FINDING_UNCOALESCED },
    { "bank-conflicts", LAB_FINDING_BANK_CONFLICTS },
};

/* What an experiment shows, from an effect of this share of the time on. What is gained without a
 * unit's work is what that unit costs; what is lost with less overlap says that waiting binds. */
static const struct {
    const char *name;
    double least;
    lab_finding finding;
} experiments[] = {
    { "no-exp", 0.05, LAB_FINDING_EXP_BOUND },
    { "no-products", 0.10, LAB_FINDING_TENSOR_BOUND },
    { "no-loads", 0.10, LAB_FINDING_MEMORY_BOUND },
    { "half-stages", 0.03, LAB_FINDING_LATENCY_BOUND },
    { "no-overlap", 0.03, LAB_FINDING_LATENCY_BOUND },
    { "extra-barrier", 0.03, LAB_FINDING_LATENCY_BOUND },
};

static unsigned of_inspection(const char *name)
{
    lab_finding own = lab_finding_of(name);
    if (own < LAB_FINDINGS)
        return 1u << own;
    for (size_t i = 0; i < sizeof inspected / sizeof *inspected; i++)
        if (strcmp(inspected[i].name, name) == 0)
            return 1u << inspected[i].finding;
    return 0;
}

static unsigned of_experiment(const lab_clue *effect)
{
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++)
        if (strcmp(experiments[i].name, effect->name) == 0 && effect->value >= experiments[i].least)
            return 1u << experiments[i].finding;
    return 0;
}

static lab_counters read_counters(const lab_clues *clues)
{
    lab_counters counters = { -1, -1, -1, -1, -1 };
    const struct {
        const char *name;
        double *to;
    } rows[] = { { "tensor", &counters.tensor },
                 { "exp", &counters.exp },
                 { "memory", &counters.memory },
                 { "sectors", &counters.sectors },
                 { "conflicts", &counters.conflicts } };
    for (size_t i = 0; i < clues->counter_count; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            if (strcmp(rows[j].name, clues->counters[i].name) == 0)
                *rows[j].to = clues->counters[i].value;
    return counters;
}

unsigned lab_clues_findings(const lab_clues *clues)
{
    const lab_counters counters = read_counters(clues);
    unsigned set = lab_findings(&clues->prospect, clues->warps_max, clues->smem_max, &counters);
    for (size_t i = 0; i < clues->finding_count; i++)
        set |= of_inspection(clues->findings[i].name);
    for (size_t i = 0; i < clues->effect_count; i++)
        set |= of_experiment(&clues->effects[i]);
    return set;
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

/* ---- What to do about it ---- */

#define REGION LAB_KNOB_ROLES /* in the place of a role */

/* By how much a finding makes a move likelier, or less so. What is not here stays as it is. */
static const struct {
    lab_finding finding;
    int role;
    double down, up;
} advice[] = {
    { LAB_FINDING_SPILLS, LAB_KNOB_REGISTERS, 0.1, 6 },
    { LAB_FINDING_SPILLS, LAB_KNOB_ROWS, 6, 0.1 },
    { LAB_FINDING_SPILLS, LAB_KNOB_KEYS, 6, 0.1 },
    { LAB_FINDING_SPILLS, LAB_KNOB_ORDER, 2, 0.5 },
    { LAB_FINDING_SPILLS, LAB_KNOB_THREADS, 1, 1.5 },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_REGISTERS, 3, 0.3 },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_ROWS, 3, 0.5 },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_KEYS, 2, 0.7 },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_STAGES, 3, 0.5 },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_THREADS, 0.7, 2 },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_STAGES, 5, 0.2 },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_KEYS, 4, 0.3 },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_ROWS, 2, 0.5 },
    { LAB_FINDING_EXP_BOUND, LAB_KNOB_ORDER, 2, 4 },
    { LAB_FINDING_EXP_BOUND, REGION, 3, 3 },
    { LAB_FINDING_TENSOR_BOUND, LAB_KNOB_ORDER, 1, 2 },
    { LAB_FINDING_TENSOR_BOUND, LAB_KNOB_ROWS, 0.7, 2 },
    { LAB_FINDING_TENSOR_BOUND, REGION, 2, 2 },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_ROWS, 0.3, 4 },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_STAGES, 0.5, 2 },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_SPLITS, 1, 3 },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_STAGES, 0.3, 4 },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_ORDER, 0.7, 3 },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_THREADS, 0.5, 2 },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_SPLITS, 0.5, 3 },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_ROWS, 2, 1 },
    { LAB_FINDING_UNCOALESCED, REGION, 4, 4 },
    { LAB_FINDING_UNCOALESCED, LAB_KNOB_KEYS, 1, 2 },
    { LAB_FINDING_BANK_CONFLICTS, REGION, 4, 4 },
    { LAB_FINDING_BANK_CONFLICTS, LAB_KNOB_KEYS, 1.5, 1.5 },
};

static double advised(int role, bool up, unsigned findings)
{
    double factor = 1;
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (advice[i].role == role && (findings >> advice[i].finding & 1))
            factor *= up ? advice[i].up : advice[i].down;
    return factor;
}

double lab_guide_advice(lab_knob_role role, bool up, unsigned findings)
{
    return advised((int)role, up, findings);
}

/* As if every move had been made three times and been of use once: then what was seen. A failure
 * costs a whole evaluation and teaches little: it counts more than a move of no use. */
static double credit(const int seen[LAB_GAINS])
{
    double made = 3 + seen[LAB_GAIN_BETTER] + seen[LAB_GAIN_NONE] + 1.5 * seen[LAB_GAIN_FAILED];
    return 3 * (1 + seen[LAB_GAIN_BETTER]) / made;
}

/* ---- Moves ---- */

lab_move lab_move_at(const lab_space *space, int number)
{
    int knobs = 2 * space->knob_count;
    if (number >= knobs)
        return (lab_move){ .knob = -1, .region = number - knobs };
    return (lab_move){ .knob = number / 2, .up = number % 2 };
}

int lab_move_number(const lab_space *space, const lab_move *move)
{
    return move->knob < 0 ? 2 * space->knob_count + move->region : 2 * move->knob + move->up;
}

void lab_guide_learn(lab_guide *guide, const lab_space *space, const lab_move *move, lab_gain gain)
{
    guide->seen[lab_move_number(space, move)][gain]++;
}

int lab_guide_weigh(const lab_guide *guide, const lab_space *space, const lab_point *point,
                    unsigned findings, int regions, double weights[LAB_MOVES])
{
    int knobs = 2 * space->knob_count;
    for (int i = 0; i < knobs + regions; i++) {
        const lab_move move = lab_move_at(space, i);
        int role = move.knob < 0 ? REGION : (int)space->knobs[move.knob].role;
        weights[i] = credit(guide->seen[i]) * advised(role, move.up, findings);
        if (move.knob >= 0 &&
            point->at[move.knob] == (move.up ? space->knobs[move.knob].count - 1 : 0))
            weights[i] = 0;
    }
    return knobs + regions;
}
