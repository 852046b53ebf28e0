/*
 * judge.h - judges whether a solution is correct and its speed genuine
 *
 * It must pass verification gates on finite values of several kinds, with new values in every call.
 * Then its self-reported mean on the same tensors is compared, by the laboratory's clock, with
 * calls on tensors that it has never seen.
 */
#ifndef LAB_JUDGE_H
#define LAB_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"
#include "lab/suite/judge/box.h"
#include "lab/suite/suite.h"

typedef enum lab_judged {
    LAB_JUDGED_RIGHT = 0, /* passes, and its time is genuine */
    LAB_JUDGED_INEXACT,   /* passes, except for errors as from rounding to 16 bits */
    LAB_JUDGED_WRONG,     /* does not compute attention */
    LAB_JUDGED_CHEATS,   /* caches results, changes inputs, stops its clock, or is wrong while timed
                          */
    LAB_JUDGED_MEASURED, /* right, but fast only on tensors that it has seen before */
    LAB_JUDGED_FAILED,   /* does not load, crashes, hangs, or starts processes */
    LAB_JUDGED_NOT       /* not judged: see the reason */
} lab_judged;

#define LAB_JUDGEDS 7

/* lab_judged_name() returns one word, such as "cheats"; "unknown" for another value. */
const char *lab_judged_name(lab_judged judged);

typedef struct lab_judgement {
    lab_judged judged;
    char evidence[LAB_TASK_TEXT]; /* one line */
    char gate[32];                /* the decisive gate; "" for none */
    char values[32];              /* the kind of values at the time; "" for none */
    double error;     /* largest error relative to the allowed one; negative: not known */
    double claimed;   /* mean seconds of a call reported by its process, on the same tensors */
    double repeated;  /* the same by the laboratory's clock; 0: not timed */
    double fresh;     /* minimum seconds of a call on tensors that it has not seen */
    char verdict[16]; /* of its process, such as "hang", if that failed */
} lab_judgement;

/* lab_judgement_decide() writes what was found and its evidence; lab_judgement_fail() likewise that
 * a process failed: the solution's, which is its own fault unless the system could not run it, or
 * if
 * @other is not NULL the one of that name. Both return false. */
bool lab_judgement_decide(lab_judgement *judgement, lab_judged judged, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool lab_judgement_fail(lab_judgement *judgement, const lab_trial_outcome *outcome,
                        const char *other);

/* lab_solution_judge() judges the solution in the file @path of @task, which has been read. Returns
 * HEED_OK whatever the solution does; HEED_ERR_NO_MEMORY. */
heed_status lab_solution_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                               const lab_judging *how, lab_error *error);

/* lab_model_judge() does so, for lab_solution_judge(), if the attention is inside a model;
 * @judgement is zeroed. There is no heed problem to compare with, but the task's model: in float64
 * it gives the expected output, and in float32 the error of a correct solution. Both run in
 * separate boxes. Values with a sharp softmax distinguish models that agree on uniform values
 * (model.c). */
heed_status lab_model_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                            const lab_judging *how, lab_error *error);

/* lab_times_repeat() times calls on the same tensors, like suites do: the mean that the process
 * reports, and that by the laboratory's clock, each the minimum of a few. If they differ it makes
 * more calls, until overhead and a busy machine cannot explain the difference. Returns false if the
 * process failed. */
bool lab_times_repeat(lab_box *box, double *claimed, double *repeated);

/* lab_times_judge() judges a solution by the times in @judgement. Returns false if that was
 * decisive: its process reports false times, or it is fast only on tensors that it has seen before.
 * A genuine call takes @cold seconds longer on new tensors, because of cold caches and idle
 * threads. */
bool lab_times_judge(lab_judgement *judgement, const char *device, double cold);

#endif /* LAB_JUDGE_H */
