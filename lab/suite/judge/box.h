/*
 * box.h - a Python solution as a black box: a sandboxed process that makes calls on request
 *
 * suites/solve.py loads the solution in the process. The sandbox allows it to read files, use GPUs
 * and start a compiler; it may write only to a temporary folder, and has no access to the network
 * or other processes. Everything that a solution starts ends with it, and a solution that
 * uses too many resources is killed (watch.h).
 *
 * A solution can tamper with that script, so its output is not trusted. The signs of all inputs are
 * revealed last, and the sum of the output's bits is required at the end of a call. The time to
 * change the signs is measured before the solution is loaded.
 */
#ifndef LAB_BOX_H
#define LAB_BOX_H

#include <stdbool.h>

#include "heed.h"
#include "lab/suite/python.h"
#include "lab/suite/suite.h"
#include "lab/trial/verdict.h"
#include "lab/verify/check.h"

/* How solutions are judged. */
typedef struct lab_judging {
    const lab_python *python;
    const char *device;        /* torch's name: "cpu", "cuda:0" */
    const lab_way *way;        /* precision for float32 tasks */
    uint64_t seed;             /* of values: unpredictable */
    int threads;               /* of the reference, 1 or more */
    double call_seconds;       /* limit for a request; 0: 60. Loading has 600 */
    size_t memory;             /* limit in bytes for its processes; 0: half of the free memory */
    bool unsafe;               /* run it even if the system has no sandbox for it */
    bool (*interrupted)(void); /* called every 0.1 s; may be NULL */
} lab_judging;

typedef struct lab_box_command {
    const lab_judging *how;
    const char *solution;  /* the file */
    const char *init;      /* the arguments of its model as JSON */
    heed_problem problem;  /* normalized, dense as [batch, heads, seq, dim]; or ... */
    const lab_task *model; /* ... if not NULL, a task with any model, for its inputs and output */
    const char *entry;     /* with model: its class, "ModelNew" or "Model", ... */
    bool precise;          /* ... which computes in float64 */
} lab_box_command;

typedef struct lab_box lab_box;

/* lab_box_open() starts the process and loads the solution. Returns true, with a box to be closed;
 * else *@box is NULL, and @outcome has the reason. */
bool lab_box_open(lab_box **box, const lab_box_command *command, lab_trial_outcome *outcome);
void lab_box_close(lab_box *box);

/* lab_box_subject() returns @box as a subject of verification. It supports only its own problem.
 * The LSE is computed by the laboratory, since the suite requires none. */
lab_subject lab_box_subject(lab_box *box);

/* lab_box_outcome() returns the outcome of the last request; the first failure persists. */
const lab_trial_outcome *lab_box_outcome(const lab_box *box);

/* lab_box_time() passes @values and requests one call. *@seconds is its time by the laboratory's
 * clock, from the signs of the inputs to the sum of the output, less the time of the signs. The
 * output is then in lab_box_output(). */
bool lab_box_time(lab_box *box, const lab_values *values, double *seconds);
const void *lab_box_output(const lab_box *box);

/* lab_box_call() does so for a model, whose inputs are in float32 and whose output is then doubles;
 * *@changed is true if it changed its inputs. */
bool lab_box_call(lab_box *box, const float *const *inputs, double *seconds, bool *changed);

/* lab_box_repeat() requests @calls calls on the current tensors, timed like suites do: in the
 * process, by its own clock. *@claimed is the mean that the process reports, *@seconds the mean by
 * the laboratory's clock. */
bool lab_box_repeat(lab_box *box, int calls, double *claimed, double *seconds);

#endif /* LAB_BOX_H */
