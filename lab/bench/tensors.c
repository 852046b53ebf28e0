/*
 * tensors.c - tensors for timing, and the check of the output
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/bench/tensors.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/append.h"
#include "lab/verify/operands.h"
#include "src/device.h"
#include "src/message.h"

/* More copies than this are useless with any cache. */
#define COPIES_MAX 1024

/* Random values repeat after this many: a prime, so that no two head vectors are alike. */
#define PERIOD INT64_C(1048573)

/* Bytes uploaded at a time to poison O. */
#define POISON_BYTES ((size_t)4 << 20)

/* Above this many rows it is faster to download all of O. */
#define ROWS_SINGLE_MAX 4096

/* True if the tensor is part of another one, without its own memory. */
static bool is_part(const heed_problem *problem, lab_role role)
{
    return role == LAB_V && problem->shared;
}

/* Bytes from the first to the last element of a tensor of a problem that has been checked. */
static size_t extent_bytes(const heed_problem *problem, lab_role role)
{
    lab_view view = lab_view_of(problem, role);
    return is_part(problem, role) ? 0 : lab_view_bytes(&view);
}

static size_t copy_bytes(const heed_problem *problem)
{
    size_t bytes = 0;
    for (int role = 0; role < LAB_ROLES; role++)
        bytes += extent_bytes(problem, (lab_role)role);
    return bytes;
}

/* The layout of a tensor's stored values. Paged keys are stored as the pool of pages, so shared
 * pages have one value, and a rival can take the pool. */
static lab_view values_view(const heed_problem *problem, lab_role role)
{
    lab_view view = lab_view_of(problem, role);
    if (view.page > 0) {
        view.batch = view.pages;
        view.seq = view.page;
    }
    view.page = view.pages = view.prefix = 0;
    return view;
}

static int64_t element_count(const heed_problem *problem, lab_role role)
{
    lab_view view = values_view(problem, role);
    return lab_view_vectors(&view) * view.dim;
}

/* Number of values stored for a tensor. */
static int64_t value_count(const lab_bench_tensors *tensors, lab_role role)
{
    int64_t elements = element_count(&tensors->problem, role);
    return elements < tensors->period ? elements : tensors->period;
}

static bool make_values(lab_bench_tensors *tensors, const lab_bench_source *source, uint64_t seed,
                        lab_role role)
{
    heed_type type = lab_view_of(&tensors->problem, role).type;
    int64_t count = value_count(tensors, role);
    uint64_t stream = lab_random_stream(seed, (uint64_t)role);
    void *values = malloc((size_t)count * heed_type_size(type));
    tensors->values[role] = values;
    if (!values)
        return false;
    if (source->tensors[role].data)
        memcpy(values, source->tensors[role].data, (size_t)count * heed_type_size(type));
    else
        for (int64_t i = 0; i < count; i++)
            lab_element_set(type, values, i, lab_random_normal(stream, (uint64_t)i));
    return true;
}

/* Copies the elements of a dense tensor from number @first on, @count of them. */
static void copy_values(const lab_bench_tensors *tensors, lab_role role, int64_t first,
                        int64_t count, void *to)
{
    size_t element = heed_type_size(lab_view_of(&tensors->problem, role).type);
    int64_t length = value_count(tensors, role);
    const char *values = tensors->values[role];
    for (int64_t done = 0, take; done < count; done += take) {
        int64_t from = (first + done) % length;
        take = count - done < length - from ? count - done : length - from;
        memcpy((char *)to + (size_t)done * element, values + (size_t)from * element,
               (size_t)take * element);
    }
}

/* Fills a tensor in host memory with any strides. */
static void fill(const lab_bench_tensors *tensors, lab_role role, void *data)
{
    lab_view view = values_view(&tensors->problem, role);
    size_t element = heed_type_size(view.type);
    int64_t next = 0;
    for (int64_t b = 0; b < view.batch; b++)
        for (int64_t s = 0; s < view.seq; s++)
            for (int64_t h = 0; h < view.heads; h++, next += view.dim)
                copy_values(tensors, role, next, view.dim,
                            (char *)data + (size_t)lab_view_at(&view, b, s, h) * element);
}

/* Derives new keys or values from K or V before the append. */
static void derive_new(lab_bench_tensors *tensors, lab_role role)
{
    heed_buffers inputs = lab_bench_tensors_inputs(tensors);
    lab_append_derive(&tensors->problem, &inputs, role, tensors->host[role]);
}

/* An input in host memory. */
static bool make_host(lab_bench_tensors *tensors, lab_role role)
{
    size_t bytes = extent_bytes(&tensors->problem, role);
    if (heed_device_is_host(tensors->context))
        tensors->host[role] = tensors->data[role];
    else
        tensors->host[role] = malloc(bytes);
    if (!tensors->host[role])
        return false;
    lab_view view = values_view(&tensors->problem, role);
    if (lab_view_extent(&view) != lab_view_vectors(&view) * view.dim) /* gaps are never read */
        memset(tensors->host[role], 0, bytes);
    if (role < LAB_VECTORS)
        fill(tensors, role, tensors->host[role]);
    else if (role == LAB_K_NEW || role == LAB_V_NEW)
        derive_new(tensors, role);
    else
        lab_operand_fill_usual(&tensors->problem, role, tensors->host[role], tensors->seed);
    return true;
}

static heed_status make_tensor(lab_bench_tensors *tensors, int64_t copy, lab_role role)
{
    size_t bytes = extent_bytes(&tensors->problem, role);
    void **data = &tensors->data[copy * LAB_ROLES + role];
    if (bytes == 0)
        return HEED_OK;
    heed_status status = heed_device_allocate(tensors->context, bytes, data);
    if (status != HEED_OK || role == LAB_O) /* lab_bench_tensors_poison() fills it */
        return status;
    if (copy == 0 && !make_host(tensors, role))
        return HEED_ERR_NO_MEMORY;
    if (*data == tensors->host[role])
        return HEED_OK;
    return heed_device_upload(tensors->context, *data, tensors->host[role], bytes);
}

static heed_status make_tensors(lab_bench_tensors *tensors, int64_t copy)
{
    heed_status status = HEED_OK;
    for (int role = 0; status == HEED_OK && role < LAB_ROLES; role++)
        status = make_tensor(tensors, copy, (lab_role)role);
    return status;
}

/* Returns false if the tensors exceed memory: the system overcommits, and kills a process that uses
 * it. */
static bool is_affordable(const lab_bench_tensors *tensors)
{
    size_t each = copy_bytes(&tensors->problem);
    size_t device = heed_device_memory(tensors->context);
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
    return each <= host && (device == 0 || each <= device / (size_t)tensors->copies);
}

heed_status lab_bench_tensors_create(lab_bench_tensors *tensors, heed_context *context,
                                     const lab_bench_source *source, uint64_t seed, int64_t bytes)
{
    size_t copies = 1 + (size_t)bytes / copy_bytes(&source->problem);
    memset(tensors, 0, sizeof *tensors);
    tensors->problem = source->problem;
    tensors->context = context;
    tensors->copies = copies < COPIES_MAX ? (int64_t)copies : COPIES_MAX;
    tensors->period = PERIOD;
    tensors->seed = seed;
    for (int role = 0; role < LAB_VECTORS; role++) /* captured values do not repeat */
        if (source->tensors[role].data &&
            element_count(&source->problem, (lab_role)role) > tensors->period)
            tensors->period = element_count(&source->problem, (lab_role)role);
    if (!is_affordable(tensors)) {
        memset(tensors, 0, sizeof *tensors);
        return heed_fail(HEED_ERR_NO_MEMORY, "the tensors have %.3g GB, more than there is memory",
                         (double)copy_bytes(&source->problem) * 1e-9);
    }
    tensors->data = calloc((size_t)tensors->copies * LAB_ROLES, sizeof *tensors->data);
    heed_status status = tensors->data ? HEED_OK : HEED_ERR_NO_MEMORY;
    for (int role = 0; status == HEED_OK && role < LAB_VECTORS; role++)
        if (!make_values(tensors, source, seed, (lab_role)role))
            status = HEED_ERR_NO_MEMORY;
    for (int64_t copy = 0; status == HEED_OK && copy < tensors->copies; copy++)
        status = make_tensors(tensors, copy);
    if (status == HEED_OK)
        status = lab_bench_tensors_poison(tensors);
    if (status != HEED_OK)
        lab_bench_tensors_free(tensors);
    return status;
}

void lab_bench_tensors_free(lab_bench_tensors *tensors)
{
    for (int role = 0; role < LAB_INPUTS; role++) {
        if (role < LAB_VECTORS)
            free(tensors->values[role]);
        if (tensors->data && tensors->host[role] != tensors->data[role])
            free(tensors->host[role]);
    }
    for (int64_t i = 0; tensors->data && i < tensors->copies * LAB_ROLES; i++)
        heed_device_free(tensors->context, tensors->data[i]);
    free(tensors->data);
    memset(tensors, 0, sizeof *tensors);
}

heed_buffers lab_bench_tensors_buffers(const lab_bench_tensors *tensors, int64_t call)
{
    void **all = tensors->data + call % tensors->copies * LAB_ROLES;
    heed_buffers buffers = { .size = sizeof buffers };
    for (int role = 0; role < LAB_ROLES; role++)
        lab_buffers_set(&buffers, (lab_role)role, all[role]);
    return buffers;
}

heed_buffers lab_bench_tensors_inputs(const lab_bench_tensors *tensors)
{
    heed_buffers buffers = { .size = sizeof buffers };
    for (int role = 0; role < LAB_INPUTS; role++)
        lab_buffers_set(&buffers, (lab_role)role, tensors->host[role]);
    if (is_part(&tensors->problem, LAB_V))
        buffers.v = buffers.k;
    return buffers;
}

heed_status lab_bench_tensors_poison(const lab_bench_tensors *tensors)
{
    size_t bytes = extent_bytes(&tensors->problem, LAB_O);
    size_t part = bytes < POISON_BYTES ? bytes : POISON_BYTES;
    void *poison = malloc(part);
    heed_status status = poison ? HEED_OK : HEED_ERR_NO_MEMORY;
    if (poison)
        memset(poison, 0xff, part); /* bits that are all ones are a NaN in every type */
    for (int64_t copy = 0; copy < tensors->copies; copy++)
        for (size_t done = 0; status == HEED_OK && done < bytes; done += part) {
            char *o = tensors->data[copy * LAB_ROLES + LAB_O];
            size_t size = bytes - done < part ? bytes - done : part;
            status = heed_device_upload(tensors->context, o + done, poison, size);
        }
    free(poison);
    return status;
}

void *lab_bench_tensors_dense(const lab_bench_tensors *tensors, lab_role role)
{
    int64_t count = element_count(&tensors->problem, role);
    size_t element = heed_type_size(tensors->problem.type);
    char *dense = malloc((size_t)count * element);
    const heed_problem *problem = &tensors->problem;
    if (dense && is_part(problem, role)) /* with its own memory */
        for (int64_t i = 0; i < count / problem->dim_v; i++)
            copy_values(tensors, LAB_K, i * problem->dim_qk, problem->dim_v,
                        dense + (size_t)(i * problem->dim_v) * element);
    else if (dense)
        copy_values(tensors, role, 0, count, dense);
    return dense;
}

void *lab_bench_tensors_operand(const lab_bench_tensors *tensors, lab_role role, size_t *size)
{
    lab_view view = lab_view_of(&tensors->problem, role);
    int64_t vectors = lab_view_vectors(&view);
    size_t bytes = (size_t)view.dim * view.element;
    const char *from = tensors->host[role];
    char *dense = malloc((size_t)vectors * bytes);
    *size = (size_t)vectors * bytes;
    for (int64_t i = 0; dense && i < vectors; i++)
        memcpy(dense + (size_t)i * bytes, from + (size_t)lab_view_vector(&view, i) * view.element,
               bytes);
    return dense;
}

/* The error of the row @i of @expect, whose elements begin at @row; infinite if one of them is
 * misplaced, see lab_expect_misplaced(). */
static double row_error(heed_type type, const void *row, const lab_expect *expect, int64_t i)
{
    double o[HEED_DIM_MAX], sum = 0;
    lab_elements_load(type, row, 0, expect->dim, o);
    if (lab_expect_misplaced(expect, i, o, NULL) < expect->dim)
        return INFINITY;
    if (isinf(expect->o_budget[i]))
        return 0; /* not judged */
    for (int64_t d = 0; d < expect->dim; d++) {
        double expected = expect->o[i * expect->dim + d];
        sum += isfinite(expected) ? (o[d] - expected) * (o[d] - expected) : 0;
    }
    double ratio = sum == 0 ? 0 : sqrt(sum) / expect->o_budget[i];
    return isnan(ratio) ? INFINITY : ratio;
}

double lab_bench_rows_error(heed_type type, const void *rows, const lab_expect *expect)
{
    size_t size = (size_t)expect->dim * heed_type_size(type);
    double worst = 0;
    for (int64_t i = 0; i < expect->count; i++)
        worst = fmax(worst, row_error(type, (const char *)rows + (size_t)i * size, expect, i));
    return worst;
}

double lab_bench_error(const heed_problem *problem, const void *o, const lab_expect *expect)
{
    lab_view view = lab_view_of(problem, LAB_O);
    size_t element = heed_type_size(problem->type);
    double worst = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        size_t first = (size_t)lab_view_vector(&view, expect->rows[i]) * element;
        worst = fmax(worst, row_error(problem->type, (const char *)o + first, expect, i));
    }
    return worst;
}

/* Downloads the rows of @expect from the O at @o, one after another. */
static heed_status download_rows(const lab_bench_tensors *tensors, const char *o,
                                 const lab_expect *expect, char *rows)
{
    lab_view view = lab_view_of(&tensors->problem, LAB_O);
    size_t element = heed_type_size(view.type), size = (size_t)view.dim * element;
    heed_status status = HEED_OK;
    for (int64_t i = 0; status == HEED_OK && i < expect->count; i++)
        status = heed_device_download(tensors->context, rows + (size_t)i * size,
                                      o + (size_t)lab_view_vector(&view, expect->rows[i]) * element,
                                      size);
    return status;
}

heed_status lab_bench_tensors_error(const lab_bench_tensors *tensors, int64_t call,
                                    const lab_expect *expect, double *error)
{
    const heed_problem *problem = &tensors->problem;
    const void *o = lab_bench_tensors_buffers(tensors, call).o;
    bool all = expect->count > ROWS_SINGLE_MAX;
    size_t bytes = all ? extent_bytes(problem, LAB_O)
                       : (size_t)(expect->count * expect->dim) * heed_type_size(problem->type);
    if (heed_device_is_host(tensors->context)) {
        *error = lab_bench_error(problem, o, expect);
        return HEED_OK;
    }
    void *copy = malloc(bytes);
    if (!copy)
        return HEED_ERR_NO_MEMORY;
    heed_status status = all ? heed_device_download(tensors->context, copy, o, bytes)
                             : download_rows(tensors, o, expect, copy);
    if (status == HEED_OK)
        *error = all ? lab_bench_error(problem, copy, expect)
                     : lab_bench_rows_error(problem->type, copy, expect);
    free(copy);
    return status;
}
