/*
 * test_verify.c - the `heed verify` command, and verification campaigns
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/verify/campaign.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define CAPTURE HEED_SOURCE_DIR "/tests/data/minilm.safetensors"

/* -------------------------------------------------------------------------- */
/* The program                                                                */
/* -------------------------------------------------------------------------- */

static const run_heed_way way = { HEED_PROGRAM, NULL };

/* The configs of this kernel differ in their key splits, and so few keys are not worth
 * splitting. */
#define SPLITS \
    "--kernel fwd_any_scalar_row --cpu scalar --gate error --inputs normal 'b1 h1 s8 d8 f32' "

static void test_exit_codes_and_words(void **state)
{
    static const run_heed_case cases[] = {
        { "b2 h4/2 s9/20 d7/5 f16 causal=br --cpu scalar",
          0,
          { "20 passed, 0 failed, 0 skipped", "100 %", "1 problem," } },
        { "b1 h1 s4 d8 f32 --cpu scalar --inputs normal --gate error",
          0,
          { "1 passed, 0 failed, 0" } },
        /* Rounding decides between two keys of a row, with logits of 2^90. */
        { "b2 h4/2 s70/64 d32 f32 window=9:4 align=br --cpu scalar --inputs sizes",
          0,
          { "1 passed, 0 failed" } },
        /* A sequence alone has other sizes. */
        { "'b3 h1 s9/40 d8 f32 varlen=20/90 score=s/float(keys) invariant' --cpu scalar --inputs "
          "normal",
          0,
          { "1 passed, 0 failed" } },
        { "'b3 h1 s9/40 d8 f32 varlen=20/90 visible=2*q<queries invariant' --cpu scalar --inputs "
          "normal",
          0,
          { "1 passed, 0 failed" } },
        { "--list", 0, { "canaries", "needle" } },
        { "b1 h1 s4 d8 f32 --inputs masked", 4, { "nothing was verified", "sees every key" } },
        { "b1 h4 s2048 d64 f32 --time-limit 0.001 --inputs normal --cpu scalar",
          4,
          { "two runs take" } },
        { "b1 h2 s8192 d64 f32 --cpu scalar --inputs normal --quick --deadline 2 --time-limit 1000 "
          "--threads 1",
          5,
          { "too slow: not done after 2 s", "--kernel fwd_any_scalar_row", "0 passed, 1 failed" } },
        { "", 2, { "no problem given" } },
        { "b1 h1 s4 d8 f33", 2, { "f33" } },
        { "b1 h1 s4 d8 f32 --gate eror", 2, { "--gate", "'error'" } },
        { "b1 h1 s4 d8 f32 --inputs norml", 2, { "--inputs", "'normal'" } },
        { "b1 h1 s4 d8 f32 --cpu avx3", 2, { "--cpu", "'avx2'" } },
        { "b1 h1 s4 d8 f32 --kernel fwd_any_scalar_rou", 2, { "--kernel", "fwd_any_scalar_row" } },
        { "b1 h1 s4 d8 f32 --kernel fwd_any_scalar_row__x9", 2, { "--kernel", "x9" } },
        { "b1 h1 s4 d8 f32 --seed -1", 2, { "--seed" } },
        { "b1 h1 s4 d8 f32 --device cuda", 3, { "device is cuda:0", "no NVIDIA driver" } },
        { "b1 h1 s4 d8 f32 --device cuda --together", 3, { "device is cuda:0" } },
        { "b1 h1 s4 d8 f32 --device gpu", 2, { "--device", "\"gpu\"" } },
        { "b1 h1 s4 d8 f32 --device auto --inputs normal", 0, { "0 failed", "scalar" } },
        { "'b2 h4/2 s9/20 d7/5 f16 causal=br' 'b1 h1 s5 d8 f32' --cpu scalar --jobs 3",
          0,
          { " passed, 0 failed", "2 problems," } },
        { "--shapes /nowhere/shapes.txt", 3, { "/nowhere/shapes.txt" } },
        { "--tensors /nowhere/file.safetensors", 3, { "/nowhere/file.safetensors" } },
        { "--tensors " CAPTURE, 2, { "layer" } },
        { "--tensors " CAPTURE " --prefix layer0. --cpu scalar --type bf16",
          0,
          { "1 passed, 0 failed" } },
        { "'b1 h1 s1200/4000 d1 f32' --once --inputs normal --gate error --quick --all-rows",
          0,
          { "; 100 % of the rows were compared" } },
        { "b1 h1 s4 d4 f32 --kernel fwd_any_scalar_row__s1 --once --cpu scalar --proof",
          0,
          { " passed, 0 failed, 0 skipped" } },
        { SPLITS "--configs default", 0, { "1 passed, 0 failed, 0 skipped" } },
        { SPLITS "--configs worthwhile", 0, { "1 passed, 0 failed, 6 skipped" } },
        { SPLITS "--configs all", 0, { "7 passed, 0 failed, 0 skipped" } },
    };
    static const char *const complaints[] = { NULL };
    run_heed_cases(state, &way, "verify", cases, sizeof cases / sizeof *cases, complaints);
}

static void test_json_counts_and_figures(void **state)
{
    json_t *json = run_heed_answer(
        state, &way, "verify", "--json --cpu scalar 'b1 h2 s9 d8 f32 causal' 'b1 h1 s3 d2 f16'", 0);
    assert_int_equal(integer_of(json, "problems"), 2);
    assert_int_equal(integer_of(json, "passed") + integer_of(json, "skipped"), 40);
    assert_int_equal(integer_of(json, "failed"), 0);
    assert_int_equal(json_array_size(json_object_get(json, "failures")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "gates")), LAB_GATES);
    const json_t *kernel = json_array_get(json_object_get(json, "kernels"), 0);
    double error = number_of(kernel, "worst_error");
    assert_true(error > 0 && error < 1);
    json_decref(json);
}

/* Checks the level of the last kernel in @json, which it frees. */
static void assert_best_level(json_t *json, const char *level)
{
    const json_t *kernels = json_object_get(json, "kernels");
    const json_t *last = json_array_get(kernels, json_array_size(kernels) - 1);
    assert_string_equal(text_of(last, "cpu"), level);
    json_decref(json);
}

/* The best level is that of this machine, or HEED_CPU, and a better one is refused. */
static void test_levels_are_those_of_the_machine(void **state)
{
#define SMALL "--device cpu 'b1 h1 s4 d4 f32'"
#define VERIFY "heed verify --json --quick --gate error " SMALL
    json_t *plan = run_heed_json(state, &way, "unset HEED_CPU; heed plan --json " SMALL, 0);
    assert_best_level(run_heed_json(state, &way, "unset HEED_CPU; " VERIFY, 0),
                      text_of(plan, "cpu"));
    assert_best_level(run_heed_json(state, &way, "HEED_CPU=scalar " VERIFY, 0), "scalar");
    if (strcmp(text_of(plan, "cpu"), "amx") != 0)
        run_heed_says(state, &way, "heed verify --cpu amx " SMALL, 3,
                      "--cpu: this machine has no amx");
    json_decref(plan);
#undef VERIFY
#undef SMALL
}

/* Verifies a problem that takes a minute, with a deadline that is too short for it but long enough
 * for a busy machine to start. */
static json_t *run_late(void **state)
{
    for (int deadline = 1;; deadline *= 4) {
        char arguments[192];
        snprintf(arguments, sizeof arguments,
                 "--json b1 h1 s131072 d1 f32 --cpu scalar --inputs normal --quick --deadline %d "
                 "--time-limit 1000 --seed 77 --threads 1",
                 deadline);
        json_t *json = run_heed_answer(state, &way, "verify", arguments, 5);
        const json_t *failure = json_array_get(json_object_get(json, "failures"), 0);
        const char *command = text_of(failure, "repeat");
        if (deadline > 10 || strstr(command ? command : "", "row__"))
            return json;
        json_decref(json);
    }
}

static void test_a_failure_can_be_repeated(void **state)
{
    json_t *json = run_late(state);
    const json_t *failure = json_array_get(json_object_get(json, "failures"), 0);
    assert_string_equal(text_of(failure, "gate"), "executes");
    assert_int_equal(integer_of(failure, "seed"), 77);
    const char *command = text_of(failure, "repeat");
    assert_string_equal(command, "heed verify 'b1 h1 s131072 d1 f32' --inputs normal --kernel "
                                 "fwd_any_scalar_row__s1 --cpu scalar --threads 1 --seed 77");
    json_decref(json);
}

/* Seeds are used: equal seeds give equal figures, different ones different figures. */
static double worst_of_seed(void **state, int seed)
{
    char arguments[128];
    snprintf(arguments, sizeof arguments,
             "--json b1 h2 s40 d8 f32 --cpu scalar --inputs normal --seed %d", seed);
    json_t *json = run_heed_answer(state, &way, "verify", arguments, 0);
    const json_t *kernel = json_array_get(json_object_get(json, "kernels"), 0);
    double error = number_of(kernel, "worst_error");
    json_decref(json);
    return error;
}

static void test_seeds(void **state)
{
    double first = worst_of_seed(state, 5);
    assert_true(first == worst_of_seed(state, 5));
    assert_true(first != worst_of_seed(state, 6));
}

/* -------------------------------------------------------------------------- */
/* Series                                                                     */
/* -------------------------------------------------------------------------- */

static bool stopped;

static bool stop_now(void)
{
    return stopped;
}

static lab_verify_case cases[8];

static void make_campaign(lab_campaign *campaign, const char *spec, const lab_contender *contenders,
                          size_t count, const lab_inputs **inputs, size_t input_count)
{
    for (size_t i = 0; i < input_count; i++) {
        cases[i] = (lab_verify_case){ .inputs = inputs[i], .gates = UINT32_MAX };
        assert_int_equal(heed_problem_parse(&cases[i].problem, spec), HEED_OK);
    }
    *campaign = (lab_campaign){ .cases = cases,
                                .case_count = input_count,
                                .contenders = contenders,
                                .contender_count = count,
                                .options = lab_verify_standard(),
                                .deadline_s = 60,
                                .stop = stop_now };
}

/* The reports are the same in separate processes and in one; a campaign continues after a kernel
 * that does not exist. */
static void test_apart_and_together(void **state)
{
    const lab_contender contenders[] = {
        { .cpu = "scalar", .kernel = "fwd_any_scalar_row", .threads = 1 },
        { .cpu = "scalar", .kernel = "nonsense", .threads = 1, .device = "cpu" },
        { .cpu = "scalar", .threads = 2 },
    };
    const lab_inputs *inputs[] = { lab_inputs_find("normal"), lab_inputs_find("masked") };
    lab_campaign_result apart[6], together[6];
    lab_campaign campaign;
    make_campaign(&campaign, "b2 h2 s9 d8 f16", contenders, 3, inputs, 2);
    assert_int_equal(lab_campaign_run(&campaign, apart), HEED_OK);
    campaign.together = true;
    assert_int_equal(lab_campaign_run(&campaign, together), HEED_OK);
    for (int i = 0; i < 6; i++) {
        const lab_report *report = &apart[i].report;
        assert_int_equal(apart[i].ended, LAB_COMPLETED);
        assert_int_equal(report->outcome, together[i].report.outcome);
        assert_true(report->verdicts[5].figure == together[i].report.verdicts[5].figure);
        assert_int_equal(report->outcome, i >= 3 ? LAB_SKIP : i == 1 ? LAB_FAIL : LAB_PASS);
    }
    assert_non_null(strstr(apart[1].report.verdicts[0].reason, "nonsense"));
    assert_non_null(strstr(apart[2].report.name, "fwd_"));
}

static void test_captured_values(void **state)
{
    const lab_contender contender = { .cpu = "scalar", .threads = 1 };
    const lab_inputs *inputs[] = { &lab_inputs_captured };
    lab_campaign_result result;
    lab_campaign campaign;
    lab_values values;
    make_campaign(&campaign, "b1 h2 s9 d8 bf16", &contender, 1, inputs, 1);
    assert_int_equal(lab_values_create(&values, &cases[0].problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("needle"), &values, 1);
    assert_int_equal(lab_campaign_run(&campaign, &result), HEED_OK);
    assert_int_equal(result.report.outcome, LAB_SKIP); /* there are none */
    campaign.values = &values;
    assert_int_equal(lab_campaign_run(&campaign, &result), HEED_OK);
    assert_int_equal(result.report.outcome, LAB_PASS);
    assert_int_equal(result.report.verdicts[lab_gate_index("linear")].outcome, LAB_PASS);
    lab_values_destroy(&values);
}

/* With little memory a gate may be left out, or a whole case, but then the result is not 0, and no
 * kernel is called wrong. */
static void test_little_memory(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* these need terabytes of addresses */
#endif
    static const char line[] = "heed verify --once --cpu scalar --threads 1 'b1 h2 s64 d16 f32'";
    static heed_said said;
    char limited[160], whole[sizeof said.out];
    int kept = 0;
    run_heed_as(state, &way, line, 0, &said);
    memcpy(whole, said.out, sizeof whole);
    for (int kib = 8000; kib < 80000; kib += 1000) {
        snprintf(limited, sizeof limited, "ulimit -v %d; %s", kib, line);
        run_heed(state, &way, limited, &said);
        if (said.code == 0)
            assert_string_equal(said.out, whole);
        else if (strstr(said.err, "could not be judged by all gates"))
            kept += said.code == 3;
        else
            assert_true(said.code == 3 || said.code == 127);
    }
    assert_true(kept > 0);
}

static void test_stopping(void **state)
{
    const lab_contender contender = { .cpu = "scalar", .threads = 1 };
    const lab_inputs *inputs[] = { lab_inputs_at(0) };
    lab_campaign_result result;
    lab_campaign campaign;
    make_campaign(&campaign, "b1 h2 s9 d8 bf16", &contender, 1, inputs, 1);
    stopped = true;
    assert_int_equal(lab_campaign_run(&campaign, &result), HEED_OK);
    assert_int_equal(result.ended, LAB_NOT_RUN);
    campaign.together = true;
    assert_int_equal(lab_campaign_run(&campaign, &result), HEED_OK);
    assert_int_equal(result.ended, LAB_NOT_RUN);
    stopped = false;
}

int main(void)
{
    setenv("HEED_LIBCUDA", "/nowhere", 1); /* as on a machine without a GPU */
    return run_test_list(
        TEST_LIST(test_apart_and_together, test_captured_values, test_little_memory, test_stopping,
                  test_exit_codes_and_words, test_json_counts_and_figures,
                  test_levels_are_those_of_the_machine, test_a_failure_can_be_repeated, test_seeds),
        scratch_open, scratch_close);
}
