/*
 * clues.h - the limits of a kernel in a fixed vocabulary, from all facts known about it
 *
 *     facts of its code, findings of inspection, counters of its run, effects of ablation
 *         -> words: spills, exp_bound, ... -> the guide (guide.h), and proposers (propose.h)
 *
 * The table of rules, lab_clue_rule_at(), maps clues and thresholds to words. docs/proposers.md
 * shows it, and a test compares both.
 */
#ifndef LAB_CLUES_H
#define LAB_CLUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/search/point_facts.h"

struct lab_effect;  /* lab/inspect/ablate.h */
struct lab_profile; /* lab/inspect/profile.h */

/* The limits of a kernel. A set of them has bit 1 << finding for each. */
typedef enum lab_finding {
    LAB_FINDING_SPILLS,         /* registers are spilled to memory */
    LAB_FINDING_LOW_OCCUPANCY,  /* few warps to hide latency with */
    LAB_FINDING_SMEM_BOUND,     /* shared memory limits the number of blocks */
    LAB_FINDING_EXP_BOUND,      /* the exponential units are busy */
    LAB_FINDING_TENSOR_BOUND,   /* the matrix units (a CPU's FMA units) are busy */
    LAB_FINDING_MEMORY_BOUND,   /* memory or L2 is busy */
    LAB_FINDING_LATENCY_BOUND,  /* nothing is busy: warps wait */
    LAB_FINDING_UNCOALESCED,    /* loads touch more sectors than they need */
    LAB_FINDING_BANK_CONFLICTS, /* accesses to shared memory wait for each other */
    LAB_FINDING_FEW_BLOCKS,     /* blocks are too few or too large: multiprocessors are idle */
    LAB_FINDING_IDLE_STAGES,    /* overlap gains nothing: as fast or faster with less */
    LAB_FINDINGS
} lab_finding;

/* lab_finding_name() returns "spills", "low_occupancy", ...; lab_finding_of() is the reverse,
 * LAB_FINDINGS for an unknown name. */
const char *lab_finding_name(lab_finding finding);
lab_finding lab_finding_of(const char *name);

/* lab_findings_shared() returns the findings that concern the source and the problem rather than
 * one config, and so probably apply to a kernel that differs in a few knobs: all except those on
 * registers, warps and shared memory, which are known from the code of each. */
unsigned lab_findings_shared(unsigned findings);

/* lab_clue_explain() writes the names in a set, "spills, exp_bound", and returns @text. */
const char *lab_clue_explain(unsigned findings, char *text, size_t size);

/* ---- Findings ---- */

/* A named figure. */
typedef struct lab_clue {
    const char *name;
    double value;
} lab_clue;

/* All that is known of a kernel; each part may be missing. */
typedef struct lab_clues {
    lab_point_facts point_facts; /* registers, spills, shared memory, blocks, warps */
    int64_t warps_max;           /* maximum per multiprocessor; 0: not known */
    int64_t smem_max;            /* bytes of shared memory per multiprocessor; 0: not known */

    /* The findings of inspection, by its names: "spills", "local-memory-in-loop", ...; the value is
     * ignored. Names of lab_finding are accepted, too. */
    const lab_clue *findings;
    size_t finding_count;

    /* Counters of a run, mostly as shares of the device's peak, 0 to 1, with the names of
     * lab_clue_counter(). */
    const lab_clue *counters;
    size_t counter_count;

    /* The effect of single changes as a share of the time, with the names of ablations
     * (lab/inspect/ablate.h) and the signs of lab_effect_value(): "no-exp" 0.12 was 12 % faster,
     * "half-stages" 0.08 was 8 % slower. */
    const lab_clue *effects;
    size_t effect_count;
} lab_clues;

/* lab_clues_unknown() returns the clues of a kernel about which nothing is known. */
lab_clues lab_clues_unknown(void);

/* lab_clues_findings() returns the set of limits. Unknown names are ignored. */
unsigned lab_clues_findings(const lab_clues *clues);

/* lab_counters_of_profile() writes the hardware counters of one launch, NAN where not known:
 *
 *     tensor     busy time of the tensor cores, 0 to 1
 *     exp        of the special function units
 *     memory     of the bandwidth of memory or L2, whichever is higher
 *     sectors    needed, as a share of those touched
 *     conflicts  share of the wavefronts of shared memory lost to conflicts
 *     grid       share of multiprocessors that got a block
 *     local      executed loads and stores of local memory */
#define LAB_CLUE_COUNTERS 7
void lab_counters_of_profile(const struct lab_profile *profile, double values[LAB_CLUE_COUNTERS]);

/* lab_clue_counter() returns the name of the @index-th of these, NULL past the last. */
const char *lab_clue_counter(size_t index);

/* lab_clue_of_effect() makes a clue from a measured effect, whose name it points to. Returns false
 * if the interval is too wide. */
bool lab_clue_of_effect(const struct lab_effect *effect, lab_clue *clue);

/* ---- The rules ---- */

typedef enum lab_clue_source {
    LAB_CLUE_INSPECTION,
    LAB_CLUE_COUNTER,
    LAB_CLUE_ABLATION
} lab_clue_source;

/* A clue of that name implies @finding: one of inspection always, others if the value is above
 * @limit, or @below it. */
typedef struct lab_clue_rule {
    lab_clue_source source;
    const char *name;
    bool below;
    double limit;
    lab_finding finding;
} lab_clue_rule;

/* lab_clue_rule_at() returns the @index-th rule, NULL past the last. In addition, facts of the code
 * imply spills, low_occupancy and smem_bound, and counters imply latency_bound if neither tensor,
 * exp nor memory is above LAB_CLUE_IDLE. */
const lab_clue_rule *lab_clue_rule_at(size_t index);
#define LAB_CLUE_IDLE 0.5

/* lab_clue_ablations() lists the ablations that are used, comma-separated, for heed ablate --only.
 */
const char *lab_clue_ablations(char *text, size_t size);

#endif /* LAB_CLUES_H */
