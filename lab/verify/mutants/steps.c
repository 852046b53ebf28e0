/*
 * steps.c - attention in float32, row by row, in steps that the kernels of the suite vary
 */
#include "lab/verify/mutants/steps.h"

#include "lab/verify/reference/products.h"

static float get(const lab_view *view, const void *base, int64_t at)
{
    return (float)lab_element_get(view->type, base, at);
}

void mutant_see_all(mutant_row *r)
{
    r->first = 0;
    r->keys = lab_keys(r->problem);
}

float mutant_q_at(const mutant_row *r, int64_t c)
{
    int64_t at = lab_view_at(&r->q, r->row.batch, r->row.query, r->row.head);
    return get(&r->q, r->buffers->q, at + c);
}

float mutant_k_at(const mutant_row *r, int64_t j, int64_t c)
{
    return get(&r->k, r->buffers->k, lab_view_at(&r->k, r->kv_batch, r->first + j, r->kv_head) + c);
}

float mutant_v_at(const mutant_row *r, int64_t j, int64_t c)
{
    if (!mutant_shows(r, j))
        return 0;
    return get(&r->v, r->buffers->v, lab_view_at(&r->v, r->kv_batch, r->first + j, r->kv_head) + c);
}

/* -------------------------------------------------------------------------- */
/* Steps                                                                      */
/* -------------------------------------------------------------------------- */

bool mutant_shows(const mutant_row *r, int64_t j)
{
    lab_doubt doubt = { 0 };
    return lab_logits_shows(r->logits, r->row, r->first + j, &doubt);
}

float mutant_changed(const mutant_row *r, int64_t j, float t)
{
    lab_doubt doubt = { 0 };
    lab_number logit = { (double)t, 0 };
    if (!mutant_shows(r, j))
        return -INFINITY;
    if (!r->logits->changes)
        return t;
    return (float)lab_logits_change(r->logits, r->row, r->first + j, logit, true, &doubt).value;
}

float mutant_sink(const mutant_row *r)
{
    return r->sinkless ? -INFINITY : (float)lab_sink(r->problem, r->buffers, r->row);
}

float mutant_sink_weight(const mutant_row *r, float high)
{
    float sink = mutant_sink(r);
    return sink == -INFINITY || high == -INFINITY ? 0 : expf(sink - high);
}

float mutant_dot(const mutant_row *r, int64_t j)
{
    float sum = 0;
    for (int64_t c = 0; c < r->problem->dim_qk; c++)
        sum += mutant_q_at(r, c) * mutant_k_at(r, j, c);
    return sum;
}

void mutant_logits(mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = mutant_changed(r, j, r->problem->scale * mutant_dot(r, j));
}

float mutant_highest(const float *s, int64_t keys)
{
    float high = -INFINITY;
    for (int64_t j = 0; j < keys; j++)
        if (s[j] > high || isnan(s[j]))
            high = s[j];
    return high;
}

float mutant_high(const mutant_row *r)
{
    float high = mutant_highest(r->s, r->keys), sink = mutant_sink(r);
    return high != -INFINITY && sink > high ? sink : high;
}

/* Leaves weights in s. Returns their sum, including the sink; 0 if there are no weights. */
float mutant_softmax(mutant_row *r, float high)
{
    float sink = mutant_sink(r);
    high = high != -INFINITY && sink > high ? sink : high;
    float sum = mutant_sink_weight(r, high);
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = high == -INFINITY ? 0 : expf(r->s[j] - high);
        sum += r->s[j];
    }
    r->lse = sum == 0 ? sink : high + logf(sum);
    return sum;
}

float mutant_weights(mutant_row *r)
{
    mutant_logits(r);
    return mutant_softmax(r, mutant_highest(r->s, r->keys));
}

void mutant_weighted_sum(mutant_row *r, float sum)
{
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys && sum != 0; j++)
            r->o[c] += r->s[j] * mutant_v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

void mutant_finish(mutant_row *r)
{
    mutant_weighted_sum(r, mutant_softmax(r, mutant_highest(r->s, r->keys)));
}

void mutant_plain_row(mutant_row *r)
{
    mutant_logits(r);
    mutant_finish(r);
}

void mutant_mean_row(mutant_row *r)
{
    memset(r->s, 0, (size_t)r->keys * sizeof *r->s);
    mutant_finish(r);
}

void mutant_mistaken_row(mutant_row *r, const heed_problem *other)
{
    const heed_problem *whole = r->problem;
    r->problem = other;
    mutant_logits(r);
    r->problem = whole;
    mutant_finish(r);
}

static void store(const mutant_row *r)
{
    const heed_problem *p = r->problem;
    lab_view o = lab_view_of(p, LAB_O);
    int64_t at = lab_view_at(&o, r->row.batch, r->row.query, r->row.head);
    for (int64_t c = 0; c < p->dim_v; c++)
        lab_element_set(p->type, r->buffers->o, at + c, (double)r->o[c]);
    if (r->buffers->lse)
        r->buffers->lse[r->number] = r->lse;
}

/* Computes rows @first to @end - 1, with one function for everything before the store. */
static void run_rows(const heed_problem *problem, const heed_buffers *buffers,
                     mutant_row_fn *row_of, const lab_behaviour *behaviour, int64_t first,
                     int64_t end)
{
    float *s = calloc((size_t)lab_keys(problem) + MUTANT_PADDING, sizeof *s);
    heed_buffers shared = *buffers;
    lab_logits logits;
    lab_logits_begin(&logits, problem, buffers);
    shared.v = shared.k;
    buffers = problem->shared ? &shared : buffers;
    for (int64_t n = first; n < end && s; n++) {
        mutant_row r = { .problem = problem, .buffers = buffers, .s = s, .behaviour = behaviour };
        r.by = behaviour ? behaviour->by : 0;
        r.q = lab_view_of(problem, LAB_Q);
        r.k = lab_view_of(problem, LAB_K);
        r.v = lab_view_of(problem, LAB_V);
        lab_view_bind(&r.k, problem, buffers->table);
        lab_view_bind(&r.v, problem, buffers->table);
        r.number = n;
        r.row = lab_row_at(problem, n);
        lab_row_keys(problem, buffers, r.row, &r.kv_batch);
        r.kv_head = lab_row_kv_head(problem, r.row);
        r.logits = &logits;
        r.first = lab_visible(problem, r.row.query).begin;
        r.keys = lab_visible_count(problem, r.row.query);
        row_of(&r);
        store(&r);
    }
    free(s);
}

void mutant_turn(mutant_rest *rest, const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_view q = lab_view_of(problem, LAB_Q);
    double vector[HEED_DIM_MAX];
    *rest = (mutant_rest){ .problem = lab_append_rest(problem), .buffers = *buffers };
    if (problem->rotary > 0)
        rest->queries = malloc(lab_view_bytes(&q));
    for (int64_t n = 0; n < lab_view_vectors(&q) && rest->queries; n++) {
        const int64_t at = lab_view_vector(&q, n);
        lab_elements_load(q.type, buffers->q, at, q.dim, vector);
        lab_rotate_query(problem, buffers, lab_row_at(problem, n), vector);
        for (int64_t c = 0; c < q.dim; c++)
            lab_element_set(q.type, rest->queries, at + c, vector[c]);
    }
    if (rest->queries)
        rest->buffers.q = rest->queries;
}

void mutant_append(mutant_rest *rest, const heed_problem *problem, const heed_buffers *buffers)
{
    lab_append_complete(problem, buffers);
    mutant_turn(rest, problem, buffers);
}

void mutant_run_rows(const heed_problem *problem, const heed_buffers *buffers,
                     mutant_row_fn *row_of, int64_t first, int64_t end)
{
    run_rows(problem, buffers, row_of, NULL, first, end);
}

void mutant_run_all(const heed_problem *problem, const heed_buffers *buffers, mutant_row_fn *row_of)
{
    run_rows(problem, buffers, row_of, NULL, 0, lab_rows(problem));
}

static void row_of_logits(mutant_row *r)
{
    mutant_logits(r);
    r->high = mutant_highest(r->s, r->keys);
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = r->behaviour->logit(r, j);
    mutant_finish(r);
}

static void row_of_columns(mutant_row *r)
{
    mutant_plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = r->behaviour->column(r, c);
}

void mutant_run_by(const heed_problem *problem, const heed_buffers *buffers,
                   const lab_behaviour *behaviour)
{
    mutant_row_fn *row_of = behaviour->logit    ? row_of_logits
                            : behaviour->column ? row_of_columns
                                                : behaviour->row;
    run_rows(problem, buffers, row_of, behaviour, 0, lab_rows(problem));
}

void mutant_plain(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_all(problem, buffers, mutant_plain_row);
}

/* Online softmax after its last tile: adds the sink, and divides by the sum. */
static void finish_online(mutant_row *r, float high, float sum)
{
    float sink = mutant_sink(r), factor = 1;
    if (sum != 0 && sink > high) {
        factor = expf(high - sink);
        high = sink;
    }
    sum = sum == 0 ? 0 : sum * factor + mutant_sink_weight(r, high);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = sum == 0 ? 0 : r->o[c] * factor / sum;
    r->lse = sum == 0 ? sink : high + logf(sum);
}

static float half(float x)
{
    return (float)lab_element_round(HEED_F16, (double)x);
}

static float half_dot(const mutant_row *r, int64_t j, int64_t step)
{
    float sum = 0;
    for (int64_t first = 0; first < r->problem->dim_qk; first += step) {
        float block = 0;
        for (int64_t c = first; c < first + step && c < r->problem->dim_qk; c++)
            block += mutant_q_at(r, c) * mutant_k_at(r, j, c);
        sum = half(sum + block);
    }
    return sum;
}

/* Adds keys @first to @end - 1, whose weights are in s, to the output. */
static void add_keys(mutant_row *r, bool halves, int64_t first, int64_t end)
{
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        float block = 0;
        for (int64_t j = first; j < end; j++)
            block += (halves ? half(r->s[j]) : r->s[j]) * mutant_v_at(r, j, c);
        r->o[c] = halves ? half(r->o[c] + block) : r->o[c] + block;
    }
}

/* Online softmax in tiles of @tile keys; with @step not 0 in half precision, rounded after as many
 * products. */
static void online(mutant_row *r, int64_t tile, int64_t step, bool scale_sum, bool scale_output)
{
    const int64_t dim = r->problem->dim_v, block = step ? step : 1;
    float high = -INFINITY, sum = 0;
    memset(r->o, 0, (size_t)dim * sizeof *r->o);
    for (int64_t first = 0, end; first < r->keys; first = end) {
        end = r->keys - first < tile ? r->keys : first + tile;
        for (int64_t j = first; j < end && step; j++)
            r->s[j] = mutant_changed(r, j, r->problem->scale * half_dot(r, j, step));
        float now = mutant_highest(r->s + first, end - first);
        now = now > high || isnan(now) ? now : high;
        if (now == -INFINITY)
            continue;
        float rescale = expf(high - now);
        sum *= scale_sum ? rescale : 1;
        for (int64_t c = 0; c < dim && scale_output; c++)
            r->o[c] = step ? half(r->o[c] * rescale) : r->o[c] * rescale;
        for (int64_t j = first; j < end; j++)
            sum += r->s[j] = expf(r->s[j] - now);
        for (int64_t j = first; j < end; j += block)
            add_keys(r, step, j, j + block < end ? j + block : end);
        high = now;
    }
    finish_online(r, high, sum);
}

void mutant_online(mutant_row *r, int64_t tile, bool scale_sum, bool scale_output)
{
    mutant_logits(r);
    online(r, tile, 0, scale_sum, scale_output);
}

void mutant_in_half(mutant_row *r, int64_t tile, int64_t step)
{
    online(r, tile, step, true, true);
}

void mutant_in_products(mutant_row *r, int64_t products, bool cut, bool scaled)
{
    float before = scaled ? r->problem->scale : 1, after = scaled ? 1 : r->problem->scale;
    for (int64_t j = 0; j < r->keys; j++) {
        float dot = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            dot += lab_product(products,
                               lab_product_operand(products, before * mutant_q_at(r, c), cut),
                               lab_product_operand(products, mutant_k_at(r, j, c), cut));
        r->s[j] = mutant_changed(r, j, after * dot);
    }
    float sum = mutant_softmax(r, mutant_highest(r->s, r->keys));
    memset(r->o, 0, sizeof r->o);
    for (int64_t j = 0; j < r->keys && sum != 0; j++) {
        float weight = lab_product_operand(products, r->s[j], cut);
        for (int64_t c = 0; c < r->problem->dim_v; c++)
            r->o[c] += lab_product(products, weight,
                                   lab_product_operand(products, mutant_v_at(r, j, c), cut));
    }
    for (int64_t c = 0; c < r->problem->dim_v && sum != 0; c++)
        r->o[c] /= sum;
}

void mutant_reversed_row(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_high(r), sum = mutant_sink_weight(r, high);
    for (int64_t j = r->keys - 1; j >= 0; j--)
        sum += r->s[j] == -INFINITY ? 0 : expf(r->s[j] - high);
    mutant_softmax(r, high);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = r->keys - 1; j >= 0 && sum != 0; j--)
            r->o[c] += r->s[j] * mutant_v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

void mutant_part(const mutant_row *r, mutant_row *part, int64_t first, int64_t end)
{
    *part = *r;
    part->s = r->s + first;
    part->keys = end - first;
    part->first = r->first + first;
    part->sinkless = r->sinkless || first > 0;
    mutant_plain_row(part);
}

/* The order of the sums depends on where Q lies. */
void mutant_by_address(const heed_problem *problem, const heed_buffers *buffers)
{
    bool odd = ((uintptr_t)buffers->q / 64) % 64 != 0;
    mutant_run_all(problem, buffers, odd ? mutant_reversed_row : mutant_plain_row);
}

/* ---------------------------------------------------------------------------------------------- */
/* Memories of a kernel                                                                           */
/* ---------------------------------------------------------------------------------------------- */

void mutant_remember(mutant_memory *m)
{
    lab_view o = lab_view_of(m->problem, LAB_O);
    size_t element = heed_type_size(o.type), bytes = (size_t)o.dim * element;
    free(m->o);
    free(m->lse);
    m->rows = lab_rows(m->problem);
    m->dim = o.dim;
    m->type = o.type;
    m->last = *m->buffers;
    m->o = malloc((size_t)m->rows * bytes);
    m->lse = m->last.lse ? calloc((size_t)m->rows, sizeof *m->lse) : NULL;
    for (int64_t n = 0; n < m->rows && m->o; n++)
        memcpy((char *)m->o + (size_t)n * bytes,
               (const char *)m->last.o + (size_t)lab_view_vector(&o, n) * element, bytes);
    if (m->lse)
        memcpy(m->lse, m->last.lse, (size_t)m->rows * sizeof *m->lse);
}

bool mutant_recall(const mutant_memory *m)
{
    const heed_buffers *buffers = m->buffers;
    lab_view o = lab_view_of(m->problem, LAB_O);
    size_t element = heed_type_size(o.type), bytes = (size_t)o.dim * element;
    if (!m->o || m->rows != lab_rows(m->problem) || m->dim != o.dim || m->type != o.type ||
        (buffers->lse && !m->lse))
        return false;
    for (int64_t n = 0; n < m->rows; n++)
        memcpy((char *)buffers->o + (size_t)lab_view_vector(&o, n) * element,
               (const char *)m->o + (size_t)n * bytes, bytes);
    if (buffers->lse)
        memcpy(buffers->lse, m->lse, (size_t)m->rows * sizeof *m->lse);
    return true;
}
