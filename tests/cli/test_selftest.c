/*
 * test_selftest.c - the `heed selftest` command, on parts of its suite
 *
 * Another test runs the whole suite.
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/board/board.h"
#include "cli/verbs/selftest/selftest.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/mutants/suite.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

static void test_exit_codes_and_words(void **state)
{
    static const run_heed_case cases[] = {
        { "half-the-logits", 0, { "killed 1/1", "accepted 0/0", "seed 1" } },
        { "half-the-logits --seed 3 --jobs 1", 0, { "killed 1/1", "seed 3" } },
        { "capped-logits", 0, { "killed 1/1" } },
        { "capped-logits --gate shifted",
          1,
          { "SURVIVED capped-logits, which caps", "killed 0/1", "left out" } },
        { "past-the-end", 0, { "killed 1/1" } },
        { "past-the-end --gate executes", 1, { "SURVIVED past-the-end", "killed 0/1" } },
        { "endless", 0, { "killed 1/1" } },
        { "clamps_outputs", 0, { "killed 1/1" } },
        { "clamps_outputs --gate finite --gate error --gate range --gate linear --gate written "
          "--gate timed",
          1,
          { "SURVIVED clamps_outputs" } },
        { "refuses_others", 0, { "accepted 1/1" } },
        { "maps_rwx", 0, { "killed 1/1", "sandbox" } },
        { "split-keys", 0, { "killed 0/0", "accepted 1/1" } },
        { "--list", 0, { "half-the-logits", "split-keys", "halves the logits" } },
        { "half-the-logit", 2, { "did you mean 'half-the-logits'" } },
        { "--gate shiftd", 2, { "--gate", "did you mean 'shifted'" } },
        { "--gate zzzzzzzz", 2, { "heed verify --list" } },
        { "zzzzzzzzzzzzz", 2, { "heed selftest --list" } },
        { "plain plain", 2, { "plain" } },
        { "--device cpu half-the-logits", 0, { "killed 1/1", "accepted 0/0", "executes" } },
        { "--device gpu", 2, { "--device", "\"gpu\"", "cpu, cuda or cuda:N" } },
        { "--device cuda:x", 2, { "--device", "cuda:N" } },
        { "--device cuda", 3, { "--device" } },
        { "--device cuda half-the-logit", 2, { "did you mean 'half-the-logits'" } },
    };
    static const char *const complaints[] = { "REJECTED", "SURVIVED", NULL };
    run_heed_cases(state, &way, "selftest", cases, sizeof cases / sizeof *cases, complaints);
}

static void test_json(void **state)
{
    json_t *json = run_heed_answer(state, &way, "selftest", "--json capped-logits", 0);
    assert_int_equal(integer_of(json, "mutants"), 1);
    assert_int_equal(integer_of(json, "killed"), 1);
    assert_int_equal(integer_of(json, "controls"), 0);
    assert_true(integer_of(json, "skipped") > 100);
    assert_true(json_is_false(json_object_get(json, "trusted"))); /* this was only a part */
    assert_int_equal(json_array_size(json_object_get(json, "gates")), LAB_JUDGES);
    const json_t *kernel = json_array_get(json_object_get(json, "kernels"), 0);
    assert_string_equal(text_of(kernel, "mutant"), "capped-logits");
    assert_true(json_is_true(json_object_get(kernel, "as_meant")));
    const json_t *by = json_object_get(kernel, "by");
    assert_int_equal(json_array_size(by), 1);
    assert_string_equal(json_string_value(json_array_get(by, 0)), "shifted");
    json_decref(json);
}

/* The documents show the output of the whole suite. */
static void expect_in_docs(const char *name, size_t mutants, size_t controls)
{
    static char text[200000];
    char path[SCRATCH_PATH_SIZE], line[80];
    snprintf(path, sizeof path, HEED_SOURCE_DIR "/docs/%s", name);
    snprintf(line, sizeof line, "killed %zu/%zu, accepted %zu/%zu\n", mutants, mutants, controls,
             controls);
    text[scratch_read(path, text, sizeof text - 1)] = '\0';
    if (!strstr(text, line))
        fail_msg("docs/%s does not have \"%s\"", name, line);
}

static void test_json_list(void **state)
{
    size_t mutants = 0, controls = 0;
    while (lab_mutant_at(LAB_MUTANTS, mutants))
        mutants++;
    while (lab_mutant_at(LAB_CONTROLS, controls))
        controls++;
    json_t *json = run_heed_answer(state, &way, "selftest", "--list --json", 0);
    assert_int_equal(json_array_size(json_object_get(json, "mutants")), mutants);
    assert_int_equal(json_array_size(json_object_get(json, "controls")), controls);
    const json_t *sources = json_object_get(json, "sources"), *source;
    size_t i;
    assert_true(json_array_size(sources) > 30);
    json_array_foreach(sources, i, source)
    {
        const bool bad = json_is_string(json_object_get(source, "gate"));
        mutants += bad;
        controls += !bad;
    }
    json_decref(json);
    expect_in_docs("gates.md", mutants, controls);
    expect_in_docs("command-line.md", mutants, controls);
}

/* A result that cannot be saved is reported at the start. */
static void test_record(void **state)
{
    run_heed_says(state, &way, "echo none >bad.db; heed selftest --record --board bad.db", 7,
                  "bad.db: not a board");
}

/* Nothing is left of a compilation that is interrupted. */
static void test_interrupted(void **state)
{
    run_heed_says(state, &way,
                  "mkdir t; TMPDIR=$PWD/t timeout --foreground -s INT 0.7 '" HEED_PROGRAM
                  "' selftest -j 2; ls t | wc -l | sed s/^/left:/ >&2; exit 3",
                  3, "left:0");
}

/* A run removes the folders of killed ones, but not those of others that still run. */
static void test_killed(void **state)
{
    run_heed_says(
        state, &way,
        "export TMPDIR=$PWD/u; mkdir -p u/heed-selftest-left00/deep u/heed-selftest-held00;"
        "touch u/heed-selftest-left00/lock u/heed-selftest-left00/deep/file; "
        "flock u/heed-selftest-held00/lock '" HEED_PROGRAM "' selftest split-keys && "
        "rm u/heed-selftest-held00/lock && rmdir u/heed-selftest-held00 u",
        0, "accepted 1/1");
    run_heed_says(state, &way,
                  "mkdir v; TMPDIR=$PWD/v '" HEED_PROGRAM "' selftest -j 2 >said.txt 2>&1 & "
                  "for i in $(seq 300); do ls v/*/lock 2>/dev/null && break; sleep 0.1; done; "
                  "flock -n v/*/lock true || echo locked; kill $!; wait; rmdir v",
                  0, "locked");
}

/* Trials rely on the newest selftest of this version; if there is none, one is run, which needs the
 * device. */
static void test_trust(void **state)
{
    const lab_selftest_result result = {
        .digest = lab_suite_digest(), .mutants = 3, .killed = 2, .controls = 1, .accepted = 1
    };
    char path[SCRATCH_PATH_SIZE];
    lab_record *record;
    lab_error error;
    int64_t added, found = 0;
    scratch_path(state, "board.db", path);
    assert_int_equal(lab_record_open(&record, path, LAB_RECORD_WRITE, &error), HEED_OK);
    assert_int_equal(cli_board_selftest_add(record, "cpu", &result, &added, &error), HEED_OK);
    assert_int_equal(cli_selftest_trust(record, NULL, &found), CLI_OK);
    assert_int_equal(found, added);
    assert_int_equal(cli_selftest_trust(record, "cuda", &found), CLI_ENVIRONMENT);
    lab_record_close(record);
}

int main(void)
{
    setenv("HEED_LIBCUDA", "/nowhere", 1); /* as on a machine without a GPU */
    return run_test_list(TEST_LIST(test_exit_codes_and_words, test_json, test_json_list,
                                   test_record, test_interrupted, test_killed, test_trust),
                         scratch_open, scratch_close);
}
