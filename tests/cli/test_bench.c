/*
 * test_bench.c - the `heed bench` command
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench_program.h"
#include "lab/measure/duel.h"
#include "lab/measure/power.h"
#include "scratch.h"

#define CAPTURE HEED_SOURCE_DIR "/tests/data/minilm.safetensors"

static void refuses_bad_command_lines(void **state)
{
    static const text_code cases[] = {
        { "", 2, "no problem given" },
        { "b1 h1 s4 d4", 2, "type" },
        { "b1 h1 s4 d4 f32 --kernel nonsense", 2, "no kernel 'nonsense'" },
        { "b1 h1 s4 d4 f32 --seconds 0", 2, "--seconds" },
        { "b1 h1 s4 d4 f32 --seconds nan", 2, "--seconds" },
        { "b1 h1 s4 d4 f32 --margin 0", 2, "--margin" },
        { "b1 h1 s4 d4 f32 --effort heroic", 2, "--effort" },
        { "b1 h1 s4 d4 f32 --seed -1", 2, "--seed" },
        { "b1 h1 s4 d4 f32 --threads 0", 2, "--threads" },
        { "b1 h1 s4 d4 f32 --peers naive,,torch", 2, "--peers" },
        { "--tensors nowhere.safetensors", 3, "nowhere.safetensors" },
        { "--shapes nowhere.txt", 3, "nowhere.txt" },
        { "--words causal=up --tensors " CAPTURE, 2, "--words" },
        { "--tensors " HEED_SOURCE_DIR "/tests/data/f4_v1.npy", 7, "f4_v1.npy" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run_bench(state, "", cases[i].given), cases[i].code);
        expect_text(state, "stderr.txt", cases[i].wanted);
    }
}

/* Every figure follows from the samples next to it. */
static void reports_what_it_sampled(void **state)
{
    json_t *answer = json_of(state, "", "'b1 h2 s33 d16 f32 causal' --peers none --seconds 0.02",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *seconds = json_object_get(row, "seconds");
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 1);
    assert_string_equal(text_of(row, "problem"), "b1 h2 s33 d16 f32 causal");
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_true(number_of(row, "error") >= 0 && number_of(row, "error") <= 1);
    assert_int_equal(number_of(row, "rows_checked"), 66);
    assert_true(json_array_size(json_object_get(row, "samples")) >= 5);
    double p50 = number_of(seconds, "p50");
    assert_true(fabs(median_of(json_object_get(row, "samples")) / p50 - 1) < 1e-6);
    assert_true(number_of(seconds, "min") <= p50 && p50 <= number_of(seconds, "p90"));
    assert_true(fabs(number_of(row, "flops") / p50 / number_of(row, "flops_per_second") - 1) <
                1e-6);
    assert_true(number_of(row, "of_ceiling") > 0 && number_of(row, "of_ceiling") < 1.05);
    assert_true(number_of(json_object_get(answer, "ceilings"), "f32") > 1e8);
    assert_string_not_equal(text_of(json_object_get(answer, "environment"), "commit"), "");
    json_decref(answer);
}

static void compares_two_kernels(void **state)
{
    json_t *answer = json_of(state, "",
                             "'b1 h1 s64 d16 f32' --kernel fwd_any_scalar_row "
                             "--against fwd_any_scalar_row --peers none --seconds 0.2",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_non_null(strstr(text_of(row, "kernel"), "fwd_any_scalar_row"));
    assert_non_null(strstr(text_of(match, "name"), "fwd_any_scalar_row"));
    assert_string_equal(text_of(match, "outcome"), "ok");
    assert_true(number_of(json_object_get(match, "comparison"), "pairs") >= 5);
    json_decref(answer);

    /* All keys are the same vector: changing one would change all. */
    answer = json_of(state, "",
                     "'b2 h2 s45 d24 f16 k=48:0:24' --against fwd_any_scalar_row --peers none "
                     "--seconds 0.05",
                     0);
    row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_string_equal(text_of(row, "outcome"), "ok");
    json_decref(answer);

    assert_int_equal(run_bench(state, "", "'b1 h1 s64 d16 f32' --against nonsense"), 2);
    expect_text(state, "stderr.txt", "--against: there is no kernel 'nonsense'");
    answer = json_of(state, "",
                     "'b1 h1 s64 d16 f32' --against fwd_any_sm80_naive --peers none --seconds 0.02",
                     0);
    row = json_array_get(json_object_get(answer, "rows"), 0);
    match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_string_equal(text_of(match, "outcome"), "refused");
    json_decref(answer);
}

static void times_captured_tensors(void **state)
{
    json_t *answer = json_of(state, "", "--tensors " CAPTURE " --peers none --seconds 0.02", 0);
    json_t *rows = json_object_get(answer, "rows");
    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(text_of(json_array_get(rows, 0), "label"), "layer0.");
    assert_string_equal(text_of(json_array_get(rows, 0), "problem"), "b1 h12 s128 d32 f32");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(text_of(json_array_get(rows, i), "outcome"), "ok");
    json_decref(answer);
}

static void says_what_cannot_be_done(void **state)
{
    const char *config = "'b1 h1 s8 d8 f32' --kernel fwd_any_scalar_row__x9 --peers none";
    assert_int_equal(run_bench(state, "", config), 2);
    json_t *answer = json_of(state, "", "'b100000 h100 s10000 d512 f32' --peers none", 3);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_string_equal(text_of(row, "reason"), "not enough memory");
    json_decref(answer);
}

static void read_blocks(const json_t *row, const char *name, double blocks[LAB_PAIRS_MAX])
{
    const json_t *array = json_object_get(row, name);
    for (size_t i = 0; i < json_array_size(array); i++)
        blocks[i] = json_number_value(json_array_get(array, i));
}

/* The detectable difference follows from the blocks next to it. It is null only if nothing is
 * detectable from those blocks. With many pairs and little noise it is a figure of about the noise
 * of their mean. */
static void expect_detectable(const json_t *answer, const json_t *row)
{
    double a[LAB_PAIRS_MAX], b[LAB_PAIRS_MAX], least;
    const json_t *figures = json_object_get(row, "figures");
    const json_t *said = json_object_get(figures, "detectable");
    double pairs = number_of(figures, "pairs"), noise = number_of(figures, "noise");
    assert_in_range(pairs, 8, LAB_PAIRS_MAX);
    read_blocks(row, "a_blocks", a);
    read_blocks(row, "b_blocks", b);
    const lab_series series = { .a = a,
                                .b = b,
                                .pairs = (size_t)pairs,
                                .planned = (size_t)number_of(figures, "planned"),
                                .ended = json_is_true(json_object_get(figures, "ended")) };
    const lab_rules rules = { .margin = number_of(answer, "margin"), .looks = LAB_DUEL_LOOKS };
    assert_int_equal(
        lab_power_detectable(&series, &rules, (uint64_t)number_of(answer, "seed"), &least),
        HEED_OK);
    if (json_is_null(said) != !isfinite(least))
        fail_msg("%g pairs with %g noise: detectable is %g, computed from the blocks %g", pairs,
                 noise, json_number_value(said), least);
    if (pairs >= 100 && noise < 0.1 && json_is_null(said))
        fail_msg("%g pairs with %g noise, and nothing can be detected", pairs, noise);
    if (json_is_null(said))
        return;
    assert_true(fabs(json_number_value(said) / least - 1) < 1e-5); /* blocks have nine digits */
    assert_true(least > noise / sqrt(pairs) && least <= LAB_POWER_WORST * (1 + 1e-9));
}

/* A calibration prints every figure, states if nothing is detectable, and has nothing about
 * rivals. */
static void says_what_it_can_detect(void **state)
{
    assert_int_equal(run_bench(state, "",
                               "'b1 h1 s64 d16 f32' 'b1 h1 s64 d16 f16' --calibrate --seconds 0.05 "
                               "--detect 0.1"),
                     0);
    expect_text(state, "stdout.txt", "detectable");
    expect_text(state, "stdout.txt", "\nb1 h1 s64 d16 f16: "); /* too much noise, too few pairs */
    expect_text(state, "stdout.txt", " AMBIGUOUS");
    assert_int_equal(run_bench(state, "", "'b1 h1 s64 d16 f32' --calibrate --seconds 0.1 --json"),
                     0);
    char path[SCRATCH_PATH_SIZE];
    json_t *answer = json_load_file(scratch_path(state, "stdout.txt", path), 0, NULL);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *figures = json_object_get(row, "figures");
    assert_string_equal(text_of(answer, "schema"), "heed.calibration/1");
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_int_equal(json_array_size(json_object_get(row, "a_blocks")),
                     number_of(figures, "pairs"));
    assert_true(number_of(figures, "pairs") >= 8 && number_of(figures, "seconds") > 0);
    assert_true(number_of(figures, "noise") > 0);
    expect_detectable(answer, row);
    json_decref(answer);
    assert_int_equal(run_bench(state, "", "'b1 h1 s64 d16 f32' --calibrate --seconds 2 --json"), 0);
    answer = json_load_file(path, 0, NULL);
    expect_detectable(answer, json_array_get(json_object_get(answer, "rows"), 0));
    json_decref(answer);

    assert_int_equal(run_bench(state, "", "'b1 h1 s64 d16 f32' --duels 2"), 2);
    assert_int_equal(run_bench(state, "", "'b1 h1 s64 d16 f32' --calibrate --against x"), 2);
    expect_text(state, "stderr.txt", "leave out --against");
}

/* The table of replays is followed by a short summary. */
static void prints_a_summary(void **state)
{
    assert_int_equal(run_bench(state, "",
                               "'b1 h1 s64 d16 f32' --replay --peers none --seconds 0.05 --kernel "
                               "fwd_any_scalar_row --against fwd_any_scalar_row"),
                     0);
    expect_text(state, "stdout.txt", "eager p50");
    expect_text(state, "stdout.txt", "geometric mean");
    expect_text(state, "stdout.txt", "+ heed is faster");
}

static void says_where_it_cannot_record(void **state)
{
    assert_int_equal(run_bench(state, "", "'b1 h1 s8 d8 f32' --peers none --record /dev/null/x"),
                     3);
    expect_text(state, "stderr.txt", "--record: /dev/null/x");
}

/* The JSON output with @options after @signal, which is sent after @seconds; NULL if there is
 * none. */
static json_t *interrupted_after(void **state, const char *options, const char *signal, int seconds)
{
    char path[SCRATCH_PATH_SIZE], before[80], all[SCRATCH_PATH_SIZE + 160];
    snprintf(before, sizeof before, "timeout --foreground --preserve-status -s %s %d", signal,
             seconds);
    snprintf(all, sizeof all,
             "%s 'b1 h8 s512 d64 f32' --peers none --kernel fwd_any_scalar_row "
             "--seconds 1000 --json",
             options);
    assert_int_equal(run_bench(state, before, all), 130);
    return json_load_file(scratch_path(state, "stdout.txt", path), 0, NULL);
}

/* After Ctrl-C, SIGTERM or SIGHUP the finished results are printed: the first problem. A busy
 * machine may not have finished it yet when it is interrupted, or not have installed the handler;
 * then it gets more time. */
static void stops_at(void **state, const char *signal)
{
    static const char first[] = "'b1 h1 s8 d8 f32'";
    json_t *answer = interrupted_after(state, first, signal, 3);
    for (int seconds = 12; seconds < 100 && json_array_size(json_object_get(answer, "rows")) == 0;
         seconds *= 4) {
        json_decref(answer);
        answer = interrupted_after(state, first, signal, seconds);
    }
    assert_string_equal(text_of(answer, "schema"), "heed.bench/1");
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 1);
    expect_text(state, "stderr.txt", "1 of 2 problems finished");
    json_decref(answer);
}

static void stops_at_an_interrupt(void **state)
{
    stops_at(state, "INT");
    stops_at(state, "TERM");
    stops_at(state, "HUP");
}

/* Without a finished problem there is no record. */
static void records_no_interrupted_problem(void **state)
{
    char path[SCRATCH_PATH_SIZE], options[SCRATCH_PATH_SIZE + 16];
    json_t *answer = NULL;
    snprintf(options, sizeof options, "--record %s", scratch_path(state, "records", path));
    for (int seconds = 3; seconds < 100 && !answer; seconds *= 4)
        answer = interrupted_after(state, options, "INT", seconds);
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 0);
    expect_text(state, "stderr.txt", "there is nothing to record");
    assert_int_not_equal(access(path, F_OK), 0);
    json_decref(answer);
}

RUN_TESTS_EACH(scratch_open, scratch_close, refuses_bad_command_lines, reports_what_it_sampled,
               compares_two_kernels, times_captured_tensors, says_what_cannot_be_done,
               says_what_it_can_detect, prints_a_summary, says_where_it_cannot_record,
               stops_at_an_interrupt, records_no_interrupted_problem)
