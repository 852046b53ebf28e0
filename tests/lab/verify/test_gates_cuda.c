/*
 * test_gates_cuda.c - the gates on wrong CUDA kernels: they compile, and on the emulator the gates
 * kill them
 *
 * The emulator detects more than the gates do, such as a harmless race, which makes the run fail.
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/backend.h"
#include "cuda/driver/nvrtc.h"
#include "cuda/gpu.h"
#include "cuda/jit.h"
#include "emulated.h"
#include "lab/verify/mutants/suite.h"
#include "lab/verify/selftest.h"

/* -------------------------------------------------------------------------- */
/* Compilation                                                                */
/* -------------------------------------------------------------------------- */

static void compile(int mistake, const char *spec, int arch)
{
    heed_problem problem;
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    const lab_device_code code = lab_device_code_of(&problem, mistake);
    heed_define defines[LAB_DEVICE_DEFINES];
    for (int i = 0; i < LAB_DEVICE_DEFINES; i++)
        defines[i] = (heed_define){ code.defines[i].name, code.defines[i].value };
    const heed_build build = {
        .source = "attend.cu", .defines = defines, .define_count = LAB_DEVICE_DEFINES, .arch = arch
    };
    heed_cubin cubin;
    if (heed_jit_build_text(&build, lab_device_source(), &cubin) != HEED_OK)
        fail_msg("mistake %d for sm_%d: %s", mistake, arch, heed_message());
    heed_cubin_free(&cubin);
}

static void test_they_compile(void **state)
{
    const heed_nvrtc *nvrtc;
    if (heed_nvrtc_get(&nvrtc) != HEED_OK)
        skip();
    compile(0, lab_scene_at(true, 0), 90);
    compile(0, lab_scene_at(true, 1), 80);
    for (size_t i = 0; lab_mutant_at(LAB_DEVICE_MUTANTS, i); i++)
        compile(lab_mutant_at(LAB_DEVICE_MUTANTS, i)->mistake,
                lab_mutant_at(LAB_DEVICE_MUTANTS, i)->spec, 80);
}

/* -------------------------------------------------------------------------- */
/* The emulator as a device                                                   */
/* -------------------------------------------------------------------------- */

extern const emulated_kernel attend_0, attend_1, attend_2, attend_3, attend_4, attend_5, attend_6,
    attend_7, attend_8, attend_9, attend_10, attend_11, attend_12, attend_13, attend_14, attend_15,
    attend_16, attend_17, attend_18, attend_19, attend_20, attend_21, attend_22, attend_23;

/* By mistake. All support masks. */
static const emulated_kernel *const kernels[] = {
    &attend_0,  &attend_1,  &attend_2,  &attend_3,  &attend_4,  &attend_5,  &attend_6,  &attend_7,
    &attend_8,  &attend_9,  &attend_10, &attend_11, &attend_12, &attend_13, &attend_14, &attend_15,
    &attend_16, &attend_17, &attend_18, &attend_19, &attend_20, &attend_21, &attend_22, &attend_23,
};
#define KERNELS (sizeof kernels / sizeof kernels[0])

typedef struct mistaken {
    const emulated_kernel *kernel;
    heed_problem problem;
} mistaken;

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    mistaken *it = data;
    it->problem = *problem;
    emulated_needs(needs);
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const mistaken *it = data;
    const heed_gpu gpu = {
        .multiprocessors = 1, .clock = 1, .bandwidth = 1, .costs = heed_cost_rows
    };
    const heed_launch_facts facts = { .rows = it->kernel->rows, .splits = 1 };
    heed_cuda_args args;
    emulator_report report;
    heed_cuda_fill_args(&args, &it->problem, &gpu, &facts);
    args.q = buffers->q;
    args.k = buffers->k;
    args.v = buffers->v;
    args.o = buffers->o;
    args.lse = buffers->lse;
    const emulator_launch launch = { .kernel = it->kernel->run,
                                     .args = &args,
                                     .grid = { args.heads * args.blocks, 1, 1 },
                                     .threads = it->kernel->threads,
                                     .shared_bytes = it->kernel->shared_bytes };
    return emulator_run(&launch, &report) && report.uninitialised == 0 ? HEED_OK : HEED_ERR_DEVICE;
}

static heed_status open_mistake(void *data, int mistake, lab_subject *subject)
{
    mistaken *it = calloc(1, sizeof *it);
    if (!it || mistake < 0 || (size_t)mistake >= KERNELS)
        abort();
    it->kernel = kernels[mistake];
    *subject = (lab_subject){ .data = it, .prepare = prepare, .run = run };
    return HEED_OK;
}

static void close_mistake(void *data, lab_subject *subject)
{
    free(subject->data);
}

static const lab_selftest_device device = { .open = open_mistake, .close = close_mistake };

/* -------------------------------------------------------------------------- */
/* The suite                                                                  */
/* -------------------------------------------------------------------------- */

static void explain(const lab_selftest_result *result)
{
    for (size_t i = 0; i < result->entry_count; i++) {
        const lab_selftest_entry *entry = &result->entries[i];
        if (entry->kernel->gate && !entry->failed)
            print_message("survived: %s (%s)\n", entry->kernel->name, entry->reason);
        else if (entry->kernel->gate && !entry->meant)
            print_message("%s was not killed by %s, but: %s\n", entry->kernel->name,
                          entry->kernel->gate, entry->reason);
        else if (!entry->kernel->gate && entry->failed)
            print_message("rejected: %s on %s, %s: %s\n", entry->kernel->name, entry->spec,
                          entry->inputs, entry->reason);
    }
}

static void test_they_are_killed(void **state)
{
    lab_selftest_options options = lab_selftest_standard();
    lab_selftest_result result;
    options.device = &device;
    options.jobs = 2;
    assert_int_equal(lab_selftest_run(&options, &result), HEED_OK);
    explain(&result);
    assert_int_equal(result.mutants, KERNELS - 1);
    assert_int_equal(result.killed, result.mutants);
    assert_int_equal(result.controls, 1);
    assert_int_equal(result.accepted, 1);
    assert_true(result.trusted);
    lab_selftest_free(&result);
}

/* Each is killed as intended, except for the race, which the emulator reports before a gate
 * does. */
static void test_as_meant(void **state)
{
    lab_selftest_options options = lab_selftest_standard();
    options.device = &device;
    for (size_t g = 0; g < LAB_GATES; g++) {
        lab_selftest_result result;
        options.gate = lab_gate_at(g)->name;
        options.gates = g == 0 ? UINT32_MAX : (uint32_t)1 << g | 1;
        if (lab_selftest_run(&options, &result) != HEED_OK)
            continue; /* there is no mutant with it */
        for (size_t i = 0; i < result.entry_count; i++) {
            const lab_selftest_entry *entry = &result.entries[i];
            if (entry->done && !entry->meant && strcmp(entry->kernel->name, "no-barrier") != 0)
                fail_msg("%s was not killed by %s: %s", entry->kernel->name, entry->kernel->gate,
                         entry->reason);
        }
        lab_selftest_free(&result);
    }
}

int main(void)
{
    setenv("HEED_CACHE", HEED_BUILD_DIR "/cubins", 1);
    return run_test_list(TEST_LIST(test_they_compile, test_they_are_killed, test_as_meant), NULL,
                         NULL);
}
