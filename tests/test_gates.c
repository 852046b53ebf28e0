/*
 * test_gates.c - the gates kill what is wrong and pass what is honest
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/verify/isolate.h"
#include "lab/verify/mirror.h"
#include "lab/verify/verify.h"
#include "mutants.h"

/* -------------------------------------------------------------------------- */
/* A plain function as a subject                                              */
/* -------------------------------------------------------------------------- */

typedef struct plain_kernel {
    mutant_fn *run;
    size_t workspace;
    bool random;
    heed_problem problem;
    lab_mirror *mirror; /* NULL: the tensors are used where they are */
} plain_kernel;

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    plain_kernel *kernel = data;
    kernel->problem = *problem;
    snprintf(needs->name, sizeof needs->name, "plain");
    needs->workspace_size = kernel->workspace;
    needs->deterministic = !kernel->random;
    needs->seconds = -1;
    return HEED_OK;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    const plain_kernel *kernel = data;
    kernel->run(&kernel->problem, buffers);
    return HEED_OK;
}

/* As on a device with memory of its own. */
static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    const plain_kernel *kernel = data;
    heed_status status = lab_mirror_place(kernel->mirror, stage);
    if (status == HEED_OK)
        status = lab_mirror_upload(kernel->mirror, stage);
    if (status != HEED_OK)
        return status;
    heed_buffers buffers = lab_mirror_buffers(kernel->mirror, stage);
    *outcome = run(data, &buffers);
    return lab_mirror_download(kernel->mirror, stage);
}

static void verify(plain_kernel *kernel, const char *spec, const char *inputs,
                   const lab_verify_options *options, lab_trace *trace, lab_report *report)
{
    const lab_subject subject = {
        .data = kernel, .prepare = prepare, .run = run, .run_away = kernel->mirror ? run_away : NULL
    };
    heed_problem problem;
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        lab_verify_problem(&problem, lab_inputs_find(inputs), &subject, options, trace, report) !=
            HEED_OK)
        memset(report, 0, sizeof *report);
}

/* -------------------------------------------------------------------------- */
/* Mutants                                                                    */
/* -------------------------------------------------------------------------- */

/* Through the gate that must kill it alone, so that no other one does the work. */
static void verify_mutant(void *data, size_t index, lab_trace *trace, void *result)
{
    const mutant *m = (const mutant *)data + index;
    plain_kernel kernel = { .run = m->run, .workspace = m->workspace, .random = m->random };
    lab_verify_options options = lab_verify_standard();
    if (strcmp(m->gate, "executes") != 0)
        options.gates = (uint32_t)1 << lab_gate_index(m->gate);
    options.unlocked = m->unlocked;
    verify(&kernel, m->spec, m->inputs, &options, trace, result);
}

/* Memory that a mirror may be in. */
static const struct {
    const char *device;
    bool exact;
} aways[] = { { "cuda", false }, { "cpu", true } };
#define AWAYS (sizeof aways / sizeof aways[0])

/* Host memory as that of a device: whatever a mutant did to it must show in the stage. */
static void verify_away(void *data, size_t index, lab_trace *trace, void *result)
{
    const mutant *m = (const mutant *)data + index / AWAYS;
    const heed_options options = { .device = aways[index % AWAYS].device, .threads = 1 };
    lab_verify_options gates = lab_verify_standard();
    heed_context *context;
    if (strcmp(m->gate, "executes") != 0)
        gates.gates = (uint32_t)1 << lab_gate_index(m->gate) | (uint32_t)1
                                                                   << lab_gate_index("inputs");
    if (heed_context_create(&context, &options) != HEED_OK)
        return;
    lab_mirror mirror = lab_mirror_create(context, aways[index % AWAYS].exact);
    plain_kernel kernel = {
        .run = m->run, .workspace = m->workspace, .random = m->random, .mirror = &mirror
    };
    verify(&kernel, m->spec, m->inputs, &gates, trace, result);
    lab_mirror_destroy(&mirror);
    heed_context_destroy(context);
}

/* Did the gate that should kill @m do so, with the words that it should find? */
static bool killed(const mutant *m, const lab_report *report, const lab_ending *ending)
{
    const char *text = m->text ? m->text : "";
    const lab_verdict *verdict = &report->verdicts[lab_gate_index(m->gate)];
    bool crashed = ending->how == LAB_CRASHED || ending->how == LAB_TIMED_OUT;
    if (crashed)
        return strcmp(m->gate, "executes") == 0 && strstr(ending->text, text);
    return ending->how == LAB_COMPLETED && report->outcome == LAB_FAIL &&
           verdict->outcome == LAB_FAIL && strstr(verdict->reason, text);
}

static size_t mutant_count(void)
{
    size_t count = 0;
    while (mutants[count].name)
        count++;
    return count;
}

/* Runs @count mutants from @first on, and complains of survivors. */
static size_t count_survivors(const mutant *first, size_t count, unsigned deadline_s)
{
    lab_report *reports = test_calloc(count, sizeof *reports);
    lab_ending *endings = test_calloc(count, sizeof *endings);
    union {
        const mutant *constant;
        void *data;
    } table = { first };
    const lab_isolation isolation = { .run = verify_mutant,
                                      .data = table.data,
                                      .count = count,
                                      .result_size = sizeof *reports,
                                      .deadline_s = deadline_s };
    size_t survivors = 0;
    assert_int_equal(lab_isolate(&isolation, reports, endings), HEED_OK);
    for (size_t i = 0; i < count; i++) {
        if (killed(&first[i], &reports[i], &endings[i]))
            continue;
        survivors++;
        print_message("survived %s: %s (%s; %s)\n", first[i].gate, first[i].name,
                      reports[i].verdicts[lab_gate_index(first[i].gate)].reason, endings[i].text);
    }
    test_free(reports);
    test_free(endings);
    return survivors;
}

static void test_mutants_are_killed(void **state)
{
    size_t count = mutant_count();
    assert_string_equal(mutants[count - 1].text, "not done");
    assert_int_equal(count_survivors(mutants, count - 1, 120), 0);
    assert_int_equal(count_survivors(&mutants[count - 1], 1, 1), 0);
}

/* With exact tensors, what strays is for other tools to notice, and so is what a workspace held;
 * addresses are as they come. */
static bool strays(const mutant *m)
{
    if (strcmp(m->gate, "deterministic") == 0 || m->workspace)
        return true;
    return m->text && (strstr(m->text, "touched") || strstr(m->text, "before its start") ||
                       strstr(m->text, "workspace"));
}

static void test_mutants_are_killed_in_a_mirror(void **state)
{
    size_t count = AWAYS * (mutant_count() - 1),
           survivors = 0; /* without the one that never ends */
    lab_report *reports = test_calloc(count, sizeof *reports);
    lab_ending *endings = test_calloc(count, sizeof *endings);
    union {
        const mutant *constant;
        void *data;
    } table = { mutants };
    const lab_isolation isolation = { .run = verify_away,
                                      .data = table.data,
                                      .count = count,
                                      .result_size = sizeof *reports,
                                      .deadline_s = 120 };
    assert_int_equal(lab_isolate(&isolation, reports, endings), HEED_OK);
    for (size_t i = 0; i < count; i++) {
        const mutant *m = &mutants[i / AWAYS];
        bool exact = aways[i % AWAYS].exact;
        if (endings[i].how == LAB_CRASHED || reports[i].outcome == LAB_FAIL || (exact && strays(m)))
            continue;
        print_message("survived %s on %s%s (%s)\n", m->name, aways[i % AWAYS].device,
                      exact ? ", exact" : "", endings[i].text);
        survivors++;
    }
    test_free(reports);
    test_free(endings);
    assert_int_equal(survivors, 0);
}

static void test_every_gate_kills(void **state)
{
    for (size_t g = 0; g < LAB_GATES; g++) {
        size_t kills = 0;
        assert_int_equal(lab_gate_index(lab_gate_at(g)->name), g);
        for (size_t i = 0; i < mutant_count(); i++)
            kills += strcmp(mutants[i].gate, lab_gate_at(g)->name) == 0;
        if (kills == 0)
            fail_msg("no mutant is killed by the gate '%s'", lab_gate_at(g)->name);
    }
    for (size_t i = 0; i < mutant_count(); i++) {
        assert_true(lab_gate_index(mutants[i].gate) < LAB_GATES);
        assert_non_null(lab_inputs_find(mutants[i].inputs));
    }
}

/* -------------------------------------------------------------------------- */
/* Oddities                                                                   */
/* -------------------------------------------------------------------------- */

static const char *const honest_specs[] = {
    "b2 h2 s17/33 d24 f32",
    "b1 h4/2 s40 d16/5 f16 causal",
    "b2 h2 s12/30 d33 bf16 causal=br",
    "b1 h1 s30/12 d8 f32 causal=br",
    "b1 h1 s5 d1 f16 causal",
    "b2 h1 s9/20 d3 f32 causal=tl scale=-0.7",
    "b2 h2 s11 d7 bf16 q=300:20:8 k=0:21:9 v=350:22:10 o=400:23:11",
    "b1 h1 s1 d1 bf16",
    "b1 h2 s9 d8 f32 causal k=100:0:16",
    "b2 h2 s9 d8 bf16 causal k=480:1:16 v=480:1:16",
    "b1 h2 s10/130 d72/40 f16 acc=f16",
    "b2 h1 s30 d64 f16 causal acc=f16",
    "b1 h1 s30 d3/1 f16 causal acc=f16 scale=-2",
    "b1 h1 s2/600 d128 f16 acc=f16",
};
#define HONEST_SPECS (sizeof honest_specs / sizeof honest_specs[0])

/* One spec with all kinds of inputs, every other kind in a mirror: the worst report, that is the
 * first failure. */
static void verify_oddity(void *data, size_t index, lab_trace *trace, void *result)
{
    const oddity *o = (const oddity *)data + index / HONEST_SPECS;
    plain_kernel kernel = { .run = o->run, .workspace = o->workspace, .random = o->random };
    const heed_options host = { .device = aways[index % AWAYS].device, .threads = 1 };
    lab_verify_options options = lab_verify_standard();
    lab_report *worst = result;
    heed_context *context;
    if (heed_context_create(&context, &host) != HEED_OK)
        abort();
    lab_mirror mirror = lab_mirror_create(context, aways[index % AWAYS].exact);
    for (size_t i = 0; lab_inputs_at(i) && worst->outcome != LAB_FAIL; i++) {
        kernel.mirror = i % 2 == index / AWAYS % 2 ? &mirror : NULL;
        verify(&kernel, honest_specs[index % HONEST_SPECS], lab_inputs_at(i)->name, &options, trace,
               worst);
    }
    lab_mirror_destroy(&mirror);
    heed_context_destroy(context);
}

static void explain(const char *name, const char *spec, const lab_report *report,
                    const lab_ending *ending)
{
    print_message("rejected: %s on '%s' %s\n", name, spec, ending->text);
    for (size_t g = 0; g < LAB_GATES; g++)
        if (report->verdicts[g].outcome == LAB_FAIL)
            print_message("    %s: %s\n", lab_gate_at(g)->name, report->verdicts[g].reason);
}

static void test_oddities_are_accepted(void **state)
{
    size_t count = 0, rejected = 0;
    while (oddities[count].name)
        count++;
    count *= HONEST_SPECS;
    lab_report *reports = test_calloc(count, sizeof *reports);
    lab_ending *endings = test_calloc(count, sizeof *endings);
    union {
        const oddity *constant;
        void *data;
    } table = { oddities };
    const lab_isolation isolation = { .run = verify_oddity,
                                      .data = table.data,
                                      .count = count,
                                      .result_size = sizeof *reports,
                                      .deadline_s = 240 };
    assert_int_equal(lab_isolate(&isolation, reports, endings), HEED_OK);
    for (size_t i = 0; i < count; i++) {
        if (endings[i].how == LAB_COMPLETED && reports[i].outcome != LAB_FAIL)
            continue;
        rejected++;
        explain(oddities[i / HONEST_SPECS].name, honest_specs[i % HONEST_SPECS], &reports[i],
                &endings[i]);
    }
    test_free(reports);
    test_free(endings);
    assert_int_equal(rejected, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_gate_kills),
        cmocka_unit_test(test_mutants_are_killed),
        cmocka_unit_test(test_mutants_are_killed_in_a_mirror),
        cmocka_unit_test(test_oddities_are_accepted),
    };
    setenv("HEED_LIBCUDA", FAKE_CUDA, 1);
    setenv("HEED_NVRTC", FAKE_CUDA, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
