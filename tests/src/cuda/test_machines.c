/*
 * test_machines.c - the GPUs of machines.def: their names, consistency of their figures, and the
 * cost model's predictions for them
 */
#include "run_tests.h"

#include <stdbool.h>
#include <string.h>

#include "cuda/facts.h"
#include "cuda/gpu.h"

static void test_names(void **state)
{
    static const text_pair cases[] = {
        { "A100", "NVIDIA A100-SXM4-80GB" },
        { "RTX 3090", "NVIDIA GeForce RTX 3090" },
        { "rtx3090", "NVIDIA GeForce RTX 3090" },
        { "L4", "NVIDIA L4" },
        { "l40s", "NVIDIA L40S" },
        { "RTX-4090", "NVIDIA GeForce RTX 4090" },
        { "nvidia geforce rtx 4090", "NVIDIA GeForce RTX 4090" },
        { "H100", "NVIDIA H100 80GB HBM3" },
        { "H200", "NVIDIA H200" },
        { "NVIDIA B200", "NVIDIA B200" },
    };
    static const char *const none[] = { "", "L", "L40", "H20", "H2000", "4090", "NVIDIA" };
    heed_gpu gpu;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!heed_gpu_find(&gpu, cases[i].given))
            fail_msg("%s is not found", cases[i].given);
        assert_string_equal(gpu.name, cases[i].wanted);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(heed_gpu_find(&gpu, none[i]));
}

/* Published figures, independent of machines.def: float32 TFLOP/s from the data sheets and white
 * papers that it names, and whether tensor cores sum float16 products in float32 at half the
 * rate. */
static const struct {
    const char *brief;
    double fma; /* TFLOP/s */
    bool halved;
} published[] = {
    { "A100", 19.5, false }, { "RTX 3090", 35.6, true }, { "L4", 30.3, false },
    { "L40S", 91.6, false }, { "RTX 4090", 82.6, true }, { "H200", 67, false },
    { "H100", 67, false },   { "B200", 75, false },
};

static bool is_near(double figure, double expected, double share)
{
    return figure > (1 - share) * expected && figure < (1 + share) * expected;
}

/* Multiprocessors times clock times operations per clock give the rates of data sheets: float32
 * within 1 %; matrices within 1 %, or up to 8 % less if tensor cores have a different clock
 * (Hopper: 1830 of 1980 MHz). */
static void test_rates(void **state)
{
    const char *brief = NULL;
    heed_gpu gpu;
    for (size_t i = 0; heed_gpu_at(&gpu, i, &brief); i++) {
        const heed_gpu_rates rates = heed_gpu_get_rates(gpu.arch);
        double clocks = gpu.multiprocessors * gpu.clock;
        double matrix = rates.matrix * clocks * (published[i].halved ? 0.5 : 1);
        assert_string_equal(published[i].brief, brief);
        if (!is_near(2 * rates.fma * clocks, 1e12 * published[i].fma, 0.01))
            fail_msg("%s: %.4g of %.4g FLOP/s in float32", brief, 2 * rates.fma * clocks,
                     1e12 * published[i].fma);
        if (gpu.matrix > 1.01 * matrix || gpu.matrix < 0.92 * matrix)
            fail_msg("%s: %.4g of %.4g FLOP/s of matrices", brief, gpu.matrix, matrix);
    }
}

/* Each figure is within the range of real devices: a typing error is usually a factor of ten. */
static void test_figures(void **state)
{
    const char *brief = NULL;
    heed_gpu gpu;
    size_t count = 0;
    for (; heed_gpu_at(&gpu, count, &brief); count++) {
        const heed_gpu_rates rates = heed_gpu_get_rates(gpu.arch);
        assert_true(brief && *brief);
        assert_true(gpu.multiprocessors >= 20 && gpu.multiprocessors <= 200);
        assert_true(gpu.clock > 1.3e9 && gpu.clock < 3e9);
        assert_true(gpu.bandwidth >= 300e9 && gpu.bandwidth <= 8e12);
        assert_true(gpu.l2 > 0 && gpu.l2 < gpu.memory && gpu.l2_window < gpu.l2);
        assert_true(gpu.smem_block < gpu.smem && gpu.registers == 65536);
        assert_true(rates.exp == 16 && (rates.fma == 64 || rates.fma == 128));
        /* on all of them the matrix rate is 70 to 550 operations per byte of memory bandwidth */
        assert_true(gpu.matrix / gpu.bandwidth > 70 && gpu.matrix / gpu.bandwidth < 550);
    }
    assert_int_equal(count, sizeof published / sizeof *published);
    assert_false(heed_gpu_at(&gpu, 1000, NULL));
    assert_true(heed_gpu_get_rates(75).matrix == 0);
}

/* The first device of an architecture represents it. */
static void test_architectures(void **state)
{
    static const struct {
        int arch;
        const char *name;
    } cases[] = { { 80, "NVIDIA A100-SXM4-80GB" },
                  { 86, "NVIDIA GeForce RTX 3090" },
                  { 89, "NVIDIA L4" },
                  { 90, "NVIDIA H200" },
                  { 100, "NVIDIA B200" } };
    heed_gpu gpu;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(heed_gpu_arch(&gpu, cases[i].arch));
        assert_string_equal(gpu.name, cases[i].name);
    }
}

static double best_seconds(const heed_gpu *gpu, const char *spec)
{
    heed_problem problem;
    double best = 0;
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_cuda_facts facts;
        if (heed_cuda_facts_for(heed_kernel_name(i), &problem, gpu, &facts) != HEED_OK)
            continue;
        assert_string_equal(facts.device, gpu->name);
        assert_true(facts.seconds > facts.roofline && facts.roofline > 0);
        if (best == 0 || facts.seconds < best)
            best = facts.seconds;
    }
    return best;
}

/* Every device has a kernel for everything, and a larger device is not slower on large problems. */
static void test_predictions(void **state)
{
    static const char *const specs[] = { "b1 h8 s512 d64 f16", "b4 h16 s4096 d128 bf16 causal",
                                         "b1 h32/8 s1/65536 d128 f16", "b1 h2 s128 d512 f32" };
    heed_gpu gpu, l4, l40s, h100, h200;
    for (size_t i = 0; heed_gpu_at(&gpu, i, NULL); i++)
        for (size_t j = 0; j < sizeof specs / sizeof *specs; j++) {
            double seconds = best_seconds(&gpu, specs[j]);
            if (!(seconds > 1e-6 && seconds < 1))
                fail_msg("%s on %s: %g seconds", specs[j], gpu.name, seconds);
        }
    assert_true(heed_gpu_find(&l4, "L4") && heed_gpu_find(&l40s, "L40S"));
    assert_true(heed_gpu_find(&h100, "H100") && heed_gpu_find(&h200, "H200"));
    assert_true(best_seconds(&l40s, specs[1]) < 0.6 * best_seconds(&l4, specs[1]));
    assert_true(best_seconds(&h200, specs[2]) < 0.9 * best_seconds(&h100, specs[2]));
}

/* A new device is a new row: a row for it by name, before those of architectures, applies to it
 * alone, and predictions follow it. */
static void test_a_row_more(void **state)
{
    const heed_costs *any = heed_costs_find(heed_cost_rows, "", 0);
    heed_memory_costs slow = *any->memory;
    heed_mma_costs late = *any->mma;
    slow.share /= 2;
    late.launch += 1e-3;
    const heed_costs rows[] = { { "NVIDIA L4", 89, false, &slow, any->order, any->naive, &late,
                                  any->wgmma, any->mla, any->wide, any->wide32 },
                                *any };
    heed_gpu l4, l40s;
    assert_true(heed_gpu_find(&l4, "L4") && heed_gpu_find(&l40s, "L40S"));
    double before = best_seconds(&l4, "b1 h32/8 s1/65536 d128 f16");
    assert_ptr_equal(heed_costs_find(rows, l4.name, l4.arch), &rows[0]);
    assert_ptr_equal(heed_costs_find(rows, l40s.name, l40s.arch), &rows[1]);
    assert_ptr_equal(heed_costs_find(rows, l4.name, 90), &rows[1]);
    l4.costs = &rows[0];
    double after = best_seconds(&l4, "b1 h32/8 s1/65536 d128 f16");
    if (!(after > 1.8 * before + 1e-3 && after < 2.2 * before + 1e-3))
        fail_msg("%g seconds, %g with the other row", before, after);
}

/* Devices of compute capability 9.0 divide threes unevenly; for others this is not known. */
static void test_rows(void **state)
{
    heed_gpu gpu;
    for (size_t i = 0; heed_gpu_at(&gpu, i, NULL); i++) {
        assert_true(gpu.costs->uneven_threes == (gpu.arch == 90));
        assert_int_equal(heed_gpu_overlaps(&gpu), strstr(gpu.name, "H100") ||
                                                      strstr(gpu.name, "H200") ||
                                                      strstr(gpu.name, "B200"));
    }
    assert_true(heed_gpu_limits(&gpu, 87) && gpu.costs);
}

RUN_TESTS(test_names, test_rates, test_figures, test_architectures, test_predictions,
          test_a_row_more, test_rows)
