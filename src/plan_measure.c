/*
 * plan_measure.c - time candidates on this machine
 *
 * Tensors hold random values, never zeros, at the problem's own strides; so do operands and arrays
 * of floating-point numbers. The others hide no key: starts are 0, bytes and bits are set, arrays
 * of integers are 0. A candidate that the cost model ranks far behind the best measured one is not
 * timed: on a long problem the portable kernel alone would take minutes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "device.h"
#include "measure.h"
#include "plan.h"
#include "problem/operand.h"
#include "problem/problem.h"

#define HOPELESS 10.0 /* predicted time relative to the best measured one */

#define CHUNK ((int64_t)1 << 22) /* elements */
#define REPLAYS 12
#define REPLAY_CALLS 8

static const heed_sampling sampling = {
    .warmup_ns = 2000000,
    .sample_ns = 100000,
    .budget_ns = 40000000,
    .samples_min = 3,
    .samples_max = 200,
};

/* The tensors of one planning run, allocated and freed in this file. */
typedef struct bench {
    heed_buffers buffers;
    void *tensor[HEED_TENSORS];
    void *operand[HEED_OPERANDS];
    void *array[HEED_ARRAYS_MAX];
    heed_plan trial;
} bench;

/* Fills with values of standard deviation about 1: the sum of four uniform bytes, centred and
 * scaled. */
static void fill(void *values, int64_t elements, heed_type type, uint64_t seed)
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
        heed_store_row((char *)values + i * (int64_t)heed_type_size(type), row, count, type);
    }
}

/* Fills @size bytes of the device at @to with copies of the @period bytes at @values. */
static heed_status upload(heed_context *context, void *to, const void *values, size_t period,
                          size_t size)
{
    heed_status status = HEED_OK;
    for (size_t at = 0; at < size && status == HEED_OK; at += period)
        status = heed_device_upload(context, (char *)to + at, values,
                                    size - at < period ? size - at : period);
    return status;
}

/* Makes @tensor of @elements values. On a device they repeat after CHUNK elements, as generating
 * them all on the host would take longer than the measurement. */
static heed_status make_tensor(heed_context *context, void **tensor, int64_t elements,
                               heed_type type, uint64_t seed)
{
    size_t element = heed_type_size(type), size = (size_t)elements * element;
    int64_t chunk = heed_min(elements, CHUNK);
    heed_status status = heed_device_allocate(context, size, tensor);
    if (status != HEED_OK)
        return status;
    void *values = malloc((size_t)chunk * element);
    if (!values)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for tensors of the problem to measure");
    fill(values, chunk, type, seed);
    status = upload(context, *tensor, values, (size_t)chunk * element, size);
    free(values);
    return status;
}

/* Makes @operand of @elements of @type that hide no key. */
static heed_status make_operand(heed_context *context, void **operand, int64_t elements,
                                heed_data type, uint64_t seed)
{
    const heed_type number = heed_data_type(type);
    unsigned char values[4096];
    size_t size = (size_t)elements * heed_data_size(type);
    if (number < HEED_TYPE_COUNT)
        return make_tensor(context, operand, elements, number, seed);
    heed_status status = heed_device_allocate(context, size, operand);
    memset(values, type == HEED_DATA_I32 ? 0 : type == HEED_DATA_BYTES ? 1 : 0xff, sizeof values);
    return status == HEED_OK ? upload(context, *operand, values, sizeof values, size) : status;
}

/* Element @n of operand number @index, an integer one: all keys exist, no page is read twice unless
 * there are too few, and packed sequences have equal lengths. */
static int64_t number_of(const heed_problem *p, int index, int64_t n)
{
    switch (index) {
    case HEED_OPERAND_TABLE:
        return n % p->pages;
    case HEED_OPERAND_LENGTHS:
        return p->seq_k;
    case HEED_OPERAND_CU_Q:
        return n * p->tokens_q / p->batch;
    case HEED_OPERAND_CU_K:
        return n * p->tokens_k / p->batch;
    default:
        return 0;
    }
}

/* Makes operand number @index, an integer one. */
static heed_status make_numbers(heed_context *context, void **operand, const heed_problem *p,
                                int index)
{
    const heed_operand *numbers = heed_problem_operand(p, index);
    const int64_t words = numbers->type == HEED_DATA_I64 ? 2 : 1;
    int64_t count = heed_operand_extent(p, numbers);
    size_t size = (size_t)(count * words) * sizeof(int32_t);
    heed_status status = heed_device_allocate(context, size, operand);
    int32_t *values = status == HEED_OK ? calloc(1, size) : NULL;
    if (status != HEED_OK)
        return status;
    if (!values)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for operands of the problem to measure");
    for (int64_t n = 0; n < count; n++)
        values[n * words] = (int32_t)number_of(p, index, n); /* the lower word comes first */
    status = upload(context, *operand, values, size, size);
    free(values);
    return status;
}

static heed_status make_operands(bench *b, const heed_problem *p)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < HEED_OPERANDS && status == HEED_OK; i++) {
        const heed_operand *operand = heed_problem_operand(p, i);
        if (operand->type == HEED_DATA_NONE)
            continue;
        if (operand->type == HEED_DATA_I32 || operand->type == HEED_DATA_I64)
            status = make_numbers(b->trial.context, &b->operand[i], p, i);
        else
            status = make_operand(b->trial.context, &b->operand[i], heed_operand_extent(p, operand),
                                  operand->type, HEED_TENSORS + (uint64_t)i + 1);
        heed_operand_buffer_set(&b->buffers, i, b->operand[i]);
    }
    for (int i = 0; i < HEED_ARRAYS_MAX && status == HEED_OK; i++) {
        if (!p->arrays[i].name[0])
            continue;
        status = make_operand(b->trial.context, &b->array[i], heed_array_elements(&p->arrays[i]),
                              p->arrays[i].type, HEED_TENSORS + HEED_OPERANDS + (uint64_t)i + 1);
        b->buffers.arrays[i] = b->array[i];
    }
    return status;
}

static heed_status make_tensors(bench *b, const heed_problem *p)
{
    heed_status status = HEED_OK;
    b->buffers.size = sizeof b->buffers;
    for (int i = 0; i < HEED_TENSORS && status == HEED_OK; i++) {
        if (i == HEED_ROLE_V && p->shared)
            continue;
        const heed_tensor tensor = heed_problem_tensor(p, i);
        status = make_tensor(b->trial.context, &b->tensor[i], heed_tensor_extent(&tensor), p->type,
                             (uint64_t)i + 1);
        heed_buffer_set(&b->buffers, (heed_role)i, b->tensor[i]);
    }
    return status == HEED_OK ? make_operands(b, p) : status;
}

static void free_all(bench *b)
{
    heed_context *context = b->trial.context;
    for (int i = 0; i < HEED_TENSORS; i++)
        heed_device_free(context, b->tensor[i]);
    for (int i = 0; i < HEED_OPERANDS; i++)
        heed_device_free(context, b->operand[i]);
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        heed_device_free(context, b->array[i]);
    heed_device_free(context, b->buffers.workspace);
    free(b->trial.program);
}

/* Called before and after every execution: one of a long problem may take minutes, and is cut
 * short. */
static heed_status go_on(const bench *b)
{
    if (heed_context_stopped(b->trial.context))
        return heed_fail(HEED_ERR_SYSTEM, "measuring was interrupted");
    return HEED_OK;
}

static heed_status execute_trial(void *data)
{
    bench *b = data;
    heed_status status = go_on(b);
    if (status == HEED_OK)
        status = heed_execute(&b->trial, &b->buffers);
    return status == HEED_OK ? go_on(b) : status;
}

static heed_status execute_on_stream(void *data, int index, void *stream)
{
    bench *b = data;
    heed_buffers buffers = b->buffers;
    (void)index;
    buffers.stream = stream;
    return heed_execute(&b->trial, &buffers);
}

/* The fastest sample, since disturbances only ever add to a timing. */
static heed_status sample_host(bench *b, double *seconds)
{
    double samples[200];
    int count;
    heed_status status = heed_sample(execute_trial, b, &sampling, samples, &count);
    *seconds = INFINITY;
    for (int i = 0; i < count; i++)
        *seconds = fmin(*seconds, samples[i]);
    return status;
}

/* The same with the device's timers. */
static heed_status sample_device(bench *b, double *seconds)
{
    heed_replay replay;
    double sample = 0;
    *seconds = INFINITY;
    heed_status status = heed_replay_create(&replay, b->trial.context, execute_on_stream, b,
                                            REPLAY_CALLS);
    for (int i = 0; i < REPLAYS && status == HEED_OK; i++) {
        status = go_on(b);
        if (status == HEED_OK)
            status = heed_replay_run(&replay, &sample);
        if (status == HEED_OK && i > 0) /* the first one warms up */
            *seconds = fmin(*seconds, sample);
        if (i > 1 && sample * REPLAY_CALLS * i > (double)sampling.budget_ns * 1e-9)
            break;
    }
    heed_replay_destroy(&replay);
    return status;
}

static heed_status make_workspace(bench *b, size_t size)
{
    heed_device_free(b->trial.context, b->buffers.workspace);
    b->buffers.workspace = NULL;
    b->buffers.workspace_size = size;
    if (size == 0)
        return HEED_OK;
    return heed_device_allocate(b->trial.context, size, &b->buffers.workspace);
}

/* Seconds of one execution of @kernel in @config. */
static heed_status measure(bench *b, const heed_kernel *kernel, const heed_config *config,
                           double *seconds)
{
    heed_status status = go_on(b);
    if (status == HEED_OK)
        status = heed_plan_set(&b->trial, kernel, config);
    if (status == HEED_OK)
        status = make_workspace(b, b->trial.workspace_size);
    if (status != HEED_OK)
        return status;
    return heed_device_is_host(b->trial.context) ? sample_host(b, seconds)
                                                 : sample_device(b, seconds);
}

/* Times the other configs of @candidate, and sets it to the fastest. */
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
        if (!heed_plan_considers(kernel, &plan->problem, machine, &config, &why))
            continue;
        status = measure(b, kernel, &config, &seconds);
        if (status == HEED_OK && seconds < candidate->measured) {
            candidate->measured = seconds;
            heed_plan_configure(candidate, &plan->problem, machine, &config);
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
            (!next || candidate->rank < next->rank))
            next = candidate;
    }
    return next;
}

heed_status heed_plan_measure(heed_plan *plan, heed_effort effort, heed_considered **best)
{
    heed_problem room;
    bench b = { .trial = { .context = plan->context,
                           .problem = *heed_problem_planned(&plan->problem, &room),
                           .trial = true } };
    heed_considered *candidate;
    heed_status status = heed_plan_add_program(&b.trial);
    if (status == HEED_OK)
        status = make_tensors(&b, &b.trial.problem);
    *best = NULL;
    while (status == HEED_OK && (candidate = next_candidate(plan))) {
        if (*best && candidate->rank > HOPELESS * (*best)->measured)
            break;
        status = measure(&b, candidate->kernel, &candidate->config, &candidate->measured);
        if (status == HEED_OK && effort == HEED_PATIENT)
            status = search_configs(&b, plan, candidate);
        if (status == HEED_OK && (!*best || candidate->measured < (*best)->measured))
            *best = candidate;
    }
    heed_plan_unset(&b.trial);
    free_all(&b);
    return status;
}
