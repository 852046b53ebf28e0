/*
 * gates.h - the gates that a kernel must pass
 *
 * A gate checks the runs of a check, or runs the kernel on variations of the problem, and states
 * its finding in one line.
 */
#ifndef LAB_GATES_H
#define LAB_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/verify/check.h"

typedef enum lab_outcome {
    LAB_SKIP, /* does not apply, or could not be judged: see the reason */
    LAB_PASS,
    LAB_FAIL
} lab_outcome;

typedef struct lab_verdict {
    lab_outcome outcome;
    double figure;       /* largest error, divided by the allowed one; negative: no figure */
    heed_status kept_by; /* of a skipped gate: the error of memory or system that kept the
                            laboratory from judging; else HEED_OK */
    char reason[LAB_TEXT_SIZE];
} lab_verdict;

typedef void lab_gate_fn(const lab_check *check, lab_verdict *verdict);

typedef struct lab_gate {
    const char *name;
    const char *proves;
    bool property; /* runs the kernel on variations of normal values */
    lab_gate_fn *judge;
} lab_gate;

/* The number of gates. */
#define LAB_GATES 25

/* lab_gate_at() returns the @index-th gate; NULL past the last. The first checks whether the kernel
 * ran at all; if it did not, the others cannot be judged. */
const lab_gate *lab_gate_at(size_t index);

/* lab_gate_name() returns its name; NULL past the last. */
const char *lab_gate_name(size_t index);

/* lab_gate_index() returns the index of the gate @name, or LAB_GATES if there is none. */
size_t lab_gate_index(const char *name);

/* ---------------------------------------------------------------------------------------------- */
/* For the gates                                                                                  */
/* ---------------------------------------------------------------------------------------------- */

/* Verdicts. A figure that is not a number fails. */
void lab_verdict_pass(lab_verdict *verdict, double figure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lab_verdict_fail(lab_verdict *verdict, double figure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lab_verdict_skip(lab_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The laboratory, not the kernel, was refused memory or a system call. */
void lab_verdict_skip_status(lab_verdict *verdict, heed_status status);

/* "batch 0, head 3, query 17" */
typedef struct lab_row_text {
    char text[72];
} lab_row_text;
lab_row_text lab_row_print(const heed_problem *problem, int64_t row);

/* The largest ratio of an error to the allowed one, and its row. */
typedef struct lab_worst {
    double ratio;
    int64_t row;
    double error;
    double allowed;
    int64_t count; /* rows compared */
} lab_worst;
/* An infinite @allowed means that the row is not judged. */
void lab_worst_add(lab_worst *worst, int64_t row, double error, double allowed);

/* lab_judge_worst() passes if no error was larger than allowed; @what names the error. */
void lab_judge_worst(lab_verdict *verdict, const heed_problem *problem, const lab_worst *worst,
                     const char *what);

/* lab_note_left_out() adds to a verdict the number of rows of @expect that are not judged because
 * an expression is in doubt there. */
void lab_note_left_out(lab_verdict *verdict, const lab_expect *expect);

/* lab_judge_classes() returns true if the NaN and infinities of @run are where they belong in the
 * compared rows; otherwise it fails @verdict and returns false. */
bool lab_judge_classes(const lab_check *check, const lab_run *run, lab_verdict *verdict);

/* lab_run_row() writes the dim_v elements of O in a row to @o. */
void lab_run_row(const lab_run *run, const heed_problem *problem, int64_t row, double *o);

/* lab_add_logarithms() returns log(exp(a) + exp(b)), for LSEs. */
double lab_add_logarithms(double a, double b);

/* lab_worst_add_runs() adds the distance of O of two runs in a row. */
void lab_worst_add_runs(lab_worst *worst, const heed_problem *problem, const lab_run *a,
                        const lab_run *b, int64_t row, double allowed);

/* lab_worst_add_pair() adds the distances of O and the LSE of two runs in row @i of @expect, where
 * @times the budgets are allowed: if each is within them, the two differ by at most twice as much.
 */
void lab_worst_add_pair(lab_worst *worst, const heed_problem *problem, const lab_run *a,
                        const lab_run *b, const lab_expect *expect, int64_t i, double times);

/* lab_worst_add_errors() adds the errors of @run in the expected rows: of O if @output, and of the
 * LSE if @lse and it was requested. */
void lab_worst_add_errors(lab_worst *worst, const lab_check *check, const lab_run *run, bool output,
                          bool lse);

/* A variation of the values under check. */
typedef struct lab_variant {
    lab_values values; /* filled by the gate */
    lab_memo memo;     /* its expected results; LAB_MEMO_NONE: not needed */
    lab_run run;
    const lab_expect *expect; /* belongs to the case */
} lab_variant;

/* lab_variants_run() runs the kernel on each of the variants, and computes expected results where
 * @memo requests them. @status is the outcome of making their values: nothing is run unless it is
 * HEED_OK. Returns true if all succeeded; else @verdict has the failure. */
bool lab_variants_run(const lab_check *check, lab_variant *variants, int count, heed_status status,
                      lab_verdict *verdict);

/* lab_variants_destroy() frees them; zeroed ones are ignored. */
void lab_variants_destroy(lab_variant *variants, int count);

/* The gates of gates.c, gates_error.c, gates_memory.c, gates_property.c, gates_fresh.c,
 * gates_split.c and gates_operand.c. */
lab_gate_fn lab_gate_executes;
lab_gate_fn lab_gate_finite, lab_gate_error, lab_gate_lse, lab_gate_exact, lab_gate_range;
lab_gate_fn lab_gate_canaries, lab_gate_inputs, lab_gate_appended, lab_gate_written;
lab_gate_fn lab_gate_deterministic, lab_gate_optional_lse, lab_gate_unaligned;
lab_gate_fn lab_gate_linear, lab_gate_permuted, lab_gate_shifted, lab_gate_causal;
lab_gate_fn lab_gate_fresh;
lab_gate_fn lab_gate_merged, lab_gate_batch;
lab_gate_fn lab_gate_spelled, lab_gate_shown, lab_gate_sinks, lab_gate_neutral, lab_gate_prefixed;

#endif /* LAB_GATES_H */
