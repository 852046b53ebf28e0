/*
 * prefix.c - merge attention over a prefix with that over the remaining keys, on a CPU
 */
#include "../prefix.h"

#include <math.h>

#include "cpu.h"

typedef struct merge_job {
    const heed_merge *merge;
    const heed_merged *at;
} merge_job;

static int64_t offset(const heed_strides *s, int64_t batch, int64_t seq, int64_t head)
{
    return batch * s->batch + seq * s->seq + head * s->head;
}

/* Finds the weights of both parts, each of which is normalized; returns the LSE of all keys. */
static float weigh(float rest, float part, float weight[2])
{
    const double top = rest > part || isnan(rest) ? rest : part;
    double w[] = { rest, part }, sum = 0;
    for (int i = 0; i < 2; i++) {
        w[i] = w[i] == -INFINITY ? 0 : exp(w[i] - top);
        sum += w[i];
    }
    for (int i = 0; i < 2; i++)
        weight[i] = sum == 0 ? 0 : (float)(w[i] / sum);
    return (float)(top + log(sum));
}

static void merge_vector(const merge_job *job, int64_t batch, int64_t seq, int64_t head)
{
    const heed_merge *m = job->merge;
    const int64_t element = (int64_t)heed_type_size(m->type);
    const int64_t lse = offset(&m->lse, batch, seq, head);
    char *o = (char *)job->at->o + offset(&m->o, batch, seq, head) * element;
    const char *part = (const char *)job->at->part + offset(&m->part, batch, seq, head) * element;
    float a[HEED_DIM_MAX], b[HEED_DIM_MAX], weight[2];
    const float all = weigh(job->at->rest_lse[lse],
                            job->at->part_lse[offset(&m->part_lse, batch, seq, head)], weight);
    heed_load_row(a, o, m->dim, m->type);
    heed_load_row(b, part, m->dim, m->type);
    for (int64_t c = 0; c < m->dim; c++)
        a[c] = weight[0] * a[c] + weight[1] * b[c];
    heed_store_row(o, a, m->dim, m->type);
    if (job->at->lse)
        job->at->lse[lse] = all;
}

/* The row of all heads. */
static void merge_row(const void *data, int64_t row)
{
    const merge_job *job = data;
    const heed_merge *m = job->merge;
    for (int64_t h = 0; h < m->heads; h++)
        merge_vector(job, row / m->seq, row % m->seq, h);
}

void heed_prefix_on_cpu(const heed_plan *plan, const heed_buffers *buffers, const heed_merged *at)
{
    const heed_problem *p = &plan->problem;
    const heed_merge *m = &plan->prefix->merge;
    const merge_job job = { .merge = m, .at = at };
    int64_t rows = m->batch * m->seq;
    if (p->tokens_q > 0)
        rows = heed_job_cumulative(buffers->cu_seqlens_q, p->cu_seqlens_q.type, p->batch);
    heed_rows_run(plan->context, rows, m->heads * m->dim, merge_row, &job);
}
