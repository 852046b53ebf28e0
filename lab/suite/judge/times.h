/*
 * times.h - is a solution as fast as it seems to suites?
 */
#ifndef LAB_JUDGE_TIMES_H
#define LAB_JUDGE_TIMES_H

#include "lab/suite/judge/judge.h"

/* Calls on the same tensors, of which the mean is taken, as suites do. */
#define LAB_TIMES_CALLS 20

/* lab_times_judge() judges a solution by its times, which are in @judgement. False if that decided:
 * its process does not tell the truth, or it is fast only on tensors that it has seen before. A
 * call of something honest takes @cold seconds longer on others, for its caches and its threads are
 * cold. */
bool lab_times_judge(lab_judgement *judgement, double cold);

#endif /* LAB_JUDGE_TIMES_H */
