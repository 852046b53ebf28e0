/*
 * mutants_memory.c - wrong kernels: what they write and read, and where
 */
#include <unistd.h>

#include "mutants_wrong.h"

void dense_strides(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem dense = *problem;
    memset(&dense.k, 0, sizeof dense.k);
    heed_problem_normalize(&dense, &dense);
    run_all(&dense, buffers, plain_row);
}

void last_row_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    run_rows(problem, buffers, plain_row, 0, lab_rows(problem) - 1);
}

void columns_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    int64_t last = lab_view_extent(&o) - 1;
    double kept = lab_element_get(problem->type, buffers->o, last);
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, last, kept);
}

void empty_rows_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    for (int64_t n = 0; n < lab_rows(problem); n++)
        if (lab_visible(problem, lab_row_at(problem, n).query) > 0)
            run_rows(problem, buffers, plain_row, n, n + 1);
}

void lse_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers without = *buffers;
    without.lse = NULL;
    plain(problem, &without);
}

void past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, lab_view_extent(&o), 0);
}

void before_the_start(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, -1, 0);
}

void into_the_gap(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, problem->dim_v, 0);
}

void past_the_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    ((char *)buffers->workspace)[buffers->workspace_size] = 0;
}

void reads_past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view k = lab_view_of(problem, LAB_K);
    volatile double sink = lab_element_get(problem->type, buffers->k, lab_view_extent(&k) + 3);
    (void)sink;
    plain(problem, buffers);
}

void scales_in_place(const heed_problem *problem, const heed_buffers *buffers)
{
    union {
        const void *input;
        void *writable;
    } q = { buffers->q };
    double value = lab_element_get(problem->type, q.writable, 0);
    lab_element_set(problem->type, q.writable, 0, value * (double)problem->scale);
    plain(problem, buffers);
}

/* Sums on top of what the workspace holds. */
void dirty_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    float left;
    memcpy(&left, buffers->workspace, sizeof left);
    plain(problem, buffers);
    double value = lab_element_get(problem->type, buffers->o, 0);
    lab_element_set(problem->type, buffers->o, 0, value + (double)left);
}

/* Offsets of 32 bits. */
void narrow_offsets(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem narrow = *problem;
    narrow.k.batch = (int32_t)(uint32_t)problem->k.batch;
    run_all(&narrow, buffers, plain_row);
}

void lse_always(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    buffers->lse[0] += 0;
}

/* Takes 16 bytes at a time, wherever they begin. */
void rounded_pointers(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers rounded = *buffers;
    rounded.k = (const char *)buffers->k - (uintptr_t)buffers->k % 16;
    run_all(problem, &rounded, plain_row);
}

void endless(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    for (;;)
        sleep(1);
}
