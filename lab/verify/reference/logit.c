/*
 * logit.c - operations on logits, and keys hidden by other means than causal masks, windows and
 * chunks
 */
#include "lab/verify/reference/logit.h"

#include <math.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"

bool lab_has_sinks(const heed_problem *problem)
{
    return problem->sinks.type != HEED_DATA_NONE;
}

bool lab_hides(const heed_problem *problem)
{
    return lab_packed(problem) || problem->starts.type || problem->shown.type ||
           problem->lengths.type || problem->visible[0];
}

bool lab_adds_to_logits(const heed_problem *problem)
{
    return problem->softcap == 0 && !problem->score[0];
}

static bool changes_logits(const heed_problem *problem)
{
    return !lab_adds_to_logits(problem) || problem->bias.type || problem->slopes.type;
}

void lab_logits_begin(lab_logits *logits, const heed_problem *problem, const heed_buffers *data)
{
    logits->problem = problem;
    logits->data = data;
    logits->packed = lab_packed(problem);
    logits->changes = changes_logits(problem);
    logits->hides = lab_hides(problem);
    logits->steps = problem->score[0] || problem->visible[0];
    if (!logits->changes && !logits->hides)
        return;
    for (int role = LAB_BIAS; role < LAB_ARRAYS; role++)
        logits->view[role] = lab_view_of(problem, (lab_role)role);
    if (problem->score[0] && !lab_expression_parse(&logits->score, problem, problem->score))
        logits->score.root = -1;
    if (problem->visible[0] && !lab_expression_parse(&logits->visible, problem, problem->visible))
        logits->visible.root = -1;
}

/* The element of an operand for the row and the key. */
static double operand(const lab_logits *logits, lab_role role, lab_row row, int64_t key)
{
    const lab_view *view = &logits->view[role];
    int64_t at = lab_view_pair(view, row.batch, row.head, row.query, key);
    return lab_data_get(view->kind, lab_buffers_get(logits->data, role), at);
}

/* The rows of sequence @batch, from the cumulative lengths of @role. */
static int64_t packed_rows(const lab_logits *logits, lab_role role, int64_t batch)
{
    const void *cu = lab_buffers_get(logits->data, role);
    heed_data kind = logits->view[role].kind;
    return (int64_t)lab_data_get(kind, cu, batch + 1) - (int64_t)lab_data_get(kind, cu, batch);
}

/* The keys of the row's batch element. */
static int64_t key_count(const lab_logits *logits, lab_row row)
{
    const heed_problem *problem = logits->problem;
    const bool packed = problem->tokens_k > 0;
    int64_t keys = packed ? packed_rows(logits, LAB_CU_K, row.batch) : problem->seq_k;
    if (problem->lengths.type) {
        int64_t length = (int64_t)operand(logits, LAB_LENGTHS, row, 0);
        keys = packed && keys < length ? keys : length;
    }
    return keys;
}

/* The position of the row's query. */
static int64_t position_of(const lab_logits *logits, lab_row row)
{
    const heed_problem *problem = logits->problem;
    if (!lab_follows_lengths(problem))
        return lab_position(problem, row.query);
    int64_t queries = problem->tokens_q > 0 ? packed_rows(logits, LAB_CU_Q, row.batch)
                                            : problem->seq_q;
    return row.query + key_count(logits, row) - queries;
}

/* A row and a key relative to their sequence. The key's index may then be out of range. */
static lab_row within(const lab_logits *logits, lab_row row, int64_t *key)
{
    int64_t batch;
    if (!logits->packed)
        return row;
    if (logits->problem->tokens_k > 0)
        *key -= lab_row_keys(logits->problem, logits->data, row, &batch).begin;
    return lab_row_within(logits->problem, logits->data, row);
}

static lab_evaluation evaluation_of(const lab_logits *logits, lab_row row, int64_t key)
{
    return (lab_evaluation){ .problem = logits->problem,
                             .data = logits->data,
                             .batch = row.batch,
                             .head = row.head,
                             .query = row.query,
                             .key = key,
                             .position = position_of(logits, row) };
}

/* True if the key is within the batch element's length, and visible under a mask that follows the
 * length. */
static bool length_shows(const lab_logits *logits, lab_row row, int64_t key)
{
    if (key < 0 || key >= key_count(logits, row))
        return false;
    if (!lab_follows_lengths(logits->problem) && !logits->packed)
        return true;
    lab_range keys = lab_visible_from(logits->problem, position_of(logits, row));
    return keys.begin <= key && key < keys.end;
}

bool lab_logits_shows(const lab_logits *logits, lab_row row, int64_t key, lab_doubt *doubt)
{
    const heed_problem *problem = logits->problem;
    if (!logits->hides)
        return true;
    row = within(logits, row, &key);
    if ((problem->lengths.type || logits->packed) && !length_shows(logits, row, key))
        return false;
    if (problem->starts.type && (double)key < operand(logits, LAB_STARTS, row, 0))
        return false;
    if (problem->shown.type && operand(logits, LAB_SHOWN, row, key) == 0)
        return false;
    if (!problem->visible[0])
        return true;
    lab_evaluation at = evaluation_of(logits, row, key);
    at.doubt = *doubt;
    bool seen = logits->visible.root >= 0 && lab_expression_truth(&logits->visible, &at);
    *doubt = at.doubt;
    return seen;
}

/* t + @term, which has the error @error: kernels that work in base 2 round both before the sum. */
static lab_number add(lab_number t, double term, double error, bool single)
{
    if (!single && isfinite(t.value) && isfinite(term))
        error += lab_type_unit(HEED_F32) * (fabs(t.value) + fabs(term));
    return lab_number_rounded(t.value + term, t.error + error, LAB_UNITS_SUM, single);
}

static lab_number cap(lab_number t, double softcap, bool single)
{
    double unit = lab_type_unit(HEED_F32), part = (double)(single ? (float)(t.value / softcap) : 0);
    if (single)
        return lab_number_rounded(softcap * (double)(float)tanh(part), 0, LAB_UNITS_SUM, true);
    double y = tanh(t.value / softcap), inner = fmax(0, fabs(t.value) - LAB_DOUBT * t.error);
    double slope = 1 - tanh(inner / softcap) * tanh(inner / softcap);
    double argument = isfinite(t.value) ? LAB_UNITS_QUOTIENT * unit * fabs(t.value) : 0;
    double error = (t.error + argument) * slope + softcap * LAB_UNITS_FUNCTION * unit;
    return lab_number_rounded(softcap * y, error, LAB_UNITS_SUM, false);
}

lab_number lab_logits_change(const lab_logits *logits, lab_row row, int64_t key, lab_number t,
                             bool single, lab_doubt *doubt)
{
    const heed_problem *problem = logits->problem;
    row = within(logits, row, &key);
    if (problem->softcap != 0)
        t = cap(t, (double)problem->softcap, single);
    if (problem->bias.type)
        t = add(t, operand(logits, LAB_BIAS, row, key), 0, single);
    if (problem->slopes.type) {
        double distance = fabs((double)(position_of(logits, row) - key));
        lab_number less = lab_number_rounded(operand(logits, LAB_SLOPES, row, 0) * distance, 0,
                                             LAB_UNITS_QUOTIENT, single);
        t = add(t, -less.value, less.error, single);
    }
    if (!problem->score[0])
        return t;
    lab_evaluation at = evaluation_of(logits, row, key);
    at.s = t;
    at.single = single;
    at.doubt = *doubt;
    t = logits->score.root >= 0 ? lab_expression_number(&logits->score, &at)
                                : (lab_number){ NAN, 0 };
    *doubt = at.doubt;
    return t;
}

double lab_sink(const heed_problem *problem, const heed_buffers *data, lab_row row)
{
    lab_view view = lab_view_of(problem, LAB_SINKS);
    if (!lab_has_sinks(problem))
        return -INFINITY;
    row = lab_row_within(problem, data, row);
    return lab_data_get(view.kind, data->sinks, lab_view_pair(&view, row.batch, row.head, 0, 0));
}
