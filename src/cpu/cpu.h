/*
 * cpu.h - shared by the CPU kernels: one execution as a set of independent tasks
 *
 * The query heads that read one key/value head (GQA) form a group. Their queries are the rows of
 * one tall matrix: row r is query r / group of the group's head r % group, so later rows see more
 * keys under a causal mask, and K and V are read once for the whole group. A task is a block of
 * these rows with one range of the keys. Where keys are split among tasks (split-KV), each task
 * stores a normalized partial result with its maximum and sum, and a second pass merges them.
 */
#ifndef HEED_CPU_H
#define HEED_CPU_H

#include <string.h>

/* HEED_ABLATE of the build of a kernel with all ablations that are choices outside of inner loops;
 * the job names one (heed_job.ablation). */
#define ABLATE_CHOSEN (-1)

#include "../ablation.h"
#include "../internal.h"
#include "modify/modify.h"

extern const heed_algorithm heed_algorithm_row;
extern const heed_algorithm heed_algorithm_tile;
extern const heed_algorithm heed_algorithm_few;

/* How an algorithm splits a problem into tasks, and the scratch that each thread needs. */
typedef struct heed_cut {
    int64_t block_rows; /* rows per task */
    int64_t key_tile;   /* keys are split at multiples of this */
    int64_t splits;     /* tasks that share the keys of one block */
    int64_t heads;      /* key/value heads per task: 1, or as many as heed_cpu_code.together says */
} heed_cut;

typedef struct heed_job {
    const heed_problem *problem;
    const heed_buffers *buffers;
    heed_cut cut;
    int64_t group;               /* query heads per key/value head */
    int64_t rows;                /* seq_q * group, the largest number of any batch element */
    int64_t blocks;              /* blocks of rows per key/value head, likewise */
    int64_t places;              /* slots for the blocks of all batch elements per key/value head */
    int64_t element;             /* bytes per element */
    bool masked;                 /* some query does not see all keys */
    const heed_modify *modify;   /* changes of logits; NULL: none */
    const heed_program *program; /* from which it was made */
    heed_modify_need need;       /* its scratch */
    float factor;                /* by which kernels multiply the products of Q and K, for base-2
                                    logits, or natural ones if the program changes them */
    double natural;              /* converts a base-2 logit to a natural one */
    const float *sinks;          /* NULL: none */
    const int32_t *starts;       /* first keys of queries; NULL: 0 */
    const int32_t *lengths;      /* keys of batch elements; NULL: seq_k */
    int64_t ahead;               /* keys that lengths include but K does not: the prefix */
    const void *cu_q, *cu_k;     /* cumulative lengths of packed sequences; NULL: not packed */
    const int32_t *table;        /* page table; NULL: no pages */
    float *partial; /* [batch][heads_kv][rows][splits][dim_v + 2], O before the row's maximum and
                       sum; for packed queries [heads_kv][tokens_q * group][splits][dim_v + 2] */
    int ablation;   /* an ABLATE_ number, for builds with ABLATE_CHOSEN */
} heed_job;

/* True in a build with ABLATE_CHOSEN whose @job names the ablation; false, a constant, in others.
 */
#define JOB_ABLATES(job, which) (HEED_ABLATE == ABLATE_CHOSEN && (job)->ablation == (which))

/* One block of rows with one range of keys, for cut.heads key/value heads from head_kv on. */
typedef struct heed_task {
    int64_t batch;
    int64_t head_kv;
    int64_t row_begin, row_end;
    int64_t key_begin, key_end;
    int64_t split;
} heed_task;

/* Computes one task. @scratch belongs to the thread, has the size passed to heed_job_run(), and is
 * aligned to HEED_ALIGNMENT. */
typedef void heed_task_fn(const heed_job *job, const heed_task *task, void *scratch);

/* job.c: heed_job_tasks() returns the number of tasks, at most INT64_MAX. Packed queries have as
 * many as their tokens need, plus up to one empty one for each sequence and head. */
void heed_job_init(heed_job *job, const heed_problem *problem, const heed_cut *cut);
int64_t heed_job_tasks(const heed_job *job);
size_t heed_job_workspace(const heed_problem *problem, const heed_cut *cut, int threads,
                          size_t scratch);
void heed_job_run(const heed_plan *plan, const heed_buffers *buffers, const heed_cut *cut,
                  heed_task_fn *run, int ablation);

/* rows.c: heed_rows_run() calls @work with @data for each of @rows rows of about @elements
 * elements, on as many threads of @context as are worth waking. */
typedef void heed_row_fn(const void *data, int64_t row);
void heed_rows_run(const heed_context *context, int64_t rows, int64_t elements, heed_row_fn *work,
                   const void *data);

/* Keys of a section. A kernel that adds few keys at a time sums sections separately, because the
 * error of a sum grows with the number of its terms. */
#define HEED_SECTION 1024

/* Sums of one row over some keys. */
typedef struct heed_sums {
    float *o; /* sum of weights times values */
    float *m; /* largest logit, base 2, to which weights are relative */
    float *l; /* sum of weights */
} heed_sums;

/* Adds the sums of a section to those of all keys before it, and clears them, except the maximum,
 * which is never below that of @all. @dim is that of O. */
void heed_sums_add(heed_sums all, heed_sums section, int64_t dim);

/* Where a task stores the result of @row: dim_v elements at @o, of the problem's type, or float32
 * if @partial is set. */
typedef struct heed_target {
    void *o;
    bool partial;
} heed_target;
heed_target heed_job_target(const heed_job *job, const heed_task *task, int64_t row);
/* The sum of the weights of @row, including that of its sink, by which O must be divided if the
 * task stores the final result; with splits the merge adds the sink. */
float heed_job_total(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                     float sum);
/* Stores the row's largest logit, base 2, and the sum of its weights, which are relative to it; a
 * sum of 0 means that it saw no key. Together they are the LSE, but a single number would lose
 * precision where logits are large. */
void heed_job_set_sums(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                       float sum);

static inline int64_t heed_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t heed_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The part of @keys within the @count keys from @first on, relative to @first; may be empty. */
static inline heed_interval heed_interval_within(heed_interval keys, int64_t first, int64_t count)
{
    heed_interval within = { heed_max(keys.begin - first, 0), heed_min(keys.end - first, count) };
    within.end = heed_max(within.end, 0);
    within.begin = heed_min(within.begin, within.end);
    return within;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* A position along the sequence and the heads of a tensor. */
typedef struct heed_place {
    int64_t seq;
    int64_t head;
} heed_place;

/* heed_job_place() returns the position of row @row in Q and O. Without groups it needs no
 * division, which matters for short rows. */
static inline heed_place heed_job_place(const heed_job *job, const heed_task *task, int64_t row)
{
    if (job->group == 1)
        return (heed_place){ row, task->head_kv };
    return (heed_place){ row / job->group, task->head_kv * job->group + row % job->group };
}

/* Element @n of cumulative lengths. */
static inline int64_t heed_job_cumulative(const void *lengths, heed_data type, int64_t n)
{
    return type == HEED_DATA_I64 ? ((const int64_t *)lengths)[n] : ((const int32_t *)lengths)[n];
}

/* The first row of batch element @batch in Q and O; the first key in K and V. */
static inline int64_t heed_job_first_q(const heed_job *job, int64_t batch)
{
    return heed_job_cumulative(job->cu_q, job->problem->cu_seqlens_q.type, batch);
}

static inline int64_t heed_job_first_k(const heed_job *job, int64_t batch)
{
    return heed_job_cumulative(job->cu_k, job->problem->cu_seqlens_k.type, batch);
}

static inline int64_t heed_job_offset(const heed_job *job, const heed_task *task,
                                      const heed_strides *strides, heed_place place)
{
    return (task->batch * strides->batch + place.seq * strides->seq + place.head * strides->head) *
           job->element;
}

/* The vector of row @row in Q; of key @j in K and V. */
static inline int64_t heed_job_row_offset(const heed_job *job, const heed_task *task,
                                          const heed_strides *strides, int64_t row)
{
    heed_place place = heed_job_place(job, task, row);
    if (!job->cu_q)
        return heed_job_offset(job, task, strides, place);
    return ((heed_job_first_q(job, task->batch) + place.seq) * strides->seq +
            place.head * strides->head) *
           job->element;
}

static inline const void *heed_job_q(const heed_job *job, const heed_task *task, int64_t row)
{
    return (const char *)job->buffers->q + heed_job_row_offset(job, task, &job->problem->q, row);
}

static inline int64_t heed_job_key_offset(const heed_job *job, const heed_task *task,
                                          const heed_strides *strides, int64_t j)
{
    const heed_problem *p = job->problem;
    if (job->cu_k)
        return ((heed_job_first_k(job, task->batch) + j) * strides->seq +
                task->head_kv * strides->head) *
               job->element;
    if (!job->table)
        return heed_job_offset(job, task, strides, (heed_place){ j, task->head_kv });
    uint32_t page = (uint32_t)j / (uint32_t)p->page; /* faster than a 64-bit division */
    int64_t number = job->table[task->batch * p->table.strides.batch + page];
    return (number * strides->batch + (j - page * p->page) * strides->seq +
            task->head_kv * strides->head) *
           job->element;
}

static inline const void *heed_job_k(const heed_job *job, const heed_task *task, int64_t j)
{
    return (const char *)job->buffers->k + heed_job_key_offset(job, task, &job->problem->k, j);
}

static inline const void *heed_job_v(const heed_job *job, const heed_task *task, int64_t j)
{
    return (const char *)job->buffers->v + heed_job_key_offset(job, task, &job->problem->v, j);
}

/* The number of keys from @j on, at most @keys, whose vectors have the strides of K and V from one
 * to the next: those of a page. */
static inline int64_t heed_job_adjacent(const heed_job *job, int64_t j, int64_t keys)
{
    const uint32_t page = (uint32_t)job->problem->page;
    return job->table ? heed_min(page - (uint32_t)j % page, keys) : keys;
}

#define HEED_CACHE_LINE 64 /* bytes */

/* Prefetches the vectors @k and @v of a key into the second cache level. */
static inline void heed_job_prefetch_vectors(const heed_job *job, const char *k, const char *v)
{
    for (int64_t i = 0; i < job->problem->dim_qk * job->element; i += HEED_CACHE_LINE)
        __builtin_prefetch(k + i, 0, 2);
    for (int64_t i = 0; i < job->problem->dim_v * job->element; i += HEED_CACHE_LINE)
        __builtin_prefetch(v + i, 0, 2);
}

/* The same for those of key @j. */
static inline void heed_job_prefetch(const heed_job *job, const heed_task *task, int64_t j)
{
    heed_job_prefetch_vectors(job, heed_job_k(job, task, j), heed_job_v(job, task, j));
}

/* Queries and keys of batch element @batch. */
static inline heed_lengths heed_job_lengths(const heed_job *job, int64_t batch)
{
    heed_lengths lengths = heed_problem_lengths(job->problem);
    if (job->cu_q)
        lengths.q = heed_min(heed_job_first_q(job, batch + 1) - heed_job_first_q(job, batch),
                             lengths.q);
    if (job->cu_k)
        lengths.k = heed_min(heed_job_first_k(job, batch + 1) - heed_job_first_k(job, batch),
                             lengths.k);
    if (job->lengths) {
        int64_t length = job->lengths[batch * job->problem->lengths.strides.batch] - job->ahead;
        lengths.k = job->cu_k ? heed_min(length, lengths.k) : length;
    }
    return lengths;
}

/* The keys that @row sees. */
static inline heed_interval heed_job_keys(const heed_job *job, const heed_task *task, int64_t row)
{
    if (!job->masked)
        return (heed_interval){ 0, job->problem->seq_k };
    return heed_problem_keys(job->problem, heed_job_lengths(job, task->batch),
                             job->group == 1 ? row : row / job->group);
}

/* The same within a tile of @keys keys from @first on, relative to @first. */
static inline heed_interval heed_job_tile_keys(const heed_job *job, const heed_task *task,
                                               int64_t row, int64_t first, int64_t keys)
{
    return heed_interval_within(heed_job_keys(job, task, row), first, keys);
}

#define HEED_LOG2_E 1.44269504088896341f

/* Above this, a row's base-2 shift, which is rounded while its logits are not, may be so far from
 * the largest logit that weights overflow or vanish: then logits are rounded, too. */
#define HEED_FAR 0x1p20f

/* True if the program changes logits. Products are then only multiplied by the scale, and its
 * results by HEED_LOG2_E. */
static inline bool heed_job_changes(const heed_job *job)
{
    return job->modify && job->modify->changes;
}

/* False if the program hides all @keys keys from @first on from every row of the task; true if it
 * may not. */
bool heed_job_may_see(const heed_job *job, const heed_task *task, int64_t first, int64_t keys);

/* Computes the program's values of @count rows from @row on; rows after the end of the task repeat
 * its last one. */
void heed_job_begin_rows(const heed_job *job, const heed_task *task, int64_t row, int64_t count,
                         float *kept);

/* ---- Planning -------------------------------------------------------------------------------- */

/* Work per second of one thread, for the cost model. Only the ratios between kernels matter, so
 * figures of one machine are enough: an AMD EPYC (Zen 4) with a peak of 55e9 multiply-adds, in
 * November 2026. */
typedef struct heed_rates {
    double multiply_adds; /* of the two products */
    double exps;
    double elements;  /* of Q, K, V and O converted or packed */
    int64_t row_step; /* rows are computed in steps of this many */
    bool bf16;        /* the products are bfloat16 dot products: times the machine's bf16_speed */
} heed_rates;

/* An instantiation's data for the backend; the code of a CPU kernel begins with it. */
typedef struct heed_cpu_code heed_cpu_code;
struct heed_cpu_code {
    heed_cut (*cut)(const heed_config *config);
    /* Bytes of scratch that each thread needs, including @need for a program. */
    size_t (*scratch)(const heed_cpu_code *code, const heed_problem *problem, const heed_cut *cut,
                      const heed_modify_need *need);
    const heed_modifier *modifier;
    heed_grid grid; /* of the patches that it passes to programs */
    int together;   /* maximum number of key/value heads in a task */
    heed_rates rates;
    heed_task_fn *run;
};

extern const heed_cpu_code heed_row_scalar;

/* With ABLATE_EXTRA_BARRIER, waits for the thread's own memory accesses, as an additional barrier
 * would. */
static inline void heed_job_extra_barrier(const heed_job *job)
{
    if (JOB_ABLATES(job, ABLATE_EXTRA_BARRIER))
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* For ABLATE_MISPREDICTED: the lowest bit of the float or vector at @x, which is unpredictable, so
 * a branch on it is mispredicted half of the time. */
static inline bool heed_cpu_lowest_bit(const void *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return bits & 1;
}

/* backend.c: the functions of heed_algorithm, for every CPU kernel. */
heed_config_test heed_cpu_legal;
heed_config_test heed_cpu_worthwhile;
double heed_cpu_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config);
extern const heed_plan_functions heed_cpu_plans;

/* Executes the tasks of @plan by @run, in place of its kernel's own function. The job has
 * @ablation. */
void heed_cpu_run(const heed_plan *plan, const heed_buffers *buffers, heed_task_fn *run,
                  int ablation);

/* convert.c: rows of @count elements of a problem's type, to and from float32, in portable C. */
void heed_load_row(float *to, const void *from, int64_t count, heed_type type);
void heed_store_row(void *to, const float *from, int64_t count, heed_type type);

static inline int64_t heed_round_up(int64_t a, int64_t b)
{
    return heed_div_up(a, b) * b;
}

#endif /* HEED_CPU_H */
