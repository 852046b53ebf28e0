/*
 * logit.h - operations on logits, and hidden keys, beside causal masks, windows and chunks
 *
 * The order is that of heed.h: softcap, bias, ALiBi, score; starts, shown, visible; sinks. Each in
 * code of its own, in float64 with a bound of how far float32 may be off, or rounded to float32.
 */
#ifndef LAB_LOGIT_H
#define LAB_LOGIT_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/expression.h"
#include "lab/verify/reference/reference.h"

typedef struct lab_logits {
    const heed_problem *problem;
    const heed_buffers *data;
    bool packed;  /* rows and keys are those of packed sequences */
    bool changes; /* logits are changed, */
    bool hides;   /* keys are hidden; false: nothing to do */
    bool steps;   /* there are expressions, whose values can be in doubt */
    lab_view view[LAB_ARRAYS];
    lab_expression score;
    lab_expression visible;
} lab_logits;

/* lab_logits_begin() makes ready for @problem, normalized, with the operands of @data. */
void lab_logits_begin(lab_logits *logits, const heed_problem *problem, const heed_buffers *data);

/* lab_logits_shows() says whether the row sees key @key of those that lab_visible() tells.
 * lab_logits_change() returns what its logit @t becomes, in steps of float32 if @single. Both
 * count their decisions that are in doubt in *@doubt, and take those the other way that it says. */
bool lab_logits_shows(const lab_logits *logits, lab_row row, int64_t key, lab_doubt *doubt);
lab_number lab_logits_change(const lab_logits *logits, lab_row row, int64_t key, lab_number t,
                             bool single, lab_doubt *doubt);

/* lab_has_sinks() says whether rows of @problem have a sink; lab_sink() returns that of @row, or
 * -infinity. */
bool lab_has_sinks(const heed_problem *problem);
double lab_sink(const heed_problem *problem, const heed_buffers *data, lab_row row);

/* lab_hides() says whether keys of @problem are hidden by lengths, starts, shown or visible, or as
 * those of other sequences; lab_changes_logits() whether logits are changed, lab_adds_to_logits()
 * whether by sums alone, which do not depend on the logit. */
bool lab_hides(const heed_problem *problem);
bool lab_changes_logits(const heed_problem *problem);
bool lab_adds_to_logits(const heed_problem *problem);

#endif /* LAB_LOGIT_H */
