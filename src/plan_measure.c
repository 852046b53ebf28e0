/*
 * plan_measure.c - time candidates on the machine at hand
 *
 * Tensors hold random values, never zeros, at the problem's own strides. A candidate that the cost
 * model puts far behind the best measured one is not timed: on a long problem the portable kernel
 * alone would take minutes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "measure.h"
#include "plan.h"

#define HOPELESS 10.0 /* times slower by prediction than the best by measurement */

static const heed_sampling sampling = {
    .warmup_ns = 2000000,
    .sample_ns = 100000,
    .budget_ns = 40000000,
    .samples_min = 3,
    .samples_max = 200,
};

/* Owned by this file from allocation to free: the tensors of one planning. */
typedef struct bench {
    heed_buffers buffers;
    void *tensor[5]; /* q k v o workspace */
    heed_plan trial;
} bench;

static int64_t extent(const heed_strides *strides, int64_t batch, int64_t seq, int64_t heads,
                      int64_t dim)
{
    return (batch - 1) * strides->batch + (seq - 1) * strides->seq + (heads - 1) * strides->head +
           dim;
}

static void *allocate(size_t size)
{
    size_t rounded = (size_t)heed_round_up((int64_t)(size ? size : 1), HEED_ALIGNMENT);
    return aligned_alloc(HEED_ALIGNMENT, rounded);
}

/* Values of about standard deviation 1: the sum of four uniform bytes, centred and scaled. */
static void fill(void *tensor, int64_t elements, heed_type type, uint64_t seed)
{
    float row[256];
    uint64_t state = seed;
    for (int64_t i = 0; i < elements; i += 256) {
        int64_t count = heed_min(256, elements - i);
        for (int64_t j = 0; j < count; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t x = state >> 32;
            int sum = (int)((x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24 & 255));
            row[j] = (float)(sum - 510) / 148.0f;
        }
        heed_store_row((char *)tensor + i * (int64_t)heed_type_size(type), row, count, type);
    }
}

static heed_status make_tensors(bench *b, const heed_problem *p)
{
    const int64_t extents[4] = {
        extent(&p->q, p->batch, p->seq_q, p->heads_q, p->dim_qk),
        extent(&p->k, p->batch, p->seq_k, p->heads_kv, p->dim_qk),
        extent(&p->v, p->batch, p->seq_k, p->heads_kv, p->dim_v),
        extent(&p->o, p->batch, p->seq_q, p->heads_q, p->dim_v),
    };
    for (int i = 0; i < 4; i++) {
        b->tensor[i] = allocate((size_t)extents[i] * heed_type_size(p->type));
        if (!b->tensor[i])
            return heed_fail(HEED_ERR_NO_MEMORY, "no memory for the %s of the problem to measure",
                             &"Q\0K\0V\0O"[2 * i]);
        if (i < 3)
            fill(b->tensor[i], extents[i], p->type, (uint64_t)i + 1);
    }
    b->buffers = (heed_buffers){
        .q = b->tensor[0], .k = b->tensor[1], .v = b->tensor[2], .o = b->tensor[3]
    };
    return HEED_OK;
}

static heed_status execute_trial(void *data)
{
    bench *b = data;
    return heed_execute(&b->trial, &b->buffers);
}

/* Seconds of one execution in @config: the fastest sample, since what disturbs a timing only ever
 * adds to it. */
static heed_status measure(bench *b, const heed_plan *plan, const heed_kernel *kernel,
                           const heed_config *config, double *seconds)
{
    double samples[200];
    int count;
    b->trial = *plan;
    b->trial.kernel = kernel;
    b->trial.config = *config;
    b->trial.workspace_size = kernel->algorithm->workspace(kernel, &plan->problem,
                                                           &plan->context->machine, config);
    free(b->tensor[4]);
    b->tensor[4] = allocate(b->trial.workspace_size);
    if (!b->tensor[4])
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a workspace of %zu bytes",
                         b->trial.workspace_size);
    b->buffers.workspace = b->tensor[4];
    b->buffers.workspace_size = b->trial.workspace_size;
    heed_status status = heed_sample(execute_trial, b, &sampling, samples, &count);
    *seconds = INFINITY;
    for (int i = 0; i < count; i++)
        *seconds = fmin(*seconds, samples[i]);
    return status;
}

/* Times the other configs of @candidate, and leaves it in the fastest. */
static heed_status search_configs(bench *b, const heed_plan *plan, heed_considered *candidate)
{
    const heed_kernel *kernel = candidate->kernel;
    const heed_machine *machine = &plan->context->machine;
    heed_status status = HEED_OK;
    for (int i = 0; i < heed_config_count(kernel->algorithm) && status == HEED_OK; i++) {
        heed_config config;
        const char *why;
        double seconds;
        heed_config_at(kernel->algorithm, i, &config);
        if (!kernel->algorithm->legal(kernel, &plan->problem, machine, &config, &why))
            continue;
        status = measure(b, plan, kernel, &config, &seconds);
        if (status == HEED_OK && seconds < candidate->measured) {
            candidate->measured = seconds;
            candidate->config = config;
            candidate->predicted = kernel->algorithm->cost(kernel, &plan->problem, machine,
                                                           &config);
            heed_config_print(kernel, &config, candidate->name, sizeof candidate->name);
        }
    }
    return status;
}

/* The cheapest candidate by prediction that has not been timed, or NULL. */
static heed_considered *next_candidate(heed_plan *plan)
{
    heed_considered *next = NULL;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        heed_considered *candidate = &plan->candidates[i];
        if (!candidate->rejected && candidate->measured < 0 &&
            (!next || candidate->predicted < next->predicted))
            next = candidate;
    }
    return next;
}

heed_status heed_plan_measure(heed_plan *plan, heed_effort effort, heed_considered **best)
{
    bench b = { 0 };
    heed_considered *candidate;
    heed_status status = make_tensors(&b, &plan->problem);
    *best = NULL;
    while (status == HEED_OK && (candidate = next_candidate(plan))) {
        if (*best && candidate->predicted > HOPELESS * (*best)->measured)
            break;
        status = measure(&b, plan, candidate->kernel, &candidate->config, &candidate->measured);
        if (status == HEED_OK && effort == HEED_PATIENT)
            status = search_configs(&b, plan, candidate);
        if (status == HEED_OK && (!*best || candidate->measured < (*best)->measured))
            *best = candidate;
    }
    for (int i = 0; i < 5; i++)
        free(b.tensor[i]);
    return status;
}
