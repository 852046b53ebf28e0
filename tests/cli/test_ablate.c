/*
 * test_ablate.c - ablations of kernels: their names, their results, and findings from their times
 */
#include "run_tests.h"

#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ablation.h"
#include "contexts.h"
#include "cpu/ablated.h"
#include "cuda/sources.h"
#include "device.h"
#include "lab/inspect/ablate.h"
#include "lab/verify/verify.h"
#include "measure.h"
#include "problems.h"

/* -------------------------------------------------------------------------- */
/* Names                                                                      */
/* -------------------------------------------------------------------------- */

/* A kernel declares only ablations that exist. */
static void expect_words(const heed_source *source)
{
    static const char mark[] = "@ablate ";
    char word[64];
    for (const char *at = strstr(source->text, mark); at; at = strstr(at + 1, mark)) {
        const char *next = at + strlen(mark), *end = at + strcspn(at, "\n");
        for (int used = 0; next < end && sscanf(next, " %63[^ \n]%n", word, &used) == 1;
             next += used)
            if (!lab_ablation_find(word) && strcmp(word, "delay") != 0)
                fail_msg("%s declares %s", source->name, word);
    }
}

static void test_declared(void **state)
{
    heed_source source;
    size_t kernels = 0;
    for (size_t i = 0; heed_source_at(i, &source); i++)
        if (!heed_source_is_header(&source) && strstr(source.text, "@ablate ")) {
            expect_words(&source);
            assert_true(lab_ablate_declared(source.text, "delay"));
            assert_true(lab_ablate_declared(source.text, "no-exp"));
            assert_false(lab_ablate_declared(source.text, "no-ex"));
            assert_false(lab_ablate_declared(source.text, "one-thread"));
            kernels++;
        }
    assert_true(kernels >= 1);
    assert_true(heed_source_find("attn_mma.cu", &source));
    assert_true(lab_ablate_declared(source.text, "unswizzled"));
    assert_true(heed_source_find("attn_naive.cu", &source));
    assert_true(lab_ablate_declared(source.text, "no-exp"));
    assert_false(lab_ablate_declared(source.text, "unswizzled"));
    assert_true(heed_source_find("combine.cuh", &source));
    assert_false(lab_ablate_declared(source.text, "no-exp"));
}

/* The source of a CUDA kernel; "" for a CPU kernel. */
static const char *source_of(const char *kernel)
{
    static const struct {
        const char *end, *source;
    } all[] = { { "_mma", "attn_mma.cu" },   { "_wgmma", "attn_wgmma.cu" },
                { "_mla", "attn_mla.cu" },   { "f32_sm80_wide", "attn_wide32.cu" },
                { "_wide", "attn_wide.cu" }, { "_naive", "attn_naive.cu" } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strstr(kernel, all[i].end))
            return all[i].source;
    return "";
}

/* Each kernel has each ablation, as a build or as a config, or gives a reason why not. */
static void test_reasons(void **state)
{
    char changed[LAB_ABLATE_NAME_SIZE], config[LAB_ABLATE_NAME_SIZE];
    for (size_t k = 0; heed_kernel_name(k); k++)
        for (size_t a = 0; lab_ablation_at(a); a++) {
            const lab_ablation *it = lab_ablation_at(a);
            const char *kernel = heed_kernel_name(k);
            heed_source source;
            bool built = it->number != ABLATE_NONE && heed_cpu_ablated(kernel, it->number);
            if (heed_source_find(source_of(kernel), &source))
                built = it->number != ABLATE_NONE && lab_ablate_declared(source.text, it->name);
            snprintf(config, sizeof config, "%s__m64", kernel);
            if (built || lab_ablate_config(config, it->name, 0, changed))
                continue;
            if (strcmp(lab_ablate_unfit(kernel, it->name), "the kernel has no such build") == 0)
                fail_msg("%s has no %s, and no reason is given", kernel, it->name);
        }
    assert_string_equal(lab_ablate_unfit("fwd_16bit_sm90_wgmma__r1k2", "no-staging"),
                        "its tensor instruction reads keys and values in shared memory alone");
    assert_string_equal(lab_ablate_unfit("fwd_any_avx2_few", "strange"),
                        "the kernel has no such build");
}

static void test_configs(void **state)
{
    static const char mma[] = "fwd_16bit_sm80_mma__m64n64w4k2s4q2o1b1p1l1a1";
    char changed[LAB_ABLATE_NAME_SIZE];
    assert_true(lab_ablate_config(mma, "half-stages", 0, changed));
    assert_string_equal(changed, "fwd_16bit_sm80_mma__m64n64w4k2s2q2o1b1p1l1a1");
    assert_false(lab_ablate_config(mma, "half-stages", 1, changed));
    assert_true(lab_ablate_config(mma, "tiny-blocks", 0, changed));
    assert_string_equal(changed, "fwd_16bit_sm80_mma__m16n64w1k2s4q2o1b1p1l1a1");
    assert_true(lab_ablate_config(mma, "tiny-blocks", 2, changed));
    assert_string_equal(changed, "");
    assert_false(lab_ablate_config(mma, "no-exp", 0, changed));
    assert_true(lab_ablate_config(mma, "in-order", 0, changed));
    assert_string_equal(changed, ""); /* nothing to change */
    assert_true(
        lab_ablate_config("fwd_16bit_sm90_wgmma__r2k1n128s2o2t2c1g2", "in-order", 0, changed));
    assert_string_equal(changed, "fwd_16bit_sm90_wgmma__r2k1n128s2o3t2c1g2");
    assert_true(lab_ablate_config("fwd_any_avx512_tile__m512n128s2", "tiny-blocks", 0, changed));
    assert_string_equal(changed, "fwd_any_avx512_tile__m32n64s2");
    assert_false(lab_ablate_config("fwd_any_avx512_tile", "tiny-blocks", 0, changed));
}

/* -------------------------------------------------------------------------- */
/* Effects                                                                    */
/* -------------------------------------------------------------------------- */

static lab_effect effect_of(const char *name, double low, double high)
{
    lab_effect effect = { .ratio = sqrt(low * high), .low = low, .high = high, .margin = 0.01 };
    snprintf(effect.name, sizeof effect.name, "%s", name);
    return effect;
}

static void expect_says(const lab_effect *effect, lab_effect_word word, double gain,
                        const char *words)
{
    char text[160];
    lab_effect_say(effect, text, sizeof text);
    assert_int_equal(lab_effect_of(effect), word);
    assert_true(fabs(lab_effect_gain(effect) - gain) < 1e-9);
    if (!strstr(text, words))
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static void test_effects(void **state)
{
    const lab_effect out = effect_of("no-exp", 0.86, 0.9), hidden = effect_of("no-exp", 1.02, 1.1),
                     little = effect_of("no-exp", 0.98, 1.03),
                     more = effect_of("extra-barrier", 1.02, 1.25),
                     badly = effect_of("strided", 1.3, 1.4),
                     better = effect_of("strided", 0.8, 0.9),
                     none = effect_of("strided", 0.995, 1.005),
                     nothing = effect_of("strided", 0, INFINITY);
    expect_says(&out, LAB_EFFECT_FASTER, 0.14, "cost 12.0 % of the time, 14.0 % at most");
    expect_says(&hidden, LAB_EFFECT_SLOWER, 0, "hidden");
    expect_says(&little, LAB_EFFECT_UNCLEAR, 0.02, "2.0 % of the time at most");
    expect_says(&more, LAB_EFFECT_SLOWER, 0.2, "one barrier less could gain about 20.0 %");
    expect_says(&badly, LAB_EFFECT_SLOWER, 0, "worth 34.9 %, and in place");
    expect_says(&better, LAB_EFFECT_FASTER, 0.2, "faster without");
    expect_says(&none, LAB_EFFECT_NONE, 0.005, "does not matter");
    expect_says(&nothing, LAB_EFFECT_UNCLEAR, 0, "too few pairs");
    assert_true(lab_effect_value(&out) > 0.11 && lab_effect_value(&badly) > 0.34);
}

static void test_ranking(void **state)
{
    lab_effect effects[] = { effect_of("strided", 0.5, 3), effect_of("no-overlap", 1.02, 1.05),
                             effect_of("no-exp", 0.7, 0.8), effect_of("masked", 0.999, 1.001),
                             effect_of("extra-barrier", 1.1, 1.2) };
    static const char *const ranked[] = { "no-exp", "extra-barrier", "no-overlap", "strided",
                                          "masked" };
    lab_effects_rank(effects, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(effects[i].name, ranked[i]);
}

/* -------------------------------------------------------------------------- */
/* CPU kernels                                                                */
/* -------------------------------------------------------------------------- */

/* A build as a subject of verification. */
typedef struct built {
    heed_context *context;
    const char *kernel;
    int ablation;
    heed_plan *plan;
} built;

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    built *it = data;
    heed_plan_destroy(it->plan);
    heed_status status = heed_plan_create_ablated(&it->plan, it->context, problem, it->kernel,
                                                  it->ablation, 0.1);
    if (status != HEED_OK)
        return status;
    snprintf(needs->name, sizeof needs->name, "%s", it->kernel);
    needs->workspace_size = heed_plan_workspace_size(it->plan);
    needs->deterministic = true;
    needs->seconds = -1;
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const built *it = data;
    return heed_execute(it->plan, buffers);
}

/* Several tiles, the last one not full; rows and keys of both kinds of mask; a head dim that is not
 * a multiple of a vector, and one for which K is read in place. */
static const struct {
    const char *sizes, *mask;
} shapes[] = { { "b1 h2 s40/300 d40/24", "causal=br" }, { "b1 h4/2 s33/160 d64", "" } };

static void check(built *it, const lab_ablation *ablation, size_t shape)
{
    const lab_subject subject = { .data = it, .prepare = prepare, .run = run };
    const lab_verify_options options = lab_verify_standard();
    char spec[HEED_SPEC_SIZE];
    snprintf(spec, sizeof spec, "%s %s %s", shapes[shape].sizes,
             strstr(it->kernel, "_bf16_") ? "bf16" : "f32", shapes[shape].mask);
    heed_problem problem = parsed(spec);
    for (size_t i = 0; lab_inputs_at(i); i++) {
        lab_report report;
        if ((i > 0 && (ablation->wrong || lab_inputs_at(i)->finite)) ||
            lab_case_absent(&problem, lab_inputs_at(i)))
            continue;
        assert_int_equal(
            lab_verify_problem(&problem, lab_inputs_at(i), &subject, &options, NULL, &report),
            HEED_OK);
        if (report.outcome == LAB_SKIP)
            continue;
        if (report.outcome != (ablation->wrong ? LAB_FAIL : LAB_PASS))
            fail_msg("%s with %s on '%s', %s inputs: outcome %d", it->kernel, ablation->name, spec,
                     lab_inputs_at(i)->name, (int)report.outcome);
    }
}

/* Each build computes a right result, or one that is certainly wrong. */
static void test_cpu_builds(void **state)
{
    built it = { .context = *state };
    size_t count = 0;
    for (size_t k = 0; (it.kernel = heed_kernel_name(k)); k++)
        for (size_t a = 0; lab_ablation_at(a); a++) {
            const lab_ablation *ablation = lab_ablation_at(a);
            it.ablation = ablation->number;
            if (it.ablation == ABLATE_NONE || !heed_cpu_ablated(it.kernel, it.ablation))
                continue;
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                check(&it, ablation, i);
            count++;
        }
    heed_plan_destroy(it.plan);
    assert_true(count >= 2);
}

static void test_cpu_refusals(void **state)
{
    heed_problem problem = parsed("b1 h1 s8 d8 f32");
    heed_plan *plan;
    assert_false(heed_cpu_ablated("fwd_any_scalar_row", ABLATE_UNSWIZZLED));
    assert_true(heed_cpu_ablated("fwd_any_scalar_row__s1", ABLATE_DELAY));
    assert_false(heed_cpu_ablated("fwd_16bit_sm80_mma", ABLATE_DELAY));
    assert_false(heed_cpu_ablated("nothing", ABLATE_DELAY));
    assert_int_equal(heed_plan_create_ablated(&plan, *state, &problem, "fwd_any_scalar_row",
                                              ABLATE_UNSWIZZLED, 0),
                     HEED_ERR_UNSUPPORTED);
    assert_null(plan);
    problem = parsed("b1 h1 s64 d64 f16");
    assert_null(heed_cpu_ablated_unfit("fwd_any_scalar_row", ABLATE_STRIDED, &problem));
    assert_string_equal(heed_cpu_ablated_unfit("fwd_any_scalar_row", ABLATE_NO_STAGING, &problem),
                        "elements must be converted to float32 first");
    assert_int_equal(heed_plan_create_ablated(&plan, *state, &problem, "fwd_any_scalar_row",
                                              ABLATE_NO_STAGING, 0),
                     HEED_ERR_UNSUPPORTED);
}

/* A plan with a delay, and the fastest of its calls so far: other load on the machine can only add
 * time. */
typedef struct delayed {
    heed_plan *plan;
    heed_buffers buffers;
    void *memory[4], *whole;
    double fastest;
} delayed;

static void open_delayed(delayed *it, heed_context *context, const heed_problem *problem,
                         double delay)
{
    size_t bytes = (size_t)(problem->seq_q * problem->dim_qk) * sizeof(float);
    assert_int_equal(heed_plan_create_ablated(&it->plan, context, problem, "fwd_any_scalar_row",
                                              ABLATE_DELAY, delay),
                     HEED_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(heed_device_allocate(context, bytes, &it->memory[i]), HEED_OK);
        memset(it->memory[i], 0, bytes);
    }
    it->buffers = (heed_buffers){ .size = sizeof(heed_buffers),
                                  .q = it->memory[0],
                                  .k = it->memory[1],
                                  .v = it->memory[2],
                                  .o = it->memory[3] };
    it->buffers.workspace_size = heed_plan_workspace_size(it->plan);
    it->whole = test_malloc(it->buffers.workspace_size + HEED_ALIGNMENT);
    it->buffers.workspace = (char *)it->whole + HEED_ALIGNMENT -
                            (uintptr_t)it->whole % HEED_ALIGNMENT;
    it->fastest = INFINITY;
}

static void time_delayed(delayed *it)
{
    for (int i = 0; i < 50; i++) {
        int64_t begin = heed_clock_ns();
        assert_int_equal(heed_execute(it->plan, &it->buffers), HEED_OK);
        it->fastest = fmin(it->fastest, (double)(heed_clock_ns() - begin));
    }
}

static void close_delayed(delayed *it, heed_context *context)
{
    test_free(it->whole);
    for (int i = 0; i < 4; i++)
        heed_device_free(context, it->memory[i]);
    heed_plan_destroy(it->plan);
}

/* A delay has the requested length. Both plans are timed alternately, for longer if other tests
 * keep the machine busy. */
static void test_cpu_delay(void **state)
{
    heed_context *context = host_context(1);
    heed_problem problem = parsed("b1 h1 s64 d32 f32");
    delayed without, with;
    double ratio = 0;
    open_delayed(&without, context, &problem, 0);
    open_delayed(&with, context, &problem, 1);
    for (int round = 0; round < 200; round++) {
        time_delayed(&without);
        time_delayed(&with);
        ratio = with.fastest / without.fastest;
        if (round >= 8 && ratio > 1.8 && ratio < 2.4)
            break;
    }
    close_delayed(&with, context);
    close_delayed(&without, context);
    heed_context_destroy(context);
    if (!(ratio > 1.8 && ratio < 2.4))
        fail_msg("twice the time of each task is %.2f times the whole", ratio);
}

static int open_context(void **state)
{
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    heed_context *context;
    if (heed_context_create(&context, &options) != HEED_OK)
        return -1;
    *state = context;
    return 0;
}

static int close_context(void **state)
{
    heed_context_destroy(*state);
    return 0;
}

RUN_TESTS_WITHIN(open_context, close_context, test_declared, test_configs, test_reasons,
                 test_effects, test_ranking, test_cpu_builds, test_cpu_refusals, test_cpu_delay)
