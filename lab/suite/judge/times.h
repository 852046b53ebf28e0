/*
 * times.h - judges whether a solution is as fast as it appears to suites
 */
#ifndef LAB_JUDGE_TIMES_H
#define LAB_JUDGE_TIMES_H

#include "lab/suite/judge/box.h"
#include "lab/suite/judge/judge.h"

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

#endif /* LAB_JUDGE_TIMES_H */
