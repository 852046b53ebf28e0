/*
 * model.h - a solution of a task whose attention is inside a model
 *
 * There is no problem of heed's to hold it to, but the task's own model: computed in float64 it
 * says what is right, computed in float32 how far a right one is off. Both run in boxes of their
 * own. Values that make the softmax sharp tell models apart that are alike on uniform values.
 */
#ifndef LAB_JUDGE_MODEL_H
#define LAB_JUDGE_MODEL_H

#include "lab/suite/judge/judge.h"

/* lab_model_judge() judges as lab_solution_judge() does, which calls it; @judgement is zeroed. */
heed_status lab_model_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                            const lab_judging *how, lab_error *error);

#endif /* LAB_JUDGE_MODEL_H */
