/*
 * cut.c - what a way of cutting a problem into tasks is worth
 *
 * A cost model in four terms, which one thread does one after another: the two products, the
 * exponentials, the conversion of K and V (once per block of rows), and a fixed price per task.
 * Dividing by the threads, it charges for the ones that idle in the last round.
 */
#include "cpu.h"

#define TASK_SECONDS 3e-7 /* fetch a task, set up its state */
#define MERGE_RATE 5e8    /* elements of partial results merged per second, in portable C */

/* Part of a task that threads wait for each other at the end, since no two are equally fast. */
#define UNEVEN 0.1

/* Tasks per thread from which on splitting keys cannot improve the balance. */
#define BUSY_TASKS 4

bool heed_cut_legal(const heed_problem *problem, const heed_machine *machine, const heed_cut *cut,
                    const char **why)
{
    heed_job job;
    if (cut->splits == 1)
        return true;
    heed_job_init(&job, problem, cut);
    if (cut->splits > heed_div_up(problem->seq_k, cut->key_tile)) {
        *why = "more splits than key tiles";
        return false;
    }
    if (heed_job_tasks(&job) / cut->splits >= BUSY_TASKS * (int64_t)machine->threads) {
        *why = "enough blocks without splitting keys";
        return false;
    }
    return true;
}

double heed_cut_cost(const heed_problem *problem, const heed_machine *machine, const heed_cut *cut,
                     const heed_rates *rates)
{
    heed_job job;
    heed_job_init(&job, problem, cut);
    double heads = (double)(problem->batch * problem->heads_kv);
    double dims = (double)(problem->dim_qk + problem->dim_v);
    double tasks = (double)heed_job_tasks(&job);

    /* Pairs that are computed: the visible ones, more by the rows that fill up the last step of a
     * block. */
    int64_t steps = heed_div_up(heed_min(cut->block_rows, job.rows), rates->row_step);
    double fill = (double)(steps * rates->row_step) / (double)heed_min(cut->block_rows, job.rows);
    double pairs = heed_problem_flops(problem) / (2 * dims) * fill;
    double keys = pairs / fill / (double)job.rows / heads; /* that a row sees */

    double seconds = pairs * dims / rates->multiply_adds + pairs / rates->exps;
    seconds += heads * (double)job.blocks * keys * dims / rates->elements;
    seconds += heads * (double)job.rows * dims / rates->elements;
    seconds += tasks * TASK_SECONDS;
    if (cut->splits > 1)
        seconds += heads * (double)(job.rows * cut->splits * problem->dim_v) / MERGE_RATE;

    double rounds = (double)heed_div_up((int64_t)tasks, machine->threads);
    if (machine->threads > 1)
        rounds += UNEVEN;
    return seconds / tasks * rounds;
}
