/*
 * backend.c - the planner's interface to the CPU kernels: limits, cost model, workspace, execution
 *
 * All of them split a problem into tasks, so the cost of a config depends only on that split, and
 * on four rates of the kernel. The cost model adds four terms: the two products, the exponentials
 * (a step of a program counts as a fraction of one), the conversion of K and V (once per block of
 * rows), and a fixed cost per task. The division by the number of threads accounts for threads that
 * idle in the last round.
 */
#include <math.h>

#include "../problem/problem.h"
#include "cpu.h"

/* Estimates for the machine of heed_rates. */
#define TASK_SECONDS 3e-7 /* fetch a task, set up its state */
#define MERGE_RATE 5e8    /* elements of partial results merged per second, in portable C */

/* Fraction of a task that threads wait for each other at the end, since their speeds differ. */
#define UNEVEN 0.1

/* With this many tasks per thread splitting keys does not improve the balance. */
#define BUSY_TASKS 4

/* Maximum bytes of K and V per key in a task with several heads. */
#define TOGETHER_BYTES 8192

/* Number of key/value heads per task. If the heads of a key are adjacent in memory, a task with
 * several heads reads memory in order instead of in steps. Each thread still gets BUSY_TASKS
 * tasks. */
static int64_t heads_of(const heed_cpu_code *code, const heed_problem *problem, heed_cut cut,
                        int threads)
{
    const heed_tensor k = heed_problem_tensor(problem, HEED_ROLE_K);
    const heed_tensor v = heed_problem_tensor(problem, HEED_ROLE_V);
    const int64_t bytes = (int64_t)heed_type_size(problem->type) * (k.dim + v.dim);
    const int64_t busy = threads > 1 ? BUSY_TASKS * (int64_t)threads : 1;
    heed_job job;
    if (k.strides.head >= k.strides.seq || v.strides.head >= v.strides.seq)
        return 1;
    cut.heads = 1;
    heed_job_init(&job, problem, &cut);
    int64_t heads = heed_min(problem->heads_kv, code->together);
    while (heads > 1 && (problem->heads_kv % heads != 0 || heads * bytes > TOGETHER_BYTES ||
                         job.places < heed_div_up(busy, problem->heads_kv / heads)))
        heads--;
    return heed_max(heads, 1);
}

static heed_cut cut_of(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config)
{
    const heed_cpu_code *code = kernel->code;
    heed_cut cut = code->cut(config);
    cut.heads = heads_of(code, problem, cut, machine->threads);
    return cut;
}

static size_t scratch_of(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_cut *cut)
{
    const heed_cpu_code *code = kernel->code;
    heed_modify_need need = heed_modify_need_of(problem, &code->grid);
    return code->scratch(code, problem, cut, &need);
}

bool heed_cpu_legal(const heed_kernel *kernel, const heed_problem *problem,
                    const heed_machine *machine, const heed_config *config, const char **why)
{
    heed_cut cut = cut_of(kernel, problem, machine, config);
    heed_job job;
    heed_job_init(&job, problem, &cut);
    if (heed_job_tasks(&job) < INT64_MAX)
        return true;
    *why = "batch, key/value heads and splits make more than 2^63 - 2 tasks";
    return false;
}

bool heed_cpu_worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config, const char **why)
{
    heed_cut cut = cut_of(kernel, problem, machine, config);
    heed_job job;
    if (cut.splits == 1)
        return true;
    heed_job_init(&job, problem, &cut);
    if (cut.splits > heed_div_up(problem->seq_k, cut.key_tile))
        *why = "not worthwhile: more splits than key tiles";
    else if (heed_job_tasks(&job) / cut.splits * cut.heads >=
             BUSY_TASKS * (int64_t)machine->threads)
        *why = "not worthwhile: enough blocks without splitting keys";
    else
        return true;
    return false;
}

double heed_cpu_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config)
{
    const heed_cpu_code *code = kernel->code;
    const heed_rates *rates = &code->rates;
    heed_cut cut = cut_of(kernel, problem, machine, config);
    heed_job job;
    heed_job_init(&job, problem, &cut);
    double heads = (double)(problem->batch * problem->heads_kv);
    double dims = (double)(problem->dim_qk + problem->dim_v);
    double tasks = heads * (double)job.blocks * (double)cut.splits;

    /* Computed pairs: the visible ones, plus those of rows that pad the last step of a block. */
    int64_t steps = heed_div_up(heed_min(cut.block_rows, job.rows), rates->row_step);
    double fill = (double)(steps * rates->row_step) / (double)heed_min(cut.block_rows, job.rows);
    double pairs = heed_problem_flops_own(problem) / (2 * dims) * fill;
    double keys = pairs / fill / (double)job.rows / heads; /* seen by a row */

    double multiply_adds = rates->multiply_adds * (rates->bf16 ? machine->bf16_speed : 1);
    double exps = 1 + heed_modify_cost(problem);
    double seconds = pairs * dims / multiply_adds + pairs * exps / rates->exps;
    seconds += heads * (double)job.blocks * keys * dims / rates->elements;
    seconds += heads * (double)job.rows * dims / rates->elements;
    seconds += tasks * TASK_SECONDS;
    if (cut.splits > 1)
        seconds += heads * (double)(job.rows * cut.splits * problem->dim_v) / MERGE_RATE;

    tasks /= (double)cut.heads;
    double rounds = ceil(tasks / machine->threads);
    if (machine->threads > 1)
        rounds += UNEVEN;
    return seconds / tasks * rounds;
}

static size_t workspace_of(const heed_kernel *kernel, const heed_problem *problem,
                           const heed_machine *machine, const heed_config *config)
{
    heed_cut cut = cut_of(kernel, problem, machine, config);
    return heed_job_workspace(problem, &cut, machine->threads, scratch_of(kernel, problem, &cut));
}

void heed_cpu_run(const heed_plan *plan, const heed_buffers *buffers, heed_task_fn *run,
                  int ablation)
{
    heed_cut cut = cut_of(plan->kernel, &plan->problem, &plan->context->machine, &plan->config);
    heed_job_run(plan, buffers, &cut, run, ablation);
}

static heed_status execute(const heed_plan *plan, const heed_buffers *buffers)
{
    const heed_cpu_code *code = plan->kernel->code;
    heed_cpu_run(plan, buffers, code->run, ABLATE_NONE);
    return HEED_OK;
}

const heed_plan_functions heed_cpu_plans = { .workspace = workspace_of, .execute = execute };
