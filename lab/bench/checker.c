/*
 * checker.c - changes an input element and checks that the output follows
 */
#include "lab/bench/checker.h"

#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "lab/verify/sample.h"
#include "src/device.h"

/* Maximum of elements read for the rows that are compared after each block: a few rows. */
#define CHECK_WORK (INT64_C(1) << 16)

/* The state of a row takes one number per key: maximum in total. */
#define CHECK_NUMBERS (INT64_C(1) << 24)

/* Keeps unchanged copies of Q, K and V: on a CPU the first copy is changed in place. */
static bool keep_inputs(lab_bench_checker *checker, heed_buffers *data)
{
    const lab_bench_tensors *tensors = checker->tensors;
    const void *from[LAB_VECTORS] = { [LAB_Q] = data->q, [LAB_K] = data->k, [LAB_V] = data->v };
    if (!heed_device_is_host(tensors->context))
        return true;
    for (int role = 0; role < LAB_VECTORS; role++) {
        lab_view view = lab_view_of(&tensors->problem, (lab_role)role);
        size_t bytes = lab_view_bytes(&view);
        checker->copies[role] = malloc(bytes);
        if (!checker->copies[role])
            return false;
        memcpy(checker->copies[role], from[role], bytes);
    }
    data->q = checker->copies[LAB_Q];
    data->k = checker->copies[LAB_K];
    data->v = checker->copies[LAB_V];
    return true;
}

/* True if the effect of a change of one element is known: not if several vectors share it. */
static bool can_check(const heed_problem *problem)
{
    bool apart = problem->seq_k <= CHECK_NUMBERS / 64;
    for (int role = 0; role < LAB_VECTORS; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        apart = apart && lab_view_splits(&view, true);
    }
    return apart;
}

void lab_bench_checker_create(lab_bench_checker **checker, const lab_bench_tensors *tensors,
                              uint64_t seed, int threads)
{
    heed_buffers data = lab_bench_tensors_inputs(tensors);
    const lab_sampling rows = { .seed = seed, .work = CHECK_WORK, .threads = threads };
    *checker = NULL;
    lab_bench_checker *made = can_check(&tensors->problem) ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return;
    made->tensors = tensors;
    made->seed = seed;
    if (keep_inputs(made, &data) &&
        lab_sample_create(&made->sample, &tensors->problem, &data, &rows) == HEED_OK)
        *checker = made;
    else
        lab_bench_checker_destroy(made);
}

void lab_bench_checker_destroy(lab_bench_checker *checker)
{
    if (!checker)
        return;
    lab_sample_destroy(checker->sample);
    for (int role = 0; role < LAB_VECTORS; role++)
        free(checker->copies[role]);
    free(checker);
}

/* Writes one element to the copy that call number @call uses. */
static heed_status write_touch(const lab_bench_checker *checker, const lab_touch *touch,
                               int64_t call)
{
    const lab_bench_tensors *tensors = checker->tensors;
    heed_type type = tensors->problem.type;
    heed_buffers buffers = lab_bench_tensors_buffers(tensors, call);
    double element = 0; /* room for one of any type */
    lab_touch alone = { .role = touch->role, .value = touch->value };
    lab_touch_write(&alone, type, &element);
    char *to = (char *)lab_buffers_get(&buffers, touch->role) +
               (size_t)touch->index * heed_type_size(type);
    return heed_device_upload(tensors->context, to, &element, heed_type_size(type));
}

/* The first of @count touches undoes the previous one, if any, at its place. */
static heed_status write_touches(lab_bench_checker *checker, const lab_touch *touches, int count,
                                 bool undoes, int64_t call)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < count && status == HEED_OK; i++)
        status = write_touch(checker, &touches[i], i == 0 && undoes ? checker->touched : call);
    checker->touched = call;
    return status;
}

heed_status lab_bench_checker_touch(lab_bench_checker *checker, int64_t call)
{
    lab_touch touches[LAB_TOUCHES];
    if (!checker)
        return HEED_OK;
    bool undoes = checker->sample->undo.index >= 0;
    int count = lab_sample_touch(checker->sample,
                                 lab_random_stream(checker->seed, checker->blocks++), touches);
    return write_touches(checker, touches, count, undoes, call);
}

heed_status lab_bench_checker_error(const lab_bench_checker *checker, double *error)
{
    *error = 0;
    return checker ? lab_bench_tensors_error(checker->tensors, checker->touched,
                                             checker->sample->expect, error)
                   : HEED_OK;
}

heed_status lab_bench_checker_restore(lab_bench_checker *checker)
{
    lab_touch touches[LAB_TOUCHES];
    if (!checker)
        return HEED_OK;
    bool undoes = checker->sample->undo.index >= 0;
    int count = lab_sample_restore(checker->sample, touches);
    return write_touches(checker, touches, count, undoes, checker->touched);
}
