/*
 * variant.h - a variation of the values under check, with what the kernel makes of it
 */
#ifndef LAB_VARIANT_H
#define LAB_VARIANT_H

#include "lab/verify/check.h"
#include "lab/verify/gates/gates.h"

typedef struct lab_variant {
    lab_values values; /* filled by the gate */
    lab_memo memo;     /* is it known what to expect, or wanted? */
    lab_run run;
    const lab_expect *expect; /* belongs to the case */
} lab_variant;

/* lab_variants_run() runs the kernel on each of the variants, and computes what is expected where
 * that is wanted. @status is the outcome of making their values: if it is not HEED_OK nothing is
 * run. Returns true if all went well; else @verdict says what did not. */
bool lab_variants_run(const lab_check *check, lab_variant *variants, int count, heed_status status,
                      lab_verdict *verdict);

/* lab_variants_destroy() frees them; zeroed ones are ignored. */
void lab_variants_destroy(lab_variant *variants, int count);

/* lab_variant_splits() says whether vectors of @view can be changed one by one: no two of them
 * share an element, unless they share all, along batch or heads; with @seq set, also not along the
 * sequence. */
bool lab_variant_splits(const lab_view *view, bool seq);

#endif /* LAB_VARIANT_H */
