/*
 * job.c - split an execution into tasks, run them on the context's threads, merge split keys
 */
#include "../problem/problem.h"
#include "bounds.h"
#include "cpu.h"

#include <math.h>
#include <stdatomic.h>

#include "measure.h"

/* The fields after O in a partial result. */
enum {
    PARTIAL_MAXIMUM,
    PARTIAL_SUM,
    PARTIAL_SUMS
};

void heed_job_init(heed_job *job, const heed_problem *problem, const heed_cut *cut)
{
    *job = (heed_job){ .problem = problem, .cut = *cut };
    job->group = heed_problem_group(problem);
    job->rows = problem->seq_q * job->group;
    job->blocks = heed_div_up(job->rows, cut->block_rows);
    job->places = problem->tokens_q > 0
                      ? problem->tokens_q * job->group / cut->block_rows + problem->batch
                      : problem->batch * job->blocks;
    job->masked = heed_problem_masked(problem);
    job->element = (int64_t)heed_type_size(problem->type);
    job->factor = problem->scale * HEED_LOG2_E;
    job->natural = (double)problem->scale / (double)job->factor;
}

/* ---- Packed queries ---- */

/* The first row of packed sequence @batch among those of all sequences. */
static int64_t first_row(const heed_job *job, int64_t batch)
{
    return heed_job_first_q(job, batch) * job->group;
}

/* The first slot of packed sequence @batch among those of all sequences. There are enough for the
 * sequence's blocks wherever its rows begin, and at most one more. */
static int64_t first_place(const heed_job *job, int64_t batch)
{
    return first_row(job, batch) / job->cut.block_rows + batch;
}

/* The last packed sequence whose @first is @number or less. */
static int64_t find_sequence(const heed_job *job, int64_t number,
                             int64_t (*first)(const heed_job *job, int64_t batch))
{
    int64_t low = 0, high = job->problem->batch - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (first(job, middle) <= number)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- Jobs ---- */

/* Initializes a job for an execution of @plan; @modify is made from its program. */
static void begin_job(heed_job *job, const heed_plan *plan, const heed_buffers *buffers,
                      heed_modify *modify)
{
    const heed_problem *p = &plan->problem;
    job->buffers = buffers;
    job->sinks = p->sinks.type == HEED_DATA_NONE ? NULL : buffers->sinks;
    job->starts = p->starts.type == HEED_DATA_NONE ? NULL : buffers->starts;
    job->lengths = p->lengths.type == HEED_DATA_NONE ? NULL : buffers->lengths;
    job->ahead = plan->ahead;
    job->cu_q = p->tokens_q > 0 ? buffers->cu_seqlens_q : NULL;
    job->cu_k = p->tokens_k > 0 ? buffers->cu_seqlens_k : NULL;
    job->table = p->table.type == HEED_DATA_NONE ? NULL : buffers->table;
    if (job->cu_q)
        job->places = first_place(job, p->batch);
    if (!plan->program)
        return;
    for (int i = 0; i < plan->program->source_count; i++)
        memcpy(&modify->data[i], (const char *)buffers + modify->sources[i].buffer,
               sizeof modify->data[i]);
    job->modify = modify;
    job->program = plan->program;
    job->need = modify->need;
    if (modify->changes) {
        job->factor = p->scale;
        job->natural = 1 / (double)HEED_LOG2_E;
    }
}

int64_t heed_job_tasks(const heed_job *job)
{
    int64_t tasks;
    if (__builtin_mul_overflow(job->places, job->problem->heads_kv / job->cut.heads, &tasks) ||
        __builtin_mul_overflow(tasks, job->cut.splits, &tasks))
        return INT64_MAX;
    return tasks;
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
    if (heed_problem_modifies(problem))
        workspace += scratch_stride(sizeof(heed_modify));
    if (cut->splits > 1) {
        const heed_tensor o = heed_problem_tensor(problem, HEED_ROLE_O);
        workspace += (size_t)(o.batch * o.seq * o.heads * cut->splits * (o.dim + PARTIAL_SUMS)) *
                     sizeof(float);
    }
    return scratch_stride(workspace);
}

static float *partial_row(const heed_job *job, const heed_task *task, int64_t row)
{
    const heed_problem *p = job->problem;
    int64_t index = (task->batch * p->heads_kv + task->head_kv) * job->rows + row;
    if (job->cu_q)
        index = task->head_kv * p->tokens_q * job->group + first_row(job, task->batch) + row;
    return job->partial + (index * job->cut.splits + task->split) * (p->dim_v + PARTIAL_SUMS);
}

static void *output_row(const heed_job *job, const heed_task *task, int64_t row)
{
    return (char *)job->buffers->o + heed_job_row_offset(job, task, &job->problem->o, row);
}

heed_target heed_job_target(const heed_job *job, const heed_task *task, int64_t row)
{
    if (job->cut.splits > 1)
        return (heed_target){ partial_row(job, task, row), true };
    return (heed_target){ output_row(job, task, row), false };
}

static float sink_of(const heed_job *job, const heed_task *task, int64_t row)
{
    const heed_strides *strides = &job->problem->sinks.strides;
    return job
        ->sinks[task->batch * strides->batch + heed_job_place(job, task, row).head * strides->head];
}

/* In float32 it may be infinite, where O is almost 0. */
static float add_sink(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                      float sum)
{
    if (!job->sinks)
        return sum;
    double above = (double)sink_of(job, task, row) - (double)maximum * job->natural;
    return (float)((double)sum + exp(above));
}

float heed_job_total(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                     float sum)
{
    return job->cut.splits > 1 ? sum : add_sink(job, task, row, maximum, sum);
}

/* log(e^a + e^b). Infinities and NaNs on either side propagate. */
static double join(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    if (isinf(high) || low == -INFINITY)
        return isnan(low) ? low : high;
    return high + log1p(exp(low - high));
}

/* In float64, and with the factor that logits were actually multiplied by: each rounding of a large
 * logit on the way to the LSE would be as large as that of the logit itself. */
static void set_output_lse(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                           float sum)
{
    const heed_problem *p = job->problem;
    if (!job->buffers->lse)
        return;
    heed_place place = heed_job_place(job, task, row);
    int64_t index = (task->batch * p->heads_q + place.head) * p->seq_q + place.seq;
    if (job->cu_q)
        index = place.head * p->tokens_q + heed_job_first_q(job, task->batch) + place.seq;
    double largest = (double)maximum * job->natural;
    double lse = largest + (double)log2f(sum) * 0.693147180559945309; /* ln 2 */
    lse = sum == 0 ? -INFINITY : lse;
    job->buffers->lse[index] = (float)(job->sinks ? join(lse, sink_of(job, task, row)) : lse);
}

void heed_job_set_sums(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                       float sum)
{
    if (job->cut.splits == 1) {
        set_output_lse(job, task, row, maximum, sum);
        return;
    }
    float *sums = partial_row(job, task, row) + job->problem->dim_v;
    sums[PARTIAL_MAXIMUM] = maximum;
    sums[PARTIAL_SUM] = sum;
}

void heed_sums_add(heed_sums all, heed_sums section, int64_t dim)
{
    float shrink = *all.m == *section.m ? 1 : exp2f(*all.m - *section.m);
    for (int64_t c = 0; c < dim; c++)
        all.o[c] = all.o[c] * shrink + section.o[c];
    memset(section.o, 0, (size_t)dim * sizeof *section.o);
    *all.l = *all.l * shrink + *section.l;
    *section.l = 0;
    *all.m = *section.m;
}

/* The first key that a row of the task sees. */
static int64_t first_key(const heed_job *job, const heed_task *task)
{
    const heed_strides *strides = &job->problem->starts.strides;
    int64_t key = heed_job_keys(job, task, task->row_begin).begin;
    if (!job->starts)
        return key;
    int64_t query = heed_job_place(job, task, task->row_begin).seq;
    return heed_max(key, job->starts[task->batch * strides->batch + query * strides->seq]);
}

void heed_job_begin_rows(const heed_job *job, const heed_task *task, int64_t row, int64_t count,
                         float *kept)
{
    int32_t query[HEED_PATCH_ROWS_MAX], head[HEED_PATCH_ROWS_MAX];
    if (!job->modify)
        return;
    for (int64_t i = 0; i < count; i++) {
        heed_place place = heed_job_place(job, task, heed_min(row + i, task->row_end - 1));
        query[i] = (int32_t)place.seq;
        head[i] = (int32_t)place.head;
    }
    job->modify->by->begin(job->modify, &(heed_patch_rows){ task->batch, row, query, head }, kept);
}

bool heed_job_may_see(const heed_job *job, const heed_task *task, int64_t first, int64_t keys)
{
    if (!job->modify || !job->modify->hides)
        return true;
    const int64_t last = task->row_end - 1, head = task->head_kv * job->group;
    const heed_pairs pairs = {
        .batch = { (int32_t)task->batch, (int32_t)task->batch },
        .head = { (int32_t)head, (int32_t)(head + job->group - 1) },
        .query = { (int32_t)heed_job_place(job, task, task->row_begin).seq,
                   (int32_t)heed_job_place(job, task, last).seq },
        .key = { (int32_t)first, (int32_t)(first + keys - 1) },
        .first_position = job->modify->first_position,
    };
    return heed_program_sight(job->program, job->modify->data, &pairs) != HEED_SEES_NONE;
}

/* Rows of a batch element. */
static int64_t rows_of(const heed_job *job, int64_t batch)
{
    return job->cu_q ? heed_job_lengths(job, batch).q * job->group : job->rows;
}

/* Blocks are numbered from the last rows to the first, since under a causal mask the last ones see
 * the most keys: long tasks first leave the least imbalance at the end. */
static heed_task task_at(const heed_job *job, int64_t index)
{
    const int64_t heads = job->problem->heads_kv / job->cut.heads; /* or several of them */
    heed_task task = { .split = index % job->cut.splits };
    index /= job->cut.splits;
    int64_t blocks = job->blocks;
    if (job->cu_q) {
        task.batch = find_sequence(job, index / heads, first_place);
        blocks = first_place(job, task.batch + 1) - first_place(job, task.batch);
        index -= first_place(job, task.batch) * heads;
    } else {
        task.batch = index / (blocks * heads);
        index -= task.batch * blocks * heads;
    }
    task.head_kv = index / blocks * job->cut.heads;
    int64_t block = blocks - 1 - index % blocks;
    task.row_begin = block * job->cut.block_rows;
    task.row_end = heed_min(task.row_begin + job->cut.block_rows, rows_of(job, task.batch));
    if (task.row_end <= task.row_begin) /* a slot that the packed sequence does not need */
        return task;

    int64_t end = heed_job_keys(job, &task, task.row_end - 1).end;
    int64_t begin = heed_min(first_key(job, &task), end) / job->cut.key_tile;
    int64_t tiles = heed_div_up(end, job->cut.key_tile) - begin;
    task.key_begin = (begin + tiles * task.split / job->cut.splits) * job->cut.key_tile;
    task.key_end = heed_min(
        (begin + tiles * (task.split + 1) / job->cut.splits) * job->cut.key_tile, end);
    return task;
}

/* Merges the partial results of one row, weighted by their maxima and sums, as in FlashDecoding: o
 * = sum_s w_s o_s / sum_s w_s, w_s = l_s 2^(m_s - m). */
static void merge_row(const heed_job *job, const heed_task *task, int64_t row)
{
    int64_t dim = job->problem->dim_v;
    heed_task part = *task;
    float top = -INFINITY;
    float sum = 0;
    for (part.split = 0; part.split < job->cut.splits; part.split++) {
        const float *sums = partial_row(job, &part, row) + dim;
        if (sums[PARTIAL_SUM] != 0 && !(sums[PARTIAL_MAXIMUM] <= top))
            top = sums[PARTIAL_MAXIMUM];
    }
    part.split = 0;
    float *o = partial_row(job, &part, row);
    for (; part.split < job->cut.splits; part.split++) {
        const float *from = partial_row(job, &part, row);
        const float *sums = from + dim;
        float weight = sums[PARTIAL_SUM];
        if (weight != 0)
            weight *= exp2f(sums[PARTIAL_MAXIMUM] - top);
        sum += weight;
        for (int64_t c = 0; c < dim; c++)
            o[c] = (part.split ? o[c] : 0) + weight * from[c];
    }
    float total = add_sink(job, task, row, top, sum);
    for (int64_t c = 0; c < dim; c++)
        o[c] = sum == 0 ? 0 : o[c] / total;
    heed_store_row(output_row(job, task, row), o, dim, job->problem->type);
    set_output_lse(job, task, row, top, sum);
}

/* State shared by the threads of one execution. They take units of work, first tasks and then rows
 * to merge, from a counter. */
typedef struct region {
    heed_job job;
    heed_task_fn *run;
    char *scratch;
    size_t scratch_size;
    int64_t units;
    const heed_context *watched; /* if it is stopped, the tasks end; NULL: never */
    atomic_llong next;
} region;

static int64_t next_unit(region *shared)
{
    return atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed);
}

#ifdef __SSE__
#define FLUSH_TO_ZERO 0x8000U /* of MXCSR */

static unsigned modes(void)
{
    return __builtin_ia32_stmxcsr();
}

static void set_modes(unsigned value)
{
    __builtin_ia32_ldmxcsr(value);
}
#else
#define FLUSH_TO_ZERO 0U

static unsigned modes(void)
{
    return 0;
}

static void set_modes(unsigned value)
{
    (void)value;
}
#endif

/* Denormal results are zeros meanwhile: with each of them an instruction takes a hundred times as
 * long, and rows whose maximum rises from tile to tile have many. */
static void run_tasks(void *data, int index)
{
    region *shared = data;
    void *scratch = shared->scratch + (size_t)index * shared->scratch_size;
    const unsigned before = modes();
    int64_t i;
    set_modes(before | FLUSH_TO_ZERO);
    while ((i = next_unit(shared)) < shared->units &&
           !(shared->watched && heed_context_stopped(shared->watched))) {
        heed_task task = task_at(&shared->job, i);
        if (task.row_end > task.row_begin)
            shared->run(&shared->job, &task, scratch);
    }
    set_modes((modes() & ~FLUSH_TO_ZERO) | (before & FLUSH_TO_ZERO)); /* exceptions stay */
}

/* Rows of all batch elements. */
static int64_t all_rows(const heed_job *job)
{
    const int64_t batch = job->problem->batch;
    return job->cu_q ? first_row(job, batch) : batch * job->rows;
}

static void run_merges(void *data, int index)
{
    region *shared = data;
    const heed_job *job = &shared->job;
    const int64_t rows = all_rows(job);
    int64_t i;
    (void)index;
    while ((i = next_unit(shared)) < shared->units) {
        heed_task task = { .head_kv = i / rows };
        int64_t row = i - task.head_kv * rows;
        task.batch = job->cu_q ? find_sequence(job, row, first_row) : row / job->rows;
        row -= job->cu_q ? first_row(job, task.batch) : task.batch * job->rows;
        merge_row(job, &task, row);
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
                  heed_task_fn *run, int ablation)
{
    const heed_problem *p = &plan->problem;
    const heed_cpu_code *code = plan->kernel->code;
    int threads = plan->context->machine.threads;
    region shared = { .run = run,
                      .scratch = buffers->workspace,
                      .watched = plan->trial ? plan->context : NULL };
    heed_job_init(&shared.job, p, cut);
    heed_modify *modify = buffers->workspace;
    if (plan->program) {
        heed_modify_make(modify, p, plan->program, &code->grid);
        modify->by = code->modifier;
        shared.scratch += scratch_stride(sizeof *modify);
    }
    begin_job(&shared.job, plan, buffers, modify);
    shared.job.ablation = ablation;
    shared.scratch_size = scratch_stride(code->scratch(code, p, cut, &shared.job.need));
    int64_t tasks = heed_job_tasks(&shared.job);
    size_t all_scratch = shared.scratch_size * (size_t)heed_min(tasks, threads);
    shared.job.partial = (float *)(void *)(shared.scratch + all_scratch);
    share(plan->context->pool, run_tasks, &shared, tasks, threads);
    if (cut->splits > 1)
        share(plan->context->pool, run_merges, &shared, all_rows(&shared.job) * p->heads_kv,
              threads);
}
