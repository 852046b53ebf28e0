/*
 * gates_error.c - gates that compare outputs with the expected ones
 */
#include <math.h>

#include "base/plural.h"
#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/products.h"
#include "lab/verify/reference/reference.h"

/* Fails with the reason "O is 3 instead of NaN" for @column of O, or for the LSE if @column is
 * -1. */
static void fail_class(lab_verdict *verdict, const lab_check *check, int64_t i, int64_t column,
                       double value)
{
    const lab_expect *expect = check->expect;
    lab_row_text where = lab_row_print(&check->values->problem, expect->rows[i]);
    const char *or_nan = lab_expect_weightless(expect, i) ? " or NaN" : "";
    if (column == -1)
        lab_verdict_fail(verdict, -1, "LSE is %g instead of %g%s: %s", value, expect->lse[i],
                         or_nan, where.text);
    else
        lab_verdict_fail(verdict, -1, "O is %g instead of %g%s: %s, column %lld", value,
                         expect->o[i * expect->dim + column], or_nan, where.text,
                         (long long)column);
}

bool lab_judge_classes(const lab_check *check, const lab_run *run, lab_verdict *verdict)
{
    const lab_expect *expect = check->expect;
    const heed_problem *problem = &check->values->problem;
    double o[HEED_DIM_MAX];
    for (int64_t i = 0; i < expect->count; i++) {
        lab_run_row(run, problem, expect->rows[i], o);
        const float *lse = run->lse ? &run->lse[expect->rows[i]] : NULL;
        int64_t column = lab_expect_misplaced(expect, i, o, lse);
        if (column == expect->dim)
            continue;
        fail_class(verdict, check, i, column, column == -1 ? (double)*lse : o[column]);
        return false;
    }
    return true;
}

void lab_gate_finite(const lab_check *check, lab_verdict *verdict)
{
    if (lab_judge_classes(check, &check->runs[0], verdict) &&
        lab_judge_classes(check, &check->runs[1], verdict))
        lab_verdict_pass(verdict, -1, "on %lld row%s", (long long)check->expect->count,
                         lab_plural(check->expect->count));
}

/* Turns a pass of @verdict into a skip if every judged row of @expect is tied: the budgets of tied
 * rows are so large that passing proves little. */
static void judge_untied(lab_verdict *verdict, const lab_expect *expect)
{
    int64_t judged = 0, tied = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        judged += isfinite(expect->o_budget[i]);
        tied += isfinite(expect->o_budget[i]) && expect->tied[i];
    }
    if (verdict->outcome == LAB_PASS && tied > 0 && tied == judged)
        lab_verdict_skip(verdict, "rounding decides which key of a row is the heaviest");
}

void lab_gate_error(const lab_check *check, lab_verdict *verdict)
{
    lab_worst worst = { 0 };
    for (int r = 0; r < 2; r++)
        lab_worst_add_errors(&worst, check, &check->runs[r], true, false);
    lab_judge_worst(verdict, &check->values->problem, &worst, "row error");
    judge_untied(verdict, check->expect);
    lab_note_left_out(verdict, check->expect);
}

void lab_gate_lse(const lab_check *check, lab_verdict *verdict)
{
    lab_worst worst = { 0 };
    for (int r = 0; r < 2; r++)
        lab_worst_add_errors(&worst, check, &check->runs[r], false, true);
    lab_judge_worst(verdict, &check->values->problem, &worst, "LSE error");
    lab_note_left_out(verdict, check->expect);
}

/* With exact inputs every live logit is 0, and exp(LSE) is the number of live keys. The mean of a
 * power of two of them, up to 16, needs no rounding. */
static bool needs_no_rounding(double lse)
{
    int exponent;
    double live = nearbyint(exp(lse));
    return live >= 1 && live <= 16 && frexp(live, &exponent) == 0.5;
}

/* A kernel that merges partial results weights them by their float32 LSEs, which is not exact. With
 * values up to 8 the error is at most this; one rounding to f16 or bf16 would cost 64 times as
 * much. */
#define MERGE_ERROR (16 * 8 * 0x1p-24)

void lab_gate_exact(const lab_check *check, lab_verdict *verdict)
{
    const lab_expect *expect = check->expect;
    const heed_problem *problem = &check->values->problem;
    double o[HEED_DIM_MAX];
    int64_t judged = 0;
    if (problem->prefix > 0 && problem->type != HEED_F32) {
        lab_verdict_skip(verdict,
                         "the results of the prefix and of the remaining keys are both rounded");
        return;
    }
    for (int64_t i = 0; i < expect->count && check->inputs->exact; i++) {
        if (!needs_no_rounding(expect->lse[i]) || isinf(expect->o_budget[i]))
            continue;
        judged++;
        lab_run_row(&check->runs[0], problem, expect->rows[i], o);
        for (int64_t c = 0; c < expect->dim; c++) {
            double expected = expect->o[i * expect->dim + c];
            if (fabs(o[c] - expected) <= MERGE_ERROR)
                continue;
            lab_row_text where = lab_row_print(problem, expect->rows[i]);
            lab_verdict_fail(verdict, -1, "O is %.9g instead of %.9g: %s, column %lld", o[c],
                             expected, where.text, (long long)c);
            return;
        }
    }
    if (judged)
        lab_verdict_pass(verdict, -1, "on %lld row%s", (long long)judged, lab_plural(judged));
    else
        lab_verdict_skip(verdict, "every answer for these inputs needs rounding");
}

/* ---------------------------------------------------------------------------------------------- */
/* Range                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* The range of values that rows of one key/value head have seen so far, by column. */
typedef struct seen_range {
    double low[HEED_DIM_MAX];
    double high[HEED_DIM_MAX];
    lab_range keys;
    int64_t batch;
} seen_range;

/* Adds the values of @keys to the range, which is reset first unless they begin at the same key. */
static void see(seen_range *seen, const lab_check *check, int64_t batch, int64_t head,
                lab_range keys)
{
    const lab_block *v = &check->values->block[LAB_V];
    double value[HEED_DIM_MAX];
    if (seen->keys.begin != keys.begin)
        seen->keys = (lab_range){ keys.begin, keys.begin };
    for (int64_t *j = &seen->keys.end; *j < keys.end; ++*j) {
        bool first = *j == keys.begin;
        int64_t at = lab_view_at(&v->view, batch, *j, head);
        lab_elements_load(v->view.type, v->region.data, at, v->view.dim, value);
        for (int64_t c = 0; c < v->view.dim; c++) {
            if (first || value[c] < seen->low[c])
                seen->low[c] = value[c];
            if (first || value[c] > seen->high[c])
                seen->high[c] = value[c];
        }
    }
}

/* Adds the values that a row may see. */
static void see_row(seen_range *seen, const lab_check *check, lab_row row)
{
    const heed_problem *problem = &check->values->problem;
    const heed_buffers data = lab_values_buffers(check->values);
    int64_t batch, head = lab_row_kv_head(problem, row);
    lab_range keys = lab_row_keys(problem, &data, row, &batch);
    if (!lab_packed(problem))
        keys = lab_visible(problem, row.query);
    if (lab_packed(problem) && (seen->keys.begin != keys.begin || seen->batch != batch))
        seen->keys = (lab_range){ 0, 0 };
    seen->batch = batch;
    see(seen, check, batch, head, keys);
}

/* With half-precision accumulation a row may overflow to anything, and an expression may make
 * infinite logits. Whether they do is known only for the sampled rows. */
static bool in_question(const lab_check *check, int64_t row)
{
    const lab_expect *expect = check->expect;
    if (check->values->problem.accumulate != HEED_ACC_F16 && !check->values->problem.score[0])
        return true;
    int64_t low = 0, high = expect->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (expect->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < expect->count && expect->rows[low] == row && !isinf(expect->o_budget[low]) &&
           (isfinite(expect->lse[low]) || expect->lse[low] == -INFINITY);
}

/* The common error of weights that are computed from an LSE: see expect.h. */
static double common_error(const lab_check *check)
{
    const lab_expect *expect = check->expect;
    double most = 0;
    for (int64_t i = 0; i < expect->count && !check->sampling.own; i++)
        if (fabs(expect->lse[i]) <= LAB_LSE_FAR)
            most = fmax(most, fabs(expect->lse[i]));
    return 2 * most * lab_type_unit(HEED_F32);
}

/* Adds the distance of the row from its range, divided by the error that the rounding of weights,
 * @common, operands, sums and output can cause. */
static void add_row(lab_worst *worst, const lab_check *check, const seen_range *seen, double common,
                    int64_t row)
{
    const heed_problem *problem = &check->values->problem;
    bool half = problem->accumulate == HEED_ACC_F16;
    /* The row may see no key, or a sink, or an expression may take all its logits to -infinity. */
    const float *lse = check->runs[0].lse;
    bool zero = lab_hides(problem) || lab_has_sinks(problem) ||
                (problem->score[0] && lse && lse[row] == -INFINITY);
    int64_t keys = seen->keys.end - seen->keys.begin;
    double unit = common +
                  4 * (lab_type_unit(problem->type) + lab_products_unit(problem->products)) +
                  4 * sqrt((double)keys) * lab_type_unit(half ? HEED_F16 : HEED_F32);
    double o[HEED_DIM_MAX];
    lab_run_row(&check->runs[0], problem, row, o);
    for (int64_t c = 0; c < problem->dim_v; c++) {
        double low = keys ? seen->low[c] : 0, high = keys ? seen->high[c] : 0;
        if (zero) {
            low = fmin(low, 0);
            high = fmax(high, 0);
        }
        if (o[c] >= low && o[c] <= high) {
            lab_worst_add(worst, row, 0, 1);
            continue;
        }
        double size = fmax(fabs(low), fabs(high));
        double out = isfinite(o[c]) ? fmax(low - o[c], o[c] - high) : INFINITY;
        lab_worst_add(worst, row, out, unit * size + lab_type_quantum(problem->type));
    }
}

/* Checks all rows, not a sample; but see in_question(). */
void lab_gate_range(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    lab_worst worst = { 0 };
    double common = common_error(check);
    if (!check->inputs->finite) {
        lab_verdict_skip(verdict, "the values are not finite");
        return;
    }
    int64_t group = problem->heads_q / problem->heads_kv;
    const int64_t batches = check->values->block[LAB_Q].view.batch;
    for (int64_t n = 0; n < batches * problem->heads_kv; n++) {
        int64_t batch = n / problem->heads_kv, head = n % problem->heads_kv;
        seen_range seen;
        seen.keys = (lab_range){ 0, 0 };
        seen.batch = 0;
        for (int64_t i = 0; i < lab_queries(problem); i++) {
            see_row(&seen, check, (lab_row){ batch, head * group, i });
            for (int64_t g = 0; g < group; g++) {
                int64_t query_head = batch * problem->heads_q + head * group + g;
                int64_t row = query_head * lab_queries(problem) + i;
                if (in_question(check, row))
                    add_row(&worst, check, &seen, common, row);
            }
        }
    }
    lab_judge_worst(verdict, problem, &worst, "out of range by");
}
