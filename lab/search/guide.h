/*
 * guide.h - weights for moves of a search, by the kernel's limits and the outcomes of earlier moves
 *
 * Inspection, counters and ablation report the limits of a kernel in a fixed vocabulary (clues.h).
 * For each of these words a table lists the roles of knobs that are worth turning, the direction,
 * and the reason. The outcomes of earlier moves then change the likelihood of each move,
 * independently of the table.
 */
#ifndef LAB_GUIDE_H
#define LAB_GUIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/search/clues.h"
#include "lab/search/space.h"

/* lab_guide_advice() returns the factor by which the set @findings makes a move of a knob for
 * @role, a lab_knob_role or LAB_GUIDE_REGION, up or down, more likely; 1: no advice. */
double lab_guide_advice(int role, bool up, unsigned findings);

/* A row of that table: with @finding, a move down of a knob for @role is @down times as likely, and
 * a move up @up times. */
#define LAB_GUIDE_REGION LAB_KNOB_ROLES /* instead of a role: another text for a region */
typedef struct lab_guide_rule {
    lab_finding finding;
    int role;
    double down, up;
    const char *why;
} lab_guide_rule;

/* lab_guide_rule_at() returns the @index-th row, NULL past the last. */
const lab_guide_rule *lab_guide_rule_at(size_t index);

/* ---- Moves ---- */

#define LAB_GUIDE_REGIONS 16 /* regions of a source with alternatives */

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
    LAB_GAIN_FAILED, /* it did not compile or run, or was wrong */
    LAB_GAINS
} lab_gain;

/* The history of a guide. Zeroed: empty. Plain data: it may be copied. */
typedef struct lab_guide {
    int seen[LAB_MOVES][LAB_GAINS];
} lab_guide;

/* lab_guide_learn() records the outcome of a move. */
void lab_guide_learn(lab_guide *guide, const lab_space *space, const lab_move *move, lab_gain gain);

/* lab_guide_weigh() writes the weight, 0 or more, of each move from @point for a kernel with the
 * limits @findings, for random selection, and returns the number of moves: two for each knob, one
 * for each of @regions regions. A move past the last value has weight 0. */
int lab_guide_weigh(const lab_guide *guide, const lab_space *space, const lab_point *point,
                    unsigned findings, int regions, double weights[LAB_MOVES]);

#endif /* LAB_GUIDE_H */
