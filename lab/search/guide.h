/*
 * guide.h - which way to turn which knob, by the kernel's limits and earlier success and failure
 *
 * Inspection, counters and ablation say in a fixed vocabulary (clues.h) what holds a kernel back. A
 * table says for each of these words which knobs, by what they are for, are worth turning which
 * way, and why. The outcomes of earlier moves make each of them more or less likely,
 * whatever the table says: it knows the rule, history the case.
 */
#ifndef LAB_GUIDE_H
#define LAB_GUIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/search/clues.h"
#include "lab/search/space.h"

/* lab_guide_advice() returns by how much the set @findings makes it likelier, or less so, that what
 * is for @role should go up, or down; 1: it says nothing of that. */
double lab_guide_advice(lab_knob_role role, bool up, unsigned findings);

/* A row of that table: where @finding binds, a move down of what is for @role is @down times as
 * likely, and one up @up times. */
#define LAB_GUIDE_REGION LAB_KNOB_ROLES /* in place of a role: another text for a region */
typedef struct lab_guide_rule {
    lab_finding finding;
    int role;
    double down, up;
    const char *why;
} lab_guide_rule;

/* lab_guide_rule_at() returns the @index-th row, NULL past the last. */
const lab_guide_rule *lab_guide_rule_at(size_t index);

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

/* The outcome of a move. */
typedef enum lab_gain {
    LAB_GAIN_BETTER, /* faster than the parent */
    LAB_GAIN_NONE,
    LAB_GAIN_FAILED, /* it did not compile, or run, or was wrong */
    LAB_GAINS
} lab_gain;

/* The memory of a guide. Zeroed: nothing yet. Plain data: it may be copied. */
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
