/*
 * logit.h - operations on logits, and keys hidden by other means than causal masks, windows and
 * chunks
 *
 * The order is that of heed.h: softcap, bias, ALiBi, score; starts, shown, visible; sinks. The code
 * is independent of the library's, and computes in float64 with a bound on the float32 error, or
 * rounds to float32.
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

/* lab_logits_begin() prepares for @problem, normalized, with the operands of @data. */
void lab_logits_begin(lab_logits *logits, const heed_problem *problem, const heed_buffers *data);

/* lab_logits_shows() returns true if the row sees key @key, which is in the range of lab_visible().
 * lab_logits_change() returns its logit @t after all changes, in float32 steps if @single. Both
 * count their decisions in doubt in *@doubt, and take the other way those that it marks. */
bool lab_logits_shows(const lab_logits *logits, lab_row row, int64_t key, lab_doubt *doubt);
lab_number lab_logits_change(const lab_logits *logits, lab_row row, int64_t key, lab_number t,
                             bool single, lab_doubt *doubt);

/* lab_has_sinks() returns true if rows of @problem have a sink; lab_sink() returns that of @row, or
 * -infinity. */
bool lab_has_sinks(const heed_problem *problem);
double lab_sink(const heed_problem *problem, const heed_buffers *data, lab_row row);

/* lab_hides() returns true if keys of @problem are hidden by lengths, starts, shown or visible, or
 * belong to other sequences; lab_adds_to_logits() if logits are changed by additions only, which do
 * not depend on the logit. */
bool lab_hides(const heed_problem *problem);
bool lab_adds_to_logits(const heed_problem *problem);

#endif /* LAB_LOGIT_H */
