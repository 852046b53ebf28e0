/*
 * guide.h - which way to turn which knob: what binds, what helped so far, what failed
 *
 * Inspection and counters say in a fixed vocabulary what holds a kernel back. A table says for each
 * of these words which knobs, by what they are for, are worth turning which way. What became of
 * moves that were made before makes each of them more or less likely, whatever the table says: it
 * knows the rule, history the case.
 */
#ifndef LAB_GUIDE_H
#define LAB_GUIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/search/prospect.h"
#include "lab/search/space.h"

/* What binds. A set of them has bit 1 << finding for each. */
typedef enum lab_finding {
    LAB_FINDING_SPILLS,         /* registers go to memory and back */
    LAB_FINDING_LOW_OCCUPANCY,  /* few warps to hide latency with */
    LAB_FINDING_SMEM_BOUND,     /* shared memory is what keeps more blocks out */
    LAB_FINDING_EXP_BOUND,      /* the special function units are busy */
    LAB_FINDING_TENSOR_BOUND,   /* the tensor cores are */
    LAB_FINDING_MEMORY_BOUND,   /* memory or L2 are */
    LAB_FINDING_LATENCY_BOUND,  /* nothing is: warps wait */
    LAB_FINDING_UNCOALESCED,    /* loads touch more sectors than they need */
    LAB_FINDING_BANK_CONFLICTS, /* accesses to shared memory wait for each other */
    LAB_FINDINGS
} lab_finding;

/* lab_finding_name() returns "spills", "low_occupancy", ...; lab_finding_of() is the reverse,
 * LAB_FINDINGS for no name of these. */
const char *lab_finding_name(lab_finding finding);
lab_finding lab_finding_of(const char *name);

/* Counters of a run, as shares of what the device can do, 0 to 1; negative: not known. */
typedef struct lab_counters {
    double tensor;    /* busy time of the tensor cores */
    double exp;       /* of the special function units */
    double memory;    /* of memory's bandwidth, or L2's */
    double sectors;   /* needed of those that loads touched */
    double conflicts; /* of the cycles of shared memory, those lost to conflicts */
} lab_counters;

/* lab_findings() returns the set of what binds a kernel, from the facts of its code on a device
 * whose multiprocessor holds @warps_max warps and @smem_max bytes of shared memory (0: not known),
 * and from @counters, NULL for none. */
unsigned lab_findings(const lab_prospect *prospect, int64_t warps_max, int64_t smem_max,
                      const lab_counters *counters);

/* ---- What others found ---- */

/* A figure with a name. */
typedef struct lab_clue {
    const char *name;
    double value;
} lab_clue;

/* All that is known of a kernel, by whoever looked: each part may be missing. */
typedef struct lab_clues {
    lab_prospect prospect; /* registers, spills, shared memory, blocks, warps */
    int64_t warps_max;     /* that a multiprocessor holds; 0: not known */
    int64_t smem_max;      /* bytes of shared memory that it has; 0: not known */

    /* What inspection says, by its names: "spills", "local-memory-in-loop", ...; the value says
     * nothing. A name of the vocabulary above means itself. */
    const lab_clue *findings;
    size_t finding_count;

    /* "tensor", "exp", "memory", "sectors", "conflicts", as in lab_counters. */
    const lab_clue *counters;
    size_t counter_count;

    /* What became of the time when one thing was changed, as a share of it: "no-exp" 0.12 was 12 %
     * faster, "half-stages" 0.08 was 8 % slower. */
    const lab_clue *effects;
    size_t effect_count;
} lab_clues;

/* lab_clues_unknown() returns those of a kernel of which nothing is known. */
lab_clues lab_clues_unknown(void);

/* lab_clues_findings() returns the set of what binds. Names that it does not know say nothing. */
unsigned lab_clues_findings(const lab_clues *clues);

/* lab_clue_explain() writes what a set says as words, "spills, exp_bound", and returns @text. */
const char *lab_clue_explain(unsigned findings, char *text, size_t size);

/* lab_guide_advice() returns by how much the set @findings makes it likelier, or less so, that what
 * is for @role should go up, or down; 1: it says nothing of that. */
double lab_guide_advice(lab_knob_role role, bool up, unsigned findings);

/* ---- Moves ---- */

#define LAB_GUIDE_REGIONS 16 /* of a source that alternatives can be had for */

/* A move: knob number @knob down (0) or up (1) among its values; or, with knob -1, another text for
 * region number @region. */
typedef struct lab_move {
    int knob;
    int up;
    int region;
} lab_move;

/* Moves are numbered: 2 * knob + up, and after all knobs the regions. */
#define LAB_MOVES (2 * LAB_SPACE_KNOBS + LAB_GUIDE_REGIONS)
lab_move lab_move_at(const lab_space *space, int number);
int lab_move_number(const lab_space *space, const lab_move *move);

/* What became of a move. */
typedef enum lab_gain {
    LAB_GAIN_BETTER, /* faster than the parent */
    LAB_GAIN_NONE,
    LAB_GAIN_FAILED, /* it did not compile, or run, or was wrong */
    LAB_GAINS
} lab_gain;

/* What is remembered. Zeroed: nothing yet. Plain data: it may be copied, and kept in a file. */
typedef struct lab_guide {
    int seen[LAB_MOVES][LAB_GAINS];
} lab_guide;

/* lab_guide_learn() remembers what became of a move. */
void lab_guide_learn(lab_guide *guide, const lab_space *space, const lab_move *move, lab_gain gain);

/* lab_guide_weigh() writes the weight of each move from @point of a kernel that the set @findings
 * holds back, 0 or more, for roulette, and returns how many moves there are: two for each knob, one
 * for each of @regions regions. A move past the last value has none. */
int lab_guide_weigh(const lab_guide *guide, const lab_space *space, const lab_point *point,
                    unsigned findings, int regions, double weights[LAB_MOVES]);

#endif /* LAB_GUIDE_H */
