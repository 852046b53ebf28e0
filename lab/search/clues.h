/*
 * clues.h - the limits of a kernel in a fixed vocabulary, from all facts known about it
 *
 *     facts of its code, findings of inspection, counters of its run, effects of ablation
 *         -> words: spills, exp_bound, ... -> the guide (guide.h), and proposers (propose.h)
 *
 * Which clue becomes which word from what figure on is a table, lab_clue_rule_at(), which
 * docs/proposers.md shows and a test compares with that.
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
    LAB_FINDING_SPILLS,         /* registers go to memory and back */
    LAB_FINDING_LOW_OCCUPANCY,  /* few warps to hide latency with */
    LAB_FINDING_SMEM_BOUND,     /* shared memory is what keeps more blocks out */
    LAB_FINDING_EXP_BOUND,      /* the units that make exponentials are busy */
    LAB_FINDING_TENSOR_BOUND,   /* those that multiply matrices are: a CPU's FMA units, too */
    LAB_FINDING_MEMORY_BOUND,   /* memory or L2 are */
    LAB_FINDING_LATENCY_BOUND,  /* nothing is: warps wait */
    LAB_FINDING_UNCOALESCED,    /* loads touch more sectors than they need */
    LAB_FINDING_BANK_CONFLICTS, /* accesses to shared memory wait for each other */
    LAB_FINDING_FEW_BLOCKS,     /* blocks are too few or too large: multiprocessors are idle */
    LAB_FINDING_IDLE_STAGES,    /* as fast or faster with less overlap: it costs for nothing */
    LAB_FINDINGS
} lab_finding;

/* lab_finding_name() returns "spills", "low_occupancy", ...; lab_finding_of() is the reverse,
 * LAB_FINDINGS for no name of these. */
const char *lab_finding_name(lab_finding finding);
lab_finding lab_finding_of(const char *name);

/* lab_findings_shared() returns what of a set is about the source and the problem more than about
 * one config, and so a good guess for a kernel that differs in a few knobs: all but what the code
 * of each says by itself, registers, warps, shared memory. */
unsigned lab_findings_shared(unsigned findings);

/* lab_clue_explain() writes what a set says as words, "spills, exp_bound", and returns @text. */
const char *lab_clue_explain(unsigned findings, char *text, size_t size);

/* ---- Findings ---- */

/* A figure with a name. */
typedef struct lab_clue {
    const char *name;
    double value;
} lab_clue;

/* All that is known of a kernel; each part may be missing. */
typedef struct lab_clues {
    lab_point_facts point_facts; /* registers, spills, shared memory, blocks, warps */
    int64_t warps_max;           /* that a multiprocessor holds; 0: not known */
    int64_t smem_max;            /* bytes of shared memory that it has; 0: not known */

    /* The findings of inspection, by its names: "spills", "local-memory-in-loop", ...; the value
     * says nothing. A name of the vocabulary above means itself. */
    const lab_clue *findings;
    size_t finding_count;

    /* Of a run, mostly as shares of what the device can do, 0 to 1, by the names of
     * lab_clues_of_profile(). */
    const lab_clue *counters;
    size_t counter_count;

    /* The change of the time when one thing was changed, as a share of it, by the names of
     * ablations (lab/inspect/ablate.h) and as lab_effect_value() has it: "no-exp" 0.12 was 12 %
     * faster, "half-stages" 0.08 was 8 % slower. */
    const lab_clue *effects;
    size_t effect_count;
} lab_clues;

/* lab_clues_unknown() returns those of a kernel of which nothing is known. */
lab_clues lab_clues_unknown(void);

/* lab_clues_findings() returns the set of what binds. Names that it does not know say nothing. */
unsigned lab_clues_findings(const lab_clues *clues);

/* lab_clues_of_profile() writes what hardware counted of one launch, as far as it is known, and
 * returns how many clues that are:
 *
 *     tensor     busy time of the tensor cores, 0 to 1
 *     exp        of the special function units
 *     memory     of memory's bandwidth, or L2's: whichever is more
 *     sectors    needed of those that were touched
 *     conflicts  of the wavefronts of shared memory, those lost to conflicts
 *     grid       multiprocessors that got a block, of all
 *     local      loads and stores of local memory, as they were executed */
#define LAB_CLUE_COUNTERS 7
size_t lab_clues_of_profile(const struct lab_profile *profile, lab_clue clues[LAB_CLUE_COUNTERS]);

/* lab_clue_counter() returns the name of the @index-th of these, NULL past the last. */
const char *lab_clue_counter(size_t index);

/* lab_clue_of_effect() makes a clue of a measured effect, whose name it points to. False: the
 * interval is too wide for it to say anything. */
bool lab_clue_of_effect(const struct lab_effect *effect, lab_clue *clue);

/* ---- The rules ---- */

typedef enum lab_clue_source {
    LAB_CLUE_INSPECTION,
    LAB_CLUE_COUNTER,
    LAB_CLUE_ABLATION
} lab_clue_source;

/* A clue of that name says that @finding binds: one of inspection always, others if the value is
 * above @limit, or @below it. */
typedef struct lab_clue_rule {
    lab_clue_source source;
    const char *name;
    bool below;
    double limit;
    lab_finding finding;
} lab_clue_rule;

/* lab_clue_rule_at() returns the @index-th rule, NULL past the last. Beside these, facts of the
 * code say spills, low_occupancy and smem_bound, and counters latency_bound, if neither tensor, exp
 * nor memory is above LAB_CLUE_IDLE. */
const lab_clue_rule *lab_clue_rule_at(size_t index);
#define LAB_CLUE_IDLE 0.5

/* lab_clue_ablations() lists the ablations that say something, with commas between, as heed ablate
 * --only takes them. */
const char *lab_clue_ablations(char *text, size_t size);

#endif /* LAB_CLUES_H */
