/*
 * test_gates.c - the gates kill wrong kernels and pass correct ones
 *
 * `heed selftest`, a separate test, runs the whole suite through all gates. Here each gate is used
 * alone, and left out; and the suite runs in memory that is not the host's.
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "lab/verify/isolate.h"
#include "lab/verify/mutants/steps.h"
#include "lab/verify/selftest.h"
#include "lab/verify/stage/mirror.h"
#include "lab/verify/verify.h"
#include "problems.h"

/* -------------------------------------------------------------------------- */
/* The tables                                                                 */
/* -------------------------------------------------------------------------- */

static size_t mutant_count(void)
{
    size_t count = 0;
    while (lab_mutant_at(LAB_MUTANTS, count))
        count++;
    return count;
}

static const char *name_at(size_t index)
{
    size_t mutants = mutant_count();
    if (index < mutants)
        return lab_mutant_at(LAB_MUTANTS, index)->name;
    const lab_mutant *control = lab_mutant_at(LAB_CONTROLS, index - mutants);
    return control ? control->name : NULL;
}

static void test_the_suite_is_complete(void **state)
{
    for (size_t i = 0; name_at(i); i++)
        for (size_t n = 0; n < i; n++)
            if (strcmp(name_at(i), name_at(n)) == 0)
                fail_msg("two kernels are called %s", name_at(i));
    for (size_t i = 0; i < mutant_count(); i++) {
        const lab_mutant *m = lab_mutant_at(LAB_MUTANTS, i);
        assert_true(lab_gate_index(m->gate) < LAB_GATES);
        assert_non_null(lab_inputs_find(m->inputs));
        parsed(m->spec);
        assert_int_equal((m->behaviour.misread != NULL) + (m->behaviour.row != NULL) +
                             (m->behaviour.logit != NULL) + (m->behaviour.column != NULL) +
                             (m->behaviour.run != NULL) + (m->behaviour.call != NULL),
                         1);
    }
    for (size_t g = 0; g < LAB_GATES; g++)
        assert_int_equal(lab_gate_index(lab_gate_at(g)->name), g);
}

/* -------------------------------------------------------------------------- */
/* Each gate alone, and all but one                                           */
/* -------------------------------------------------------------------------- */

static lab_selftest_result run_for(size_t gate, uint32_t gates)
{
    lab_selftest_options options = lab_selftest_standard();
    lab_selftest_result result;
    options.gate = lab_gate_at(gate)->name;
    options.gates = gates;
    options.jobs = 2;
    assert_int_equal(lab_selftest_run(&options, &result), HEED_OK);
    assert_int_equal(result.controls, 0);
    return result;
}

/* Used alone, a gate kills all mutants assigned to it, for the expected reason, without help from
 * other gates. */
static void test_a_gate_alone_kills(void **state)
{
    size_t survivors = 0;
    for (size_t g = 0; g < LAB_GATES; g++) {
        /* A kernel may crash on a variation of the problem, which other gates use. */
        lab_selftest_result result = run_for(g, g == 0 ? UINT32_MAX : (uint32_t)1 << g);
        for (size_t i = 0; i < result.entry_count; i++) {
            const lab_selftest_entry *entry = &result.entries[i];
            if (!entry->done || entry->meant)
                continue;
            print_message("survived %s: %s (%s)\n", lab_gate_at(g)->name, entry->kernel->name,
                          entry->reason);
            survivors++;
        }
        assert_true(result.mutants > 0);
        lab_selftest_free(&result);
    }
    assert_int_equal(survivors, 0);
}

/* Without any one gate some mutant survives, so no gate is redundant. */
static void test_no_gate_is_idle(void **state)
{
    for (size_t g = 0; g < LAB_GATES; g++) {
        lab_selftest_result result = run_for(g, ~((uint32_t)1 << g));
        if (result.killed == result.mutants)
            fail_msg("without the gate '%s' no mutant survives", lab_gate_at(g)->name);
        assert_false(result.trusted);
        lab_selftest_free(&result);
    }
}

/* The mutants of lab_mutants_values need other values: with normal values, once the only ones used
 * for a candidate, they are not detected. */
static void test_normal_values_show_nothing(void **state)
{
    size_t tried = 0;
    for (const lab_mutant *m = lab_mutants_values; m->name; m++) {
        lab_verify_options options = lab_verify_standard();
        lab_actor *actor = lab_actor_create(&m->behaviour);
        const lab_subject subject = lab_actor_subject(actor);
        lab_report report;
        for (size_t g = 0; g < LAB_GATES; g++)
            options.gates &= ~((uint32_t)lab_gate_at(g)->property << g);
        heed_problem problem = parsed(m->spec);
        assert_int_equal(
            lab_verify_problem(&problem, lab_inputs_at(0), &subject, &options, NULL, &report),
            HEED_OK);
        if (report.outcome != LAB_PASS)
            fail_msg("%s is killed by normal values", m->name);
        lab_actor_destroy(actor);
        tried++;
    }
    assert_true(tried > 20);
}

/* If rounding decides every row, small errors prove nothing. */
static void test_tied_rows_are_no_pass(void **state)
{
    static const struct {
        const char *inputs;
        lab_outcome outcome;
    } cases[] = { { "equal", LAB_SKIP }, { "normal", LAB_PASS }, { "sizes", LAB_PASS } };
    lab_verify_options options = lab_verify_standard();
    lab_actor *actor = lab_actor_create(&lab_mutant_at(LAB_CONTROLS, 0)->behaviour);
    const lab_subject subject = lab_actor_subject(actor);
    size_t error = lab_gate_index("error");
    lab_report report;
    options.gates = (uint32_t)1 << error;
    heed_problem problem = parsed("b1 h1 s16 d8 f32 scale=1e12");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lab_verify_problem(&problem, lab_inputs_find(cases[i].inputs), &subject,
                                            &options, NULL, &report),
                         HEED_OK);
        assert_int_equal(report.verdicts[error].outcome, cases[i].outcome);
    }
    lab_actor_destroy(actor);
}

/* Gives a number in a row without weight, but only where Q is at an odd address. */
static void careless_where_odd(mutant_row *r)
{
    mutant_plain_row(r);
    if ((uintptr_t)r->buffers->q % LAB_ODD_BYTES && r->lse == -INFINITY)
        r->o[0] = 0.5F;
}

/* Captured values may have such rows, and the property gates use them. */
static void test_unaligned_tensors_and_rows_without_weight(void **state)
{
    static const lab_behaviour behaviours[] = { { .row = mutant_plain_row },
                                                { .row = careless_where_odd } };
    const lab_verify_options options = lab_verify_standard();
    size_t unaligned = lab_gate_index("unaligned"), finite = lab_gate_index("finite");
    heed_problem problem = parsed("b1 h1 s16 d16 f32");
    lab_values values;
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    assert_int_equal(lab_values_create(&values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("weightless"), &values, 1);
    for (int wrong = 0; wrong < 2; wrong++) {
        lab_actor *actor = lab_actor_create(&behaviours[wrong]);
        const lab_subject subject = lab_actor_subject(actor);
        lab_case one;
        lab_report report;
        assert_int_equal(lab_case_create(&one, &problem, &lab_inputs_captured, &values, &options),
                         HEED_OK);
        lab_case_verify(&one, &subject, &options, NULL, &report);
        assert_int_equal(report.verdicts[finite].outcome, LAB_PASS);
        assert_int_equal(report.verdicts[unaligned].outcome, wrong ? LAB_FAIL : LAB_PASS);
        lab_case_destroy(&one);
        lab_actor_destroy(actor);
    }
    lab_values_destroy(&values);
}

static void test_only_what_is_asked_for(void **state)
{
    lab_selftest_options options = lab_selftest_standard();
    lab_selftest_result result;
    options.only = "half-the-logits";
    assert_int_equal(lab_selftest_run(&options, &result), HEED_OK);
    assert_int_equal(result.mutants, 1);
    assert_int_equal(result.killed, 1);
    assert_int_equal(result.controls, 0);
    assert_int_equal(result.skipped, result.entry_count - 1);
    assert_false(result.trusted);
    lab_selftest_free(&result);
    options.only = "half-the-logit";
    assert_int_equal(lab_selftest_run(&options, &result), HEED_ERR_INVALID);
    assert_null(result.entries);
}

/* -------------------------------------------------------------------------- */
/* In the memory of a device                                                  */
/* -------------------------------------------------------------------------- */

/* Memory in which a mirror may be. */
static const struct {
    const char *device;
    bool exact;
} aways[] = { { "cuda", false }, { "cpu", true } };
#define AWAYS (sizeof aways / sizeof aways[0])

/* A kernel of the suite that runs in a mirror. */
typedef struct traveller {
    lab_actor *actor;
    lab_subject at_home;
    lab_mirror mirror;
    heed_context *context;
} traveller;

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    const traveller *it = data;
    return it->at_home.prepare(it->at_home.data, problem, needs);
}

static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    traveller *it = data;
    heed_status status = lab_mirror_place(&it->mirror, stage);
    if (status == HEED_OK)
        status = lab_mirror_copy(&it->mirror, stage, true);
    if (status != HEED_OK)
        return status;
    heed_buffers buffers = lab_mirror_buffers(&it->mirror, stage);
    *outcome = it->at_home.run(it->at_home.data, &buffers);
    return lab_mirror_copy(&it->mirror, stage, false);
}

static lab_subject depart(traveller *it, const lab_behaviour *behaviour, size_t away)
{
    const heed_options options = { .size = sizeof options,
                                   .device = aways[away].device,
                                   .threads = 1 };
    it->actor = lab_actor_create(behaviour);
    if (!it->actor || heed_context_create(&it->context, &options) != HEED_OK)
        abort();
    it->at_home = lab_actor_subject(it->actor);
    it->mirror = lab_mirror_create(it->context, aways[away].exact);
    return (lab_subject){ .data = it, .prepare = prepare, .run_away = run_away };
}

static void come_back(traveller *it)
{
    lab_mirror_destroy(&it->mirror);
    heed_context_destroy(it->context);
    lab_actor_destroy(it->actor);
}

static void verify(const lab_subject *subject, const char *spec, const char *inputs,
                   const lab_verify_options *options, lab_trace *trace, lab_report *report)
{
    heed_problem problem;
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        lab_verify_problem(&problem, lab_inputs_find(inputs), subject, options, trace, report) !=
            HEED_OK)
        memset(report, 0, sizeof *report);
}

/* Host memory used like that of a device: all effects of a mutant must be visible in the stage. */
static void verify_mutant(void *data, size_t index, lab_trace *trace, void *result)
{
    const lab_mutant *m = lab_mutant_at(LAB_MUTANTS, index / AWAYS);
    lab_verify_options options = lab_verify_standard();
    traveller it;
    options.seed = 2; /* one of the mutants recognizes the first */
    if (m->endless || m->nearby)
        return;
    if (strcmp(m->gate, "executes") != 0)
        options.gates = (uint32_t)1 << lab_gate_index(m->gate) | (uint32_t)1
                                                                     << lab_gate_index("inputs");
    if (m->few)
        options.work = 1;
    lab_subject subject = depart(&it, &m->behaviour, index % AWAYS);
    verify(&subject, m->spec, m->inputs, &options, trace, result);
    come_back(&it);
}

/* With exact tensors, stray accesses and reads of the workspace are left to other tools; addresses
 * are arbitrary, and there are no guard pages. */
static bool strays(const lab_mutant *m)
{
    if (strcmp(m->gate, "deterministic") == 0 || strcmp(m->name, "by-pointer") == 0 ||
        strcmp(m->name, "again-without-lse") == 0 || m->behaviour.workspace)
        return true;
    return m->text && (strstr(m->text, "touched") || strstr(m->text, "before its start") ||
                       strstr(m->text, "workspace"));
}

/* Nothing here hangs, but tensors with gaps of gigabytes may take long if the heap fills its
 * allocations. */
#define HANG_S 240

/* Calls @run @count times, each in a process. Free the reports and endings with test_free(). */
static lab_report *isolate(lab_isolated_fn *run, size_t count, lab_ending **endings)
{
    lab_report *reports = test_calloc(count, sizeof *reports);
    *endings = test_calloc(count, sizeof **endings);
    const lab_isolation isolation = {
        .run = run, .count = count, .result_size = sizeof *reports, .deadline_s = HANG_S
    };
    assert_int_equal(lab_isolate(&isolation, reports, *endings), HEED_OK);
    return reports;
}

static void test_mutants_are_killed_in_a_mirror(void **state)
{
    size_t count = AWAYS * mutant_count(), survivors = 0;
    lab_ending *endings;
    lab_report *reports = isolate(verify_mutant, count, &endings);
    for (size_t i = 0; i < count; i++) {
        const lab_mutant *m = lab_mutant_at(LAB_MUTANTS, i / AWAYS);
        bool exact = aways[i % AWAYS].exact;
        if (endings[i].how == LAB_CRASHED || reports[i].outcome == LAB_FAIL || m->endless ||
            m->nearby || (exact && strays(m)))
            continue;
        print_message("survived %s on %s%s (%s)\n", m->name, aways[i % AWAYS].device,
                      exact ? ", exact" : "", endings[i].text);
        survivors++;
    }
    test_free(reports);
    test_free(endings);
    assert_int_equal(survivors, 0);
}

/* Every control on every problem, each with one kind of values by turns. */
#define SCENES 29
#define INPUTS 20

static void verify_control(void *data, size_t index, lab_trace *trace, void *result)
{
    const lab_mutant *control = lab_mutant_at(LAB_CONTROLS, index / SCENES);
    const lab_inputs *inputs = lab_inputs_at((index / SCENES + index % SCENES) % INPUTS);
    const lab_verify_options options = lab_verify_standard();
    traveller it;
    lab_subject subject = depart(&it, &control->behaviour, index / 3 % AWAYS);
    verify(&subject, lab_scene_at(false, index % SCENES), inputs->name, &options, trace, result);
    come_back(&it);
}

static void explain(size_t index, const lab_report *report, const lab_ending *ending)
{
    print_message("rejected: %s on '%s' %s\n", lab_mutant_at(LAB_CONTROLS, index / SCENES)->name,
                  lab_scene_at(false, index % SCENES), ending->text);
    for (size_t g = 0; g < LAB_GATES; g++)
        if (report->verdicts[g].outcome == LAB_FAIL)
            print_message("    %s: %s\n", lab_gate_at(g)->name, report->verdicts[g].reason);
}

static void test_controls_are_accepted_in_a_mirror(void **state)
{
    size_t controls = 0, rejected = 0;
    while (lab_mutant_at(LAB_CONTROLS, controls))
        controls++;
    assert_null(lab_scene_at(false, SCENES));
    assert_null(lab_inputs_at(INPUTS));
    size_t count = controls * SCENES;
    lab_ending *endings;
    lab_report *reports = isolate(verify_control, count, &endings);
    for (size_t i = 0; i < count; i++) {
        if (endings[i].how == LAB_COMPLETED && reports[i].outcome != LAB_FAIL)
            continue;
        rejected++;
        explain(i, &reports[i], &endings[i]);
    }
    test_free(reports);
    test_free(endings);
    assert_int_equal(rejected, 0);
}

int main(void)
{
    setenv("HEED_LIBCUDA", FAKE_CUDA, 1);
    setenv("HEED_NVRTC", FAKE_CUDA, 1);
    return run_test_list(
        TEST_LIST(test_the_suite_is_complete, test_a_gate_alone_kills, test_no_gate_is_idle,
                  test_normal_values_show_nothing, test_tied_rows_are_no_pass,
                  test_unaligned_tensors_and_rows_without_weight, test_only_what_is_asked_for,
                  test_mutants_are_killed_in_a_mirror, test_controls_are_accepted_in_a_mirror),
        NULL, NULL);
}
