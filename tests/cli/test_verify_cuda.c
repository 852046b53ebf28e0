/*
 * test_verify_cuda.c - verification campaigns on a fake CUDA device, with toy kernels
 *
 * The toy kernels replace the built-in ones. They compute on the host, in the fake driver's device
 * memory, so that everything is real except the GPU: contexts in child processes, transfers of
 * tensors, guard pages, a lost device.
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "internal.h"
#include "lab/verify/campaign.h"
#include "lab/verify/mutants/steps.h"
#include "lab/verify/reference/reference.h"

/* -------------------------------------------------------------------------- */
/* Toy kernels                                                                */
/* -------------------------------------------------------------------------- */

typedef heed_status toy_fn(const heed_plan *plan, const heed_buffers *buffers);

static heed_status honest(const heed_plan *plan, const heed_buffers *buffers)
{
    mutant_plain(&plan->problem, buffers);
    return HEED_OK;
}

/* Sums in a different order if tensors are not aligned. */
static heed_status two_ways(const heed_plan *plan, const heed_buffers *buffers)
{
    uintptr_t bits = (uintptr_t)buffers->q | (uintptr_t)buffers->k | (uintptr_t)buffers->v |
                     (uintptr_t)buffers->o;
    mutant_run_all(&plan->problem, buffers, bits % 16 ? mutant_reversed_row : mutant_plain_row);
    return HEED_OK;
}

/* The last bit of the first element differs in every other run. */
static heed_status by_turns(const heed_plan *plan, const heed_buffers *buffers)
{
    static int turn;
    mutant_plain(&plan->problem, buffers);
    *(unsigned char *)buffers->o ^= (unsigned char)(turn++ & 1);
    return HEED_OK;
}

/* On a device nothing prevents a kernel from writing to K. */
static heed_status writes_to_k(const heed_plan *plan, const heed_buffers *buffers)
{
    mutant_plain(&plan->problem, buffers);
    memset((void *)(uintptr_t)buffers->k, 0, 1);
    return HEED_OK;
}

/* O ends at a guard page in one of the layouts, and starts at one in another. */
static heed_status past_o(const heed_plan *plan, const heed_buffers *buffers)
{
    size_t size = (size_t)lab_rows(&plan->problem) * (size_t)plan->problem.dim_v *
                  heed_type_size(plan->problem.type);
    mutant_plain(&plan->problem, buffers);
    memset((char *)buffers->o + size, 0, 1);
    return HEED_OK;
}

static heed_status before_o(const heed_plan *plan, const heed_buffers *buffers)
{
    mutant_plain(&plan->problem, buffers);
    memset((char *)buffers->o - 1, 0, 1);
    return HEED_OK;
}

/* The device fails in its @count-th run in this process. */
static void lose_at(int count)
{
    static int runs;
    void *library = dlopen(FAKE_CUDA, RTLD_NOW);
    fake_cuda *fake = library ? dlsym(library, "fake_cuda_controls") : NULL;
    if (fake && ++runs == count)
        fake->sticky = 700; /* an illegal address */
}

static heed_status loses_at_once(const heed_plan *plan, const heed_buffers *buffers)
{
    (void)plan;
    (void)buffers;
    lose_at(1);
    return HEED_OK;
}

static heed_status loses_late(const heed_plan *plan, const heed_buffers *buffers)
{
    mutant_plain(&plan->problem, buffers);
    lose_at(4); /* at a property gate */
    return HEED_OK;
}

static double toy_cost(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config)
{
    (void)kernel, (void)problem, (void)machine, (void)config;
    return 1e-6;
}

static size_t toy_workspace(const heed_kernel *kernel, const heed_problem *problem,
                            const heed_machine *machine, const heed_config *config)
{
    (void)kernel, (void)problem, (void)machine, (void)config;
    return 100;
}

#define TOY(function)                                          \
    {                                                          \
        .knobs = { { 'x', "X", { 1, 0 } } }, .cost = toy_cost, \
        .plans = &(const heed_plan_functions)                  \
        {                                                      \
            .workspace = toy_workspace, .execute = (function)  \
        }                                                      \
    }

static const heed_algorithm algorithms[] = { TOY(honest),   TOY(writes_to_k),   TOY(past_o),
                                             TOY(before_o), TOY(loses_at_once), TOY(loses_late),
                                             TOY(two_ways), TOY(by_turns) };

#define ROW(name, index)                                                                \
    {                                                                                   \
        (name), "", HEED_FORWARD, HEED_BACKEND_CUDA, 0, 80, 7, &algorithms[index], NULL \
    }

static const heed_kernel kernels[] = {
    ROW("honest", 0),        ROW("writes_to_k", 1), ROW("past_o", 2),   ROW("before_o", 3),
    ROW("loses_at_once", 4), ROW("loses_late", 5),  ROW("two_ways", 6), ROW("by_turns", 7),
};
#define KERNELS (sizeof kernels / sizeof kernels[0])

size_t __wrap_heed_kernel_count(void);
size_t __wrap_heed_kernel_count(void)
{
    return KERNELS;
}

const heed_kernel *__wrap_heed_kernel_at(size_t index);
const heed_kernel *__wrap_heed_kernel_at(size_t index)
{
    return index < KERNELS ? &kernels[index] : NULL;
}

const heed_kernel *__wrap_heed_kernel_find(const char *name, const char **config_text);
const heed_kernel *__wrap_heed_kernel_find(const char *name, const char **config_text)
{
    *config_text = NULL;
    for (size_t i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* Series                                                                     */
/* -------------------------------------------------------------------------- */

/* The required outcome of a kernel in every case. */
static const struct {
    const char *kernel;
    lab_ended ended;
    lab_outcome outcome;
    const char *gate; /* the gate that must fail ... */
    const char *text; /* ... with this text */
} expected[] = {
    { "honest", LAB_COMPLETED, LAB_PASS, "executes", "ran twice" },
    { "writes_to_k", LAB_COMPLETED, LAB_FAIL, "inputs", "K was written to" },
    { "past_o", LAB_CRASHED, LAB_FAIL, "executes", "SIGSEGV" },
    { "before_o", LAB_CRASHED, LAB_FAIL, "executes", "SIGSEGV" },
    { "honest", LAB_COMPLETED, LAB_PASS, "error", "of what is allowed" },
    { "loses_at_once", LAB_COMPLETED, LAB_FAIL, "executes", "the device was lost: " },
    { "honest", LAB_COMPLETED, LAB_PASS, "unaligned", "of what is allowed" },
    { "loses_late", LAB_COMPLETED, LAB_FAIL, NULL, "the device was lost: " },
    { "honest", LAB_COMPLETED, LAB_PASS, "linear", "of what is allowed" },
    { "two_ways", LAB_COMPLETED, LAB_PASS, "deterministic", "equal to the bit" },
    { "by_turns", LAB_COMPLETED, LAB_FAIL, "deterministic", "two runs differ" },
};
#define CONTENDERS (sizeof expected / sizeof expected[0])

static const char *const specs[] = { "b2 h4/2 s9 d8 f16 causal", "b1 h2 s5/70 d15 f32",
                                     "b2 h2 s5 d8 f16 q=2147483649:24:8" };
#define CASES (sizeof specs / sizeof specs[0])

static void check_result(size_t i, const lab_campaign_result *result)
{
    const lab_report *report = &result->report;
    size_t gate = 0;
    if (expected[i].gate)
        gate = lab_gate_index(expected[i].gate);
    while (!expected[i].gate && report->verdicts[gate].outcome != LAB_FAIL && gate < LAB_GATES - 1)
        gate++;
    if (result->ended != expected[i].ended || report->outcome != expected[i].outcome ||
        !strstr(report->verdicts[gate].reason, expected[i].text))
        fail_msg("%s, contender %zu: ended %d, outcome %d, %s: %s", expected[i].kernel, i,
                 (int)result->ended, (int)report->outcome, lab_gate_at(gate)->name,
                 report->verdicts[gate].reason);
    for (size_t g = gate + 1; g < LAB_GATES && report->lost; g++)
        assert_int_equal(report->verdicts[g].outcome, LAB_SKIP);
}

static void run_campaign(int jobs, bool exact)
{
    lab_contender contenders[CONTENDERS];
    lab_verify_case cases[CASES];
    lab_campaign_result results[CASES * CONTENDERS];
    for (size_t i = 0; i < CONTENDERS; i++) {
        bool strays = expected[i].ended == LAB_CRASHED; /* no guard pages, so it may hit anything */
        contenders[i] = (lab_contender){ .device = "cuda",
                                         .kernel = exact && strays ? "honest"
                                                                   : expected[i].kernel };
    }
    for (size_t i = 0; i < CASES; i++) {
        cases[i] = (lab_verify_case){ .inputs = lab_inputs_at(0), .gates = UINT32_MAX };
        assert_int_equal(heed_problem_parse(&cases[i].problem, specs[i]), HEED_OK);
    }
    size_t count = exact ? CASES - 1 : CASES; /* the last one is huge, and sparse */
    const lab_campaign campaign = { .cases = cases,
                                    .case_count = count,
                                    .contenders = contenders,
                                    .contender_count = CONTENDERS,
                                    .options = lab_verify_standard(),
                                    .exact = exact,
                                    .jobs = jobs,
                                    .deadline_s = 60 };
    assert_int_equal(lab_campaign_run(&campaign, results), HEED_OK);
    for (size_t i = 0; i < count * CONTENDERS; i++)
        if (!exact || expected[i % CONTENDERS].ended != LAB_CRASHED)
            check_result(i % CONTENDERS, &results[i]);
}

static void test_one_process_after_another(void **state)
{
    run_campaign(1, false);
}

static void test_several_processes(void **state)
{
    run_campaign(3, false);
}

/* Without guard pages, stray accesses are left to other tools. */
static void test_exact_tensors(void **state)
{
    run_campaign(1, true);
}

/* A failed context affects its contenders only. */
static void test_no_such_device(void **state)
{
    const lab_contender contenders[] = { { .device = "cuda:9", .kernel = "honest" },
                                         { .device = "cuda:0", .kernel = "honest" } };
    lab_verify_case verified = { .inputs = lab_inputs_at(0), .gates = UINT32_MAX };
    lab_campaign_result results[2];
    assert_int_equal(heed_problem_parse(&verified.problem, specs[0]), HEED_OK);
    const lab_campaign campaign = { .cases = &verified,
                                    .case_count = 1,
                                    .contenders = contenders,
                                    .contender_count = 2,
                                    .options = lab_verify_standard() };
    assert_int_equal(lab_campaign_run(&campaign, results), HEED_OK);
    assert_int_equal(results[0].report.outcome, LAB_FAIL);
    assert_non_null(strstr(results[0].report.verdicts[0].reason, "no context: device is cuda:9"));
    assert_int_equal(results[1].report.outcome, LAB_PASS);
}

/* A case whose tensors are larger than the device is skipped; that is not a lack of memory. */
static void test_larger_than_the_device(void **state)
{
    const lab_contender contender = { .device = "cuda", .kernel = "honest" };
    lab_verify_case verified = { .inputs = lab_inputs_at(0), .gates = UINT32_MAX };
    lab_campaign_result result;
    assert_int_equal(heed_problem_parse(&verified.problem, "b2 h2 s5 d8 f16 q=100000000000:24:8"),
                     HEED_OK);
    const lab_campaign campaign = { .cases = &verified,
                                    .case_count = 1,
                                    .contenders = &contender,
                                    .contender_count = 1,
                                    .options = lab_verify_standard() };
    assert_int_equal(lab_campaign_run(&campaign, &result), HEED_OK);
    assert_int_equal(result.report.outcome, LAB_SKIP);
    assert_int_equal(lab_report_kept_by(&result.report), HEED_OK);
    assert_string_equal(result.report.verdicts[0].reason,
                        "the tensors take 190734 MiB, the device has 65536 MiB");
}

int main(void)
{
    setenv("HEED_LIBCUDA", FAKE_CUDA, 1);
    setenv("HEED_NVRTC", FAKE_CUDA, 1);
    return run_test_list(TEST_LIST(test_one_process_after_another, test_several_processes,
                                   test_exact_tensors, test_no_such_device,
                                   test_larger_than_the_device),
                         NULL, NULL);
}
