/*
 * test_emulated_kernels.c - the CUDA kernels through the gates of verification, on the emulator
 *
 * Beside the gates' own verdicts, a race in shared memory or a stray access fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "emulator/kernel.h"
#include "lab/verify/isolate.h"
#include "lab/verify/verify.h"
#include "src/cuda/kernels/args.cuh"

#define LOG2_E 1.44269504088896341
#define ROW_GAP 24    /* elements between rows of a problem with gaps */
#define SKEWED_GAP 25 /* the same, such that no row is aligned */

/* Sizes that a kernel sees, whatever its head dims. */
typedef struct shape {
    const char *sizes; /* words of a spec */
    bool all_inputs;
    int gap; /* elements; 0: dense */
} shape;

static const shape shapes[] = {
    { "b1 h1 s1", false, 0 },
    { "b1 h1 s65 scale=-0.3", true, 0 },
    { "b2 h2 s64/64", false, 0 },
    { "b1 h6/2 s33/100 mask=br", true, 0 },
    { "b2 h3/1 s50/31 mask=br", false, 0 }, /* the first rows see no key */
    { "b1 h2 s40/129 mask=tl", false, 0 },
    { "b1 h2 s127/127", false, ROW_GAP },
    { "b2 h4/2 s20/70 mask=br", false, SKEWED_GAP },
    { "b1 h8/1 s1/260 mask=br", false, 0 },
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* -------------------------------------------------------------------------- */
/* A kernel as a subject                                                      */
/* -------------------------------------------------------------------------- */

typedef struct emulated {
    const emulated_kernel *kernel;
    heed_problem problem;
    uint64_t conflicts; /* of all runs */
    uint64_t passes;
    char worst[EMULATOR_TEXT_SIZE];
} emulated;

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    emulated *it = data;
    it->problem = *problem;
    snprintf(needs->name, sizeof needs->name, "emulated");
    needs->workspace_size = 0;
    needs->deterministic = true;
    needs->seconds = -1;
    return HEED_OK;
}

static heed_cuda_strides strides_of(const heed_strides *from)
{
    return (heed_cuda_strides){ .batch = from->batch, .seq = from->seq, .head = from->head };
}

static bool is_aligned(const void *data, const heed_strides *strides)
{
    return (uintptr_t)data % 16 == 0 && strides->batch % 8 == 0 && strides->seq % 8 == 0 &&
           strides->head % 8 == 0;
}

/* Two heads at a time, so that there are several sections, the last one of them not full. */
static heed_cuda_args args_of(const emulated *it, const heed_buffers *buffers)
{
    const heed_problem *p = &it->problem;
    unsigned group = (unsigned)(p->heads_q / p->heads_kv);
    int64_t rows = p->seq_q * group;
    bool masked = p->mask != HEED_MASK_NONE;
    return (heed_cuda_args){
        .q = buffers->q,
        .k = buffers->k,
        .v = buffers->v,
        .o = buffers->o,
        .lse = buffers->lse,
        .q_stride = strides_of(&p->q),
        .k_stride = strides_of(&p->k),
        .v_stride = strides_of(&p->v),
        .o_stride = strides_of(&p->o),
        .rows = rows,
        .seq_q = p->seq_q,
        .visible = !masked                                    ? p->seq_k
                   : p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ? 1 + p->seq_k - p->seq_q
                                                              : 1,
        .seq_k = (unsigned)p->seq_k,
        .heads = (unsigned)(p->batch * p->heads_kv),
        .heads_kv = (unsigned)p->heads_kv,
        .group = group,
        .blocks = (unsigned)((rows + it->kernel->rows - 1) / it->kernel->rows),
        .section = 2,
        .splits = 1,
        .scale = (float)((double)p->scale * LOG2_E),
    };
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    emulated *it = data;
    const heed_problem *p = &it->problem;
    heed_cuda_args args = args_of(it, buffers);
    bool aligned = is_aligned(buffers->q, &p->q) && is_aligned(buffers->k, &p->k) &&
                   is_aligned(buffers->v, &p->v) && is_aligned(buffers->o, &p->o);
    const emulator_launch launch = { .kernel = aligned ? it->kernel->aligned
                                                       : it->kernel->unaligned,
                                     .args = &args,
                                     .grid = { args.heads * args.blocks * args.splits, 1, 1 },
                                     .threads = it->kernel->threads,
                                     .shared_bytes = it->kernel->shared_bytes };
    emulator_report report;
    bool fine = emulator_run(&launch, &report);
    it->conflicts += report.conflicts;
    it->passes += report.passes;
    if (report.worst[0])
        memcpy(it->worst, report.worst, sizeof it->worst);
    if (fine)
        return HEED_OK;
    snprintf(it->worst, sizeof it->worst, "%s", emulator_complaint(&report));
    return HEED_ERR_SYSTEM;
}

/* -------------------------------------------------------------------------- */
/* Every kernel on every shape                                                */
/* -------------------------------------------------------------------------- */

typedef struct outcome {
    lab_report report;
    char spec[160];
    char inputs[16];
    char worst[EMULATOR_TEXT_SIZE]; /* what the emulator has to say */
    uint64_t conflicts, passes;
    int64_t runs;
} outcome;

/* Gaps after each head, each row and each batch element. */
static heed_strides gapped(int64_t seq, int64_t heads, int64_t dim, int64_t gap)
{
    int64_t head = dim + gap, row = heads * head + gap;
    return (heed_strides){ .batch = seq * row + gap, .seq = row, .head = head };
}

/* The problem of @s for @kernel. "mask=" in the sizes is meant for kernels that have a mask. */
static bool problem_of(const emulated_kernel *kernel, const shape *s, heed_problem *problem,
                       outcome *result)
{
    char sizes[96];
    snprintf(sizes, sizeof sizes, "%s", s->sizes);
    char *mask = strstr(sizes, "mask=");
    const char *word = kernel->causal ? "causal" : "";
    if (mask) {
        word = !kernel->causal ? "" : strcmp(mask, "mask=br") == 0 ? "causal=br" : "causal=tl";
        *mask = '\0';
    }
    snprintf(result->spec, sizeof result->spec, "%s d%d/%d %s %s", sizes, kernel->dim_qk,
             kernel->dim_v, kernel->bf16 ? "bf16" : "f16", word);
    if (heed_problem_parse(problem, result->spec) != HEED_OK)
        return false;
    if (s->gap > 0) {
        problem->q = gapped(problem->seq_q, problem->heads_q, problem->dim_qk, s->gap);
        problem->k = gapped(problem->seq_k, problem->heads_kv, problem->dim_qk, s->gap);
        problem->v = gapped(problem->seq_k, problem->heads_kv, problem->dim_v, s->gap);
        problem->o = gapped(problem->seq_q, problem->heads_q, problem->dim_v, s->gap);
    }
    return heed_problem_normalize(problem, problem) == HEED_OK;
}

static size_t kernel_count(void)
{
    size_t count = 0;
    while (emulated_kernels[count])
        count++;
    return count;
}

/* One kernel on one shape, with some or all kinds of inputs, up to the first failure. */
static void verify_one(void *data, size_t index, lab_trace *trace, void *result)
{
    const shape *s = &shapes[index % SHAPES];
    outcome *out = result;
    emulated subject_data = { .kernel = emulated_kernels[index / SHAPES] };
    const lab_subject subject = { .data = &subject_data, .prepare = prepare, .run = run };
    lab_verify_options options = lab_verify_standard();
    heed_problem problem;
    if (!problem_of(subject_data.kernel, s, &problem, out)) {
        snprintf(out->worst, sizeof out->worst, "%s", heed_message());
        out->report.outcome = LAB_FAIL;
        return;
    }
    for (size_t i = 0; lab_inputs_at(i) && out->report.outcome != LAB_FAIL; i++) {
        const lab_inputs *inputs = lab_inputs_at(i);
        bool wanted = s->all_inputs || i == 0 || strcmp(inputs->name, "masked") == 0;
        if (!wanted || lab_case_absent(&problem, inputs))
            continue;
        snprintf(out->inputs, sizeof out->inputs, "%s", inputs->name);
        if (lab_verify_problem(&problem, inputs, &subject, &options, trace, &out->report) !=
            HEED_OK)
            out->report.outcome = LAB_FAIL;
    }
    memcpy(out->worst, subject_data.worst, sizeof out->worst);
    out->conflicts = subject_data.conflicts;
    out->passes = subject_data.passes;
}

static void explain(const emulated_kernel *kernel, const outcome *out, const lab_ending *ending)
{
    print_message("%s on '%s', %s inputs: %s %s\n", kernel->name, out->spec, out->inputs,
                  out->worst, ending->text);
    for (size_t g = 0; g < LAB_GATES; g++)
        if (out->report.verdicts[g].outcome == LAB_FAIL)
            print_message("    %s: %s\n", lab_gate_at(g)->name, out->report.verdicts[g].reason);
}

static void test_every_kernel_passes(void **state)
{
    size_t count = kernel_count() * SHAPES, failed = 0;
    outcome *outcomes = test_calloc(count, sizeof *outcomes);
    lab_ending *endings = test_calloc(count, sizeof *endings);
    const lab_isolation isolation = { .run = verify_one,
                                      .count = count,
                                      .result_size = sizeof *outcomes,
                                      .group = SHAPES,
                                      .jobs = 2,
                                      .deadline_s = 240 };
    assert_int_equal(lab_isolate(&isolation, outcomes, endings), HEED_OK);
    for (size_t i = 0; i < count; i++) {
        if (endings[i].how == LAB_COMPLETED && outcomes[i].report.outcome == LAB_PASS)
            continue;
        failed++;
        explain(emulated_kernels[i / SHAPES], &outcomes[i], &endings[i]);
    }
    for (size_t k = 0; k < kernel_count(); k++) {
        const outcome *all = &outcomes[k * SHAPES];
        uint64_t conflicts = 0, passes = 0;
        for (size_t i = 0; i < SHAPES; i++) {
            conflicts += all[i].conflicts;
            passes += all[i].passes;
        }
        print_message("%s: %llu bank conflicts in %llu passes, most of them at %s\n",
                      emulated_kernels[k]->name, (unsigned long long)conflicts,
                      (unsigned long long)passes, all[1].worst);
    }
    test_free(outcomes);
    test_free(endings);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
