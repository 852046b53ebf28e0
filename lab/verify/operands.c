/*
 * operands.c - random values of bias, slopes, sinks, starts, shown, lengths, tables and arrays
 */
#include "lab/verify/operands.h"

#include <math.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"

/* First random stream of operands. */
#define STREAM_OPERANDS 64

/* Random streams of usual values that several operands share. They do not depend on the numbers of
 * roles: the documents of an expression equal those of starts in every version of the
 * laboratory. */
#define STREAM_DOCUMENTS 6
#define STREAM_LENGTHS 128
#define STREAM_PAGES 129

/* The most pairs of queries and keys that are searched for hidden ones. */
#define PAIRS_MAX ((int64_t)1 << 20)

/* One in this many elements of a bias is -infinity, if any are. */
#define INFINITE_ONE_IN 8

/* One in this many heads has a negative slope, and one in this many last documents hides all
 * keys. */
#define NEGATIVE_ONE_IN 5
#define EMPTY_ONE_IN 2

/* Documents in a sequence of usual values. */
#define DOCUMENTS 12

/* ---------------------------------------------------------------------------------------------- */
/* Lengths of a typical server workload                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Lengths range from one hundredth of the longest to the longest, evenly spaced on a logarithmic
 * scale. The scale is bent so that the total is the number of packed tokens, or fills a pool of
 * pages that is too small if all sequences have the longest length. The problem alone determines
 * the amount of work; the seed only assigns the lengths to sequences. */
typedef struct mixture {
    int64_t count;  /* sequences */
    int64_t fewest; /* tokens of one */
    int64_t most;
    int64_t total; /* tokens of all; negative: any number */
} mixture;

/* The ratio of the longest length to the shortest, where the limits permit it. */
#define SPREAD 100

/* The largest exponent that bends the scale, and the steps of the search for it. */
#define BENT_MAX 64.0
#define STEPS 60

static int64_t clamped(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

/* The fewest keys of a batch element: the prefix, and the keys after it. */
static int64_t fewest_behind(const heed_problem *problem)
{
    int64_t behind = problem->append;
    if (problem->prefix > 0 && problem->mask != HEED_MASK_NONE && problem->seq_q > behind)
        behind = problem->seq_q;
    return problem->prefix + behind;
}

static int64_t fewest_keys(const heed_problem *problem)
{
    return clamped(fewest_behind(problem), 1, problem->seq_k);
}

/* Keys that are sure to fit in a pool: the last page of a sequence may hold a single key. */
static int64_t keys_of_pool(const heed_problem *problem)
{
    return problem->pages * problem->page - problem->batch * (problem->page - 1);
}

/* True if the lengths of @problem are chosen to fill its pool. Then each page of the pool can
 * belong to a single sequence. */
static bool fills_pool(const heed_problem *problem)
{
    return problem->page > 0 && problem->lengths.type != HEED_DATA_NONE && problem->prefix == 0 &&
           problem->pages < lab_pages_named(problem) &&
           keys_of_pool(problem) >= problem->batch * fewest_keys(problem);
}

/* The mixture for the operand lengths of @problem, normalized. */
static mixture mixture_of_keys(const heed_problem *problem)
{
    return (mixture){ .count = problem->batch,
                      .fewest = fewest_keys(problem),
                      .most = problem->seq_k,
                      .total = fills_pool(problem) ? keys_of_pool(problem) : -1 };
}

/* The length of the @i-th shortest sequence, not yet rounded. */
static double length_at(const mixture *it, int64_t i, double bent)
{
    const int64_t part = (it->most + SPREAD - 1) / SPREAD;
    const double shortest = (double)(part > it->fewest ? part : it->fewest);
    const double place = it->count > 1 ? (double)i / (double)(it->count - 1) : 1;
    return shortest * pow((double)it->most / shortest, pow(place, bent));
}

static double sum_of(const mixture *it, double bent)
{
    double sum = 0;
    for (int64_t i = 0; i < it->count; i++)
        sum += length_at(it, i, bent);
    return sum;
}

/* Returns the exponent with which the sum of the lengths is closest to the total. */
static double bend(const mixture *it)
{
    double straighter = 1 / BENT_MAX, bent = BENT_MAX;
    if (it->total < 0)
        return 1;
    for (int step = 0; step < STEPS; step++) { /* a larger exponent makes sequences shorter */
        const double middle = sqrt(straighter * bent);
        if (sum_of(it, middle) > (double)it->total)
            straighter = middle;
        else
            bent = middle;
    }
    return bent;
}

static void swap(heed_data kind, void *data, int64_t a, int64_t b)
{
    const double x = lab_data_get(kind, data, a);
    lab_data_set(kind, data, a, lab_data_get(kind, data, b));
    lab_data_set(kind, data, b, x);
}

/* Writes the length of sequence b to the element b * @stride of @data, of type @kind, i32 or i64.
 */
static void draw_mixture(const mixture *lengths, uint64_t seed, heed_data kind, void *data,
                         int64_t stride)
{
    const double bent = bend(lengths);
    double sum = 0; /* of unrounded lengths: the remainder carries over to the next one */
    int64_t given = 0;
    for (int64_t i = 0; i < lengths->count; i++) {
        const int64_t behind = lengths->count - 1 - i, left = lengths->total - given;
        sum += length_at(lengths, i, bent);
        int64_t length = clamped(llround(sum) - given, lengths->fewest, lengths->most);
        if (lengths->total >= 0)
            length = clamped(length, left - behind * lengths->most,
                             left - behind * lengths->fewest);
        given += length;
        lab_data_set(kind, data, i * stride, (double)length);
    }
    for (int64_t n = lengths->count - 1; n > 0; n--) /* Fisher-Yates shuffle */
        swap(kind, data, n * stride, lab_random_below(seed, (uint64_t)n, n + 1) * stride);
}

/* ---------------------------------------------------------------------------------------------- */
/* Values of each operand                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void fill_normal(const lab_view *view, void *data, uint64_t seed)
{
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0, at = lab_view_vector(view, n); c < view->dim; c++)
            lab_data_set(view->kind, data, at + c,
                         lab_random_normal(seed, (uint64_t)(n * view->dim + c)));
}

/* 2^(-8 (h + 1) / heads) for head h, as in the ALiBi paper; never negative. */
static void fill_slopes(const heed_problem *problem, const lab_view *view, void *data,
                        uint64_t seed, bool usual)
{
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        int64_t head = n % view->heads;
        double slope = exp2(-8.0 * (double)(head + 1) / (double)problem->heads_q);
        bool negative = !usual && lab_random_below(seed, (uint64_t)n, NEGATIVE_ONE_IN) == 0;
        lab_data_set(view->kind, data, lab_view_vector(view, n), negative ? -slope : slope);
    }
}

static void fill_sinks(const lab_view *view, void *data, uint64_t seed)
{
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        lab_data_set(view->kind, data, lab_view_vector(view, n),
                     (double)lab_random_below(seed, (uint64_t)n, 601) / 100 - 3);
}

/* Documents follow one another, of up to half the keys each. */
static void fill_starts(const heed_problem *problem, const lab_view *view, void *data,
                        uint64_t seed)
{
    int64_t most = (problem->seq_k + 1) / 2;
    for (int64_t b = 0; b < view->batch; b++) {
        uint64_t stream = lab_random_stream(seed, (uint64_t)b), drawn = 0;
        int64_t start = 0, end = 1 + lab_random_below(stream, drawn++, most);
        for (int64_t i = 0; i < view->seq; i++) {
            int64_t position = lab_position(problem, i);
            while (position >= end && end < problem->seq_k) {
                start = end;
                end += 1 + lab_random_below(stream, drawn++, most);
            }
            bool empty = i > 0 && i == view->seq - 1 &&
                         lab_random_below(stream, drawn++, EMPTY_ONE_IN) == 0;
            lab_data_set(view->kind, data, lab_view_at(view, b, i, 0),
                         (double)(empty ? problem->seq_k : start));
        }
    }
}

/* One row in eight is empty, one is full, and the others are random. */
static void fill_shown(const heed_problem *problem, const lab_view *view, void *data, uint64_t seed)
{
    bool bits = view->kind == HEED_DATA_BITS, several = lab_view_vectors(view) > 1;
    int64_t keys = bits ? view->dim * 32 : view->dim; /* including all bits of the last word */
    uint64_t rows = lab_random_stream(seed, 1);
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        int64_t kind = several ? lab_random_below(rows, (uint64_t)n, 8) : 7;
        int64_t at = lab_view_vector(view, n) * (bits ? 32 : 1);
        for (int64_t j = 0; j < keys; j++) {
            bool random = lab_random_below(seed, (uint64_t)(n * keys + j), 2) ||
                          problem->seq_k == 1;
            lab_data_set(view->kind, data, at + j, kind == 0 ? 0 : kind == 1 || random);
        }
    }
}

/* No key, one, all, or any number of them. New keys are among them. */
static void fill_lengths(const heed_problem *problem, const lab_view *view, void *data,
                         uint64_t seed)
{
    for (int64_t b = 0; b < view->batch; b++) {
        int64_t any = 1 + lab_random_below(seed, 2 * (uint64_t)b, problem->seq_k);
        if (problem->prefix > 0)
            any = fewest_behind(problem) +
                  lab_random_below(seed, 2 * (uint64_t)b,
                                   problem->seq_k - fewest_behind(problem) + 1);
        bool pages = problem->page > 0 && problem->page < problem->seq_k;
        int64_t edge = pages ? problem->page + 1 : problem->seq_k; /* one past a page */
        const int64_t lengths[] = { any, any, any, any, problem->seq_k, edge, 1, 0 };
        int64_t kind = lab_random_below(seed, 2 * (uint64_t)b + 1, 8);
        int64_t length = lengths[kind] > fewest_behind(problem) ? lengths[kind]
                                                                : fewest_behind(problem);
        lab_data_set(view->kind, data, lab_view_at(view, b, 0, 0), (double)length);
    }
}

/* The index of the @n-th page number in the table: first those of the prefix, which only the first
 * batch element has, then the others. */
static int64_t entry(const heed_problem *problem, const lab_view *view, int64_t n)
{
    const int64_t prefix = problem->prefix / problem->page, own = view->dim - prefix;
    if (n < prefix)
        return lab_view_at(view, 0, 0, 0) + n;
    n -= prefix;
    return lab_view_at(view, n / own, 0, 0) + prefix + n % own;
}

/* Names each page once, in random order, and some again if more are needed. Unused entries are not
 * valid page numbers. */
static void fill_table(const heed_problem *problem, const lab_view *view, void *data, uint64_t seed)
{
    int64_t needed = lab_pages_named(problem);
    for (int64_t n = 0; n < view->batch * (problem->prefix / problem->page); n++)
        lab_data_set(view->kind, data, lab_view_at(view, n % view->batch, 0, 0) + n / view->batch,
                     -1);
    for (int64_t n = 0; n < needed; n++) {
        int64_t page = problem->pages < needed ? n % problem->pages : n * problem->pages / needed;
        lab_data_set(view->kind, data, entry(problem, view, n), (double)page);
    }
    for (int64_t n = needed - 1; n > 0; n--) { /* Fisher-Yates shuffle */
        int64_t other = lab_random_below(seed, (uint64_t)n, n + 1);
        swap(view->kind, data, entry(problem, view, n), entry(problem, view, other));
    }
}

/* A random permutation of the numbers below @limit: a Feistel network on the two halves of the
 * bits, repeated until the result is below the limit. */
static int64_t relabel(int64_t n, int64_t limit, uint64_t seed)
{
    int half = 1;
    while ((int64_t)1 << (2 * half) < limit)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t high = (uint64_t)n >> half, low = (uint64_t)n & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t mixed = high ^ (lab_random_bits(seed, low << 2 | round) & mask);
            high = low;
            low = mixed;
        }
        n = (int64_t)(high << half | low);
    } while (n >= limit);
    return n;
}

/* Pages of a pool that the lengths fill: each belongs to one sequence. Entries beyond a length name
 * any page. */
static void fill_pool_table(const heed_problem *problem, const lab_view *view, void *data,
                            uint64_t seed)
{
    const mixture lengths = mixture_of_keys(problem);
    const uint64_t stream = lab_random_stream(seed, STREAM_PAGES);
    int64_t next = 0;
    draw_mixture(&lengths, lab_random_stream(seed, STREAM_LENGTHS), view->kind, data,
                 view->strides.batch); /* temporarily in the first column */
    for (int64_t b = 0; b < view->batch; b++) {
        const int64_t row = lab_view_at(view, b, 0, 0);
        const int64_t length = (int64_t)lab_data_get(view->kind, data, row);
        const int64_t used = (length + problem->page - 1) / problem->page;
        for (int64_t j = 0; j < view->dim; j++) {
            const int64_t page = (j < used ? next + j : b + j) % problem->pages;
            lab_data_set(view->kind, data, row + j, (double)relabel(page, problem->pages, stream));
        }
        next += used;
    }
}

/* As in models: the angle of pair c is position * 10000^(-c / pairs). */
static void fill_turns(const heed_problem *problem, const lab_view *view, void *data, bool cosine)
{
    const int64_t pairs = problem->rotary / 2;
    for (int64_t i = 0; i < view->dim; i++) {
        const int64_t position = i / pairs, pair = i % pairs;
        double angle = (double)position * pow(1e4, -(double)pair / (double)pairs);
        lab_data_set(view->kind, data, i, cosine ? cos(angle) : sin(angle));
    }
}

/* Random lengths of packed sequences: 0, 1, the longest or any length for each, and all @tokens
 * together. */
static void fill_cumulative(const heed_problem *problem, lab_role role, void *data, uint64_t seed)
{
    const bool queries = role == LAB_CU_Q;
    const heed_data kind = (queries ? problem->cu_seqlens_q : problem->cu_seqlens_k).type;
    const int64_t seq = queries ? problem->seq_q : problem->seq_k;
    int64_t left = queries ? problem->tokens_q : problem->tokens_k, at = 0;
    lab_data_set(kind, data, 0, 0);
    for (int64_t b = 0; b < problem->batch; b++) {
        const int64_t behind = problem->batch - b - 1, most = lab_least(seq, left);
        const int64_t fewest = left > behind * seq ? left - behind * seq : 0;
        const int64_t mean = left / (behind + 1);
        int64_t any = lab_random_below(seed, 2 * (uint64_t)b, 2 * mean + 1);
        const int64_t lengths[] = { any, any, any, any, mean, seq, 1, 0 };
        int64_t length = lengths[lab_random_below(seed, 2 * (uint64_t)b + 1, 8)];
        length = length > most ? most : length;
        length = length < fewest ? fewest : length;
        left -= length;
        at += length;
        lab_data_set(kind, data, b + 1, (double)at);
    }
}

/* The same with usual lengths, which are equal for queries and keys in self-attention. */
static void fill_usual_cumulative(const heed_problem *problem, lab_role role, void *data,
                                  uint64_t seed)
{
    const bool queries = role == LAB_CU_Q;
    const heed_data kind = (queries ? problem->cu_seqlens_q : problem->cu_seqlens_k).type;
    const mixture lengths = { .count = problem->batch,
                              .most = queries ? problem->seq_q : problem->seq_k,
                              .total = queries ? problem->tokens_q : problem->tokens_k };
    const size_t size = lab_data_size(kind);
    draw_mixture(&lengths, seed, kind, (char *)data + size, 1);
    lab_data_set(kind, data, 0, 0);
    for (int64_t b = 0; b < problem->batch; b++)
        lab_data_set(kind, data, b + 1,
                     lab_data_get(kind, data, b) + lab_data_get(kind, data, b + 1));
}

/* Cuts @length positions into documents at random, and writes their sorted ends to @ends. */
static void cut_documents(int64_t length, uint64_t seed, int64_t ends[DOCUMENTS])
{
    for (int n = 0; n < DOCUMENTS; n++) {
        int64_t end = n == 0 ? length : lab_random_below(seed, (uint64_t)n, length);
        int at = n;
        for (; at > 0 && ends[at - 1] > end; at--)
            ends[at] = ends[at - 1];
        ends[at] = end;
    }
}

/* The first key of the query's document. */
static void fill_usual_starts(const heed_problem *problem, const lab_view *view, void *data,
                              uint64_t seed)
{
    for (int64_t b = 0; b < view->batch; b++) {
        int64_t ends[DOCUMENTS], start = 0;
        int next = 0;
        cut_documents(problem->seq_k, lab_random_stream(seed, (uint64_t)b), ends);
        for (int64_t i = 0; i < view->seq; i++) {
            while (ends[next] <= lab_position(problem, i) && ends[next] < problem->seq_k)
                start = ends[next++];
            lab_data_set(view->kind, data, lab_view_at(view, b, i, 0), (double)start);
        }
    }
}

/* The document number of each position. */
static void fill_documents(const lab_view *view, void *data, uint64_t seed)
{
    int64_t ends[DOCUMENTS];
    int next = 0;
    cut_documents(view->dim, seed, ends);
    for (int64_t i = 0; i < view->dim; i++) {
        while (ends[next] <= i)
            next++;
        lab_data_set(view->kind, data, i, next);
    }
}

/* True if the array has one number for each query, or for each key. */
static bool is_along_sequence(const heed_problem *problem, lab_role role)
{
    const heed_array *array = &problem->arrays[role - LAB_ARRAYS];
    return array->type == HEED_DATA_I32 && array->rank == 1 &&
           (array->size[0] == problem->seq_q || array->size[0] == problem->seq_k);
}

/* The largest dimension of the problem's arrays: all indices are below it. */
static int64_t largest_size(const heed_problem *problem)
{
    int64_t most = 2;
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        for (int r = 0; r < problem->arrays[i].rank; r++)
            most = problem->arrays[i].size[r] > most ? problem->arrays[i].size[r] : most;
    return most;
}

/* Half of the integers are small, so that some are equal. */
static void fill_array(const heed_problem *problem, const lab_view *view, void *data, uint64_t seed)
{
    int64_t most = largest_size(problem);
    uint64_t small = lab_random_stream(seed, 1);
    for (int64_t i = 0; i < view->dim; i++) {
        int64_t limit = view->kind == HEED_DATA_BYTES || lab_random_below(small, (uint64_t)i, 2)
                            ? 2
                            : most;
        lab_data_set(view->kind, data, i, (double)lab_random_below(seed, (uint64_t)i, limit));
    }
}

/* Fills any operand with random values. @usual concerns slopes only. */
static void fill_operand(const heed_problem *problem, lab_role role, void *data, uint64_t seed,
                         bool usual)
{
    lab_view view = lab_view_of(problem, role);
    if (role == LAB_SLOPES)
        fill_slopes(problem, &view, data, seed, usual);
    else if (role == LAB_SINKS)
        fill_sinks(&view, data, seed);
    else if (role == LAB_STARTS)
        fill_starts(problem, &view, data, seed);
    else if (role == LAB_LENGTHS)
        fill_lengths(problem, &view, data, seed);
    else if (role == LAB_CU_Q || role == LAB_CU_K)
        fill_cumulative(problem, role, data, seed);
    else if (role == LAB_COS || role == LAB_SIN)
        fill_turns(problem, &view, data, role == LAB_COS);
    else if (role == LAB_TABLE)
        fill_table(problem, &view, data, seed);
    else if (role == LAB_SHOWN)
        fill_shown(problem, &view, data, seed);
    else if (role == LAB_BIAS || view.kind == HEED_DATA_F32)
        fill_normal(&view, data, seed);
    else
        fill_array(problem, &view, data, seed);
}

void lab_operand_fill(const heed_problem *problem, lab_role role, void *data, uint64_t seed)
{
    fill_operand(problem, role, data, seed, false);
}

void lab_operand_fill_usual(const heed_problem *problem, lab_role role, void *data, uint64_t seed)
{
    const uint64_t documents = lab_random_stream(seed, STREAM_DOCUMENTS);
    const uint64_t drawn = lab_random_stream(seed, STREAM_LENGTHS);
    lab_view view = lab_view_of(problem, role);
    const mixture lengths = mixture_of_keys(problem);
    if (role == LAB_STARTS)
        fill_usual_starts(problem, &view, data, documents);
    else if (role >= LAB_ARRAYS && is_along_sequence(problem, role))
        fill_documents(&view, data, lab_random_stream(documents, 0));
    else if (role == LAB_LENGTHS)
        draw_mixture(&lengths, drawn, view.kind, data, view.strides.batch);
    else if (role == LAB_CU_Q || role == LAB_CU_K)
        fill_usual_cumulative(problem, role, data, drawn);
    else if (role == LAB_TABLE && fills_pool(problem))
        fill_pool_table(problem, &view, data, seed);
    else
        fill_operand(problem, role, data, lab_random_stream(seed, (uint64_t)role), true);
}

/* ---------------------------------------------------------------------------------------------- */
/* Bias                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

static void make_infinite(const lab_block *block, uint64_t seed)
{
    const lab_view *view = &block->view;
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0; c < view->dim; c++)
            if (lab_random_below(seed, (uint64_t)(n * view->dim + c), INFINITE_ONE_IN) == 0)
                lab_data_set(view->kind, block->region.data, lab_view_vector(view, n) + c,
                             -INFINITY);
}

/* True if the key is hidden from every row that reads the bias at @batch, @head and @query. */
static bool is_hidden(const lab_values *values, const lab_logits *logits, int64_t batch,
                      int64_t head, int64_t query, int64_t key)
{
    const heed_problem *p = &values->problem;
    const lab_view *view = &values->block[LAB_BIAS].view;
    int64_t batches = view->batch > 1 ? batch + 1 : p->batch;
    int64_t heads = view->heads > 1 ? head + 1 : p->heads_q;
    int64_t queries = view->seq > 1 ? query + 1 : p->seq_q;
    lab_doubt doubt = { 0 };
    for (int64_t b = batch; b < batches; b++)
        for (int64_t h = head; h < heads; h++)
            for (int64_t i = query; i < queries; i++) {
                lab_range keys = lab_visible(p, i);
                if (key >= keys.begin && key < keys.end &&
                    lab_logits_shows(logits, (lab_row){ b, h, i }, key, &doubt))
                    return false;
            }
    return true;
}

static void poison_hidden(lab_values *values)
{
    const lab_block *block = &values->block[LAB_BIAS];
    const lab_view *view = &block->view;
    heed_buffers data = lab_values_buffers(values);
    int64_t vectors = lab_view_vectors(view), looked = 0;
    lab_logits logits;
    lab_logits_begin(&logits, &values->problem, &data);
    for (int64_t n = 0; n < vectors && looked < PAIRS_MAX; n++)
        for (int64_t j = 0; j < view->dim; j++, looked++) {
            int64_t head = n / view->seq % view->heads, batch = n / view->seq / view->heads;
            if (is_hidden(values, &logits, batch, head, n % view->seq, j))
                lab_data_set(view->kind, block->region.data, lab_view_vector(view, n) + j,
                             j % 2 ? INFINITY : NAN);
        }
}

/* Fills those of the operands @first to @end - 1 that the problem has. */
static void fill_roles(lab_values *values, int first, int end, uint64_t seed)
{
    for (int role = first; role < end; role++)
        if (values->block[role].region.map)
            lab_operand_fill(&values->problem, (lab_role)role,
                             lab_values_data(values, (lab_role)role),
                             lab_random_stream(seed, STREAM_OPERANDS + (uint64_t)role));
}

void lab_operands_fill_sequences(lab_values *values, uint64_t seed)
{
    fill_roles(values, LAB_CU_Q, LAB_CU_K + 1, seed);
}

void lab_operands_fill(lab_values *values, lab_operands_kind kind, uint64_t seed)
{
    const lab_block *bias = &values->block[LAB_BIAS], *slopes = &values->block[LAB_SLOPES];
    fill_roles(values, LAB_BIAS, LAB_TABLE, seed);
    fill_roles(values, LAB_CU_Q, LAB_K_NEW, seed);
    fill_roles(values, LAB_ARRAYS, LAB_INPUTS, seed);
    if (kind == LAB_OPERANDS_EXACT && bias->region.map)
        lab_block_set(bias, 0);
    if (kind == LAB_OPERANDS_EXACT && slopes->region.map)
        lab_block_set(slopes, 0);
    if (kind == LAB_OPERANDS_INFINITE && bias->region.map)
        make_infinite(bias, lab_random_stream(seed, STREAM_OPERANDS + LAB_INPUTS));
    if (kind == LAB_OPERANDS_POISONED && bias->region.map && !lab_packed(&values->problem))
        poison_hidden(values);
}
