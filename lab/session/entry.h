/*
 * entry.h - measurements as entries of the board
 *
 * The caller sets the identity of a trial (candidate, place, attempt); these functions fill in the
 * measurements.
 */
#ifndef LAB_ENTRY_H
#define LAB_ENTRY_H

#include "measure/duel.h"
#include "record/record.h"
#include "search/search.h"

/* The seed for the values of an evaluation, and for the rows of its output that are checked. */
#define LAB_ENTRY_ROWS_SEED 1

/* Parts that a trial points to, which must outlive it. */
typedef struct lab_entry_parts {
    lab_record_samples samples[2];
    lab_record_comparison comparison;
    lab_record_gate gate;
} lab_entry_parts;

/* lab_entry_comparison() returns the record of a comparison of a candidate (A) with @against (B),
 * whose time was @seconds. */
lab_record_comparison lab_entry_comparison(const lab_comparison *comparison, const char *against,
                                           double seconds);

/* lab_entry_take_turns() fills in the samples of @duel, in which the candidate is A and @against is
 * B, and their @comparison. HEED_ERR_NO_MEMORY is the only failure. */
heed_status lab_entry_take_turns(lab_record_trial *trial, lab_entry_parts *parts,
                                 const lab_duel *duel, const lab_comparison *comparison,
                                 const char *against, bool cold);

/* lab_entry_take() fills in an evaluation, which must outlive @trial: the board gets the median of
 * its samples, while a search uses their minimum. lab_entry_evaluation() is the reverse. */
void lab_entry_take(lab_record_trial *trial, lab_entry_parts *parts, const lab_evaluation *result,
                    bool cold);
lab_evaluation lab_entry_evaluation(const lab_record_found *found);

/* lab_entry_take_confirmed() is lab_entry_take() for a kernel that passed all gates and was timed
 * after its selection. */
void lab_entry_take_confirmed(lab_record_trial *trial, lab_entry_parts *parts,
                              const lab_evaluation *result, bool cold);

#endif /* LAB_ENTRY_H */
