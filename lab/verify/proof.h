/*
 * proof.h - the cases that a kernel must pass before it is ranked: all gates, all kinds of values
 *
 * One list of cases for all verbs that rank: `heed evolve`, tune, sweep, the gate of regressions
 * and `heed verify --proof`. `heed selftest` tries its kernels on cases of the same list, so that
 * any kernel that the selftest kills is killed there too.
 *
 *     1. normal values, and all gates but those that run the kernel on variations
 *     2. every other kind of values that suits the problem
 *     3. neighbours of the problem, drawn by the seed: other lengths, heads, batches and strides
 *     4. normal values again, and the gates for variations
 *
 * Cheap cases come first: most wrong kernels are found by the first two runs.
 */
#ifndef LAB_PROOF_H
#define LAB_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/verify.h"

#define LAB_NEIGHBOURS 4
#define LAB_PROOF_CASES 32

typedef struct lab_proof {
    heed_problem problem; /* that the kernel is ranked on */
    uint64_t seed; /* of values, rows and neighbours: must be unpredictable for a hostile kernel */
    int threads;   /* of the reference, 1 or more */
    bool sliced;   /* for a large problem, values other than the normal ones are tried on one batch
                    * element and few heads. Not for a kernel that could notice that */
} lab_proof;

/* lab_proof_list() writes the cases and returns their number: 0 for a bad problem. */
size_t lab_proof_list(const lab_proof *proof, lab_verify_case cases[LAB_PROOF_CASES]);

/* lab_proof_options() returns how a case is verified. */
lab_verify_options lab_proof_options(const lab_proof *proof, const lab_verify_case *one);

/* lab_prove() verifies @subject on all cases, in this process, up to the first failure. @report has
 * the worst verdict of each gate; a reason begins with the case unless that is the problem with
 * normal values. Its outcome is LAB_SKIP if the subject does not support the problem, which is not
 * a failure; refusing it after computing it once is. Returns as lab_verify_problem() does. */
heed_status lab_prove(const lab_proof *proof, const lab_subject *subject, lab_report *report);

#endif /* LAB_PROOF_H */
