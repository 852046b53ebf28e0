/*
 * reference.c - attention as specified, in float64, and a naive computation in the problem's
 * precision
 *
 * Three passes per row, no tricks: logits, softmax, weighted sum. Written for readers; checks stay
 * fast by judging few rows.
 */
#include "lab/verify/reference/reference.h"

#include <math.h>
#include <stdbool.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/verify/append.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/products.h"

int64_t lab_rows(const heed_problem *problem)
{
    return (problem->tokens_q > 0 ? 1 : problem->batch) * problem->heads_q * lab_queries(problem);
}

int64_t lab_queries(const heed_problem *problem)
{
    return problem->tokens_q > 0 ? problem->tokens_q : problem->seq_q;
}

int64_t lab_keys(const heed_problem *problem)
{
    return problem->tokens_k > 0 ? problem->tokens_k : problem->seq_k;
}

lab_row lab_row_at(const heed_problem *problem, int64_t n)
{
    const int64_t queries = lab_queries(problem);
    return (lab_row){
        .batch = n / queries / problem->heads_q,
        .head = n / queries % problem->heads_q,
        .query = n % queries,
    };
}

/* The first row of packed sequence @batch, of Q or of K. */
static int64_t first_of(const heed_operand *cu, const void *data, int64_t batch)
{
    return (int64_t)lab_data_get(cu->type, data, batch);
}

lab_row lab_row_within(const heed_problem *problem, const heed_buffers *data, lab_row row)
{
    const heed_operand *cu = &problem->cu_seqlens_q;
    int64_t low = 0, high = problem->batch - 1; /* the first sequence that ends after the row */
    if (problem->tokens_q == 0)
        return row;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (first_of(cu, data->cu_seqlens_q, middle + 1) > row.query)
            high = middle;
        else
            low = middle + 1;
    }
    row.batch = low;
    row.query -= first_of(cu, data->cu_seqlens_q, low);
    return row;
}

lab_range lab_queries_of(const heed_problem *problem, const heed_buffers *data, int64_t batch)
{
    const heed_operand *cu = &problem->cu_seqlens_q;
    if (problem->tokens_q == 0)
        return (lab_range){ 0, problem->seq_q };
    return (lab_range){ first_of(cu, data->cu_seqlens_q, batch),
                        first_of(cu, data->cu_seqlens_q, batch + 1) };
}

lab_range lab_row_keys(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       int64_t *batch)
{
    const heed_operand *cu = &problem->cu_seqlens_k;
    const int64_t sequence = lab_row_within(problem, data, row).batch;
    *batch = problem->tokens_k > 0 ? 0 : sequence;
    if (problem->tokens_k == 0)
        return (lab_range){ 0, problem->seq_k };
    return (lab_range){ first_of(cu, data->cu_seqlens_k, sequence),
                        first_of(cu, data->cu_seqlens_k, sequence + 1) };
}

int64_t lab_row_kv_head(const heed_problem *problem, lab_row row)
{
    return row.head / (problem->heads_q / problem->heads_kv);
}

int64_t lab_position(const heed_problem *problem, int64_t query)
{
    bool right = problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ||
                 problem->align == HEED_ALIGN_BOTTOM_RIGHT;
    return right ? query + problem->seq_k - problem->seq_q : query;
}

lab_range lab_visible(const heed_problem *problem, int64_t query)
{
    if (lab_follows_lengths(problem) || lab_packed(problem))
        return (lab_range){ 0, lab_keys(problem) };
    return lab_visible_from(problem, lab_position(problem, query));
}

lab_range lab_visible_from(const heed_problem *problem, int64_t position)
{
    const heed_window *window = &problem->window;
    lab_range keys = { 0, problem->seq_k };
    int64_t chunk = problem->chunk;
    if (window->sides & HEED_WINDOW_LEFT)
        keys.begin = position - window->left;
    if (window->sides & HEED_WINDOW_RIGHT)
        keys.end = lab_least(keys.end, position + window->right + 1);
    if (problem->mask != HEED_MASK_NONE)
        keys.end = lab_least(keys.end, position + 1);
    if (chunk > 0) { /* the division of C rounds towards zero */
        int64_t number = position / chunk - (position % chunk < 0 ? 1 : 0);
        keys.begin = keys.begin > number * chunk ? keys.begin : number * chunk;
        keys.end = lab_least(keys.end, (number + 1) * chunk);
    }
    keys.end = keys.end < 0 ? 0 : keys.end > problem->seq_k ? problem->seq_k : keys.end;
    keys.begin = keys.begin < 0 ? 0 : keys.begin > keys.end ? keys.end : keys.begin;
    return keys;
}

int64_t lab_visible_count(const heed_problem *problem, int64_t query)
{
    lab_range keys = lab_visible(problem, query);
    return keys.end - keys.begin;
}

lab_range lab_visible_to_all(const heed_problem *problem)
{
    lab_range all = { lab_visible(problem, lab_queries(problem) - 1).begin,
                      lab_visible(problem, 0).end };
    return all.begin < all.end ? all : (lab_range){ 0, 0 };
}

lab_reads lab_row_reads(const heed_problem *problem, const heed_buffers *data, lab_row row)
{
    lab_reads reads = { .base = { data->q, data->k, data->v },
                        .row = row,
                        .kv_head = lab_row_kv_head(problem, row),
                        .keys = lab_visible(problem, row.query) };
    for (int role = LAB_Q; role < LAB_VECTORS; role++)
        reads.views[role] = lab_view_of(problem, (lab_role)role);
    lab_view_bind(&reads.views[LAB_K], problem, data->table);
    lab_view_bind(&reads.views[LAB_V], problem, data->table);
    lab_row_keys(problem, data, row, &reads.kv_batch);
    if (problem->append > 0) {
        reads.problem = problem;
        reads.data = data;
        reads.first = lab_append_first(problem, data, reads.kv_batch);
        reads.end = reads.first + lab_append_count(problem, data, reads.kv_batch);
    }
    return reads;
}

/* Loads a vector of a new key or of its value, which is a part of the key where V is shared. */
static void load_new(const lab_reads *reads, lab_role role, int64_t seq, double *vector)
{
    const bool value = role == LAB_V && !reads->problem->shared;
    const lab_role added = value ? LAB_V_NEW : LAB_K_NEW;
    const lab_view view = lab_view_of(reads->problem, added);
    const int64_t at = lab_append_at(reads->problem, reads->data, &view, reads->kv_batch,
                                     seq - reads->first, reads->kv_head);
    lab_elements_load(view.type, lab_buffers_get(reads->data, added), at, reads->views[role].dim,
                      vector);
    if (role == LAB_K && reads->problem->rotary > 0)
        lab_rotate(reads->problem, reads->data, seq, vector);
}

void lab_reads_load(const lab_reads *reads, lab_role role, int64_t seq, double *vector)
{
    const lab_view *view = &reads->views[role];
    int64_t head = role == LAB_Q ? reads->row.head : reads->kv_head;
    int64_t batch = role == LAB_Q ? reads->row.batch : reads->kv_batch;
    if (reads->problem && role != LAB_Q && seq >= reads->first && seq < reads->end) {
        load_new(reads, role, seq, vector);
        return;
    }
    lab_elements_load(view->type, reads->base[role], lab_view_at(view, batch, seq, head), view->dim,
                      vector);
    if (reads->problem && role == LAB_Q)
        lab_rotate_query(reads->problem, reads->data, (lab_row){ batch, head, seq }, vector);
}

void lab_reference_row(const heed_problem *problem, const heed_buffers *data, lab_row row,
                       double *weights, double *o, double *lse)
{
    const lab_reads reads = lab_row_reads(problem, data, row);
    const lab_range keys = reads.keys;
    double query[HEED_DIM_MAX], vector[HEED_DIM_MAX];
    double highest = -INFINITY, sink = lab_sink(problem, data, row);
    lab_doubt doubt = { 0 }; /* ignored here */
    lab_logits logits;

    lab_logits_begin(&logits, problem, data);
    lab_reads_load(&reads, LAB_Q, row.query, query);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        if (!lab_logits_shows(&logits, row, j, &doubt)) {
            weights[j] = -INFINITY;
            continue;
        }
        lab_reads_load(&reads, LAB_K, j, vector);
        double dot = 0;
        for (int64_t c = 0; c < problem->dim_qk; c++)
            dot += query[c] * vector[c];
        lab_number t = { (double)problem->scale * dot, 0 };
        if (logits.changes)
            t = lab_logits_change(&logits, row, j, t, false, &doubt);
        weights[j] = t.value;
        if (weights[j] > highest || isnan(weights[j]))
            highest = weights[j];
    }

    bool empty = highest == -INFINITY;
    highest = sink > highest ? sink : highest;
    double sum = sink == -INFINITY ? 0 : exp(sink - highest);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        weights[j] = empty ? 0 : exp(weights[j] - highest);
        sum += weights[j];
    }
    *lse = empty ? sink : highest + log(sum);

    for (int64_t c = 0; c < problem->dim_v; c++)
        o[c] = 0;
    for (int64_t j = keys.begin; j < keys.end && !empty; j++) {
        weights[j] /= sum;
        if (logits.hides && weights[j] == 0 && !lab_logits_shows(&logits, row, j, &doubt))
            continue;
        lab_reads_load(&reads, LAB_V, j, vector);
        for (int64_t c = 0; c < problem->dim_v; c++)
            o[c] += weights[j] * vector[c];
    }
}

/* True if a part of @part products ends with product @i of @count. */
static bool ends_part(int64_t i, int64_t count, int64_t part)
{
    return i % part == part - 1 || i == count - 1;
}

/* Adds parts to sums, in half precision if @half, and empties them. */
static void naive_add(float *sums, float *parts, int64_t dim, bool half)
{
    for (int64_t c = 0; c < dim; c++) {
        double sum = (double)sums[c] + (double)parts[c];
        sums[c] = half ? (float)lab_element_round(HEED_F16, sum) : (float)sum;
        parts[c] = 0;
    }
}

/* How the naive computation multiplies and adds. */
typedef struct naive_way {
    int64_t products; /* of heed_products */
    bool cut;
    bool half;
    int64_t block; /* products in a partial sum */
} naive_way;

/* Loads a vector as operands of products. */
static void naive_load(const naive_way *way, const lab_reads *reads, lab_role role, int64_t seq,
                       float *vector)
{
    double values[HEED_DIM_MAX];
    lab_reads_load(reads, role, seq, values);
    for (int64_t c = 0; c < reads->views[role].dim; c++)
        vector[c] = lab_product_operand(way->products, (float)values[c], way->cut);
}

/* Adds the products of @query and @key. */
static float naive_dot(const naive_way *way, const float *query, const float *key, int64_t dim)
{
    float dot = 0;
    for (int64_t c = 0; c < dim;) {
        float sum = 0;
        for (int64_t end = way->block < dim - c ? c + way->block : dim; c < end; c++)
            sum += lab_product(way->products, query[c], key[c]);
        naive_add(&dot, &sum, 1, way->half);
    }
    return dot;
}

void lab_naive_row(const heed_problem *problem, const heed_buffers *data, lab_row row, int64_t part,
                   bool cut, float *weights, double *o, double *lse)
{
    const lab_reads reads = lab_row_reads(problem, data, row);
    const lab_range keys = reads.keys;
    float query[HEED_DIM_MAX], vector[HEED_DIM_MAX];
    float sums[HEED_DIM_MAX], parts[HEED_DIM_MAX];
    lab_doubt doubt = { 0 };
    int64_t count = keys.end - keys.begin;
    naive_way way = { problem->products, cut, problem->accumulate == HEED_ACC_F16, part };
    if (way.half)
        way.block = LAB_HALF_BLOCK;

    float highest = -INFINITY, sink = (float)lab_sink(problem, data, row);
    lab_logits logits;

    lab_logits_begin(&logits, problem, data);
    naive_load(&way, &reads, LAB_Q, row.query, query);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        if (!lab_logits_shows(&logits, row, j, &doubt)) {
            weights[j] = -INFINITY;
            continue;
        }
        naive_load(&way, &reads, LAB_K, j, vector);
        weights[j] = problem->scale * naive_dot(&way, query, vector, problem->dim_qk);
        if (logits.changes) {
            lab_number t = { (double)weights[j], 0 };
            weights[j] = (float)lab_logits_change(&logits, row, j, t, true, &doubt).value;
        }
        if (weights[j] > highest || isnan(weights[j]))
            highest = weights[j];
    }

    bool empty = highest == -INFINITY;
    highest = sink > highest ? sink : highest;
    float sum = sink == -INFINITY ? 0 : expf(sink - highest), open = 0;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        weights[j] = empty ? 0 : expf(weights[j] - highest);
        open += weights[j];
        if (ends_part(j - keys.begin, count, part))
            naive_add(&sum, &open, 1, false);
    }
    *lse = (double)(empty ? sink : highest + logf(sum));

    for (int64_t c = 0; c < problem->dim_v; c++)
        sums[c] = parts[c] = 0;
    for (int64_t j = keys.begin; j < keys.end && !empty; j++) {
        float weight = (float)lab_element_round(problem->type, (double)weights[j]);
        weight = lab_product_operand(way.products, weight, cut);
        bool hidden = logits.hides && weights[j] == 0 && !lab_logits_shows(&logits, row, j, &doubt);
        if (!hidden)
            naive_load(&way, &reads, LAB_V, j, vector);
        for (int64_t c = 0; c < problem->dim_v && !hidden; c++)
            parts[c] += lab_product(way.products, weight, vector[c]);
        if (ends_part(j - keys.begin, count, way.block))
            naive_add(sums, parts, problem->dim_v, way.half);
    }
    for (int64_t c = 0; c < problem->dim_v; c++)
        o[c] = empty ? 0 : lab_element_round(problem->type, sums[c] / sum);
}
