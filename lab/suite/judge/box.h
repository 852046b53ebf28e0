/*
 * box.h - a solution in Python as a black box: a process that is asked for calls, in a sandbox
 *
 * suites/solve.py loads the solution there. The sandbox lets it read files, use GPUs and start a
 * compiler; it may write to one folder, which is removed with it, and reaches no network and no
 * other process (hold.h). All that a solution starts ends with it, and so does one that takes too
 * much of the machine (watch.h).
 *
 * A solution can change that script, so nothing it says is believed. The signs of all inputs are
 * told last, and the sum of the output's bits must be known when a call is done. The time that the
 * signs take is known from before the solution was loaded.
 */
#ifndef LAB_BOX_H
#define LAB_BOX_H

#include <stdbool.h>

#include "heed.h"
#include "lab/suite/python.h"
#include "lab/suite/suite.h"
#include "lab/trial/verdict.h"
#include "lab/verify/check.h"

typedef struct lab_box_command {
    const lab_python *python;
    const char *solution;  /* the file */
    const char *init;      /* the arguments of its model as JSON */
    const char *device;    /* torch's name: "cpu", "cuda:0" */
    heed_problem problem;  /* normalized, dense as [batch, heads, seq, dim]; or, if there is ... */
    const lab_task *model; /* ... this, any model: of what it takes and makes */
    const char *entry;     /* then: the class, "ModelNew" or "Model", ... */
    bool precise;          /* ... which computes in float64 */
    double load_seconds;   /* that loading and compiling may take; 0: 600 */
    double call_seconds;   /* and a request; 0: 60 */
    size_t memory;         /* bytes that its processes may have; 0: half of what is free */
    bool unsafe;           /* run it also where the system cannot hold it */
    bool (*interrupted)(void); /* asked every 0.1 s; may be NULL */
} lab_box_command;

typedef struct lab_box lab_box;

/* lab_box_open() starts the process and loads the solution. True, with a box to be closed; else
 * @outcome says why not, and *@box is NULL. */
bool lab_box_open(lab_box **box, const lab_box_command *command, lab_trial_outcome *outcome);
void lab_box_close(lab_box *box);

/* lab_box_subject() returns @box as a subject of verification. It can do its own problem alone. The
 * LSE is the laboratory's, since the suite asks for none. */
lab_subject lab_box_subject(lab_box *box);

/* lab_box_outcome() returns what came of the last request; the first failure stays. */
const lab_trial_outcome *lab_box_outcome(const lab_box *box);

/* lab_box_time() hands over @values and asks for one call. *@seconds becomes how long it took by
 * the laboratory's clock, from the signs of the inputs to the sum of the output, without the time
 * of the signs. The output is then lab_box_output(). */
bool lab_box_time(lab_box *box, const lab_values *values, double *seconds);
const void *lab_box_output(const lab_box *box);

/* lab_box_call() does so for a model, whose inputs are in float32 and whose output is then doubles;
 * *@changed says whether it left other inputs. */
bool lab_box_call(lab_box *box, const float *const *inputs, double *seconds, bool *changed);

/* lab_box_repeat() asks for @calls calls on the tensors that are there, timed as suites do: in the
 * process, by its own clock. *@claimed becomes the mean that the process says, *@seconds that of
 * the laboratory's clock. */
bool lab_box_repeat(lab_box *box, int calls, double *claimed, double *seconds);

#endif /* LAB_BOX_H */
