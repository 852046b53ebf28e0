/*
 * cpu.h - shared by the CPU kernels: one execution as a set of independent tasks
 *
 * The query heads that read one key/value head (GQA) form a group. Their queries are the rows of
 * one tall matrix: row r is query r / group of the group's head r % group, so that rows in order
 * see ever more keys under a causal mask, and K and V are read once for the whole group. A task is
 * a block of these rows against one range of the keys. Where keys are split among tasks (split-KV),
 * each task leaves a normalized partial result with its maximum and sum, and a second pass merges
 * them.
 */
#ifndef HEED_CPU_H
#define HEED_CPU_H

#include <string.h>

#include "../cuda/kernels/ablate.cuh"
#include "../internal.h"
#include "modify/modify.h"

extern const heed_algorithm heed_algorithm_row;
extern const heed_algorithm heed_algorithm_tile;
extern const heed_algorithm heed_algorithm_few;

/* How an algorithm cuts a problem up, and what each thread needs for it. */
typedef struct heed_cut {
    int64_t block_rows; /* rows per task */
    int64_t key_tile;   /* keys are split at multiples of this */
    int64_t splits;     /* tasks that share the keys of one block */
} heed_cut;

typedef struct heed_job {
    const heed_problem *problem;
    const heed_buffers *buffers;
    heed_cut cut;
    int64_t group;               /* query heads per key/value head */
    int64_t rows;                /* seq_q * group, the most of a batch element */
    int64_t blocks;              /* blocks of rows per key/value head, the most likewise */
    int64_t places;              /* of the blocks of all batch elements per key/value head */
    int64_t element;             /* bytes of one */
    bool masked;                 /* some query does not see all keys */
    const heed_modify *modify;   /* changes of logits; NULL: none */
    const heed_program *program; /* of which that was made */
    heed_modify_need need;       /* of it */
    float factor;                /* that kernels multiply the products of Q and K by: then they are
                                    logits to base 2, or where they change natural ones */
    double natural;              /* times a logit to base 2: the natural one */
    const float *sinks;          /* NULL: none */
    const int32_t *starts;       /* first keys of queries; NULL: they see all from the first on */
    const int32_t *lengths;      /* keys of batch elements; NULL: all have seq_k */
    int64_t ahead;               /* keys that those count and that are not here */
    const void *cu_q, *cu_k;     /* cumulative lengths of packed sequences; NULL: none are */
    const int32_t *table;        /* pages of keys; NULL: they lie together */
    float *partial; /* [batch][heads_kv][rows][splits][dim_v + 2], O before the row's maximum and
                       sum; of packed queries [heads_kv][tokens_q * group][splits][dim_v + 2] */
} heed_job;

/* One block of rows against one range of keys. */
typedef struct heed_task {
    int64_t batch;
    int64_t head_kv;
    int64_t row_begin, row_end;
    int64_t key_begin, key_end;
    int64_t split;
} heed_task;

/* Computes one task. @scratch is the thread's own, of the size that was given to heed_job_run(),
 * aligned to HEED_ALIGNMENT. */
typedef void heed_task_fn(const heed_job *job, const heed_task *task, void *scratch);

/* job.c: heed_job_tasks() returns how many tasks there are, INT64_MAX for more. Packed queries have
 * as many as their tokens need, and up to one for each sequence and head more, which is empty. */
void heed_job_init(heed_job *job, const heed_problem *problem, const heed_cut *cut);
int64_t heed_job_tasks(const heed_job *job);
size_t heed_job_workspace(const heed_problem *problem, const heed_cut *cut, int threads,
                          size_t scratch);
void heed_job_run(const heed_plan *plan, const heed_buffers *buffers, const heed_cut *cut,
                  heed_task_fn *run);

/* rows.c: heed_rows_run() calls @work with @data for each of @rows rows of about @elements
 * elements, on as many threads of @context as are worth waking. */
typedef void heed_row_fn(const void *data, int64_t row);
void heed_rows_run(const heed_context *context, int64_t rows, int64_t elements, heed_row_fn *work,
                   const void *data);

/* Keys whose sums a kernel that adds few keys at a time keeps apart from those of the keys before:
 * the error of a sum grows with the number of its terms. */
#define HEED_SECTION 1024

/* Sums of one row over some keys. */
typedef struct heed_sums {
    float *o; /* of weights times values */
    float *m; /* largest logit in base 2, which weights are relative to */
    float *l; /* of weights */
} heed_sums;

/* Adds the sums of a section to those of all keys before it, and empties them, but for the
 * maximum, which is never below that of @all. @dim is that of O. */
void heed_sums_add(heed_sums all, heed_sums section, int64_t dim);

/* Where a task leaves the result of @row: dim_v elements at @o, of the problem's type, or float32
 * if @partial is set. */
typedef struct heed_target {
    void *o;
    bool partial;
} heed_target;
heed_target heed_job_target(const heed_job *job, const heed_task *task, int64_t row);
/* The sum of the weights of @row with that of its sink, which O is to be divided by, if the task
 * stores the result; with splits merging adds it. */
float heed_job_total(const heed_job *job, const heed_task *task, int64_t row, float maximum,
                     float sum);
/* And the largest of its logits, in base 2, with the sum of its weights, those being relative to
 * that one; a sum of 0 says that it saw no key. Together they are the LSE, but a sum of them would
 * lose the smaller one where logits are large. */
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

/* The part of @keys among the @count keys from @first on, counted from there; maybe empty. */
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

/* heed_job_place() returns where row @row is in Q and O. Without groups it needs no division, which
 * matters for short rows. */
static inline heed_place heed_job_place(const heed_job *job, const heed_task *task, int64_t row)
{
    if (job->group == 1)
        return (heed_place){ row, task->head_kv };
    return (heed_place){ row / job->group, task->head_kv * job->group + row % job->group };
}

/* Number @n of cumulative lengths. */
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
    uint32_t page = (uint32_t)j / (uint32_t)p->page; /* sooner than a division of 64 bits */
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

/* The same within a tile of @keys keys from @first on, and counted from there. */
static inline heed_interval heed_job_tile_keys(const heed_job *job, const heed_task *task,
                                               int64_t row, int64_t first, int64_t keys)
{
    return heed_interval_within(heed_job_keys(job, task, row), first, keys);
}

#define HEED_LOG2_E 1.44269504088896341f

/* Does the program change logits? Products are then multiplied by the scale alone, and what it
 * makes of them by HEED_LOG2_E. */
static inline bool heed_job_changes(const heed_job *job)
{
    return job->modify && job->modify->changes;
}

/* May a row of the task see any of @keys keys from @first on, as far as the program knows? */
bool heed_job_may_see(const heed_job *job, const heed_task *task, int64_t first, int64_t keys);

/* Computes what the program keeps of the @count rows from @row on; rows behind the end of the task
 * are like its last one. */
void heed_job_begin_rows(const heed_job *job, const heed_task *task, int64_t row, int64_t count,
                         float *kept);

/* ---- Planning -------------------------------------------------------------------------------- */

/* Work of one thread per second, for the cost model. Only the ratios between kernels matter, so the
 * figures of one machine serve all: an AMD EPYC (Zen 4) with a peak of 55e9 multiply-adds, in
 * November 2026. */
typedef struct heed_rates {
    double multiply_adds; /* of the two products */
    double exps;
    double elements;  /* of Q, K, V and O converted or packed */
    int64_t row_step; /* rows are computed in steps of this many */
    bool bf16;        /* the products are bfloat16 dot products: times the machine's bf16_speed */
} heed_rates;

/* Facts about an instantiation for the backend; the code of a CPU kernel begins with one. */
typedef struct heed_cpu_code heed_cpu_code;
struct heed_cpu_code {
    heed_cut (*cut)(const heed_config *config);
    /* Bytes of scratch that each thread needs, and @need of it for a program. */
    size_t (*scratch)(const heed_cpu_code *code, const heed_problem *problem, const heed_cut *cut,
                      const heed_modify_need *need);
    const heed_modifier *modifier;
    heed_grid grid; /* of the patches that it hands over */
    heed_rates rates;
    heed_task_fn *run;
};

extern const heed_cpu_code heed_row_scalar;

/* Waits until the thread's own accesses to memory are done: all that one more barrier would ask of
 * it, in builds with ABLATE_EXTRA_BARRIER. */
static inline void heed_cpu_extra_barrier(void)
{
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* In builds with ABLATE_MISPREDICTED: says yes or no to every float or vector of them at @x as its
 * lowest bit says, which nothing predicts, so that what follows is a branch taken wrong half of the
 * time. */
static inline bool heed_cpu_mispredicts(const void *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return ABLATED(ABLATE_MISPREDICTED) && (bits & 1);
}

/* backend.c: the functions of heed_algorithm, for every CPU kernel. */
heed_config_test heed_cpu_legal;
heed_config_test heed_cpu_worthwhile;
double heed_cpu_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config);
size_t heed_cpu_workspace(const heed_kernel *kernel, const heed_problem *problem,
                          const heed_machine *machine, const heed_config *config);
heed_status heed_cpu_execute(const heed_plan *plan, const heed_buffers *buffers);

/* convert.c: rows of @count elements of a problem's type, to and from float32, in portable C. */
void heed_load_row(float *to, const void *from, int64_t count, heed_type type);
void heed_store_row(void *to, const float *from, int64_t count, heed_type type);

static inline int64_t heed_round_up(int64_t a, int64_t b)
{
    return heed_div_up(a, b) * b;
}

#endif /* HEED_CPU_H */
