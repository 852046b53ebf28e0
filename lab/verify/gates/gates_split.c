/*
 * gates_split.c - gates that compute a problem in parts and compare with the whole
 */
#include <math.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/reference/products.h"
#include "lab/verify/reference/reference.h"

/* ---------------------------------------------------------------------------------------------- */
/* Merged                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* split() for a problem with positions other than in the mask. One half is aligned top left, the
 * other bottom right; positions agree only if there are as many keys as queries. */
static int64_t split_window(const heed_problem *whole, heed_problem half[2])
{
    int64_t at = whole->seq_k / 2;
    bool causal = whole->mask != HEED_MASK_NONE;
    if (whole->chunk > 0)
        at -= at % whole->chunk;
    if (whole->seq_k != whole->seq_q)
        return 0;
    half[1].mask = causal ? HEED_MASK_CAUSAL_BOTTOM_RIGHT : HEED_MASK_NONE;
    half[1].align = causal ? HEED_ALIGN_TOP_LEFT : HEED_ALIGN_BOTTOM_RIGHT;
    half[0].seq_k = at;
    half[1].seq_k = whole->seq_k - at;
    return at;
}

/* Returns a key at which to split: the keys before it and those from it on become the problems
 * half[0] and half[1], which together see the keys that @whole sees. 0 if there is no such key. */
static int64_t split(const heed_problem *whole, heed_problem half[2])
{
    int64_t keys = whole->seq_k, queries = whole->seq_q, at = keys / 2;
    half[0] = lab_without_pages(whole);
    half[0].prefix = 0;
    half[1] = half[0];
    half[1].sinks = (heed_operand){ 0 }; /* each sink counts once */
    if (lab_packed(whole) || whole->append || whole->score[0] || whole->visible[0])
        return 0; /* expressions may depend on key indices */
    if (whole->lengths.type) {
        /* Bottom right counts from the lengths: those of the second half give the same positions.
         * The first half has no mask, and only rows that see all of it are compared. */
        bool follows = lab_follows_lengths(whole);
        if (whole->slopes.type || whole->window.sides || whole->chunk ||
            (whole->mask != HEED_MASK_NONE && !follows))
            return 0;
        half[0].mask = HEED_MASK_NONE;
        half[0].seq_k = at;
        half[1].seq_k = keys - at;
        return at;
    }
    if (whole->slopes.type || whole->window.sides != 0 || whole->chunk != 0)
        return split_window(whole, half);
    if (whole->mask == HEED_MASK_CAUSAL_TOP_LEFT) {
        if (keys < queries)
            return 0;
        keys = queries; /* no query sees more */
        at = keys / 2;
        half[1].mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT;
    } else if (whole->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT && keys == queries) {
        half[0].mask = HEED_MASK_CAUSAL_TOP_LEFT;
    } else if (whole->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT) {
        at = lab_least(at, lab_visible(whole, 0).end); /* all of the first half is seen by all */
        half[0].mask = HEED_MASK_NONE;
    }
    half[0].seq_k = at;
    half[1].seq_k = keys - at;
    return at;
}

/* True if the row sees all keys of its batch element in the first half, which ends at key @at. A
 * half can show more keys only if the problem has lengths. */
static bool sees_half(const lab_check *check, int64_t row, int64_t at)
{
    const heed_problem *problem = &check->values->problem;
    if (!problem->lengths.type || problem->mask == HEED_MASK_NONE)
        return true;
    const lab_row place = lab_row_at(problem, row);
    const lab_block *block = &check->values->block[LAB_LENGTHS];
    int64_t length = (int64_t)lab_data_get(HEED_DATA_I32, block->region.data,
                                           lab_view_at(&block->view, place.batch, 0, 0));
    return place.query + length - problem->seq_q + 1 >= lab_least(length, at);
}

/* The weight of a half with @lse in a whole with @lse_whole. */
static double weight_of(float lse, double lse_whole)
{
    return lse == -INFINITY ? 0 : exp((double)lse - lse_whole);
}

/* Adds the distance of the merged halves from the whole. The errors of the whole are allowed twice,
 * as the halves have them too. Each half also rounds its output and its operands, even where the
 * two outputs cancel, and its weight contains the error of its LSE.
 */
static void add_merger(lab_worst *worst, const lab_check *check, const lab_variant half[2],
                       int64_t i)
{
    const heed_problem *problem = &check->values->problem;
    int64_t row = check->expect->rows[i];
    double unit = 2 * (lab_type_unit(problem->type) + lab_products_unit(problem->products));
    double whole[HEED_DIM_MAX], part[HEED_DIM_MAX], merged[HEED_DIM_MAX] = { 0 };
    double lse = lab_add_logarithms((double)half[0].run.lse[row], (double)half[1].run.lse[row]);
    double lse_allowed = 3 * check->expect->lse_budget[i], allowed = 2 * check->expect->o_budget[i];
    lab_run_row(&check->runs[0], problem, row, whole);
    for (int h = 0; h < 2; h++) {
        double weight = weight_of(half[h].run.lse[row], lse), norm = 0;
        lab_run_row(&half[h].run, problem, row, part);
        for (int64_t c = 0; c < problem->dim_v; c++) {
            merged[c] += weight * part[c];
            norm += part[c] * part[c];
        }
        if (isfinite(norm)) /* otherwise the difference shows it */
            allowed += weight * sqrt(norm) * (unit + lse_allowed);
    }
    lab_worst_add(worst, row, lab_row_distance(merged, whole, problem->dim_v), allowed);
    lab_worst_add(worst, row, fabs(lse - (double)check->runs[0].lse[row]), lse_allowed);
}

void lab_gate_merged(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    lab_variant half[2] = { { .memo = LAB_MEMO_NONE }, { .memo = LAB_MEMO_NONE } };
    heed_problem problems[2];
    int64_t at = split(problem, problems);
    if (at == 0) {
        lab_verdict_skip(verdict, "its keys cannot be split into two problems");
        return;
    }
    lab_trace_step(check->trace, "on half of the keys");
    heed_status status = lab_values_slice(&half[0].values, &problems[0], check->values, 0, 0);
    if (status == HEED_OK)
        status = lab_values_slice(&half[1].values, &problems[1], check->values, 0, at);
    if (lab_variants_run(check, half, 2, status, verdict)) {
        lab_worst worst = { 0 };
        for (int64_t i = 0; i < check->expect->count; i++)
            if (isfinite(check->expect->lse[i]) && sees_half(check, check->expect->rows[i], at))
                add_merger(&worst, check, half, i);
        lab_judge_worst(verdict, problem, &worst, "difference");
    }
    lab_variants_destroy(half, 2);
}

/* ---------------------------------------------------------------------------------------------- */
/* Batch                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* The largest difference of @count numbers that must be equal: NaN only from NaN, which is the
 * right result of some expressions. Otherwise it is NaN if one is NaN. */
static double largest_difference(const double *a, const double *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count && !isnan(most); i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) {
            double difference = fabs(a[i] - b[i]);
            most = difference > most || isnan(difference) ? difference : most;
        }
    return most;
}

/* Adds the differences of batch element @batch, of @queries, run alone, from the same element in
 * the batch: all rows if bits must be equal, else those with known budgets. */
static void add_element(lab_worst *worst, const lab_check *check, const lab_run *alone,
                        int64_t batch, int64_t queries)
{
    const heed_problem *problem = &check->values->problem;
    const heed_buffers data = lab_values_buffers(check->values);
    const lab_expect *expect = check->expect;
    double a[HEED_DIM_MAX], b[HEED_DIM_MAX];
    for (int64_t i = 0; i < (check->strict ? lab_rows(problem) : expect->count); i++) {
        int64_t row = check->strict ? i : expect->rows[i];
        const lab_row at = lab_row_within(problem, &data, lab_row_at(problem, row));
        const int64_t own = at.head * queries + at.query;
        if (at.batch != batch || (!check->strict && lab_expect_undefined(expect, i)))
            continue;
        lab_run_row(&check->runs[0], problem, row, a);
        lab_run_row(alone, problem, own, b);
        const double together = (double)check->runs[0].lse[row], lse = (double)alone->lse[own];
        if (check->strict) {
            lab_worst_add(worst, row, largest_difference(a, b, problem->dim_v), 0);
            lab_worst_add(worst, row, largest_difference(&together, &lse, 1), 0);
            continue;
        }
        lab_worst_add(worst, row, lab_row_distance(b, a, problem->dim_v), 2 * expect->o_budget[i]);
        if (together != lse)
            lab_worst_add(worst, row, fabs(lse - together), 2 * expect->lse_budget[i]);
    }
}

/* The problem of batch element @batch alone, dense: a packed sequence has its own lengths. False if
 * it has no query or no key. */
static bool find_single(const lab_check *check, int64_t batch, heed_problem *single)
{
    const heed_problem *problem = &check->values->problem;
    const lab_lengths lengths = lab_values_lengths(check->values, batch);
    *single = lab_without_pages(problem);
    single->batch = 1;
    single->seq_q = lengths.queries;
    single->seq_k = lengths.keys;
    single->tokens_q = single->tokens_k = 0;
    single->append = problem->append_packed ? lengths.queries : problem->append;
    single->append_packed = 0;
    single->cu_seqlens_q = single->cu_seqlens_k = (heed_operand){ 0 };
    return single->seq_q > 0 && single->seq_k > 0;
}

/* The size that an expression reads and a packed sequence alone has not; NULL: none. */
static const char *packed_size(const heed_problem *problem)
{
    static const char *const sizes[] = { "queries", "keys" };
    for (int i = 0; i < 2 && lab_packed(problem); i++)
        if (strstr(problem->score, sizes[i]) || strstr(problem->visible, sizes[i]))
            return sizes[i];
    return NULL;
}

/* The first batch element, the last, and one between. */
void lab_gate_batch(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    const int64_t elements[] = { 0, problem->batch - 1, problem->batch / 2 };
    lab_worst worst = { 0 };
    if (strstr(problem->score, "batch") || strstr(problem->visible, "batch")) {
        lab_verdict_skip(verdict, "expressions may depend on the batch index");
        return;
    }
    if (packed_size(problem)) {
        lab_verdict_skip(verdict, "expressions may depend on %s, which a sequence alone changes",
                         packed_size(problem));
        return;
    }
    if (problem->batch == 1) {
        lab_verdict_skip(verdict, "there is one batch element");
        return;
    }
    lab_trace_step(check->trace, "on one batch element");
    for (int i = 0; i < (problem->batch > 2 ? 3 : 2); i++) {
        lab_variant alone = { .memo = LAB_MEMO_NONE };
        heed_problem single;
        if (!find_single(check, elements[i], &single))
            continue;
        heed_status status = lab_values_slice(&alone.values, &single, check->values, elements[i],
                                              0);
        bool complete = lab_variants_run(check, &alone, 1, status, verdict);
        if (complete)
            add_element(&worst, check, &alone.run, elements[i], single.seq_q);
        lab_variants_destroy(&alone, 1);
        if (!complete)
            return;
    }
    lab_judge_worst(verdict, problem, &worst, "difference");
}
