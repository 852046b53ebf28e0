/*
 * model.h - judges a solution of a task whose attention is inside a model
 *
 * There is no heed problem to compare with, but the task's model: in float64 it gives the expected
 * output, and in float32 the error of a correct solution. Both run in separate boxes. Values with a
 * sharp softmax distinguish models that agree on uniform values.
 */
#ifndef LAB_JUDGE_MODEL_H
#define LAB_JUDGE_MODEL_H

#include "lab/suite/judge/judge.h"

/* lab_model_judge() judges as lab_solution_judge() does, which calls it; @judgement is zeroed. */
heed_status lab_model_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                            const lab_judging *how, lab_error *error);

#endif /* LAB_JUDGE_MODEL_H */
