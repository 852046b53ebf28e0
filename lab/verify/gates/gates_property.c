/*
 * gates_property.c - gates that vary the values in ways that change the output by a known amount
 */
#include <math.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"

/* Random streams of the gates. */
enum {
    STREAM_LINEAR = 16,
    STREAM_PERMUTED = 18,
    STREAM_SHIFTED,
    STREAM_CAUSAL
};

/* ---------------------------------------------------------------------------------------------- */
/* Linear                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* Fills V with eighths from -1 to 1, whose sums are exact in every type. */
static void fill_eighths(lab_values *values, uint64_t stream)
{
    const lab_view *v = &values->block[LAB_V].view;
    void *data = lab_values_data(values, LAB_V);
    for (int64_t n = 0; n < lab_view_vectors(v); n++)
        for (int64_t c = 0, at = lab_view_vector(v, n); c < v->dim; c++) {
            int64_t eighths = lab_random_below(stream, (uint64_t)(n * v->dim + c), 17) - 8;
            lab_element_set(v->type, data, at + c, (double)eighths / 8);
        }
}

static void add_values(lab_values *sum, const lab_values *a, const lab_values *b)
{
    const lab_view *v = &sum->block[LAB_V].view;
    for (int64_t n = 0; n < lab_view_vectors(v); n++)
        for (int64_t c = 0, at = lab_view_vector(v, n); c < v->dim; c++) {
            double value = lab_element_get(v->type, lab_values_data(a, LAB_V), at + c) +
                           lab_element_get(v->type, lab_values_data(b, LAB_V), at + c);
            lab_element_set(v->type, lab_values_data(sum, LAB_V), at + c, value);
        }
}

static void judge_sum(const lab_check *check, const lab_variant part[3], lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_expect *expect = part[0].expect;
    double a[HEED_DIM_MAX], b[HEED_DIM_MAX], sum[HEED_DIM_MAX];
    lab_worst worst = { 0 };
    for (int64_t i = 0; i < expect->count; i++) {
        lab_run_row(&part[0].run, problem, expect->rows[i], a);
        lab_run_row(&part[1].run, problem, expect->rows[i], b);
        lab_run_row(&part[2].run, problem, expect->rows[i], sum);
        for (int64_t c = 0; c < problem->dim_v; c++)
            a[c] += b[c];
        double allowed = 0;
        for (int p = 0; p < 3; p++)
            allowed += part[p].expect->o_budget[i];
        lab_worst_add(&worst, expect->rows[i], lab_row_distance(sum, a, problem->dim_v), allowed);
    }
    lab_judge_worst(verdict, problem, &worst, "difference");
}

void lab_gate_linear(const lab_check *check, lab_verdict *verdict)
{
    lab_variant part[3] = { { .memo = LAB_MEMO_LINEAR },
                            { .memo = LAB_MEMO_LINEAR_2 },
                            { .memo = LAB_MEMO_LINEAR_SUM } };
    heed_status status = HEED_OK;
    if (check->values->problem.shared) {
        lab_verdict_skip(verdict, "V is a part of K, on which weights depend");
        return;
    }
    lab_trace_step(check->trace, "with other values");
    for (int p = 0; p < 3 && status == HEED_OK; p++)
        status = lab_values_copy(&part[p].values, check->values);
    if (status == HEED_OK) {
        fill_eighths(&part[0].values, lab_random_stream(check->seed, STREAM_LINEAR));
        fill_eighths(&part[1].values, lab_random_stream(check->seed, STREAM_LINEAR + 1));
        add_values(&part[2].values, &part[0].values, &part[1].values);
    }
    if (lab_variants_run(check, part, 3, status, verdict))
        judge_sum(check, part, verdict);
    lab_variants_destroy(part, 3);
}

/* ---------------------------------------------------------------------------------------------- */
/* Permuted                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

/* Swaps two keys of K or V; vectors that batch elements or heads share are swapped once. */
static void swap_keys(const lab_block *block, int64_t a, int64_t b)
{
    const lab_view *view = &block->view;
    int64_t batches = view->strides.batch ? view->batch : 1;
    int64_t heads = view->strides.head ? view->heads : 1;
    for (int64_t n = 0; n < batches * heads; n++) {
        int64_t at = lab_view_at(view, n / heads, a, n % heads);
        int64_t bt = lab_view_at(view, n / heads, b, n % heads);
        for (int64_t c = 0; c < view->dim; c++) {
            double value = lab_element_get(view->type, block->region.data, at + c);
            lab_element_set(view->type, block->region.data, at + c,
                            lab_element_get(view->type, block->region.data, bt + c));
            lab_element_set(view->type, block->region.data, bt + c, value);
        }
    }
}

/* Swaps two keys of a bias or a mask. */
static void swap_columns(const lab_block *block, int64_t a, int64_t b)
{
    const lab_view *view = &block->view;
    int64_t factor = view->kind == HEED_DATA_BITS ? 32 : 1;
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        int64_t at = lab_view_vector(view, n) * factor;
        double value = lab_data_get(view->kind, block->region.data, at + a);
        lab_data_set(view->kind, block->region.data, at + a,
                     lab_data_get(view->kind, block->region.data, at + b));
        lab_data_set(view->kind, block->region.data, at + b, value);
    }
}

/* Why the keys of @problem cannot be permuted; NULL if they can. */
static const char *order_of_keys(const heed_problem *problem)
{
    if (problem->slopes.type)
        return "slopes depend on key positions";
    if (problem->prefix)
        return "a prefix depends on key positions";
    if (problem->starts.type)
        return "starts depend on key positions";
    if (lab_packed(problem))
        return "packed sequences depend on key positions";
    if (problem->lengths.type)
        return "lengths depend on key positions";
    return problem->score[0] || problem->visible[0] ? "expressions may depend on key positions"
                                                    : NULL;
}

/* The budgets of rows outside the sample are unknown. This multiple of the worst sampled budget,
 * relative to the row's size, is enough for any correct kernel. */
#define COARSE 8.0

static double row_norm(const double *row, int64_t dim)
{
    const double zeros[HEED_DIM_MAX] = { 0 };
    return lab_row_distance(zeros, row, dim);
}

/* The budget of a row that exceeds that limit: a tied row has a larger one. */
static double own_budget(const lab_check *check, int64_t row)
{
    heed_buffers data = lab_values_buffers(check->values);
    lab_sampling sampling = check->sampling;
    sampling.work = 0;
    sampling.least = 1;
    sampling.also = row + 1;
    lab_expect *expect;
    double budget = 0;
    if (lab_expect_create(&expect, &check->values->problem, &data, &sampling) != HEED_OK)
        return INFINITY; /* not judged */
    for (int64_t i = 0; i < expect->count; i++)
        if (expect->rows[i] == row)
            budget = expect->o_budget[i];
    lab_expect_destroy(expect);
    return budget;
}

/* Adds the differences of all rows, with a coarse limit. */
static void add_coarsely(lab_worst *worst, const lab_check *check, const lab_run *run)
{
    const lab_expect *expect = check->expect;
    const heed_problem *problem = &check->values->problem;
    double a[HEED_DIM_MAX], b[HEED_DIM_MAX], budget = 0, relative = 0;
    int64_t known = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        double size = row_norm(expect->o + i * expect->dim, expect->dim);
        if (isinf(expect->o_budget[i]))
            return;
        if (expect->tied[i])
            continue;
        known++;
        budget = fmax(budget, expect->o_budget[i]);
        relative = fmax(relative, size > 0 ? expect->o_budget[i] / size : 0);
    }
    for (int64_t row = 0; row < lab_rows(problem) && known > 0; row++) {
        lab_run_row(&check->runs[0], problem, row, a);
        lab_run_row(run, problem, row, b);
        double allowed = COARSE * fmax(budget, relative * row_norm(a, problem->dim_v));
        double difference = lab_row_distance(a, b, problem->dim_v);
        if (difference > 2 * allowed && worst->ratio <= 1)
            allowed = fmax(allowed, own_budget(check, row));
        lab_worst_add(worst, row, difference, 2 * allowed);
    }
}

void lab_gate_permuted(const lab_check *check, lab_verdict *verdict)
{
    const lab_block *k = &check->values->block[LAB_K], *v = &check->values->block[LAB_V];
    lab_range all = lab_visible_to_all(&check->values->problem);
    int64_t count = all.end - all.begin;
    uint64_t stream = lab_random_stream(check->seed, STREAM_PERMUTED);
    if (count < 2) {
        lab_verdict_skip(verdict, "there are no two keys that every query sees");
        return;
    }
    if (order_of_keys(&check->values->problem)) {
        lab_verdict_skip(verdict, "%s", order_of_keys(&check->values->problem));
        return;
    }
    if (!lab_view_splits(&k->view, true) || !lab_view_splits(&v->view, true) ||
        !lab_view_splits(&check->values->block[LAB_BIAS].view, true) ||
        !lab_view_splits(&check->values->block[LAB_SHOWN].view, true)) {
        lab_verdict_skip(verdict, "keys share memory");
        return;
    }
    lab_variant other = { .memo = LAB_MEMO_NONE };
    lab_trace_step(check->trace, "with permuted keys");
    heed_status status = lab_values_copy(&other.values, check->values);
    for (int64_t j = count - 1; j > 0 && status == HEED_OK; j--) {
        int64_t with = lab_random_below(stream, (uint64_t)j, j + 1);
        swap_keys(&other.values.block[LAB_K], all.begin + j, all.begin + with);
        swap_keys(&other.values.block[LAB_V], all.begin + j, all.begin + with);
        swap_columns(&other.values.block[LAB_BIAS], all.begin + j, all.begin + with);
        swap_columns(&other.values.block[LAB_SHOWN], all.begin + j, all.begin + with);
    }
    if (lab_variants_run(check, &other, 1, status, verdict)) {
        lab_worst worst = { 0 };
        for (int64_t i = 0; i < check->expect->count; i++)
            lab_worst_add_pair(&worst, &check->values->problem, &check->runs[0], &other.run,
                               check->expect, i, 2);
        add_coarsely(&worst, check, &other.run);
        lab_judge_worst(verdict, &check->values->problem, &worst, "difference");
    }
    lab_variants_destroy(&other, 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Shifted                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* One column of K is set to 1, so the query's element there is added to all logits of the query. */
#define SHIFT_MAX 16

static void set_column(const lab_block *block, int64_t column, double (*value)(uint64_t, int64_t),
                       uint64_t stream, double size)
{
    for (int64_t n = 0; n < lab_view_vectors(&block->view); n++)
        lab_element_set(block->view.type, block->region.data,
                        lab_view_vector(&block->view, n) + column, size * value(stream, n));
}

static double one(uint64_t stream, int64_t n)
{
    (void)stream;
    (void)n;
    return 1;
}

static double some_shift(uint64_t stream, int64_t n)
{
    return (double)(lab_random_below(stream, (uint64_t)n, 2 * SHIFT_MAX + 1) - SHIFT_MAX);
}

/* The shift of the logits of @row, from the query in memory. */
static double shift_of(const lab_values *values, int64_t row, int64_t column)
{
    const lab_block *q = &values->block[LAB_Q];
    int64_t at = lab_view_vector(&q->view, row) + column;
    return (double)values->problem.scale * lab_element_get(q->view.type, q->region.data, at);
}

static void judge_shift(const lab_check *check, const lab_variant pair[2], int64_t column,
                        lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_expect *expect = pair[0].expect;
    lab_worst worst = { 0 };
    for (int64_t i = 0; i < expect->count; i++) {
        int64_t row = expect->rows[i];
        lab_worst_add_runs(&worst, problem, &pair[0].run, &pair[1].run, row,
                           expect->o_budget[i] + pair[1].expect->o_budget[i]);
        double rise = (double)pair[1].run.lse[row] - (double)pair[0].run.lse[row];
        if (isfinite(expect->lse[i]))
            lab_worst_add(&worst, row, fabs(rise - shift_of(&pair[1].values, row, column)),
                          expect->lse_budget[i] + pair[1].expect->lse_budget[i]);
    }
    lab_judge_worst(verdict, problem, &worst, "difference");
}

void lab_gate_shifted(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_block *q = &check->values->block[LAB_Q], *k = &check->values->block[LAB_K];
    uint64_t stream = lab_random_stream(check->seed, STREAM_SHIFTED);
    int64_t column = lab_random_below(stream, 0, problem->dim_qk);
    double unit = fmin(1 / fabs((double)problem->scale), 1000); /* this change shifts the logits by
                                                                 * 1 */
    if (!lab_adds_to_logits(problem) || lab_has_sinks(problem) || problem->rotary) {
        lab_verdict_skip(verdict, "%s do not move with the logits",
                         problem->rotary         ? "rotated columns"
                         : problem->softcap != 0 ? "capped logits"
                         : problem->score[0]     ? "values of score"
                                                 : "sinks");
        return;
    }
    if (!lab_view_splits(&q->view, false) || !lab_view_splits(&k->view, false)) {
        lab_verdict_skip(verdict, "vectors overlap in memory");
        return;
    }
    lab_variant pair[2] = { { .memo = LAB_MEMO_UNSHIFTED }, { .memo = LAB_MEMO_SHIFTED } };
    heed_status status = HEED_OK;
    lab_trace_step(check->trace, "with shifted logits");
    for (int p = 0; p < 2 && status == HEED_OK; p++) {
        status = lab_values_copy(&pair[p].values, check->values);
        if (status != HEED_OK)
            break;
        set_column(&pair[p].values.block[LAB_K], column, one, stream, 1);
        set_column(&pair[p].values.block[LAB_Q], column, some_shift, stream, p ? unit : 0);
    }
    if (lab_variants_run(check, pair, 2, status, verdict))
        judge_shift(check, pair, column, verdict);
    lab_variants_destroy(pair, 2);
}

/* ---------------------------------------------------------------------------------------------- */
/* Causal                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* The number of queries, counted from the first, that do not see all keys. */
static int64_t limited_queries(const heed_problem *problem)
{
    int64_t count = 0;
    while (count < lab_queries(problem) && lab_visible(problem, count).end < lab_keys(problem))
        count++;
    return count;
}

/* Writes large random values to the keys from @first on. */
static void scramble(const lab_block *block, int64_t first, uint64_t stream)
{
    const lab_view *view = &block->view;
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0; c < view->dim && n % view->seq >= first; c++) {
            double value = 30 * lab_random_normal(stream, (uint64_t)(n * view->dim + c));
            lab_element_set(view->type, block->region.data, lab_view_vector(view, n) + c, value);
        }
}

static void judge_causal(const lab_check *check, const lab_run *run, int64_t query,
                         lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    size_t bytes = (size_t)problem->dim_v * heed_type_size(problem->type);
    const lab_run *first = &check->runs[0];
    for (int64_t row = 0; row < lab_rows(problem); row++) {
        if (row % lab_queries(problem) > query)
            continue;
        size_t at = (size_t)row * bytes;
        if (memcmp((const char *)run->o + at, (const char *)first->o + at, bytes) == 0 &&
            memcmp(&run->lse[row], &first->lse[row], sizeof(float)) == 0)
            continue;
        lab_verdict_fail(verdict, -1, "the row depends on keys from %lld on: %s",
                         (long long)lab_visible(problem, query).end,
                         lab_row_print(problem, row).text);
        return;
    }
    lab_verdict_pass(verdict, -1, "rows up to query %lld stay equal to the bit", (long long)query);
}

void lab_gate_causal(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const lab_block *k = &check->values->block[LAB_K], *v = &check->values->block[LAB_V];
    uint64_t stream = lab_random_stream(check->seed, STREAM_CAUSAL);
    int64_t limited = limited_queries(problem);
    if (limited == 0) {
        lab_verdict_skip(verdict, "every query sees every key");
        return;
    }
    if (!lab_view_splits(&k->view, true) || !lab_view_splits(&v->view, true)) {
        lab_verdict_skip(verdict, "keys share memory");
        return;
    }
    if (!check->runs[0].needs.deterministic) {
        lab_verdict_skip(verdict, "it does not claim to be deterministic");
        return;
    }
    int64_t query = lab_random_below(stream, 0, limited);
    int64_t first = lab_visible(problem, query).end;
    lab_variant other = { .memo = LAB_MEMO_NONE };
    lab_trace_step(check->trace, "with other masked keys");
    heed_status status = lab_values_copy(&other.values, check->values);
    if (status == HEED_OK) {
        scramble(&other.values.block[LAB_K], first, lab_random_stream(stream, LAB_K));
        scramble(&other.values.block[LAB_V], first, lab_random_stream(stream, LAB_V));
    }
    if (lab_variants_run(check, &other, 1, status, verdict))
        judge_causal(check, &other.run, query, verdict);
    lab_variants_destroy(&other, 1);
}
