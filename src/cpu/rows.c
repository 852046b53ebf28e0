/*
 * rows.c - a loop over independent rows, shared by threads
 */
#include <stdatomic.h>

#include "cpu.h"

/* Elements that one thread processes in less time than waking another one takes. */
#define ELEMENTS_MIN ((int64_t)1 << 15)

typedef struct rows_job {
    heed_row_fn *work;
    const void *data;
    int64_t rows;
    int64_t step; /* rows that a thread takes at a time */
    atomic_llong next;
} rows_job;

static void take_rows(void *data, int index)
{
    rows_job *job = data;
    (void)index;
    for (;;) {
        const int64_t first = atomic_fetch_add_explicit(&job->next, job->step,
                                                        memory_order_relaxed);
        if (first >= job->rows)
            return;
        for (int64_t r = first; r < heed_min(first + job->step, job->rows); r++)
            job->work(job->data, r);
    }
}

void heed_rows_run(const heed_context *context, int64_t rows, int64_t elements, heed_row_fn *work,
                   const void *data)
{
    rows_job job = {
        .work = work, .data = data, .rows = rows, .step = heed_div_up(ELEMENTS_MIN, elements)
    };
    const int64_t pieces = heed_div_up(rows, job.step);
    const int threads = (int)heed_min(pieces, context->machine.threads);
    if (threads > 0)
        heed_pool_run(context->pool, take_rows, &job, threads);
}
