/*
 * append.c - append new keys and values to the KV cache, and rotate queries, on a CPU
 *
 * A row is a new key of a batch element with its value, or a query, for all heads.
 */
#include "../append.h"

#include "../problem/operand.h"
#include "cpu.h"

typedef struct append_job {
    const heed_problem *problem;
    const heed_buffers *buffers;
    char *queries;         /* rotated queries; NULL: no rotation */
    heed_strides q_stride; /* of rotated queries */
    int64_t element;       /* bytes per element */
    int64_t packed;        /* queries of all sequences, if they are packed */
    int64_t keys;          /* new keys of all batch elements */
} append_job;

/* Rotates columns a and b, which are float32: products are exact in float64. */
static void rotate_pair(float *row, int64_t a, int64_t b, double cos, double sin)
{
    const double x = (double)row[a], y = (double)row[b];
    row[a] = (float)(x * cos - y * sin);
    row[b] = (float)(y * cos + x * sin);
}

/* Writes a vector of @dim elements, rotated by @cos and @sin if they are not NULL. */
static void write_vector(const append_job *job, void *to, const void *from, int64_t dim,
                         const float *cos, const float *sin)
{
    const heed_problem *p = job->problem;
    const int64_t pairs = p->rotary / 2, first = heed_problem_turned(p) * job->element;
    float row[HEED_DIM_MAX];
    memcpy(to, from, (size_t)(dim * job->element));
    if (!cos)
        return;
    heed_load_row(row, (const char *)from + first, p->rotary, p->type);
    for (int64_t c = 0; c < pairs; c++) {
        const int64_t a = p->interleaved ? 2 * c : c;
        rotate_pair(row, a, p->interleaved ? a + 1 : a + pairs, (double)cos[c], (double)sin[c]);
    }
    heed_store_row((char *)to + first, row, p->rotary, p->type);
}

/* Loads the cosines or sines of @position, as float32. */
static void load_turns(float *to, const heed_problem *p, const heed_operand *operand,
                       const void *data, int64_t position)
{
    const heed_type type = heed_data_type(operand->type);
    const int64_t pairs = p->rotary / 2;
    const size_t at = (size_t)(position * pairs) * heed_type_size(type);
    heed_load_row(to, (const char *)data + at, pairs, type);
}

/* The angles of one position. */
typedef struct turns {
    float cos[HEED_DIM_MAX / 2];
    float sin[HEED_DIM_MAX / 2];
} turns;

static void load_position(turns *t, const append_job *job, int64_t position)
{
    const heed_problem *p = job->problem;
    load_turns(t->cos, p, &p->rotary_cos, job->buffers->rotary_cos, position);
    load_turns(t->sin, p, &p->rotary_sin, job->buffers->rotary_sin, position);
}

/* Elements from a tensor's first to head @head of key @j of batch element @batch. */
static int64_t cache_offset(const append_job *job, const heed_strides *s, int64_t batch, int64_t j,
                            int64_t head)
{
    const heed_problem *p = job->problem;
    if (p->page > 0) {
        const int32_t *table = job->buffers->table;
        batch = table[batch * p->table.strides.batch + j / p->page];
        j %= p->page;
    }
    return batch * s->batch + j * s->seq + head * s->head;
}

static int64_t length_of(const append_job *job, int64_t batch)
{
    const int32_t *lengths = job->buffers->lengths;
    return lengths[batch * job->problem->lengths.strides.batch];
}

/* The first row of packed sequence @batch. */
static int64_t first_row(const append_job *job, int64_t batch)
{
    return heed_job_cumulative(job->buffers->cu_seqlens_q, job->problem->cu_seqlens_q.type, batch);
}

/* The last packed sequence that begins at or before @row. */
static int64_t find_sequence(const append_job *job, int64_t row)
{
    int64_t low = 0, high = job->problem->batch - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (first_row(job, middle) <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The position of packed query @row, and of its new key; 0 after the last sequence, where any
 * position will do. */
static int64_t packed_position(const append_job *job, int64_t row)
{
    if (row >= job->packed)
        return 0;
    const int64_t batch = find_sequence(job, row);
    return row + length_of(job, batch) - first_row(job, batch + 1);
}

/* Writes new key @n of all batch elements, with its value. */
static void write_key(const append_job *job, int64_t n)
{
    const heed_problem *p = job->problem;
    const heed_buffers *b = job->buffers;
    const bool packed = p->append_packed;
    const int64_t batch = packed ? find_sequence(job, n) : n / p->append;
    const int64_t first = packed ? 0 : batch, row = packed ? n : n % p->append;
    const int64_t j = packed ? packed_position(job, n) : length_of(job, batch) - p->append + row;
    turns t;
    if (p->rotary > 0)
        load_position(&t, job, j);
    for (int64_t h = 0; h < p->heads_kv; h++) {
        const int64_t k = cache_offset(job, &p->k, batch, j, h);
        const int64_t from = first * p->k_new.batch + row * p->k_new.seq + h * p->k_new.head;
        write_vector(job, (char *)(uintptr_t)b->k + k * job->element,
                     (const char *)b->k_new + from * job->element, p->dim_qk,
                     p->rotary > 0 ? t.cos : NULL, t.sin);
    }
    for (int64_t h = 0; h < p->heads_kv && !p->shared; h++) {
        const int64_t v = cache_offset(job, &p->v, batch, j, h);
        const int64_t from = first * p->v_new.batch + row * p->v_new.seq + h * p->v_new.head;
        write_vector(job, (char *)(uintptr_t)b->v + v * job->element,
                     (const char *)b->v_new + from * job->element, p->dim_v, NULL, NULL);
    }
}

/* Writes query @n of all batch elements. */
static void write_query(const append_job *job, int64_t n)
{
    const heed_problem *p = job->problem;
    const heed_strides *to = &job->q_stride;
    const bool packed = p->tokens_q > 0;
    const int64_t batch = packed ? 0 : n / p->seq_q, i = packed ? n : n % p->seq_q;
    const int64_t position = packed ? packed_position(job, n)
                                    : i + length_of(job, batch) - p->seq_q;
    turns t;
    load_position(&t, job, heed_max(position, 0));
    for (int64_t h = 0; h < p->heads_q; h++) {
        const int64_t from = batch * p->q.batch + i * p->q.seq + h * p->q.head;
        const int64_t at = batch * to->batch + i * to->seq + h * to->head;
        write_vector(job, job->queries + at * job->element,
                     (const char *)job->buffers->q + from * job->element, p->dim_qk, t.cos, t.sin);
    }
}

static void write_row(const void *data, int64_t row)
{
    const append_job *job = data;
    if (row < job->keys)
        write_key(job, row);
    else
        write_query(job, row - job->keys);
}

/* Sets the numbers of packed queries and of new keys, and returns that of all rows. Packed queries
 * after the last sequence are rows too if a prefix has them read. */
static int64_t count_rows(append_job *job)
{
    const heed_problem *p = job->problem;
    const bool packed = p->tokens_q > 0;
    job->packed = packed ? first_row(job, p->batch) : 0;
    job->keys = p->append_packed ? job->packed : p->batch * p->append;
    if (!job->queries)
        return job->keys;
    return job->keys + (!packed ? p->batch * p->seq_q : p->prefix > 0 ? p->tokens_q : job->packed);
}

void heed_append_on_cpu(const heed_plan *plan, const heed_buffers *buffers, void *queries)
{
    const heed_problem *p = &plan->append->problem;
    append_job job = { .problem = p,
                       .buffers = buffers,
                       .queries = queries,
                       .q_stride = plan->problem.q,
                       .element = (int64_t)heed_type_size(p->type) };
    const int64_t wide = heed_max(p->heads_kv * (p->dim_qk + p->dim_v), p->heads_q * p->dim_qk);
    const int64_t rows = count_rows(&job);
    heed_rows_run(plan->context, rows, wide, write_row, &job);
}
