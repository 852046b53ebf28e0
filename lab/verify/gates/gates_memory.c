/*
 * gates_memory.c - gates for writes to memory, determinism and alignment
 */
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/reference/reference.h"

/* Passes with @words unless one of two runs has a fault. */
static void judge_faults(lab_verdict *verdict, const char *one, const char *other,
                         const char *words)
{
    const char *fault = *one ? one : other;
    if (*fault)
        lab_verdict_fail(verdict, -1, "%s", fault);
    else
        lab_verdict_pass(verdict, -1, "%s", words);
}

void lab_gate_canaries(const lab_check *check, lab_verdict *verdict)
{
    judge_faults(verdict, check->runs[0].spoiled, check->runs[1].spoiled,
                 "walls, slack and gaps are whole");
}

void lab_gate_inputs(const lab_check *check, lab_verdict *verdict)
{
    judge_faults(verdict, check->runs[0].changed, check->runs[1].changed, "unchanged");
}

void lab_gate_appended(const lab_check *check, lab_verdict *verdict)
{
    if (check->values->problem.append == 0)
        lab_verdict_skip(verdict, "nothing is appended");
    else
        judge_faults(verdict, check->runs[0].missing, check->runs[1].missing, "to the bit");
}

static bool holds_poison(const lab_check *check, int r, int64_t index)
{
    heed_type type = check->values->problem.type;
    size_t element = heed_type_size(type);
    uint32_t bits = 0;
    memcpy(&bits, (const char *)check->runs[r].o + (size_t)index * element, element);
    return bits == lab_poison(check->seed, r ? -1 : 1, false, type, index);
}

static bool lse_holds_poison(const lab_check *check, int r, int64_t row)
{
    uint32_t bits;
    memcpy(&bits, &check->runs[r].lse[row], sizeof bits);
    return bits == lab_poison(check->seed, r ? -1 : 1, true, HEED_F32, row);
}

/* The poison of the two runs differs in every element: one that holds its poison in both was not
 * written.
 */
void lab_gate_written(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    for (int64_t row = 0; row < lab_rows(problem); row++) {
        for (int64_t c = 0; c < problem->dim_v; c++) {
            int64_t index = row * problem->dim_v + c;
            if (holds_poison(check, 0, index) && holds_poison(check, 1, index)) {
                lab_verdict_fail(verdict, -1, "O is not written: %s, column %lld",
                                 lab_row_print(problem, row).text, (long long)c);
                return;
            }
        }
        if (lse_holds_poison(check, 0, row) && lse_holds_poison(check, 1, row)) {
            lab_verdict_fail(verdict, -1, "LSE is not written: %s",
                             lab_row_print(problem, row).text);
            return;
        }
    }
    lab_verdict_pass(verdict, -1, "all %lld row%s", (long long)lab_rows(problem),
                     lab_plural(lab_rows(problem)));
}

/* Runs the kernel once more, as @how says; false, with a verdict, if it did not run. */
static bool run_again(lab_run *run, const lab_check *check, lab_layout layout, const char *how,
                      lab_verdict *verdict)
{
    heed_status status = lab_run_create(run, check, check->values, layout);
    if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    else if (run->status != HEED_OK)
        lab_verdict_fail(verdict, -1, "%s: %s", how, heed_message());
    return status == HEED_OK && run->status == HEED_OK;
}

/* Repeats the second run. A device may use other code, with other rounding, for tensors of another
 * alignment; with equal alignment the bits must be equal. */
static void judge_again(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_layout layout = { .edge = LAB_EDGE_START, .sign = 1, .lse = true };
    lab_run run;
    int64_t row;
    lab_trace_step(check->trace, "once more");
    bool ran = run_again(&run, check, layout, "once more", verdict);
    if (ran && lab_run_equal(problem, &check->runs[1], &run, &row))
        lab_verdict_pass(verdict, -1, "two runs of equal alignment are equal to the bit");
    else if (ran)
        lab_verdict_fail(verdict, -1, "two runs differ: %s", lab_row_print(problem, row).text);
    lab_run_destroy(&run);
}

void lab_gate_deterministic(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_run *runs = check->runs;
    int64_t row;
    if (!runs[0].needs.deterministic)
        lab_verdict_skip(verdict, "it does not claim to be");
    else if (lab_run_equal(problem, &runs[0], &runs[1], &row))
        lab_verdict_pass(verdict, -1, "two runs are equal to the bit");
    else if (check->subject->run_away && runs[0].aligned != runs[1].aligned)
        judge_again(check, verdict);
    else
        lab_verdict_fail(verdict, -1, "two runs differ: %s", lab_row_print(problem, row).text);
}

/* Bits are compared if the kernel claims to be deterministic, but not with unusual values, where
 * the bits of a NaN may differ. */
static bool has_equal_bits(const lab_check *check, const lab_run *run)
{
    bool usual = check->inputs == lab_inputs_at(0) || check->inputs == &lab_inputs_captured;
    return run->needs.deterministic && usual;
}

/* Fails if the run without the LSE is wrong. If the run with it is wrong as well, other gates
 * report that. */
static void judge_errors_without(const lab_check *check, const lab_run *run, lab_verdict *verdict)
{
    lab_worst with = { 0 }, without = { 0 };
    lab_verdict said = *verdict;
    lab_worst_add_errors(&with, check, &check->runs[0], true, true);
    if (with.ratio > 1 || !lab_judge_classes(check, &check->runs[0], &said)) {
        lab_verdict_skip(verdict, "it is wrong with the LSE, too");
        return;
    }
    lab_worst_add_errors(&without, check, run, true, true);
    if (lab_judge_classes(check, run, verdict))
        lab_judge_worst(verdict, &check->values->problem, &without, "error without LSE");
}

static void judge_without(const lab_check *check, const lab_run *run, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    int64_t row;
    if (run->spoiled[0] && !check->runs[0].spoiled[0] && !check->runs[1].spoiled[0])
        lab_verdict_fail(verdict, -1, "without LSE: %s", run->spoiled);
    else if (!has_equal_bits(check, run))
        judge_errors_without(check, run, verdict);
    else if (lab_run_equal(problem, &check->runs[0], run, &row))
        lab_verdict_pass(verdict, -1, "equal to the bit");
    else
        lab_verdict_fail(verdict, -1, "O differs without LSE: %s",
                         lab_row_print(problem, row).text);
}

void lab_gate_optional_lse(const lab_check *check, lab_verdict *verdict)
{
    const lab_layout layout = { .edge = LAB_EDGE_END, .sign = 1, .lse = false };
    lab_run run;
    lab_trace_step(check->trace, "without LSE");
    if (run_again(&run, check, layout, "without LSE", verdict))
        judge_without(check, &run, verdict);
    lab_run_destroy(&run);
}

/* Adds the errors of a run whose tensors lie at @edge; false, with a verdict, if they are unknown
 * or the run is wrong in another way. */
static bool add_unaligned(lab_worst *worst, const lab_check *check, lab_edge edge, const char *how,
                          lab_verdict *verdict)
{
    const lab_layout layout = { .edge = edge, .sign = 1, .lse = true };
    lab_run run;
    bool well = run_again(&run, check, layout, how, verdict);
    if (check->runs[0].missing[0]) /* another gate reports that */
        run.missing[0] = '\0';
    if (well && (run.spoiled[0] || run.changed[0] || run.missing[0])) {
        lab_verdict_fail(verdict, -1, "%s: %s", how,
                         run.spoiled[0]   ? run.spoiled
                         : run.changed[0] ? run.changed
                                          : run.missing);
        well = false;
    } else if (well) {
        lab_worst_add_errors(worst, check, &run, true, true);
        well = worst->ratio > 1 || lab_judge_classes(check, &run, verdict);
    }
    lab_run_destroy(&run);
    return well;
}

/* In the first runs tensors are aligned to a page, or by the chance of their sizes. Here they are
 * aligned to their elements only, which rules out aligned vector loads: first all tensors alike,
 * then each differently. A kernel may round differently then, so bits are not compared. */
void lab_gate_unaligned(const lab_check *check, lab_verdict *verdict)
{
    static const struct {
        lab_edge edge;
        const char *how;
    } ways[] = { { LAB_EDGE_ODD, "with unaligned tensors" },
                 { LAB_EDGE_APART, "with tensors aligned each otherwise" } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        lab_worst worst = { 0 };
        char what[48];
        lab_trace_step(check->trace, ways[i].how);
        if (!add_unaligned(&worst, check, ways[i].edge, ways[i].how, verdict))
            return;
        snprintf(what, sizeof what, "%s: error", ways[i].how);
        lab_judge_worst(verdict, &check->values->problem, &worst, what);
        if (verdict->outcome == LAB_FAIL)
            return;
    }
}
