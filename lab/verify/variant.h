/*
 * variant.h - runs the kernel on variations of the values under check
 */
#ifndef LAB_VARIANT_H
#define LAB_VARIANT_H

#include "lab/verify/check.h"
#include "lab/verify/gates/gates.h"

typedef struct lab_variant {
    lab_values values; /* filled by the gate */
    lab_memo memo;     /* its expected results; LAB_MEMO_NONE: not needed */
    lab_run run;
    const lab_expect *expect; /* belongs to the case */
} lab_variant;

/* lab_variants_run() runs the kernel on each of the variants, and computes expected results where
 * @memo requests them. @status is the outcome of making their values: nothing is run unless it is
 * HEED_OK. Returns true if all succeeded; else @verdict has the failure. */
bool lab_variants_run(const lab_check *check, lab_variant *variants, int count, heed_status status,
                      lab_verdict *verdict);

/* lab_variants_destroy() frees them; zeroed ones are ignored. */
void lab_variants_destroy(lab_variant *variants, int count);

/* lab_variant_splits() returns true if vectors of @view can be changed one by one: no two share an
 * element, unless they share all, along batch or heads; with @seq set, they may not share along the
 * sequence. */
bool lab_variant_splits(const lab_view *view, bool seq);

#endif /* LAB_VARIANT_H */
