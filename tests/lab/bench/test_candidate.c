/*
 * test_candidate.c - candidates in a separate process, before the gates
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "hold.h"
#include "lab/bench/candidate.h"
#include "lab/verify/verify.h"
#include "trial_scene.h"

static trial_scene scene;
static lab_report report;

/* Runs the candidate @name through the gates on @spec. */
static lab_bench_candidate verify(const char *name, const char *spec, const char *inputs)
{
    const lab_limits limits = { .run_seconds = 5, .tensor_bytes = (size_t)64 << 20 };
    const lab_candidate proposed = scene_candidate(&scene, name, 1);
    const lab_verify_options options = lab_verify_standard();
    lab_bench_candidate candidate = { .name = name, .seconds = -1 };
    heed_problem problem;

    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    if (!lab_trial_open(&candidate.trial, &proposed, &limits, &candidate.outcome))
        fail_msg("%s: %s", name, candidate.outcome.text);
    const lab_subject subject = lab_bench_candidate_subject(&candidate);
    assert_int_equal(
        lab_verify_problem(&problem, lab_inputs_find(inputs), &subject, &options, NULL, &report),
        HEED_OK);
    lab_trial_close(candidate.trial);
    candidate.trial = NULL;
    return candidate;
}

/* The gates that failed, for messages. */
static const char *failures(void)
{
    static char text[2048];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < LAB_GATES && length < sizeof text; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s: %s\n",
                                       lab_gate_at(i)->name, report.verdicts[i].reason);
    return text;
}

static void expect_fail(const char *gate, const char *words)
{
    const lab_verdict *verdict = &report.verdicts[lab_gate_index(gate)];

    assert_int_equal(report.outcome, LAB_FAIL);
    if (verdict->outcome != LAB_FAIL || !strstr(verdict->reason, words))
        fail_msg("%s does not say \"%s\" in:\n%s", gate, words, failures());
}

static void test_honest(void **state)
{
    static const char *const specs[] = { "b2 h2 s17/33 d16 f32", "b1 h4/2 s19 d8 f32 causal=tl",
                                         "b1 h2 s9/5 d5/3 f32 causal=br" };

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        lab_bench_candidate candidate = verify("plain", specs[i], "normal");
        if (report.outcome != LAB_PASS)
            fail_msg("%s: %s", specs[i], failures());
        assert_int_equal(candidate.worst.verdict, LAB_TRIAL_OK);
        assert_true(report.rows_compared > 0);
    }
    verify("plain", "b1 h1 s32 d16 f16", "normal"); /* it reports the problem as unsupported */
    assert_int_equal(report.outcome, LAB_SKIP);
}

static void test_wrong(void **state)
{
    verify("mean", "b1 h2 s33 d16 f32", "normal");
    expect_fail("error", "");
}

static void test_forbidden_accesses(void **state)
{
    lab_bench_candidate candidate = verify("divide", "b1 h1 s8 d8 f32", "normal");
    expect_fail("executes", "SIGFPE");
    assert_int_equal(candidate.worst.verdict, LAB_TRIAL_CRASHED);
    verify("write_input", "b1 h1 s8 d8 f32", "normal");
    expect_fail("executes", "wrote to the input Q");
    verify("write_past", "b1 h1 s7 d7 f32", "normal");
    assert_int_equal(report.outcome, LAB_FAIL);
}

int main(void)
{
    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    trial_scene_open(&scene);
    return run_test_list(TEST_LIST(test_honest, test_wrong, test_forbidden_accesses), NULL, NULL);
}
