/*
 * bench_tensors.c - tensors to time with, and the look at what came out
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "tensor/convert.h"
#include "tensor/random.h"

/* More copies than this are of no use, whatever the caches. */
#define COPIES_MAX 1024

/* Bytes from the first to the last element of a tensor of a problem that has been checked. */
static size_t extent_bytes(const heed_problem *problem, lab_role role)
{
    lab_view view = lab_view_of(problem, role);
    return (size_t)lab_view_extent(&view) * heed_type_size(problem->type);
}

static size_t copy_bytes(const heed_problem *problem)
{
    size_t bytes = 0;
    for (int role = 0; role < LAB_ROLES; role++)
        bytes += extent_bytes(problem, (lab_role)role);
    return bytes;
}

/* Fills one tensor with random normal values, wherever its elements lie. */
static void fill_random(const heed_problem *problem, lab_role role, uint64_t seed, void *data)
{
    lab_view view = lab_view_of(problem, role);
    uint64_t stream = lab_random_stream(seed, (uint64_t)role);
    for (int64_t n = 0; n < lab_view_vectors(&view); n++) {
        int64_t first = lab_view_vector(&view, n);
        for (int64_t d = 0; d < view.dim; d++)
            lab_element_set(view.type, data, first + d,
                            lab_random_normal(stream, (uint64_t)(n * view.dim + d)));
    }
}

static bool make_tensor(bench_tensors *tensors, const bench_source *source, uint64_t seed,
                        int64_t copy, lab_role role)
{
    size_t bytes = extent_bytes(&tensors->problem, role);
    void **all = tensors->data + copy * LAB_ROLES;
    all[role] = aligned_alloc(HEED_ALIGNMENT, (bytes / HEED_ALIGNMENT + 1) * HEED_ALIGNMENT);
    if (!all[role])
        return false;
    if (role == LAB_O)
        return true; /* bench_tensors_poison() fills it */
    if (copy > 0)
        memcpy(all[role], tensors->data[role], bytes);
    else if (source->tensors[role].data)
        memcpy(all[role], source->tensors[role].data, bytes); /* captured values are dense */
    else
        fill_random(&tensors->problem, role, seed, all[role]);
    return true;
}

heed_status bench_tensors_create(bench_tensors *tensors, const bench_source *source, uint64_t seed,
                                 int64_t bytes)
{
    size_t each = copy_bytes(&source->problem);
    size_t copies = 1 + (size_t)bytes / each;
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
    memset(tensors, 0, sizeof *tensors);
    tensors->problem = source->problem;
    tensors->copies = copies < COPIES_MAX ? (int64_t)copies : COPIES_MAX;
    /* The system promises more than it has, and kills who takes it at its word. */
    if (each > memory / (size_t)tensors->copies)
        return HEED_ERR_NO_MEMORY;
    tensors->data = calloc((size_t)tensors->copies * LAB_ROLES, sizeof *tensors->data);
    bool good = tensors->data != NULL;
    for (int64_t copy = 0; good && copy < tensors->copies; copy++)
        for (int role = 0; good && role < LAB_ROLES; role++)
            good = make_tensor(tensors, source, seed, copy, (lab_role)role);
    if (good) {
        bench_tensors_poison(tensors);
        return HEED_OK;
    }
    bench_tensors_free(tensors);
    return HEED_ERR_NO_MEMORY;
}

void bench_tensors_free(bench_tensors *tensors)
{
    for (int64_t i = 0; tensors->data && i < tensors->copies * LAB_ROLES; i++)
        free(tensors->data[i]);
    free(tensors->data);
    memset(tensors, 0, sizeof *tensors);
}

heed_buffers bench_tensors_buffers(const bench_tensors *tensors, int64_t call)
{
    void **all = tensors->data + call % tensors->copies * LAB_ROLES;
    return (heed_buffers){ .q = all[LAB_Q], .k = all[LAB_K], .v = all[LAB_V], .o = all[LAB_O] };
}

void bench_tensors_poison(const bench_tensors *tensors)
{
    /* Bits that are all ones are a NaN in every type. */
    for (int64_t copy = 0; copy < tensors->copies; copy++)
        memset(tensors->data[copy * LAB_ROLES + LAB_O], 0xff,
               extent_bytes(&tensors->problem, LAB_O));
}

void *bench_tensors_dense(const bench_tensors *tensors, lab_role role)
{
    lab_view view = lab_view_of(&tensors->problem, role);
    size_t element = heed_type_size(view.type), row = (size_t)view.dim * element;
    char *dense = malloc((size_t)lab_view_vectors(&view) * row);
    const char *data = tensors->data[role];
    char *next = dense;
    for (int64_t b = 0; dense && b < view.batch; b++)
        for (int64_t s = 0; s < view.seq; s++)
            for (int64_t h = 0; h < view.heads; h++, next += row)
                memcpy(next, data + (size_t)lab_view_at(&view, b, s, h) * element, row);
    return dense;
}

double bench_error(const heed_problem *problem, const void *o, const lab_expect *expect)
{
    lab_view view = lab_view_of(problem, LAB_O);
    double worst = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        int64_t first = lab_view_vector(&view, expect->rows[i]);
        double sum = 0;
        for (int64_t d = 0; d < view.dim; d++) {
            double want = expect->o[i * expect->dim + d];
            double off = lab_element_get(view.type, o, first + d) - want;
            sum += off * off;
        }
        double allowed = expect->o_budget[i];
        double ratio = sum == 0 ? 0 : sqrt(sum) / allowed;
        if (!(ratio <= worst))
            worst = isnan(ratio) ? INFINITY : ratio;
    }
    return worst;
}
