/*
 * times.h - is a solution as fast as it seems to suites?
 */
#ifndef LAB_JUDGE_TIMES_H
#define LAB_JUDGE_TIMES_H

#include "lab/suite/judge/box.h"
#include "lab/suite/judge/judge.h"

/* lab_times_repeat() times calls on the same tensors, as suites do: the mean that the process says,
 * and that by the laboratory's clock, the least of a few. Where these differ it makes more calls,
 * until asking for them and a busy machine are no reason. False if the process failed. */
bool lab_times_repeat(lab_box *box, double *claimed, double *repeated);

/* lab_times_judge() judges a solution by its times, which are in @judgement. False if that decided:
 * its process does not tell the truth, or it is fast only on tensors that it has seen before. A
 * call of something honest takes @cold seconds longer on others, for its caches and its threads are
 * cold. */
bool lab_times_judge(lab_judgement *judgement, const char *device, double cold);

#endif /* LAB_JUDGE_TIMES_H */
