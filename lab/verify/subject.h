/*
 * subject.h - a kernel of the library as a subject of verification
 */
#ifndef LAB_SUBJECT_H
#define LAB_SUBJECT_H

#include "heed.h"
#include "lab/verify/check.h"
#include "lab/verify/stage/mirror.h"

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

#endif /* LAB_SUBJECT_H */
