/*
 * trial.h - the trial of one candidate: compiled in a sandbox, run in another process, judged from
 * outside
 *
 *     lab_trial *trial;
 *     lab_trial_outcome outcome;
 *     size_t workspace;
 *
 *     if (lab_trial_open(&trial, &candidate, NULL, &outcome) &&
 *         lab_trial_prepare(trial, &problem, &workspace, &outcome) &&
 *         lab_trial_run(trial, &set, 1, 0, &outcome))
 *         ...                              the outputs of the set are the candidate's
 *     lab_trial_close(trial);              outcome.verdict and outcome.text have any error
 *
 * A candidate can never end or block the caller: a hang, a crash or a forbidden system call becomes
 * a verdict, its process is killed, and the next call starts another one. Inputs are copied to
 * memory that the process cannot write to. Outputs are copied back once the process is frozen after
 * its reply, including gaps and slack, for the caller to check.
 *
 * Use a trial from one thread: its process ends with the thread that started it. A CUDA candidate
 * is also launched by a separate process, on copies in device memory.
 */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/trial/arena.h"
#include "lab/trial/candidate.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/verdict.h"

typedef struct lab_trial lab_trial;

/* The tensors of one execution, in host memory: Q, K, V, O, LSE, workspace. */
typedef struct lab_set {
    lab_span span[LAB_BLOCKS];
} lab_set;

/* lab_set_of() returns the tensors of @problem, normalized, at @buffers, without surrounding
 * memory.
 */
lab_set lab_set_of(const heed_problem *problem, const heed_buffers *buffers);

/* lab_trial_open() checks and compiles @candidate, copies what is needed later, and starts a
 * process with it. @limits may be NULL. Returns true, with a trial to be closed; else *@trial is
 * NULL, unless the candidate compiled but failed to start, in which case its code and log are
 * available. C candidates run only where lab_protections_suffice(), or limits->unsafe is set. */
bool lab_trial_open(lab_trial **trial, const lab_candidate *candidate, const lab_limits *limits,
                    lab_trial_outcome *outcome);

/* lab_trial_prepare() sets @problem, normalized, for the next runs, and writes the workspace size
 * of an execution to *@workspace. */
bool lab_trial_prepare(lab_trial *trial, const heed_problem *problem, size_t *workspace,
                       lab_trial_outcome *outcome);

/* lab_trial_run() executes the prepared problem once on each of @count sets, 1 to LAB_WIRE_SETS, in
 * order, within @seconds in total (0: those of the limits). On success the outputs are written to
 * the sets, and @outcome->seconds is the time of all executions: by the laboratory's clock, from
 * the request until the process is frozen, some 50 microseconds longer than the computation; for a
 * CUDA candidate by the device's timers. The process can read the values only after the clock has
 * started. LAB_TRIAL_WROTE_OUTSIDE if a byte of a room outside its tensor was changed; the outputs
 * are written even then. */
bool lab_trial_run(lab_trial *trial, const lab_set *sets, int count, double seconds,
                   lab_trial_outcome *outcome);

/* Calls to be timed, one after another, on tensors that the process has never seen. */
typedef struct lab_calls {
    size_t size[LAB_BLOCKS]; /* bytes, by LAB_Q and so on; 0: none */
    int count;               /* 1 to LAB_WIRE_SETS */

    /* Writes the values of an input of a call: size[@index] bytes. */
    void (*fill)(void *data, int call, int index, void *to);
    void *data;

    heed_buffers made[LAB_WIRE_SETS]; /* of each call, to be checked: in the trial's memory, valid
                                         until its next request */
} lab_calls;

/* lab_trial_time() executes the prepared problem once for each of @calls, within the seconds of the
 * limits, and measures time like lab_trial_run(). The memory of each call is random, by the same
 * rule for all calls. Values are written while the process is stopped. Outputs are initialized with
 * all bits set: an element that still is so was not written. Returns false, with @outcome, for any
 * fault of the candidate, including writes next to an output. */
bool lab_trial_time(lab_trial *trial, lab_calls *calls, lab_trial_outcome *outcome);

/* lab_trial_renew() ends the process and frees its memory; the next call starts another one, with
 * other memory and addresses. It is pinned to CPU @cpu, or not if that is -1; the process of a CUDA
 * candidate, which has no code on the CPU, never is. Returns false, with @outcome, if there is no
 * memory to share. */
bool lab_trial_renew(lab_trial *trial, int cpu, lab_trial_outcome *outcome);

/* lab_trial_on_device() returns true for a CUDA candidate, whose start may take a second. */
bool lab_trial_on_device(const lab_trial *trial);

/* lab_trial_code() returns the compiled code and the compiler's log, owned by @trial. */
const lab_code *lab_trial_code(const lab_trial *trial);

/* lab_trial_probe() checks, in a separate process with a built-in kernel, that the CUDA device of
 * @limits works. Call it after a CUDA candidate was lost, hung or crashed. Returns true if the
 * known result is right; *@arch is then the compute capability, 10 * major + minor.
 */
bool lab_trial_probe(const lab_limits *limits, int *arch, lab_trial_outcome *outcome);

/* lab_trial_close() ends the process; NULL is ignored. */
void lab_trial_close(lab_trial *trial);

#endif /* LAB_TRIAL_H */
