/*
 * test_emulated_combine.c - heed_combine() on the emulator: parts of rows, with some that saw no
 * key, are merged by their LSEs as in double precision, however many there are
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda/backend.h"
#include "cuda/gpu.h"
#include "emulated.h"
#include "emulator/emulator.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"

enum {
    HEADS = 2,
    ROWS = 3,
    DIM_MAX = 1024
};

/* Parts that no row sees are every third one but the first. */
static float lse_of(size_t part, unsigned split)
{
    return split % 3 == 2 ? -INFINITY : (float)(6 * lab_random_normal(7, part));
}

/* The arguments of @splits parts of each row; the caller frees the arrays. */
static heed_cuda_args args_of(const emulated_kernel *kernel, const heed_problem *problem,
                              unsigned splits)
{
    const heed_gpu gpu = {
        .multiprocessors = 1, .clock = 1, .bandwidth = 1, .costs = heed_cost_rows
    };
    const heed_launch_facts launch = { .rows = kernel->rows, .splits = splits };
    const size_t parts = (size_t)HEADS * splits * ROWS, dim = (size_t)kernel->dim_v;
    heed_cuda_args args;
    heed_cuda_fill_args(&args, problem, &gpu, &launch);
    args.partial = test_calloc(parts * dim, sizeof *args.partial);
    args.partial_lse = test_calloc(parts, sizeof *args.partial_lse);
    for (size_t i = 0; i < parts * dim; i++)
        args.partial[i] = (float)lab_random_normal(3, i);
    for (size_t i = 0; i < parts; i++)
        args.partial_lse[i] = lse_of(i, (unsigned)(i / ROWS % splits));
    args.o = test_calloc(ROWS * HEADS * dim, heed_type_size(problem->type));
    args.lse = test_calloc(ROWS * HEADS, sizeof *args.lse);
    return args;
}

/* Computes row @row of @head, and returns its LSE. */
static double expect(const heed_cuda_args *args, size_t dim, size_t head, size_t row,
                     double o[DIM_MAX])
{
    const size_t splits = args->splits.value;
    double sum = 0;
    for (size_t c = 0; c < dim; c++)
        o[c] = 0;
    for (size_t s = 0; s < splits; s++) {
        size_t part = (head * splits + s) * ROWS + row;
        double weight = exp2((double)args->partial_lse[part]);
        sum += weight;
        for (size_t c = 0; c < dim; c++)
            o[c] += weight * (double)args->partial[part * dim + c];
    }
    for (size_t c = 0; c < dim; c++)
        o[c] /= sum;
    return log2(sum) * log(2);
}

static void check(const emulated_kernel *kernel, const heed_problem *problem,
                  const heed_cuda_args *args)
{
    const double tolerance = problem->type == HEED_F32   ? 1e-5
                             : problem->type == HEED_F16 ? 2e-3
                                                         : 1.6e-2;
    const size_t dim = (size_t)kernel->dim_v;
    for (size_t i = 0; i < ROWS * HEADS; i++) {
        double o[DIM_MAX], lse = expect(args, dim, i % HEADS, i / HEADS, o);
        assert_true(fabs((double)args->lse[i % HEADS * ROWS + i / HEADS] - lse) < 1e-4);
        for (size_t c = 0; c < dim; c++) {
            double found = lab_element_get(problem->type, args->o, (int64_t)(i * dim + c));
            if (!(fabs(found - o[c]) <= tolerance * fmax(1, fabs(o[c]))))
                fail_msg("%s, %u splits, row %zu, column %zu: %g instead of %g", kernel->name,
                         args->splits.value, i, c, found, o[c]);
        }
    }
}

static void combine(const emulated_kernel *kernel, unsigned splits)
{
    const heed_cuda_combine how = heed_cuda_combine_of(kernel->dim_v, (int)splits);
    static const char *const types[] = { "f32", "f16", "bf16" };
    heed_problem problem;
    emulator_report report;
    char spec[96];
    snprintf(spec, sizeof spec, "b1 h%d s%d/64 d%d/%d %s", HEADS, ROWS, kernel->dim_qk,
             kernel->dim_v, types[kernel->type]);
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    heed_cuda_args args = args_of(kernel, &problem, splits);
    const emulator_launch launch = { .kernel = kernel->combine,
                                     .args = &args,
                                     .grid = { (HEADS * ROWS + how.rows - 1) / how.rows, 1, 1 },
                                     .threads = how.threads };
    bool fine = emulator_run(&launch, &report);
    if (!fine || emulator_complaint(&report)[0])
        fail_msg("%s, %u splits: %s", kernel->name, splits, emulator_complaint(&report));
    check(kernel, &problem, &args);
    test_free(args.partial);
    test_free(args.partial_lse);
    test_free(args.o);
    test_free(args.lse);
}

static void test_every_number_of_parts(void **state)
{
    static const unsigned splits[] = { 1, 2, 4, 8, 9, 12, 16, 17, 33, 64, 100 };
    int count = 0;
    (void)state;
    for (const emulated_config *config = emulated_configs; config->aligned; config++) {
        if (!config->aligned->combine)
            continue;
        for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
            combine(config->aligned, splits[i]);
        count++;
    }
    assert_true(count > 5);
}

RUN_TESTS(test_every_number_of_parts)
