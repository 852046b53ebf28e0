/*
 * job.c - cut one execution into tasks, run them on the context's threads, merge what was split
 */
#include "cpu.h"

#include <math.h>
#include <stdatomic.h>

void heed_job_init(heed_job *job, const heed_problem *problem, const heed_cut *cut)
{
    *job = (heed_job){ .problem = problem, .cut = *cut };
    job->group = problem->heads_q / problem->heads_kv;
    job->rows = problem->seq_q * job->group;
    job->blocks = heed_div_up(job->rows, cut->block_rows);
    job->element = (int64_t)heed_type_size(problem->type);
}

int64_t heed_job_tasks(const heed_job *job)
{
    const heed_problem *p = job->problem;
    return p->batch * p->heads_kv * job->blocks * job->cut.splits;
}

static size_t scratch_stride(size_t scratch)
{
    return (size_t)heed_round_up((int64_t)scratch, HEED_ALIGNMENT);
}

size_t heed_job_workspace(const heed_problem *problem, const heed_cut *cut, int threads,
                          size_t scratch)
{
    heed_job job;
    heed_job_init(&job, problem, cut);
    int64_t tasks = heed_job_tasks(&job);
    size_t workspace = scratch_stride(scratch) * (size_t)heed_min(tasks, threads);
    if (cut->splits > 1)
        workspace += (size_t)(problem->batch * problem->heads_kv * job.rows * cut->splits *
                              (problem->dim_v + 1)) *
                     sizeof(float);
    return scratch_stride(workspace);
}

static float *partial_row(const heed_job *job, const heed_task *task, int64_t row)
{
    const heed_problem *p = job->problem;
    int64_t index = (task->batch * p->heads_kv + task->head_kv) * job->rows + row;
    return job->partial + (index * job->cut.splits + task->split) * (p->dim_v + 1);
}

static void *output_row(const heed_job *job, const heed_task *task, int64_t row)
{
    heed_place place = heed_job_place(job, task, row);
    return (char *)job->buffers->o + heed_job_offset(job, task, &job->problem->o, place);
}

heed_target heed_job_target(const heed_job *job, const heed_task *task, int64_t row)
{
    if (job->cut.splits > 1)
        return (heed_target){ partial_row(job, task, row), true };
    return (heed_target){ output_row(job, task, row), false };
}

static void set_output_lse(const heed_job *job, const heed_task *task, int64_t row, float lse2)
{
    const heed_problem *p = job->problem;
    heed_place place = heed_job_place(job, task, row);
    int64_t index = (task->batch * p->heads_q + place.head) * p->seq_q + place.seq;
    if (job->buffers->lse)
        job->buffers->lse[index] = lse2 * 0.693147180559945309f; /* ln 2 */
}

void heed_job_set_lse(const heed_job *job, const heed_task *task, int64_t row, float lse2)
{
    if (job->cut.splits > 1)
        partial_row(job, task, row)[job->problem->dim_v] = lse2;
    else
        set_output_lse(job, task, row, lse2);
}

/* Blocks are numbered from the last rows to the first, since under a causal mask the last ones see
 * the most keys: long tasks first leave the least imbalance at the end. */
static heed_task task_at(const heed_job *job, int64_t index)
{
    const heed_problem *p = job->problem;
    heed_task task;
    task.split = index % job->cut.splits;
    index /= job->cut.splits;
    int64_t block = job->blocks - 1 - index % job->blocks;
    index /= job->blocks;
    task.head_kv = index % p->heads_kv;
    task.batch = index / p->heads_kv;
    task.row_begin = block * job->cut.block_rows;
    task.row_end = heed_min(task.row_begin + job->cut.block_rows, job->rows);

    int64_t keys = heed_job_visible(job, task.row_end - 1);
    int64_t tiles = heed_div_up(keys, job->cut.key_tile);
    task.key_begin = tiles * task.split / job->cut.splits * job->cut.key_tile;
    task.key_end = heed_min(tiles * (task.split + 1) / job->cut.splits * job->cut.key_tile, keys);
    return task;
}

/* Merges the partial results of one row: their LSEs tell how much each weighs. The method is the
 * merge of FlashDecoding: o = sum_s 2^(lse_s - lse) o_s, lse = log2 sum_s 2^lse_s. */
static void merge_row(const heed_job *job, const heed_task *task, int64_t row)
{
    int64_t dim = job->problem->dim_v;
    heed_task part = *task;
    float top = -INFINITY;
    float sum = 0;
    for (part.split = 0; part.split < job->cut.splits; part.split++) {
        float lse2 = partial_row(job, &part, row)[dim];
        top = lse2 > top || isnan(lse2) ? lse2 : top;
    }
    float shift = top == -INFINITY ? 0 : top;
    part.split = 0;
    float *o = partial_row(job, &part, row);
    for (; part.split < job->cut.splits; part.split++) {
        const float *from = partial_row(job, &part, row);
        float weight = exp2f(from[dim] - shift);
        sum += weight;
        for (int64_t c = 0; c < dim; c++)
            o[c] = (part.split ? o[c] : 0) + (weight == 0 ? 0 : weight * from[c]);
    }
    for (int64_t c = 0; c < dim; c++)
        o[c] = sum == 0 ? 0 : o[c] / sum;
    heed_store_row(output_row(job, task, row), o, dim, job->problem->type);
    set_output_lse(job, task, row, sum == 0 ? -INFINITY : top + log2f(sum));
}

/* What the threads of one execution share. They take the units of work, first tasks and then rows
 * to merge, off a counter. */
typedef struct region {
    heed_job job;
    heed_task_fn *run;
    char *scratch;
    size_t scratch_size;
    int64_t units;
    atomic_llong next;
} region;

static int64_t next_unit(region *shared)
{
    return atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed);
}

static void run_tasks(void *data, int index)
{
    region *shared = data;
    void *scratch = shared->scratch + (size_t)index * shared->scratch_size;
    int64_t i;
    while ((i = next_unit(shared)) < shared->units) {
        heed_task task = task_at(&shared->job, i);
        shared->run(&shared->job, &task, scratch);
    }
}

static void run_merges(void *data, int index)
{
    region *shared = data;
    const heed_job *job = &shared->job;
    int64_t i;
    (void)index;
    while ((i = next_unit(shared)) < shared->units) {
        heed_task task = { .head_kv = i / job->rows % job->problem->heads_kv,
                           .batch = i / job->rows / job->problem->heads_kv };
        merge_row(job, &task, i % job->rows);
    }
}

static void share(heed_pool *pool, void (*body)(void *data, int index), region *shared,
                  int64_t units, int threads)
{
    shared->units = units;
    atomic_init(&shared->next, 0);
    heed_pool_run(pool, body, shared, (int)heed_min(units, threads));
}

void heed_job_run(const heed_plan *plan, const heed_buffers *buffers, const heed_cut *cut,
                  size_t scratch, heed_task_fn *run)
{
    const heed_problem *p = &plan->problem;
    int threads = plan->context->machine.threads;
    region shared = { .run = run,
                      .scratch = buffers->workspace,
                      .scratch_size = scratch_stride(scratch) };
    heed_job_init(&shared.job, p, cut);
    shared.job.buffers = buffers;
    int64_t tasks = heed_job_tasks(&shared.job);
    size_t all_scratch = shared.scratch_size * (size_t)heed_min(tasks, threads);
    shared.job.partial = (float *)(void *)(shared.scratch + all_scratch);
    share(plan->context->pool, run_tasks, &shared, tasks, threads);
    if (cut->splits > 1)
        share(plan->context->pool, run_merges, &shared, p->batch * p->heads_kv * shared.job.rows,
              threads);
}
