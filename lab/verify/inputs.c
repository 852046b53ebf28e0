/*
 * inputs.c - distributions of input values that expose wrong kernels
 */
#include "lab/verify/inputs.h"
#include "lab/base/mask.h"

#include <math.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/inputs_fill.h"
#include "lab/verify/operands.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"

/* The largest distance of elements of uneven vectors from their mean, and the number of steps. */
#define UNEVEN 0.25
#define PARTS (INT64_C(1) << 20)

/* ---------------------------------------------------------------------------------------------- */
/* Building blocks                                                                                */
/* ---------------------------------------------------------------------------------------------- */

double lab_fill_get(const lab_values *values, lab_role role, int64_t at)
{
    return lab_element_get(values->problem.type, lab_values_data(values, role), at);
}

void lab_fill_set(lab_values *values, lab_role role, int64_t at, double value)
{
    lab_element_set(values->problem.type, lab_values_data(values, role), at, value);
}

void lab_fill_vector(lab_values *values, lab_role role, int64_t n, double value)
{
    const lab_view *view = &values->block[role].view;
    int64_t at = lab_view_vector(view, n);
    for (int64_t c = 0; c < view->dim; c++)
        lab_fill_set(values, role, at + c, value);
}

void lab_fill_uneven(lab_values *values, uint64_t seed, lab_role role, int64_t n, double value)
{
    const lab_view *view = &values->block[role].view;
    uint64_t stream = lab_random_stream(seed, role);
    int64_t at = lab_view_vector(view, n), pairs = view->dim / 2;
    lab_fill_vector(values, role, n, value);
    for (int64_t i = 0; i < pairs; i++) {
        double part = (double)lab_random_below(stream, (uint64_t)(n * pairs + i), PARTS + 1);
        part = UNEVEN * part / PARTS;
        lab_fill_set(values, role, at + 2 * i, value * (1 + part));
        lab_fill_set(values, role, at + 2 * i + 1, value * (1 - part));
    }
}

void lab_fill_normal(lab_values *values, uint64_t seed, lab_role role, double mean, double size)
{
    const lab_view *view = &values->block[role].view;
    uint64_t stream = lab_random_stream(seed, role);
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0, at = lab_view_vector(view, n); c < view->dim; c++) {
            uint64_t index = (uint64_t)(n * view->dim + c);
            lab_fill_set(values, role, at + c, mean + size * lab_random_normal(stream, index));
        }
}

void lab_fill_normals(lab_values *values, uint64_t seed, double qk_size, double v_size)
{
    for (lab_role role = LAB_Q; role <= LAB_V; role++)
        lab_fill_normal(values, seed, role, 0, role == LAB_V ? v_size : qk_size);
}

double lab_fill_logit_of_ones(const heed_problem *problem)
{
    return (double)problem->scale * (double)problem->dim_qk;
}

/* ---------------------------------------------------------------------------------------------- */
/* The distributions                                                                              */
/* ---------------------------------------------------------------------------------------------- */

static void normal(lab_values *values, uint64_t seed)
{
    lab_fill_normals(values, seed, 1, 1);
}

/* Every query is a multiple of one of the keys that it sees, with a logit of about NEEDLE_LOGIT. */
#define NEEDLE_LOGIT 30.0
#define NEEDLE_FACTOR_MAX 100.0

static void needle(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    double factor = NEEDLE_LOGIT / lab_fill_logit_of_ones(problem);
    factor = fmax(fmin(factor, NEEDLE_FACTOR_MAX), -NEEDLE_FACTOR_MAX);
    const heed_buffers data = lab_values_buffers(values);

    normal(values, seed);
    for (int64_t n = 0; n < lab_rows(problem); n++) {
        lab_row row = lab_row_at(problem, n);
        int64_t batch;
        lab_range keys = lab_row_keys(problem, &data, row, &batch);
        if (!lab_packed(problem))
            keys = lab_visible(problem, row.query);
        if (keys.begin == keys.end)
            continue;
        int64_t key = keys.begin + lab_random_below(choice, (uint64_t)n, keys.end - keys.begin);
        int64_t from = lab_view_at(k, batch, key, lab_row_kv_head(problem, row));
        int64_t to = lab_view_at(q, row.batch, row.query, row.head);
        for (int64_t c = 0; c < problem->dim_qk; c++)
            lab_fill_set(values, LAB_Q, to + c, factor * lab_fill_get(values, LAB_K, from + c));
    }
}

/* Column c of V is 1 for one key, spread from the first to the last, and 0 for all others: the
 * output is the softmax itself. */
static void impulse(lab_values *values, uint64_t seed)
{
    const lab_view *v = &values->block[LAB_V].view;
    normal(values, seed);
    lab_block_set(&values->block[LAB_V], 0);
    for (int64_t b = 0; b < v->batch; b++)
        for (int64_t h = 0; h < v->heads; h++)
            for (int64_t c = 0; c < v->dim; c++) {
                int64_t key = v->dim == 1 ? v->seq - 1 : c * (v->seq - 1) / (v->dim - 1);
                lab_fill_set(values, LAB_V, lab_view_at(v, b, key, h) + c, 1);
            }
}

/* Keys 0, 3, 6, ... are live, with logit 0, 16 of them or the largest power of two that fits; the
 * logits of the others are so low that their weights are 0 in float32. V consists of small
 * integers: the mean over 1, 2, 4, 8 or 16 live keys is exact in every type. */
#define LIVE_STEP 3
#define LIVE_KEYS 16
#define DEAD_LOGIT 16384.0
#define DEAD_KEY (-128.0)

static int64_t live_keys(int64_t keys)
{
    int64_t live = LIVE_KEYS;
    while ((live - 1) * LIVE_STEP >= keys)
        live /= 2;
    return live;
}

static void fill_integers(lab_values *values, uint64_t seed)
{
    const lab_view *v = &values->block[LAB_V].view;
    uint64_t stream = lab_random_stream(seed, LAB_V);
    for (int64_t n = 0; n < lab_view_vectors(v); n++)
        for (int64_t c = 0, at = lab_view_vector(v, n); c < v->dim; c++) {
            int64_t integer = lab_random_below(stream, (uint64_t)(n * v->dim + c), 17) - 8;
            lab_fill_set(values, LAB_V, at + c, (double)integer);
        }
}

static void exact(lab_values *values, uint64_t seed)
{
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    double scale = (double)values->problem.scale;
    double query = exp2(ceil(log2(DEAD_LOGIT / -DEAD_KEY / fabs(scale))));
    int64_t live = live_keys(k->seq);
    lab_block_set(&values->block[LAB_Q], 0);
    lab_block_set(&values->block[LAB_K], 0);
    for (int64_t n = 0; n < lab_view_vectors(q); n++)
        lab_fill_set(values, LAB_Q, lab_view_vector(q, n), scale < 0 ? -query : query);
    for (int64_t n = 0; n < lab_view_vectors(k); n++) {
        int64_t key = n % k->seq;
        bool is_live = key % LIVE_STEP == 0 && key / LIVE_STEP < live;
        lab_fill_set(values, LAB_K, lab_view_vector(k, n), is_live ? 0 : DEAD_KEY);
    }
    fill_integers(values, seed);
}

/* The query elements of the exact inputs must be representable in the type. */
static const char *exact_absent(const heed_problem *problem)
{
    double query = 2 * DEAD_LOGIT / -DEAD_KEY / fabs((double)problem->scale);
    bool fits = query < fmin(32768, lab_type_largest(problem->type)) &&
                query > fmax(0x1p-14, lab_type_normal(problem->type));
    if (!lab_adds_to_logits(problem) || lab_has_sinks(problem))
        return "softcap, score and sinks leave no answer exact";
    return fits ? NULL : "the scale is out of the range of exact answers";
}

/* Logits to about +-1e4. */
static void large(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    double deviation = fabs((double)problem->scale) * sqrt((double)problem->dim_qk);
    double size = fmin(sqrt(4e3 / deviation), 1e4);
    lab_fill_normals(values, seed, size, 1);
}

/* All keys of a head are the same vector. */
static void equal(lab_values *values, uint64_t seed)
{
    const lab_view *k = &values->block[LAB_K].view;
    normal(values, seed);
    for (int64_t b = 0; b < k->batch; b++)
        for (int64_t h = 0; h < k->heads; h++)
            for (int64_t s = 1; s < k->seq; s++)
                for (int64_t c = 0; c < k->dim; c++)
                    lab_fill_set(values, LAB_K, lab_view_at(k, b, s, h) + c,
                                 lab_fill_get(values, LAB_K, lab_view_at(k, b, 0, h) + c));
}

/* Logits rise from 0 to about RISE over the keys, and the running maximum keeps changing. */
#define RISE 40.0

static void rising(lab_values *values, uint64_t seed)
{
    const lab_view *q = &values->block[LAB_Q].view, *k = &values->block[LAB_K].view;
    uint64_t noise = lab_random_stream(seed, LAB_FILL_NOISE);
    double slope = fmax(fmin(RISE / lab_fill_logit_of_ones(&values->problem), 1e4), -1e4);
    lab_fill_normal(values, seed, LAB_V, 0, 1);
    for (int64_t n = 0; n < lab_view_vectors(q); n++)
        for (int64_t c = 0; c < q->dim; c++)
            lab_fill_set(values, LAB_Q, lab_view_vector(q, n) + c,
                         1 + 0.1 * lab_random_normal(noise, (uint64_t)(n * q->dim + c)));
    for (int64_t n = 0; n < lab_view_vectors(k); n++)
        for (int64_t c = 0; c < k->dim; c++)
            lab_fill_set(values, LAB_K, lab_view_vector(k, n) + c,
                         slope * (double)(n % k->seq + 1) / (double)k->seq);
}

/* V so small that an f16 output is subnormal. In f32 and bf16 it stays normal: bf16 units flush
 * subnormals by definition. */
static void tiny(lab_values *values, uint64_t seed)
{
    normal(values, seed);
    const heed_type type = values->problem.type;
    lab_fill_normal(values, seed, LAB_V, 0,
                    lab_type_is_narrow(type) ? lab_type_normal(type) / 8 : 0x1p-100);
}

static void plant(lab_values *values, int64_t batch, int64_t key, int64_t head)
{
    static const double poisons[] = { NAN, INFINITY, -INFINITY };
    for (int role = LAB_K; role <= LAB_V; role++) {
        const lab_view *view = &values->block[role].view;
        for (int64_t c = 0; c < view->dim; c++)
            lab_fill_set(values, (lab_role)role, lab_view_at(view, batch, key, head) + c,
                         poisons[(key + c) % 3]);
    }
}

/* True for the first key, which starts hide, and for a random one, where operands hide keys from
 * some queries.
 */
static bool is_chosen(const heed_problem *problem, int64_t key, uint64_t seed)
{
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    return lab_hides(problem) &&
           (key == 0 || key == lab_random_below(choice, 0, lab_keys(problem)));
}

/* NaN and infinities in keys that some query does not see: in the last quarter of the keys masked
 * for the first query, and in the first quarter of those masked for the last query. */
static void masked(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    int64_t seen = lab_visible(problem, 0).end, keys = lab_keys(problem);
    int64_t first = keys - (keys - seen + 3) / 4;
    int64_t last = (lab_visible(problem, lab_queries(problem) - 1).begin + 3) / 4;
    normal(values, seed);
    for (int64_t b = 0; b < values->block[LAB_K].view.batch; b++)
        for (int64_t h = 0; h < problem->heads_kv; h++)
            for (int64_t s = 0; s < keys; s++)
                if (s < last || s >= first || is_chosen(problem, s, seed))
                    plant(values, b, s, h);
}

static const char *masked_absent(const heed_problem *problem)
{
    lab_range all = lab_visible_to_all(problem);
    return lab_hides(problem) || all.end - all.begin < problem->seq_k
               ? NULL
               : "every query sees every key";
}

/* One NaN in V, one in K and one infinity in Q, in visible places. */
static void visible(lab_values *values, uint64_t seed)
{
    const heed_problem *problem = &values->problem;
    const lab_view *q = &values->block[LAB_Q].view;
    const lab_view *k = &values->block[LAB_K].view, *v = &values->block[LAB_V].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    int64_t key = lab_random_below(choice, 0, lab_keys(problem));
    int64_t query = lab_random_below(choice, 1, lab_queries(problem));
    int64_t c = lab_random_below(choice, 2, lab_least(problem->dim_qk, problem->dim_v));
    normal(values, seed);
    lab_fill_set(values, LAB_V, lab_view_at(v, 0, key, 0) + c, NAN);
    lab_fill_set(values, LAB_K, lab_view_at(k, k->batch - 1, key, problem->heads_kv - 1) + c, NAN);
    lab_fill_set(values, LAB_Q, lab_view_at(q, 0, query, problem->heads_q - 1) + c, INFINITY);
}

/* One NaN in V, and an infinity of another key in the next column, if any: a NaN in K would spread
 * to all columns of the head and hide them. */
static void nan_in_v(lab_values *values, uint64_t seed)
{
    const lab_view *v = &values->block[LAB_V].view;
    uint64_t choice = lab_random_stream(seed, LAB_FILL_CHOICE);
    lab_range keys = lab_visible(&values->problem, lab_queries(&values->problem) - 1);
    int64_t count = keys.end - keys.begin;
    int64_t key = count > 0 ? keys.begin + lab_random_below(choice, 0, count) : 0;
    int64_t other = count > 0 ? keys.begin + lab_random_below(choice, 3, count) : 0;
    int64_t head = lab_random_below(choice, 1, v->heads), c = lab_random_below(choice, 2, v->dim);
    normal(values, seed);
    lab_fill_set(values, LAB_V, lab_view_at(v, v->batch - 1, other, head) + (c + 1) % v->dim,
                 INFINITY);
    lab_fill_set(values, LAB_V, lab_view_at(v, v->batch - 1, key, head) + c, NAN);
}

/* A NaN in the first key of each head, where a running maximum is still -infinity. A kernel that
 * treats it as a key of weight 0 would be found only by chance if the key were random. */
static void nan_in_k(lab_values *values, uint64_t seed)
{
    const lab_view *k = &values->block[LAB_K].view;
    int64_t c = lab_random_below(lab_random_stream(seed, LAB_FILL_CHOICE), 2, k->dim);
    normal(values, seed);
    for (int64_t n = 0; n < k->batch * k->heads; n++)
        lab_fill_set(values, LAB_K, lab_view_at(k, n / k->heads, 0, n % k->heads) + c, NAN);
}

static const lab_inputs table[] = {
    { "normal", "normal values: the common case", true, false, normal, NULL },
    { "needle", "each query finds one key: a softmax that is nearly one-hot", true, false, needle,
      NULL },
    { "impulse", "columns of V with a single 1: the output is the softmax", true, false, impulse,
      NULL },
    { "exact", "powers of two and small integers: answers without rounding", true, true, exact,
      exact_absent },
    { "large", "logits up to +-1e4: exponentials overflow unless the maximum is subtracted", true,
      false, large, NULL },
    { "equal", "equal logits: the output is the mean of what is visible", true, false, equal,
      NULL },
    { "rising", "logits that rise along the keys: the running maximum keeps changing", true, false,
      rising, NULL },
    { "tiny", "values so small that f16 outputs are subnormal", true, false, tiny, NULL },
    { "masked", "NaN and infinities in keys that some queries do not see", false, false, masked,
      masked_absent },
    { "visible", "NaN and infinities in keys that queries see", false, false, visible, NULL },
    { "nan-in-v", "a NaN and an infinity in V: each must reach its column of the rows that see it",
      false, false, nan_in_v, NULL },
    { "nan-in-k", "a NaN in each first key: it must reach all rows that see one", false, false,
      nan_in_k, NULL },
    { "near", "logits that differ by about a tenth: a few keys do not represent all", true, false,
      lab_fill_near, NULL },
    { "tails", "one heavy key and many light ones with large values: all keys matter equally", true,
      false, lab_fill_tails, NULL },
    { "vast", "V up to 2^100, in f16 2^14: outputs beyond any fixed bound", true, false,
      lab_fill_vast, NULL },
    { "huge", "finite logits of either sign, up to the largest float32 number", true, false,
      lab_fill_huge, NULL },
    { "even", "logits up to +-120 from elements that are all small", true, false, lab_fill_even,
      NULL },
    { "low", "every logit far below zero, down to the lowest float32 number", true, false,
      lab_fill_low, NULL },
    { "sizes", "logits, gaps between the highest two, and V of all magnitudes, by row and head",
      true, false, lab_fill_sizes, NULL },
    { "weightless", "rows whose logits are all -infinity: their outputs are 0 or NaN", false, false,
      lab_fill_weightless, NULL },
};

const lab_inputs lab_inputs_captured = { "captured", "values captured from a real model",
                                         true,       false,
                                         NULL,       NULL };

void lab_inputs_fill(const lab_inputs *inputs, lab_values *values, uint64_t seed)
{
    lab_operands_fill_sequences(values, seed); /* they determine the keys of a row */
    inputs->fill(values, seed);
    if (inputs->fill == masked)
        lab_operands_fill(values, LAB_OPERANDS_POISONED, seed);
    else if (inputs->exact)
        lab_operands_fill(values, LAB_OPERANDS_EXACT, seed);
    else
        lab_operands_fill(values, inputs->finite ? LAB_OPERANDS_FINITE : LAB_OPERANDS_INFINITE,
                          seed);
    /* Values that were made for their products must stay as they are: rotation is by angle 0. It
     * still spreads an infinity or a NaN to the paired column. */
    if (inputs->fill != normal && values->block[LAB_COS].region.map) {
        lab_block_set(&values->block[LAB_COS], 1);
        lab_block_set(&values->block[LAB_SIN], 0);
    }
    lab_values_share(values);
}

const lab_inputs *lab_inputs_at(size_t index)
{
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

const lab_inputs *lab_inputs_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}
