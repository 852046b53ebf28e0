/*
 * test_roofline.c - floors computed by hand, ceilings in files, ranks, and whether the cost model
 * ranks the recorded sweep of 90 points correctly
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/facts.h"
#include "cuda/gpu.h"
#include "lab/base/planner.h"
#include "lab/inspect/roofline.h"
#include "lab/search/trials.h"
#include "problems.h"
#include "scratch.h"

/* Round figures: a matrix rate of 1e12, one exponential per nanosecond, ... */
static const lab_ceilings round_figures = { .device = "Imaginary",
                                            .features = "none",
                                            .matrix = { 1e11, 1e12, 1e12 },
                                            .exp = 1e9,
                                            .fma = 1e10,
                                            .memory = 1e9,
                                            .cache = 1e10,
                                            .cache_bytes = 1e6,
                                            .launch = 1e-6 };

static lab_floor floor_of(const char *spec, const lab_ceilings *ceilings)
{
    heed_problem problem = parsed(spec);
    return lab_roofline_floor(&problem, ceilings);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Values may hide all keys: only their bytes and those of O remain. */
static void test_floors_of_values(void **state)
{
    static const text_real rows[] = {
        { "b2 h3 s64 d16 f16 starts=q", 64.0 * 4 + 2 * 3 * 64 * 16 * 2 },
        { "b2 h3 s64 d16 f16 shown=bytes:hq", 3.0 * 64 * 64 + 2 * 3 * 64 * 16 * 2 },
        { "b2 h3 s64 d16 f16 shown=bytes:hq bias=f16:q", 3.0 * 64 * 64 + 2 * 3 * 64 * 16 * 2 },
        { "b2 h3 s64 d16 f16 visible=k%2==0", 2 * 3 * 64 * 16 * 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_floor f = floor_of(rows[i].text, &round_figures);
        if (!near(f.units[LAB_ROOF_MEMORY], rows[i].value / 1e9))
            fail_msg("%s: %.9g bytes", rows[i].text, f.units[LAB_ROOF_MEMORY] * 1e9);
        assert_true(f.units[LAB_ROOF_MATRIX] == 0 && f.units[LAB_ROOF_EXP] == 0);
    }
    /* A bias hides no keys, whatever its type. */
    assert_true(floor_of("b1 h1 s64 d16 f16 bias=f16", &round_figures).units[LAB_ROOF_MATRIX] > 0);
}

static void test_floors_by_hand(void **state)
{
    /* 64 x 64 pairs, 4 x 16 operations each; 4 x 64 x 16 x 2 bytes */
    lab_floor f = floor_of("b1 h1 s64 d16 f16", &round_figures);
    assert_true(near(f.units[LAB_ROOF_MATRIX], 4.0 * 4096 * 16 / 1e12));
    assert_true(near(f.units[LAB_ROOF_EXP], 4096 / 1e9));
    assert_true(near(f.units[LAB_ROOF_FMA], 4096 / 1e10));
    assert_true(near(f.units[LAB_ROOF_MEMORY], 8192 / 1e9));
    assert_true(near(f.units[LAB_ROOF_CACHE], 8192 / 1e10));
    assert_true(near(f.units[LAB_ROOF_LAUNCH], 1e-6));
    assert_int_equal(f.cold_binds, LAB_ROOF_MEMORY);
    assert_int_equal(f.hot_binds, LAB_ROOF_EXP);
    assert_true(near(f.cold, 8192 / 1e9) && near(f.hot, 4096 / 1e9));

    /* half of the pairs under a mask, the diagonal among them */
    lab_floor masked = floor_of("b1 h1 s64 d16 f16 causal", &round_figures);
    assert_true(near(masked.units[LAB_ROOF_EXP], 64 * 65 / 2 / 1e9));

    /* float32 takes the time of six products of 16 bits, or of the permitted products if those are
     * faster than its own; heads that share keys read them once */
    static const text_real singles[] = { { "b1 h1 s64 d16 f32", 1e12 / 6 },
                                         { "b1 h1 s64 d16 f32 products=tf32", 1e12 / 2 },
                                         { "b1 h1 s64 d16 f32 products=bf16x3", 1e12 / 3 } };
    lab_ceilings own = round_figures;
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        snprintf(own.features, sizeof own.features, "sm_90-driver13.0");
        lab_floor single = floor_of(singles[i].text, &own);
        assert_true(near(single.units[LAB_ROOF_MATRIX], 4.0 * 4096 * 16 / singles[i].value));
        /* a CPU has no such units */
        single = floor_of(singles[i].text, &round_figures);
        assert_true(near(single.units[LAB_ROOF_MATRIX], 4.0 * 4096 * 16 / 1e11));
    }
    own.matrix[HEED_F32] = 9e11;
    assert_true(
        near(floor_of("b1 h1 s64 d16 f32", &own).units[LAB_ROOF_MATRIX], 4.0 * 4096 * 16 / 9e11));
    lab_floor shared = floor_of("b1 h4/1 s1/1000 d16 f16", &round_figures);
    assert_true(near(shared.units[LAB_ROOF_MEMORY], (2 * 1000 * 16 + 2 * 4 * 16) * 2 / 1e9));
    assert_true(near(shared.units[LAB_ROOF_EXP], 4 * 1000 / 1e9));
}

static void test_what_binds(void **state)
{
    static const struct {
        const char *spec;
        lab_roof cold, hot;
    } cases[] = {
        { "b1 h1 s1 d1 f16", LAB_ROOF_LAUNCH, LAB_ROOF_LAUNCH },
        { "b1 h1 s1024 d16 f16", LAB_ROOF_EXP, LAB_ROOF_EXP },
        { "b1 h1 s4096 d256/512 f32", LAB_ROOF_MATRIX, LAB_ROOF_MATRIX },
        { "b1 h1 s1/10000 d16 f16", LAB_ROOF_MEMORY, LAB_ROOF_CACHE },
        /* 1.28 MB, which exceeds the cache */
        { "b1 h1 s1/20000 d16 f16", LAB_ROOF_MEMORY, LAB_ROOF_MEMORY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_floor f = floor_of(cases[i].spec, &round_figures);
        if (f.cold_binds != cases[i].cold || f.hot_binds != cases[i].hot)
            fail_msg("%s is bound by %s and %s", cases[i].spec, lab_roof_name(f.cold_binds),
                     lab_roof_name(f.hot_binds));
        assert_true(f.hot <= f.cold);
    }
    /* an unknown ceiling is left out; if all are unknown, there is no floor */
    lab_ceilings some = { .memory = 1e9 };
    lab_floor f = floor_of("b1 h1 s64 d16 f16", &some);
    assert_int_equal(f.cold_binds, LAB_ROOF_MEMORY);
    assert_int_equal(f.hot_binds, LAB_ROOF_MEMORY);
    some.memory = 0;
    assert_true(floor_of("b1 h1 s64 d16 f16", &some).cold == 0);
}

/* ---- Files ---- */

static void test_file_comes_back(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_ceilings back;
    lab_error error;
    lab_ceilings ceilings = round_figures;
    ceilings.time = 1763742103;
    ceilings.read = 9e8;
    ceilings.copy = 1e9;
    scratch_path(state, "deep/below/ceilings.txt", path);
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK);
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK); /* overwritten */
    assert_int_equal(lab_ceilings_read(&back, path, &error), HEED_OK);
    ceilings.measured = true;
    assert_string_equal(back.device, ceilings.device);
    assert_string_equal(back.features, ceilings.features);
    assert_memory_equal(&back.measured, &ceilings.measured, sizeof back.measured);
    assert_int_equal(back.time, ceilings.time);
    assert_memory_equal(back.matrix, ceilings.matrix, sizeof back.matrix);
    assert_memory_equal(&back.exp, &ceilings.exp, sizeof back - offsetof(lab_ceilings, exp));

    scratch_path(state, "none.txt", path);
    assert_int_equal(lab_ceilings_read(&back, path, &error), HEED_ERR_SYSTEM);
    assert_int_equal(lab_ceilings_write(&ceilings, "/dev/null/x.txt", &error), HEED_ERR_SYSTEM);
    scratch_path(state, "deep/below/ceilings.txt", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(scratch_path(state, "deep/below", path)), 0);
    assert_int_equal(rmdir(scratch_path(state, "deep", path)), 0);
}

/* Every changed byte and every truncation is reported. */
static void test_damage_is_told(void **state)
{
    char path[SCRATCH_PATH_SIZE], text[2048], bad[2048];
    lab_ceilings back;
    lab_error error;
    scratch_path(state, "ceilings.txt", path);
    assert_int_equal(lab_ceilings_write(&round_figures, path, &error), HEED_OK);
    size_t size = scratch_read(path, text, sizeof text);
    assert_int_equal(lab_ceilings_parse(&back, text, size, "x", &error), HEED_OK);
    for (size_t i = 0; i < size; i++) {
        memcpy(bad, text, size);
        bad[i] ^= 1;
        assert_int_equal(lab_ceilings_parse(&back, bad, size, "x", &error), HEED_ERR_CORRUPT);
        assert_int_equal(lab_ceilings_parse(&back, text, i, "x", &error), HEED_ERR_CORRUPT);
    }
    memset(bad, 'x', sizeof bad);
    assert_int_equal(lab_ceilings_parse(&back, bad, sizeof bad, "x", &error), HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "not a ceilings file"));
    static const char later[] = "heed-ceilings 2\n";
    assert_int_equal(lab_ceilings_parse(&back, later, strlen(later), "x", &error),
                     HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "version is not 1"));
    static char large[10000];
    assert_int_equal(lab_ceilings_parse(&back, large, sizeof large, "x", &error), HEED_ERR_CORRUPT);
}

static void test_paths(void **state)
{
    char one[LAB_CEILINGS_PATH], other[LAB_CEILINGS_PATH], long_folder[2 * LAB_CEILINGS_PATH];
    lab_error error;
    setenv("HEED_CACHE", "/a/b", 1);
    assert_int_equal(lab_ceilings_path(one, "GPU", "sm_90", &error), HEED_OK);
    assert_true(strncmp(one, "/a/b/ceilings/", 14) == 0);
    assert_int_equal(lab_ceilings_path(other, "GPU", "sm_91", &error), HEED_OK);
    assert_string_not_equal(one, other);
    assert_int_equal(lab_ceilings_path(other, "GPUs", "m_90", &error), HEED_OK);
    assert_string_not_equal(one, other);
    memset(long_folder, 'x', sizeof long_folder - 1);
    long_folder[sizeof long_folder - 1] = '\0';
    setenv("HEED_CACHE", long_folder, 1);
    assert_int_equal(lab_ceilings_path(one, "GPU", "sm_90", &error), HEED_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "HEED_CACHE"));
    unsetenv("HEED_CACHE");
    setenv("XDG_CACHE_HOME", "/c", 1);
    assert_int_equal(lab_ceilings_path(one, "GPU", "sm_90", &error), HEED_OK);
    assert_true(strncmp(one, "/c/heed/ceilings/", 17) == 0);
}

/* ---- The cost model ---- */

static void test_ranks(void **state)
{
    static const double up[] = { 1, 2, 3, 40 }, down[] = { 9, 8, 7, 6 }, tied[] = { 1, 2, 2, 3 },
                        flat[] = { 5, 5, 5, 5 };
    assert_true(near(lab_rank_correlation(up, up, 4), 1));
    assert_true(near(lab_rank_correlation(up, down, 4), -1));
    /* computed by hand: ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3 */
    assert_true(near(lab_rank_correlation(up, tied, 4), 4.5 / sqrt(5 * 4.5)));
    assert_true(isnan(lab_rank_correlation(up, flat, 4)));
    assert_true(isnan(lab_rank_correlation(up, down, 2)));
}

#define POINTS 90

/* The rank correlation for one shape of the trials, or for the sums of logarithms over all of
 * them. */
static double judge(const lab_space *space, const lab_trials *trials, const heed_gpu *gpu,
                    int first, int count)
{
    double measured[POINTS], predicted[POINTS];
    size_t points = 0;
    for (int64_t i = 0; i < lab_space_count(space); i++) {
        const lab_point point = lab_space_at(space, i);
        char name[HEED_NAME_SIZE];
        int timed = 0;
        measured[points] = predicted[points] = 0;
        for (int shape = first; shape < first + count; shape++) {
            const lab_evaluation *found = lab_trials_find(trials, i, shape, -1);
            heed_problem problem = parsed(trials->shapes[shape]);
            heed_cuda_facts facts;
            if (!found || found->state != LAB_STATE_TIMED ||
                lab_space_name(space, &point, trials->kernel, name, NULL) != HEED_OK ||
                heed_cuda_facts_for(name, &problem, gpu, &facts) != HEED_OK)
                continue;
            timed++;
            measured[points] += log(found->seconds);
            predicted[points] += log(facts.seconds);
        }
        points += timed == count;
    }
    assert_true(points >= 50);
    return lab_rank_correlation(measured, predicted, points);
}

static void test_the_cost_model_ranks_the_recorded_sweep(void **state)
{
    lab_space space;
    lab_trials trials;
    lab_error error;
    heed_gpu gpu;
    assert_int_equal(lab_space_load(&space, HEED_SOURCE_DIR "/spaces/sweep90.txt", &error),
                     HEED_OK);
    assert_int_equal(lab_trials_read(&trials, &space,
                                     HEED_SOURCE_DIR "/tests/data/trials/sweep90-h200.txt", &error),
                     HEED_OK);
    assert_true(heed_gpu_find(&gpu, trials.device));
    for (int i = 0; i < trials.shape_count; i++) {
        double correlation = judge(&space, &trials, &gpu, i, 1);
        if (!(correlation >= 0.7))
            fail_msg("%s: %.3f", trials.shapes[i], correlation);
    }
    double all = judge(&space, &trials, &gpu, 0, trials.shape_count);
    if (!(all >= 0.7))
        fail_msg("all together: %.3f", all);
    lab_trials_free(&trials);
    lab_space_free(&space);
}

/* A combination of several names counts as all of them; one with an unknown name as the best
 * known. */
static void test_features_of_a_cpu(void **state)
{
    static const text_pair cases[] = {
        { "scalar+avx512", "avx512" },     { "avx512bf16+avx2", "avx512bf16" },
        { "avx2+scalar", "avx2" },         { "avx2+no-such-unit", NULL },
        { "no-such-unit+avx512", "dust" }, { "avx2+", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_ceilings one = lab_roofline_cpu(cases[i].given, 2, false);
        const lab_ceilings other = lab_roofline_cpu(cases[i].wanted, 2, false);
        assert_memory_equal(one.matrix, other.matrix, sizeof one.matrix);
    }
    const lab_ceilings best = lab_roofline_cpu(NULL, 1, false);
    double below = 0;
    for (size_t i = 0; lab_cpu_feature(i); i++) {
        const lab_ceilings one = lab_roofline_cpu(lab_cpu_feature(i), 1, false);
        assert_true(one.matrix[HEED_BF16] > below); /* each has a separate row */
        below = one.matrix[HEED_BF16];
    }
    assert_true(below == best.matrix[HEED_BF16]); /* that of AMX */
    const lab_ceilings any = lab_roofline_cpu("scalar", 1, true);
    assert_memory_equal(any.matrix, best.matrix, sizeof any.matrix);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_floors_by_hand, test_floors_of_values,
               test_what_binds, test_features_of_a_cpu, test_file_comes_back, test_damage_is_told,
               test_paths, test_ranks, test_the_cost_model_ranks_the_recorded_sweep)
