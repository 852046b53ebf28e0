/*
 * trial.h - one candidate, tried: compiled in a sandbox, run in another process, judged from
 * outside
 *
 *     lab_trial *trial;
 *     lab_trial_outcome outcome;
 *     size_t workspace;
 *
 *     if (lab_trial_open(&trial, &candidate, NULL, &outcome) &&
 *         lab_trial_prepare(trial, &problem, &workspace, &outcome) &&
 *         lab_trial_run(trial, &set, 1, 0, &outcome))
 *         ...                              the outputs of the set are what the candidate made
 *     lab_trial_close(trial);              outcome.verdict and outcome.text say what went wrong
 *
 * Nothing a candidate does ends or blocks the caller: a hang, a crash, a forbidden system call are
 * verdicts, its process is killed, and the next call starts another one. Inputs are copied to
 * memory that the process cannot write to; of the outputs, what lies there when the process is
 * frozen after its answer is copied back, gaps and slack with it, so that their maker can
 * judge.
 *
 * Use a trial from one thread: its process ends with the thread that started it. A CUDA candidate
 * is launched by a process of its own too, on copies in the device's memory.
 */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/trial/arena.h"
#include "lab/trial/candidate.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/limits.h"
#include "lab/trial/verdict.h"

typedef struct lab_trial lab_trial;

/* The tensors of one execution, in host memory: Q, K, V, O, LSE, workspace. */
#define LAB_SPANS LAB_WIRE_ROOMS
typedef struct lab_set {
    lab_span span[LAB_SPANS];
} lab_set;

/* lab_set_of() returns the tensors of @problem, normalized, at @buffers, with nothing around them.
 */
lab_set lab_set_of(const heed_problem *problem, const heed_buffers *buffers);

/* lab_trial_open() checks and compiles @candidate, which is copied as far as it is needed later,
 * and starts a process with it. @limits may be NULL. Returns true, with a trial to be closed; else
 * *@trial is NULL, unless the candidate compiled and failed to start, so that its code and log can
 * be asked for. C candidates run only where lab_protections_suffice(), or limits->unsafe is set. */
bool lab_trial_open(lab_trial **trial, const lab_candidate *candidate, const lab_limits *limits,
                    lab_trial_outcome *outcome);

/* lab_trial_prepare() says that @problem, normalized, is what the next runs are about, and writes
 * the bytes of workspace that each execution needs to *@workspace. */
bool lab_trial_prepare(lab_trial *trial, const heed_problem *problem, size_t *workspace,
                       lab_trial_outcome *outcome);

/* lab_trial_run() executes the prepared problem once on each of @count sets, 1 to LAB_WIRE_SETS, in
 * order, within @seconds all together (0: those of the limits). On success the outputs are written
 * to the sets, and @outcome->seconds is the time of all executions: by the laboratory's clock, from
 * the request until the process is frozen, which takes some 50 microseconds more than computing; of
 * a CUDA candidate by the device's own timers. The process finds the values when the clock has
 * started. LAB_TRIAL_WROTE_OUTSIDE if a byte of a room outside of its tensor was changed; the
 * outputs are then written too. */
bool lab_trial_run(lab_trial *trial, const lab_set *sets, int count, double seconds,
                   lab_trial_outcome *outcome);

/* Calls to be timed, one after another, on tensors that the process has never seen. */
typedef struct lab_calls {
    size_t size[LAB_SPANS]; /* bytes, by LAB_WIRE_Q and so on; 0: there is none */
    int count;              /* 1 to LAB_WIRE_SETS */

    /* Writes the values of an input of a call: size[@index] bytes. */
    void (*fill)(void *data, int call, int index, void *to);
    void *data;

    heed_buffers made[LAB_WIRE_SETS]; /* of each call, to be looked at: in memory of the trial's,
                                       * valid until something else is asked of it */
} lab_calls;

/* lab_trial_time() executes the prepared problem once for each of @calls, within the seconds
 * of the limits, and takes the time as lab_trial_run() does. Which memory a call gets is drawn by
 * lot, for all calls by the same rule. Values are written when the process stands still. Outputs
 * hold bits that are all ones before: an element that still does was not written. False, with
 * @outcome, for whatever the candidate did wrong, writing beside an output included. */
bool lab_trial_time(lab_trial *trial, lab_calls *calls, lab_trial_outcome *outcome);

/* lab_trial_renew() ends the process and gives its memory back; the next call starts another one,
 * in other memory and with addresses of its own. It stays on CPU @cpu, or runs anywhere if that is
 * -1; that of a CUDA candidate, which has no code on the CPU, always does. False, with @outcome, if
 * there is no memory to share. */
bool lab_trial_renew(lab_trial *trial, int cpu, lab_trial_outcome *outcome);

/* lab_trial_on_device() says whether it is one of a CUDA candidate, whose start may take a second.
 */
bool lab_trial_on_device(const lab_trial *trial);

/* lab_trial_code() returns what was compiled, and the compiler's log. It belongs to @trial. */
const lab_code *lab_trial_code(const lab_trial *trial);

/* lab_trial_probe() asks, in a process of its own and with a built-in kernel, whether the CUDA
 * device that @limits name is well: to be called after a CUDA candidate that was lost, hung or
 * crashed. True if a known answer came out right; *@arch is then its compute capability, 10 * major
 * + minor.
 */
bool lab_trial_probe(const lab_limits *limits, int *arch, lab_trial_outcome *outcome);

/* lab_trial_close() ends the process; NULL is ignored. */
void lab_trial_close(lab_trial *trial);

#endif /* LAB_TRIAL_H */
