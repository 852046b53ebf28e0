/*
 * test_emulated_kernels.c - the CUDA kernels through the gates of verification, on the emulator
 *
 * Beside the gates' own verdicts, a race in shared memory, a stray access or a read of what was
 * never written fails. Kernels that are called wrong, builds without exponentials for one
 * (ablate.cuh), must come to an end like any other, and fail at a gate on some shape.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/backend.h"
#include "cuda/gpu.h"
#include "cuda/maps.h"
#include "emulator/emulator.h"
#include "emulator/kernel.h"
#include "emulator/map.h"
#include "lab/verify/isolate.h"
#include "lab/verify/verify.h"
#include "problem.h"

#define ROW_GAP 24    /* elements between rows of a problem with gaps */
#define SKEWED_GAP 25 /* the same, such that no row is aligned */

/* A sanitized build is several times as slow, and tries normal inputs only (1); builds that are
 * worse on purpose, three small shapes, and one that fills a
 * pipeline where a wrong one must be seen (2). */
#ifndef EMULATED_QUICK
#define EMULATED_QUICK 0
#endif

/* Sizes that a kernel sees, whatever its head dims. */
typedef struct shape {
    const char *sizes; /* words of a spec */
    bool all_inputs;   /* else the normal ones, and those with NaN */
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
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* -------------------------------------------------------------------------- */
/* A kernel as a subject                                                      */
/* -------------------------------------------------------------------------- */

typedef struct emulated {
    const emulated_config *config;
    unsigned splits;
    heed_problem problem;
    unsigned runs;
    uint64_t conflicts; /* of all runs */
    uint64_t passes;
    bool stopped; /* by the emulator */
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

static bool is_aligned(const void *data, const heed_strides *strides)
{
    return (uintptr_t)data % 16 == 0 && strides->batch % 8 == 0 && strides->seq % 8 == 0 &&
           strides->head % 8 == 0;
}

#define MULTIPROCESSORS 2

/* What the host tells of an imaginary device, on which under a mask two heads are worked on at a
 * time, so that there are several sections, the last one of them not full. */
static heed_cuda_args args_of(const emulated *it, const heed_buffers *buffers,
                              const emulated_kernel *kernel)
{
    const heed_gpu gpu = { .multiprocessors = 1, .clock = 1, .bandwidth = 4100.0 / kernel->rows };
    const heed_cuda_cut cut = { .rows = kernel->rows, .splits = it->splits };
    const heed_problem problem = kernel->mapped ? heed_cuda_mapped_problem(&it->problem)
                                                : it->problem;
    heed_cuda_args args;
    heed_cuda_fill_args(&args, &problem, &gpu, &cut);
    if (it->problem.mask == HEED_MASK_NONE) /* a gate's: a kernel that knows masks takes it too */
        args.visible = it->problem.seq_k;
    args.q = buffers->q;
    args.k = buffers->k;
    args.v = buffers->v;
    args.o = buffers->o;
    args.lse = buffers->lse;
    return args;
}

/* The map of a tensor that has @heads and @seq, with boxes of @box_heads times @box_rows. */
static void map_tensor(heed_cuda_map *map, const heed_tensor *t, const void *base, int columns,
                       int box_heads, int box_rows)
{
    const int64_t dims[4] = { t->dim, t->heads, t->seq, t->batch };
    const int64_t strides[3] = { t->heads > 1 ? t->strides.head * 2 : 16,
                                 t->seq > 1 ? t->strides.seq * 2 : 16,
                                 t->batch > 1 ? t->strides.batch * 2 : 16 };
    const int box[4] = { columns, box_heads, box_rows, 1 };
    emulator_map(map, base, dims, strides, box);
}

static heed_cuda_mapped_args mapped_args_of(const emulated *it, const emulated_kernel *kernel,
                                            const heed_cuda_args *args)
{
    const heed_problem *p = &it->problem;
    heed_cuda_mapped_args mapped = { .args = *args };
    const void *const bases[] = { args->q, args->k, args->v, args->o };
    heed_cuda_map *const maps[] = { &mapped.q, &mapped.k, &mapped.v, &mapped.o };
    int group = (int)args->group.value;
    for (int i = 0; i < HEED_TENSORS; i++) {
        heed_tensor t = heed_problem_tensor(p, i);
        bool keys = t.name == 'k' || t.name == 'v';
        map_tensor(maps[i], &t, bases[i], kernel->columns, keys ? 1 : group,
                   keys ? kernel->mapped : 64 / group);
    }
    mapped.ahead = args->blocks == 1; /* sometimes */
    mapped.share = heed_cuda_divide_by(
        (unsigned)(heed_cuda_mapped_problem(p).heads_kv / p->heads_kv));
    return mapped;
}

static bool launch_kernel(emulated *it, const emulator_launch *launch)
{
    emulator_report report;
    bool fine = emulator_run(launch, &report);
    it->conflicts += report.conflicts;
    it->passes += report.passes;
    if (report.worst[0])
        memcpy(it->worst, report.worst, sizeof it->worst);
    if (fine && report.uninitialised == 0)
        return true;
    it->stopped = true;
    snprintf(it->worst, sizeof it->worst, "%s",
             fine ? report.uninitialised_at : emulator_complaint(&report));
    return false;
}

static bool launch_main(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    heed_cuda_mapped_args mapped;
    uint32_t cluster = kernel->cluster ? kernel->cluster : 1;
    uint32_t blocks = args->heads * args->blocks * it->splits * cluster;
    emulator_launch launch = { .kernel = kernel->run,
                               .args = args,
                               .grid = { blocks, 1, 1 },
                               .threads = kernel->threads,
                               .shared_bytes = kernel->shared_bytes,
                               .seed = args->rows + args->seq_k,
                               .cluster = cluster };
    if (kernel->in_turn && blocks > MULTIPROCESSORS)
        launch.grid[0] = MULTIPROCESSORS;
    if (kernel->mapped) {
        mapped = mapped_args_of(it, kernel, args);
        launch.args = &mapped;
    }
    return launch_kernel(it, &launch);
}

/* Merges what the kernel left. */
static bool launch_combine(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    uint32_t warps = kernel->combine_threads / 32;
    const emulator_launch launch = { .kernel = kernel->combine,
                                     .args = args,
                                     .grid = { (args->heads * args->rows + warps - 1) / warps, 1,
                                               1 },
                                     .threads = kernel->combine_threads };
    return launch_kernel(it, &launch);
}

/* Of how many counters the kernel makes use, and what they must be again at the end. */
typedef struct counters {
    unsigned *values;
    size_t count;
    unsigned start;
} counters;

static void set_counters(counters *c, unsigned start)
{
    c->start = start;
    for (size_t i = 0; i < c->count; i++)
        c->values[i] = start;
}

static bool counters_kept(const counters *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i] != c->start)
            return false;
    return true;
}

/* Bytes from the first to the last element of O. */
static size_t o_size(const heed_problem *p)
{
    int64_t last = (p->batch - 1) * p->o.batch + (p->seq_q - 1) * p->o.seq +
                   (p->heads_q - 1) * p->o.head + p->dim_v;
    return (size_t)last * heed_type_size(p->type);
}

/* O and LSE as they were, and as the first way left them. */
typedef struct images {
    size_t o_size, lse_size;
    char *before, *first;
} images;

static void keep(const heed_cuda_args *args, const images *all, char *image)
{
    memcpy(image, args->o, all->o_size);
    if (args->lse)
        memcpy(image + all->o_size, args->lse, all->lse_size);
}

static void put_back(const heed_cuda_args *args, const images *all)
{
    memcpy(args->o, all->before, all->o_size);
    if (args->lse)
        memcpy(args->lse, all->before + all->o_size, all->lse_size);
}

static bool is_same(const heed_cuda_args *args, const images *all)
{
    return memcmp(args->o, all->first, all->o_size) == 0 &&
           (!args->lse || memcmp(args->lse, all->first + all->o_size, all->lse_size) == 0);
}

/* One launch that merges by itself, the counters at @start, after one that did not: the bits must
 * be the same. */
static bool launch_merging(emulated *it, const emulated_kernel *kernel, heed_cuda_args args,
                           const images *all, counters *c, unsigned start)
{
    set_counters(c, start);
    put_back(&args, all);
    args.arrived = c->values;
    if (!launch_main(it, kernel, &args))
        return false;
    if (is_same(&args, all) && counters_kept(c))
        return true;
    snprintf(it->worst, sizeof it->worst, "counters from %u: %s", start,
             counters_kept(c) ? "other bits than heed_combine's" : "not left as they were");
    return false;
}

/* Split keys in one launch; every fourth time with heed_combine before, and after it in one where
 * the first block to finish takes itself for the last, which is no harm, since the parts of the
 * others are there from before. */
static bool launch_split(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    const heed_problem *p = &it->problem;
    images all = { .o_size = o_size(p),
                   .lse_size = (size_t)args->heads * args->rows * sizeof(float) };
    counters c = { .count = (size_t)args->heads * args->blocks };
    c.values = test_calloc(c.count, sizeof *c.values);
    heed_cuda_args merging = *args;
    merging.arrived = c.values;
    if (it->runs++ % 4 != 0) {
        bool alone = launch_main(it, kernel, &merging) && counters_kept(&c);
        test_free(c.values);
        return alone;
    }
    all.before = test_calloc(2, all.o_size + all.lse_size);
    all.first = all.before + all.o_size + all.lse_size;
    keep(args, &all, all.before);
    bool fine = launch_main(it, kernel, args) && launch_combine(it, kernel, args);
    keep(args, &all, all.first);
    fine = fine && launch_merging(it, kernel, *args, &all, &c, 0) &&
           launch_merging(it, kernel, *args, &all, &c, it->splits - 1);
    test_free(all.before);
    test_free(c.values);
    return fine;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    emulated *it = data;
    const heed_problem *p = &it->problem;
    bool aligned = is_aligned(buffers->q, &p->q) && is_aligned(buffers->k, &p->k) &&
                   is_aligned(buffers->v, &p->v) && is_aligned(buffers->o, &p->o);
    const emulated_config *config = it->config;
    const emulated_kernel *kernel = !aligned                           ? config->unaligned
                                    : p->scale < 0 && config->negative ? config->negative
                                                                       : config->aligned;
    heed_cuda_args args = args_of(it, buffers, kernel);
    size_t rows = (size_t)args.heads * it->splits * args.rows;
    args.partial = test_calloc(rows * (size_t)p->dim_v, sizeof *args.partial);
    args.partial_lse = test_calloc(rows, sizeof *args.partial_lse);
    memset(args.partial, 0xff, rows * (size_t)p->dim_v * sizeof *args.partial);
    memset(args.partial_lse, 0xff, rows * sizeof *args.partial_lse);
    bool fine = it->splits > 1 ? launch_split(it, kernel, &args) : launch_main(it, kernel, &args);
    test_free(args.partial);
    test_free(args.partial_lse);
    return fine ? HEED_OK : HEED_ERR_SYSTEM;
}

/* -------------------------------------------------------------------------- */
/* Every kernel on every shape                                                */
/* -------------------------------------------------------------------------- */

typedef struct outcome {
    lab_report report;
    char spec[160];
    char inputs[16];
    bool stopped;
    char worst[EMULATOR_TEXT_SIZE]; /* what the emulator has to say */
    uint64_t conflicts, passes;
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
    snprintf(result->spec, sizeof result->spec, "%s d%d/%d %s %s%s", sizes, kernel->dim_qk,
             kernel->dim_v, heed_type_name(kernel->type), word, kernel->half ? " acc=f16" : "");
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

static size_t config_count(void)
{
    size_t count = 0;
    while (emulated_configs[count].aligned)
        count++;
    return count;
}

static bool is_wrong(const emulated_kernel *kernel)
{
    return strstr(kernel->name, "wrong") != NULL;
}

/* Builds that are worse on purpose take the small shapes, and those that must fail the long one. */
static bool is_for_worse(const emulated_kernel *kernel, size_t number)
{
    return (number < 6 && number % 2 == 1) || (number == 8 && is_wrong(kernel));
}

/* One kernel on one shape, with some or all kinds of inputs, up to the first failure. */
static void verify_one(void *data, size_t index, lab_trace *trace, void *result)
{
    const shape *s = &shapes[index % SHAPES];
    outcome *out = result;
    const emulated_config *config = &emulated_configs[index / SHAPES];
    emulated subject_data = { .config = config,
                              .splits = config->aligned->combine ? (unsigned)s->splits : 1 };
    const lab_subject subject = { .data = &subject_data, .prepare = prepare, .run = run };
    lab_verify_options options = lab_verify_standard();
    heed_problem problem;
    if (!problem_of(config->aligned, s, &problem, out)) {
        snprintf(out->worst, sizeof out->worst, "%s", heed_message());
        out->report.outcome = LAB_FAIL;
        return;
    }
    if (EMULATED_QUICK == 2 && !is_for_worse(config->aligned, index % SHAPES)) {
        out->report.outcome = LAB_PASS;
        return;
    }
    for (size_t i = 0; lab_inputs_at(i) && out->report.outcome != LAB_FAIL; i++) {
        const lab_inputs *inputs = lab_inputs_at(i);
        bool wanted = i == 0 || (!EMULATED_QUICK && (s->all_inputs || !inputs->finite));
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

/* Of a kernel that is wrong: does no shape show it? */
static bool is_missed(const emulated_kernel *kernel, const outcome *all)
{
    size_t failed = 0;
    for (size_t i = 0; i < SHAPES; i++)
        failed += all[i].report.outcome == LAB_FAIL;
    if (is_wrong(kernel) && failed == 0)
        print_message("%s passes\n", kernel->name);
    return is_wrong(kernel) && failed == 0;
}

/* How a kernel did with the banks of shared memory, on all shapes. */
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
    size_t count = config_count() * SHAPES, failed = 0;
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
        if (is_as_it_must_be(emulated_configs[i / SHAPES].aligned, &outcomes[i], &endings[i]))
            continue;
        failed++;
        explain(emulated_configs[i / SHAPES].aligned, &outcomes[i], &endings[i]);
    }
    for (size_t k = 0; k < config_count(); k++)
        failed += is_missed(emulated_configs[k].aligned, &outcomes[k * SHAPES]);
    for (size_t k = 0; k < config_count(); k++)
        tell_conflicts(emulated_configs[k].aligned, &outcomes[k * SHAPES]);
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
