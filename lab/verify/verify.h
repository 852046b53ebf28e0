/*
 * verify.h - verification: every kernel is hostile until proven
 *
 *     problem, inputs, seed -> case (values, what is expected) -> check of one kernel -> report
 */
#ifndef LAB_VERIFY_H
#define LAB_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/check.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/inputs.h"
#include "lab/verify/stage/mirror.h"

typedef struct lab_verify_options {
    uint64_t seed;         /* of values, rows of a sample, poison */
    uint32_t gates;        /* bit i: run the i-th; the first always runs */
    bool strict;           /* see lab_check */
    bool own;              /* the kernels are heed's: see lab_sampling */
    bool unlocked;         /* writes to inputs do not trap, but are found afterwards */
    int64_t work;          /* of the reference: see lab_sampling */
    int64_t property_work; /* the same for each variation of the values */
    double time_limit_s;   /* skip kernels whose estimate is longer */
    int threads;           /* of the reference, 1 or more */
} lab_verify_options;

/* A problem with one kind of values, for a campaign or a proof. */
typedef struct lab_verify_case {
    heed_problem problem;
    const lab_inputs *inputs;
    uint32_t gates; /* to run, among those in the options */
    int64_t work;   /* of the reference; 0: as in the options */
    bool neighbour; /* a neighbour of the problem to be proved: a kernel may refuse it */
} lab_verify_case;

/* lab_verify_standard() returns the usual options: seed 1, all gates. */
lab_verify_options lab_verify_standard(void);

/* Values of a problem and their expected results, for any number of kernels. */
typedef struct lab_case {
    const lab_inputs *inputs;
    lab_values values;
    lab_expect *expect;
    lab_expect *memos[LAB_MEMOS]; /* for variations of the values, computed when needed */
} lab_case;

/* The verdicts of the gates on one kernel. */
typedef struct lab_report {
    lab_outcome outcome;       /* LAB_FAIL if a gate failed, LAB_SKIP if the kernel did not run */
    char name[HEED_NAME_SIZE]; /* kernel and config, or "" */
    bool lost;                 /* the device was lost: this process can do no more */
    int64_t rows;              /* of the problem ... */
    int64_t rows_compared;     /* ... and those compared with the reference */
    lab_verdict verdicts[LAB_GATES];
} lab_report;

/* lab_case_create() makes the values of @inputs for @problem, or copies @values if that is not
 * NULL. Returns HEED_OK; HEED_ERR_INVALID for a bad problem; HEED_ERR_UNSUPPORTED if the problem
 * cannot have these inputs, see lab_case_absent(); HEED_ERR_NO_MEMORY. On failure *@result is
 * zeroed. */
heed_status lab_case_create(lab_case *result, const heed_problem *problem, const lab_inputs *inputs,
                            const lab_values *values, const lab_verify_options *options);
void lab_case_destroy(lab_case *result);

/* lab_case_absent() returns why @problem, normalized, cannot have values of @inputs; NULL if it
 * can. */
const char *lab_case_absent(const heed_problem *problem, const lab_inputs *inputs);

/* lab_case_verify() verifies @subject with all gates. It runs in the calling process: call it
 * through lab_isolate() if the subject may crash or hang. @trace may be NULL. */
void lab_case_verify(lab_case *subject_case, const lab_subject *subject,
                     const lab_verify_options *options, lab_trace *trace, lab_report *report);

/* lab_report_kept_by() returns the error of memory or system that kept the laboratory from judging
 * a gate of @report, HEED_OK if none did. Such a report proves nothing, whatever its outcome is. */
heed_status lab_report_kept_by(const lab_report *report);

/* lab_verify_problem() is lab_case_create() and lab_case_verify() in one, for a single subject.
 * Returns lab_report_kept_by() too, unless a gate failed. */
heed_status lab_verify_problem(const heed_problem *problem, const lab_inputs *inputs,
                               const lab_subject *subject, const lab_verify_options *options,
                               lab_trace *trace, lab_report *report);

/* A kernel of the library as a subject of verification. */
typedef struct lab_planned {
    heed_context *context;
    const char *kernel; /* as heed_plan_create_named() takes it; NULL: the planner's choice */
    bool worthwhile;    /* excludes problems for which the planner would not consider it */
    lab_mirror *mirror; /* in device memory; NULL: the device uses host memory */
    heed_plan *plan;    /* of the problem prepared last, or NULL */
} lab_planned;

/* lab_planned_subject() returns @planned as a subject. Its context and kernel must be set, and must
 * outlive the subject. */
lab_subject lab_planned_subject(lab_planned *planned);

/* lab_planned_release() frees the last plan. */
void lab_planned_release(lab_planned *planned);

#endif /* LAB_VERIFY_H */
