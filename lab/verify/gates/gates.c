/*
 * gates.c - the table of gates, and their common functions
 */
#include "lab/verify/gates/gates.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "lab/tensor/convert.h"
#include "lab/verify/reference/reference.h"

static const lab_gate table[LAB_GATES] = {
    { "executes", "the kernel accepts the problem and returns success", false, lab_gate_executes },
    { "canaries",
      "only the outputs are changed: no byte around them, no floating-point mode of the caller",
      false, lab_gate_canaries },
    { "inputs", "the inputs are unchanged", false, lab_gate_inputs },
    { "appended", "new keys and values are in the cache, and the rest of it is unchanged", false,
      lab_gate_appended },
    { "written", "every element of the outputs is written", false, lab_gate_written },
    { "finite", "NaN and infinities are where they belong, and only there", false,
      lab_gate_finite },
    { "error", "O is as close to the float64 reference as the precision allows", false,
      lab_gate_error },
    { "lse", "so is the LSE", false, lab_gate_lse },
    { "exact", "results that need no rounding are exact, except in float32", false,
      lab_gate_exact },
    { "range", "outputs lie between the smallest and the largest visible value of their column",
      false, lab_gate_range },
    { "deterministic", "equal inputs give equal bits, wherever they lie in memory", false,
      lab_gate_deterministic },
    { "optional-lse", "O is the same, or as accurate, with and without the LSE", false,
      lab_gate_optional_lse },
    { "unaligned", "tensors may lie at any address that fits their elements", true,
      lab_gate_unaligned },
    { "fresh", "each of many calls computes the result of its current values, wherever they lie",
      true, lab_gate_fresh },
    { "linear", "the output of a sum of values is the sum of the outputs", true, lab_gate_linear },
    { "permuted", "permuting keys together with their values changes nothing", true,
      lab_gate_permuted },
    { "shifted", "a constant added to all logits of a row changes only its LSE", true,
      lab_gate_shifted },
    { "causal", "rows do not depend on keys that they do not see", true, lab_gate_causal },
    { "merged", "two halves of the keys, merged by their LSE, equal the whole", true,
      lab_gate_merged },
    { "batch", "a batch element alone gives the same result as in its batch", true,
      lab_gate_batch },
    { "spelled", "words of a problem equal the expressions with the same meaning", true,
      lab_gate_spelled },
    { "shown", "a mask of bits equals one of bytes, and a bias of -infinity", true,
      lab_gate_shown },
    { "sinks", "a sink scales O by sigmoid(LSE - sink), and adds itself to the LSE", true,
      lab_gate_sinks },
    { "neutral", "a bias and slopes of 0 change nothing", true, lab_gate_neutral },
    { "prefixed", "a shared prefix equals a separate copy in each batch element", true,
      lab_gate_prefixed },
};

const lab_gate *lab_gate_at(size_t index)
{
    return index < LAB_GATES ? &table[index] : NULL;
}

const char *lab_gate_name(size_t index)
{
    return index < LAB_GATES ? table[index].name : NULL;
}

size_t lab_gate_index(const char *name)
{
    size_t i = 0;
    while (i < LAB_GATES && strcmp(table[i].name, name) != 0)
        i++;
    return i;
}

/* ---------------------------------------------------------------------------------------------- */
/* Verdicts                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 0))) static void set_verdict(lab_verdict *verdict,
                                                              lab_outcome outcome, double figure,
                                                              const char *format, va_list arguments)
{
    verdict->outcome = outcome;
    verdict->figure = figure;
    verdict->kept_by = HEED_OK;
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
}

void lab_verdict_pass(lab_verdict *verdict, double figure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_verdict(verdict, isnan(figure) ? LAB_FAIL : LAB_PASS, figure, format, arguments);
    va_end(arguments);
}

void lab_verdict_fail(lab_verdict *verdict, double figure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_verdict(verdict, LAB_FAIL, figure, format, arguments);
    va_end(arguments);
}

void lab_verdict_skip(lab_verdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_verdict(verdict, LAB_SKIP, -1, format, arguments);
    va_end(arguments);
}

void lab_verdict_skip_status(lab_verdict *verdict, heed_status status)
{
    lab_verdict_skip(verdict, "not judged: %s",
                     status == HEED_ERR_NO_MEMORY ? "not enough memory" : "the system refused");
    verdict->kept_by = status;
}

lab_row_text lab_row_print(const heed_problem *problem, int64_t row)
{
    lab_row at = lab_row_at(problem, row);
    lab_row_text text;
    snprintf(text.text, sizeof text.text, "batch %lld, head %lld, query %lld", (long long)at.batch,
             (long long)at.head, (long long)at.query);
    return text;
}

void lab_worst_add(lab_worst *worst, int64_t row, double error, double allowed)
{
    if (isinf(allowed))
        return;
    double ratio = error == 0 ? 0 : error / allowed;
    if (isnan(ratio))
        ratio = INFINITY;
    if (worst->count == 0 || ratio > worst->ratio) {
        worst->ratio = ratio;
        worst->row = row;
        worst->error = error;
        worst->allowed = allowed;
    }
    worst->count++;
}

/* A verdict must show that the limits were lenient. */
static const char *leniency(const heed_problem *problem)
{
    static const char *const products[HEED_PRODUCTS_COUNT] = { "", " with products=tf32",
                                                               " with products=bf16x3" };
    return problem->accumulate == HEED_ACC_F16 ? " with acc=f16" : products[problem->products];
}

void lab_judge_worst(lab_verdict *verdict, const heed_problem *problem, const lab_worst *worst,
                     const char *what)
{
    if (worst->count == 0) {
        lab_verdict_skip(verdict, "there is nothing to compare");
    } else if (worst->ratio <= 1) {
        lab_verdict_pass(verdict, worst->ratio, "%s at most %.2f of what is allowed%s", what,
                         worst->ratio, leniency(problem));
    } else {
        lab_row_text where = lab_row_print(problem, worst->row);
        lab_verdict_fail(verdict, worst->ratio, "%s %.3g; %.3g is allowed%s: %s", what,
                         worst->error, worst->allowed, leniency(problem), where.text);
    }
}

void lab_note_left_out(lab_verdict *verdict, const lab_expect *expect)
{
    size_t length = strlen(verdict->reason);
    if (expect->left_out > 0)
        snprintf(verdict->reason + length, sizeof verdict->reason - length,
                 "; %lld of %lld row%s left out: an expression is in doubt there",
                 (long long)expect->left_out, (long long)expect->count, lab_plural(expect->count));
}

/* ---------------------------------------------------------------------------------------------- */
/* Rows                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

void lab_run_row(const lab_run *run, const heed_problem *problem, int64_t row, double *o)
{
    lab_elements_load(problem->type, run->o, row * problem->dim_v, problem->dim_v, o);
}

double lab_add_logarithms(double a, double b)
{
    double high = fmax(a, b), low = fmin(a, b);
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

void lab_worst_add_runs(lab_worst *worst, const heed_problem *problem, const lab_run *a,
                        const lab_run *b, int64_t row, double allowed)
{
    double first[HEED_DIM_MAX], second[HEED_DIM_MAX];
    lab_run_row(a, problem, row, first);
    lab_run_row(b, problem, row, second);
    lab_worst_add(worst, row, lab_row_distance(first, second, problem->dim_v), allowed);
}

void lab_worst_add_pair(lab_worst *worst, const heed_problem *problem, const lab_run *a,
                        const lab_run *b, const lab_expect *expect, int64_t i, double times)
{
    const int64_t row = expect->rows[i];
    const double lse = (double)a->lse[row], other = (double)b->lse[row];
    lab_worst_add_runs(worst, problem, a, b, row, times * expect->o_budget[i]);
    if (isfinite(expect->lse[i]) || isfinite(lse) || isfinite(other))
        lab_worst_add(worst, row, fabs(lse - other), times * expect->lse_budget[i]);
}

void lab_worst_add_errors(lab_worst *worst, const lab_check *check, const lab_run *run, bool output,
                          bool lse)
{
    const lab_expect *expect = check->expect;
    double o[HEED_DIM_MAX];
    for (int64_t i = 0; i < expect->count; i++) {
        const int64_t row = expect->rows[i];
        lab_run_row(run, &check->values->problem, row, o);
        if (output)
            lab_worst_add(worst, row, lab_row_distance(o, expect->o + i * expect->dim, expect->dim),
                          expect->o_budget[i]);
        if (lse && run->lse && isfinite(expect->lse[i]))
            lab_worst_add(worst, row, fabs((double)run->lse[row] - expect->lse[i]),
                          expect->lse_budget[i]);
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* Variations of the values                                                                       */
/* ---------------------------------------------------------------------------------------------- */

static heed_status run_one(const lab_check *check, lab_variant *variant)
{
    const lab_layout layout = { .edge = LAB_EDGE_END, .sign = 1, .lse = true };
    heed_status status = lab_run_create(&variant->run, check, &variant->values, layout);
    if (status != HEED_OK || variant->run.status != HEED_OK || variant->memo == LAB_MEMO_NONE)
        return status;
    lab_expect **memo = &check->memos[variant->memo];
    heed_buffers data = lab_values_buffers(&variant->values);
    if (!*memo)
        status = lab_expect_create(memo, &variant->values.problem, &data, &check->sampling);
    variant->expect = *memo;
    return status;
}

bool lab_variants_run(const lab_check *check, lab_variant *variants, int count, heed_status status,
                      lab_verdict *verdict)
{
    for (int i = 0; i < count && status == HEED_OK; i++) {
        lab_values_share(&variants[i].values);
        status = run_one(check, &variants[i]);
        heed_status refused = status == HEED_OK ? variants[i].run.status : HEED_OK;
        if (refused == HEED_ERR_UNSUPPORTED)
            lab_verdict_skip(verdict, "cannot do a variation of the problem: %s", heed_message());
        else if (refused != HEED_OK)
            lab_verdict_fail(verdict, -1, "on a variation of the problem: %s", heed_message());
        if (refused != HEED_OK)
            return false;
    }
    if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    return status == HEED_OK;
}

void lab_variants_destroy(lab_variant *variants, int count)
{
    for (int i = 0; i < count; i++) {
        lab_values_destroy(&variants[i].values);
        lab_run_destroy(&variants[i].run);
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* The first gate                                                                                 */
/* ---------------------------------------------------------------------------------------------- */

void lab_gate_executes(const lab_check *check, lab_verdict *verdict)
{
    for (int i = 0; i < 2; i++) {
        heed_status status = check->runs[i].status;
        if (status == HEED_OK)
            continue;
        if (status == HEED_ERR_UNSUPPORTED)
            lab_verdict_skip(verdict, "%s", heed_message());
        else if (check->subject->run_away) /* the status of its process */
            lab_verdict_fail(verdict, -1, "%s", heed_message());
        else
            lab_verdict_fail(verdict, -1, "returned %s: %s", heed_status_name(status),
                             heed_message());
        return;
    }
    lab_verdict_pass(verdict, -1, "ran twice");
}
