/*
 * test_emulated_kernels.c - verifies the CUDA kernels on the emulator with the gates of `heed
 * verify`
 *
 * In addition to the gates, a race in shared memory, a stray access or a read of uninitialized
 * memory fails. Kernels marked as wrong, such as builds without exponentials (ablation.h), must
 * terminate like any other, and fail at a gate on some shape.
 *
 *     test_emulated_kernels [all|sample|ablated|ablated-sample [NAME]]
 *
 * NAME selects kernels whose names contain it. With "sample" every kernel is tried on one fixed
 * shape and on one fixed kind of values besides the normal ones, and one in six at the gates of
 * properties; with "ablated" the kernels are the degraded builds.
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "emulated.h"
#include "lab/tensor/random.h"
#include "lab/verify/isolate.h"
#include "problem/problem.h"

#define ROW_GAP 24    /* elements of padding between rows */
#define SKEWED_GAP 25 /* the same, chosen so that no row is aligned */

/* A sanitized build is several times slower and tries normal inputs only. */
#ifndef EMULATED_QUICK
#define EMULATED_QUICK 0
#endif

#define SAMPLE_SEED 18

/* Sizes of a case, without head dims. */
typedef struct shape {
    const char *sizes; /* words of a spec */
    bool all_inputs;   /* every kind of values with NaN, and the finite kinds by turns; otherwise
                        * the normal ones, and one kind with NaN */
    int gap;           /* elements; 0: dense */
    int splits;        /* blocks that share the keys */
} shape;

static const shape shapes[] = {
    { "b1 h1 s1", false, 0, 1 },
    { "b1 h1 s65 scale=-0.3", true, 0, 1 },
    { "b1 h3 s64/64", false, 0, 1 },
    { "b1 h6/2 s33/100 mask=br", true, 0, 1 },
    { "b2 h3/1 s50/31 mask=br", false, 0, 1 }, /* the first rows see no key */
    { "b1 h3 s40/129 mask=tl", false, 0, 2 },
    { "b1 h2 s127/127", false, ROW_GAP, 1 },
    { "b2 h4/2 s20/70 mask=br", false, SKEWED_GAP, 1 },
    { "b1 h1 s100/350 mask=br", false, ROW_GAP, 1 }, /* fills any pipeline */
    { "b1 h8/1 s1/260 mask=br", false, 0, 5 },
    { "b1 h2/1 s1/600 mask=br", false, 0, 37 }, /* more than a warp has lanes */
    { "b1 h6/2 s9/190 mask=br", true, ROW_GAP, 3 },
    { "b1 h2 s70/150 mask=br", false, 0, 2 }, /* windows start and end in different parts */
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* -------------------------------------------------------------------------- */
/* Every kernel on every shape                                                */
/* -------------------------------------------------------------------------- */

typedef struct outcome {
    lab_report report;
    char spec[160];
    char inputs[16];
    bool stopped;
    char worst[EMULATOR_TEXT_SIZE]; /* the emulator's message */
    uint64_t conflicts, passes;
} outcome;

/* Adds padding after each head, each row and each batch element. */
static heed_strides gapped(int64_t seq, int64_t heads, int64_t dim, int64_t gap)
{
    int64_t head = dim + gap, row = heads * head + gap;
    return (heed_strides){ .batch = seq * row + gap, .seq = row, .head = head };
}

/* Writes the words for the mask of shape @number to @word, for kernels that have one; windows and
 * chunks start and end at different places of a tile. */
static void mask_of(const emulated_kernel *kernel, size_t number, const char *aligned,
                    char word[64])
{
    static const char *const windows[] = { "window=7:",  "window=40:3",  "chunk=24",
                                           "window=64:", "chunk=100",    "window=0:70",
                                           "window=:5",  "window=33:31", "chunk=7" };
    const bool causal = !kernel->hides_first || number % 2 == 0;
    word[0] = '\0';
    if (!kernel->masked)
        return;
    if (causal)
        snprintf(word, 64, "causal%s%s", aligned ? "=" : "", aligned ? aligned : "");
    else if (aligned)
        snprintf(word, 64, "align=%s", aligned);
    if (kernel->hides_first) {
        size_t length = strlen(word);
        snprintf(word + length, 64 - length, " %s", windows[number % 9]);
    }
}

/* Makes the problem of shape @number for @kernel. "mask=" in the sizes applies to kernels that have
 * a mask. */
static bool problem_of(const emulated_kernel *kernel, size_t number, heed_problem *problem,
                       outcome *result)
{
    const shape *s = &shapes[number];
    char sizes[96], word[64];
    snprintf(sizes, sizeof sizes, "%s", s->sizes);
    char *mask = strstr(sizes, "mask=");
    mask_of(kernel, number, mask ? mask + 5 : NULL, word);
    if (mask)
        *mask = '\0';
    snprintf(result->spec, sizeof result->spec, "%s d%d/%d %s %s%s%s", sizes, kernel->dim_qk,
             kernel->dim_v, heed_type_name(kernel->type), word, kernel->half ? " acc=f16" : "",
             kernel->shared_v ? " shared" : "");
    if (heed_problem_parse(problem, result->spec) != HEED_OK)
        return false;
    if (s->gap > 0) {
        problem->q = gapped(problem->seq_q, problem->heads_q, problem->dim_qk, s->gap);
        problem->k = gapped(problem->seq_k, problem->heads_kv, problem->dim_qk, s->gap);
        problem->v = gapped(problem->seq_k, problem->heads_kv,
                            kernel->shared_v ? problem->dim_qk : problem->dim_v, s->gap);
        problem->o = gapped(problem->seq_q, problem->heads_q, problem->dim_v, s->gap);
    }
    return heed_problem_normalize(problem, problem) == HEED_OK;
}

static size_t config_count(const emulated_config *configs)
{
    size_t count = 0;
    while (configs[count].aligned)
        count++;
    return count;
}

static bool is_wrong(const emulated_kernel *kernel)
{
    return strstr(kernel->name, "wrong") != NULL;
}

/* A mode of the test: which kernels are tried on which shapes, and with which kinds of values
 * besides the normal ones; @index counts configs and shapes. */
typedef struct way {
    const char *name;
    const emulated_config *configs;
    bool (*takes)(const emulated_kernel *kernel, size_t config, size_t number);
    bool (*takes_inputs)(size_t index, size_t kind);
    size_t properties;    /* one kernel in this many is tried at the gates of properties */
    const char *name_has; /* of the kernels; NULL: any */
} way;

static bool takes_all(const emulated_kernel *kernel, size_t config, size_t number)
{
    return true;
}

/* One shape, chosen for each config. */
static bool takes_sample(const emulated_kernel *kernel, size_t config, size_t number)
{
    return (int64_t)number == lab_random_below(SAMPLE_SEED, config, SHAPES);
}

/* Degraded builds are tried on the small shapes, and those that must fail also on the long one,
 * which fills a pipeline. */
static bool takes_worse(const emulated_kernel *kernel, size_t config, size_t number)
{
    return (number < 6 && number % 2 == 1) || (number == 8 && is_wrong(kernel));
}

/* Builds that must fail: one small shape, and for the one without loads the long one; other builds:
 * one small shape. */
static bool takes_worse_sample(const emulated_kernel *kernel, size_t config, size_t number)
{
    if (is_wrong(kernel))
        return number == (strstr(kernel->name, "no_loads") ? 8 : 3);
    return (int64_t)number == 1 + 2 * lab_random_below(SAMPLE_SEED, config, 3);
}

/* Returns whether kind of values number @kind is tried in case @index. The finite kinds are
 * distributed among the shapes with all_inputs, so that each kernel is tried on all of them, in an
 * order that depends on the kernel. */
static bool takes_inputs(size_t index, size_t kind)
{
    size_t number = index % SHAPES, config = index / SHAPES, turn = 0, all = 0, not_finite = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        turn += i < number && shapes[i].all_inputs;
        all += shapes[i].all_inputs;
    }
    for (size_t i = 0; lab_inputs_at(i); i++)
        not_finite += !lab_inputs_at(i)->finite;
    if (lab_inputs_at(kind)->finite)
        return shapes[number].all_inputs && (kind + config) % all == turn;
    size_t before = 0;
    for (size_t i = 0; i < kind; i++)
        before += !lab_inputs_at(i)->finite;
    return shapes[number].all_inputs || (number + config) % not_finite == before;
}

/* In a sample each kernel is tried on one kind, by turns. */
static bool takes_one_kind(size_t index, size_t kind)
{
    size_t others = 0; /* besides the first one, which is always tried; there are some */
    do
        others++;
    while (lab_inputs_at(others + 1));
    return kind == 1 + index / SHAPES % others;
}

static bool takes_no_other(size_t index, size_t kind)
{
    return false;
}

static const way ways[] = {
    { "all", emulated_configs, takes_all, takes_inputs, 1, NULL },
    { "sample", emulated_configs, takes_sample, takes_one_kind, 6, NULL },
    { "ablated", emulated_ablated, takes_worse, takes_no_other, 1, NULL },
    { "ablated-sample", emulated_ablated, takes_worse_sample, takes_no_other, 6, NULL },
};

/* The gates for config @number in mode @how. Any of them may be the one that finds a wrong
 * kernel. */
static uint32_t gates_of(const way *how, size_t number)
{
    uint32_t gates = UINT32_MAX;
    bool all = number % how->properties == 0 || is_wrong(how->configs[number].aligned);
    for (size_t g = 0; g < LAB_GATES && !all; g++)
        gates &= ~((uint32_t)lab_gate_at(g)->property << g);
    return gates;
}

/* Verifies one kernel on one shape, with some or all kinds of inputs, up to the first failure. */
static void verify_one(void *data, size_t index, lab_trace *trace, void *result)
{
    const way *how = data;
    const shape *s = &shapes[index % SHAPES];
    outcome *out = result;
    const emulated_config *config = &how->configs[index / SHAPES];
    emulated subject_data = { .config = config };
    const lab_subject subject = emulated_subject(&subject_data);
    lab_verify_options options = lab_verify_standard();
    options.own = true;
    options.gates = gates_of(how, index / SHAPES);
    heed_problem problem;
    if (!problem_of(config->aligned, index % SHAPES, &problem, out)) {
        snprintf(out->worst, sizeof out->worst, "%s", heed_message());
        out->report.outcome = LAB_FAIL;
        return;
    }
    subject_data.splits = emulated_splits(config->aligned, s->splits, problem.seq_k);
    if ((how->name_has && !strstr(config->aligned->name, how->name_has)) ||
        !how->takes(config->aligned, index / SHAPES, index % SHAPES)) {
        out->report.outcome = LAB_PASS;
        return;
    }
    for (size_t i = 0; lab_inputs_at(i) && out->report.outcome != LAB_FAIL; i++) {
        const lab_inputs *inputs = lab_inputs_at(i);
        bool wanted = i == 0 || (!EMULATED_QUICK && how->takes_inputs(index, i));
        if (!wanted || lab_case_absent(&problem, inputs))
            continue;
        snprintf(out->inputs, sizeof out->inputs, "%s", inputs->name);
        if (lab_verify_problem(&problem, inputs, &subject, &options, trace, &out->report) !=
            HEED_OK)
            out->report.outcome = LAB_FAIL;
    }
    out->stopped = subject_data.stopped;
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

static bool is_as_it_must_be(const emulated_kernel *kernel, const outcome *out,
                             const lab_ending *ending)
{
    return ending->how == LAB_COMPLETED && !out->stopped &&
           (is_wrong(kernel) || out->report.outcome == LAB_PASS);
}

/* Returns whether no shape reveals that a kernel is wrong. */
static bool is_missed(const emulated_kernel *kernel, const outcome *all)
{
    size_t failed = 0;
    for (size_t i = 0; i < SHAPES; i++)
        failed += all[i].report.outcome == LAB_FAIL;
    if (is_wrong(kernel) && failed == 0)
        print_message("%s passes\n", kernel->name);
    return is_wrong(kernel) && failed == 0;
}

/* Prints the bank conflicts of a kernel in shared memory, on all shapes. */
static void tell_conflicts(const emulated_kernel *kernel, const outcome *all)
{
    const outcome *worst = all;
    uint64_t conflicts = 0, passes = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        conflicts += all[i].conflicts;
        passes += all[i].passes;
        if (worst->conflicts < all[i].conflicts)
            worst = &all[i];
    }
    print_message("%s: %llu bank conflicts in %llu passes%s%s\n", kernel->name,
                  (unsigned long long)conflicts, (unsigned long long)passes,
                  conflicts ? ", most in one run at " : "", conflicts ? worst->worst : "");
}

static void test_every_kernel_passes(void **state)
{
    const way *how = *state;
    const emulated_config *configs = how->configs;
    size_t configs_count = config_count(configs);
    size_t count = configs_count * SHAPES, failed = 0;
    outcome *outcomes = test_calloc(count, sizeof *outcomes);
    lab_ending *endings = test_calloc(count, sizeof *endings);
    const lab_isolation isolation = { .run = verify_one,
                                      .data = *state,
                                      .count = count,
                                      .result_size = sizeof *outcomes,
                                      .group = SHAPES,
                                      .jobs = 2,
                                      .deadline_s = 240 };
    assert_int_equal(lab_isolate(&isolation, outcomes, endings), HEED_OK);
    for (size_t i = 0; i < count; i++) {
        if (is_as_it_must_be(configs[i / SHAPES].aligned, &outcomes[i], &endings[i]))
            continue;
        failed++;
        explain(configs[i / SHAPES].aligned, &outcomes[i], &endings[i]);
    }
    for (size_t k = 0; k < configs_count; k++)
        failed += is_missed(configs[k].aligned, &outcomes[k * SHAPES]);
    for (size_t k = 0; k < configs_count; k++)
        tell_conflicts(configs[k].aligned, &outcomes[k * SHAPES]);
    test_free(outcomes);
    test_free(endings);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    size_t chosen = 0;
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            chosen = i;
    way how = ways[chosen];
    how.name_has = argc > 2 ? argv[2] : NULL;
    test_list tests = TEST_LIST(test_every_kernel_passes);
    tests.state = &how;
    return run_test_list(tests, NULL, NULL);
}
