/*
 * test_gate.c - `heed gate` as people call it: what passes, what fails, what is not known
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lab/record/record.h"
#include "lab/trial/sandbox.h"
#include "scratch.h"

#define OUTPUT_SIZE 65536
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define SPEC "'b1 h2 s128 d64 f32'"
#define CHEAP "--seconds 0.1 -t 1 --no-verify "

static int run(void **state, const char *line, char out[OUTPUT_SIZE], char err[OUTPUT_SIZE])
{
    char command[4096], path[SCRATCH_PATH_SIZE];
    snprintf(
        command, sizeof command,
        "cd '%s' && export NO_COLOR= HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu HEED_CPU=scalar "
        "HEED_BOARD=board.db && heed() { '%s' \"$@\"; }; { %s\n} >stdout.txt 2>stderr.txt",
        (const char *)*state, HEED_PROGRAM, line);
    int status = system(command);
    out[scratch_read(scratch_path(state, "stdout.txt", path), out, OUTPUT_SIZE - 1)] = '\0';
    err[scratch_read(scratch_path(state, "stderr.txt", path), err, OUTPUT_SIZE - 1)] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must(void **state, const char *line, int code)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    int got = run(state, line, out, err);
    if (got != code)
        fail_msg("%s gave %d, not %d: %s%s", line, got, code, out, err);
}

/* The verdict on the first shape of a gate that has to give @code. */
static const char *verdict(void **state, const char *line, int code, json_t **json)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    int got = run(state, line, out, err);
    if (got != code)
        fail_msg("%s gave %d, not %d: %s%s", line, got, code, out, err);
    *json = json_loads(out, 0, NULL);
    assert_non_null(*json);
    assert_string_equal(json_string_value(json_object_get(*json, "schema")), "heed.gate/1");
    assert_int_equal(json_integer_value(json_object_get(*json, "exit")), code);
    const json_t *shape = json_array_get(json_object_get(*json, "shapes"), 0);
    assert_non_null(shape);
    return json_string_value(json_object_get(shape, "verdict"));
}

static void expect(void **state, const char *line, int code, const char *word)
{
    json_t *json;
    assert_string_equal(verdict(state, line, code, &json), word);
    json_decref(json);
}

/* A board whose champion is @kernel, and the file that it was made from. */
static void make_board(void **state, const char *kernel)
{
    char line[1024];
    snprintf(line, sizeof line,
             "rm -f board.db*; heed bench %s --peers none --seconds 0.05 -t 1 %s %s --json "
             ">bench.json; heed board add bench.json",
             SPEC, kernel ? "--kernel" : "", kernel ? kernel : "");
    must(state, line, 0);
}

static void test_same(void **state)
{
    make_board(state, NULL);
    json_t *json;
    assert_string_equal(verdict(state, "heed gate --seconds 0.1 -t 1 --json", 0, &json), "SAME");
    const json_t *counts = json_object_get(json, "counts");
    assert_int_equal(json_integer_value(json_object_get(counts, "SAME")), 1);
    json_decref(json);
}

/* A kernel that is far slower than the champion in the place of what is planned, and the reverse.
 * It takes a machine that has something better. */
static void test_slower(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    assert_int_equal(run(state, "unset HEED_CPU; heed plan " SPEC, out, err), 0);
    if (strstr(out, "fwd_any_scalar_row"))
        skip();
    must(state,
         "rm -f board.db*; unset HEED_CPU; heed bench " SPEC " --peers none --seconds 0.05 -t 1 "
         "--json >bench.json; heed board add bench.json",
         0);
    expect(state, "unset HEED_CPU; heed gate " CHEAP "--json --kernel fwd_any_scalar_row", 1,
           "SLOWER");
    make_board(state, "fwd_any_scalar_row");
    json_t *json;
    const char *word = verdict(state, "unset HEED_CPU; heed gate " CHEAP "--json", 0, &json);
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(word, "PASS");
    assert_true(json_real_value(json_object_get(shape, "low")) > 1);
    json_decref(json);
}

/* Where the code is not what was measured a champion that is planned anyway proves nothing. */
static void test_ambiguous(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    make_board(state, NULL);
    must(state,
         "rm board.db*; sed -i 's/\"build\": *\"[^\"]*\"/\"build\": \"another\"/' bench.json; "
         "heed board add bench.json",
         0);
    expect(state, "heed gate " CHEAP "--json", 0, "AMBIGUOUS");
    expect(state, "heed gate " CHEAP "--json --strict", 1, "AMBIGUOUS");
    assert_int_equal(run(state, "heed gate " CHEAP, out, err), 0);
    assert_non_null(strstr(err, "1 of 1 shapes are AMBIGUOUS"));
    assert_non_null(strstr(out, "the code of the kernels is not what it was"));
}

/* A champion that cannot be made any more is no pass. */
static void test_gone(void **state)
{
    make_board(state, NULL);
    must(state,
         "rm board.db*; sed -i 's/\"kernel\": *\"[^\"]*\"/\"kernel\": \"fwd_gone__x1\"/' "
         "bench.json; heed board add bench.json",
         0);
    expect(state, "heed gate " CHEAP "--json", 0, "AMBIGUOUS");
    expect(state, "heed gate " CHEAP "--json --strict", 1, "AMBIGUOUS");
}

/* A driver that runs nothing leaves what is wrong. The board says that it was right once. */
static void test_wrong(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    must(state,
         "rm -f board.db*; unset HEED_CPU; export " FAKE
         "; heed bench --device cuda 'b1 h2 s64 d64 f16' --peers none --seconds 0.05 --json "
         ">wrong.json; test $? -eq 5",
         0);
    json_t *json = json_load_file(scratch_path(state, "wrong.json", path), 0, NULL);
    json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    assert_non_null(row);
    json_object_set_new(row, "outcome", json_string("ok"));
    json_object_set_new(row, "reason", json_null());
    json_object_set_new(row, "seconds", json_pack("{s:f, s:f}", "p50", 1e-4, "p90", 1e-4));
    assert_int_equal(json_dump_file(json, path, 0), 0);
    json_decref(json);
    must(state, "heed board add wrong.json", 0);
    expect(state,
           "unset HEED_CPU; export " FAKE "; heed gate --device cuda --json --seconds 0.1 "
           "--no-verify",
           1, "WRONG");
}

static void test_nothing(void **state)
{
    static const struct {
        const char *line;
        int code;
        const char *says;
    } rows[] = {
        { "heed gate --board none.db", 3, "no board yet" },
        { "heed gate -t 7", 3, "with 7 threads" },
        { "heed gate -t 1 --problem d192", 3, "nothing can be judged" },
        { "heed gate --limit 0", 2, "--limit" },
        { "heed gate 'b1 h1 s8 d8 f32'", 2, "--criteria" },
        { "heed gate --kernel fwd_any_scaler_row", 2, "fwd_any_scalar_row" },
        { "echo none >bad.db; heed gate --board bad.db", 7, "bad.db" },
    };
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    make_board(state, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int code = run(state, rows[i].line, out, err);
        if (code != rows[i].code || !strstr(err, rows[i].says))
            fail_msg("%s gave %d: %s", rows[i].line, code, err);
    }
}

/* ---- A champion with a source ---- */

/* Puts a candidate of the file @name in tests/data/trial on a board, as its leader. */
static void crown_source(void **state, const char *name)
{
    char path[SCRATCH_PATH_SIZE], file[512], source[8192];
    lab_record *record;
    lab_error error;
    int64_t run_id, id;
    bool resumed;
    heed_problem problem;
    heed_context *context;
    const heed_options options = { .device = "cpu", .threads = 1 };
    const lab_record_work work = { .key = name, .verb = "evolve", .command = "heed evolve" };
    snprintf(file, sizeof file, HEED_SOURCE_DIR "/tests/data/trial/%s.c", name);
    source[scratch_read(file, source, sizeof source - 1)] = '\0';
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    assert_int_equal(heed_problem_parse(&problem, "b1 h2 s128 d64 f32"), HEED_OK);
    must(state, "rm -f board.db*", 0);
    assert_int_equal(
        lab_record_open(&record, scratch_path(state, "board.db", path), LAB_RECORD_WRITE, &error),
        HEED_OK);
    assert_int_equal(lab_record_begin(record, &work, &run_id, &resumed, &error), HEED_OK);
    const lab_record_trial trial = {
        .run = run_id,
        .candidate = { .kernel = name, .language = "c", .source = source, .proposer = "test" },
        .problem = &problem,
        .device = { .name = heed_context_device(context), .backend = "cpu" },
        .environment = { .threads = 1 },
        .verdict = LAB_RECORD_OK,
        .confirmed = true,
        .timing = LAB_RECORD_HOT,
        .seconds = 1e-3,
    };
    if (lab_record_append(record, &trial, &id, &error) != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(lab_record_promote(record, id, 0, "by the test", &error), HEED_OK);
    lab_record_close(record);
    heed_context_destroy(context);
}

/* It is compiled from the board and runs in its sandbox, beside what heed plans. */
static void test_source(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    const lab_protections protections = lab_protections_find();
    json_t *json;
    if (!lab_protections_suffice(&protections))
        skip();
    crown_source(state, "plain");
    assert_string_equal(verdict(state, "heed gate " CHEAP "--json", 0, &json), "PASS");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(json_string_value(json_object_get(shape, "champion")), "plain");
    assert_true(json_real_value(json_object_get(shape, "champion_seconds")) > 0);
    json_decref(json);
    /* tune cannot plan it: it leaves the title where it is. */
    assert_int_equal(
        run(state, "heed tune -t 1 --peers none --rivals 0.05 --trials 1 " SPEC, out, err), 0);
    assert_non_null(strstr(err, "keeps its title"));
    expect(state, "heed gate " CHEAP "--json", 0, "PASS");
    crown_source(state, "mean");
    expect(state, "heed gate " CHEAP "--json", 1, "WRONG");
    crown_source(state, "syntax");
    expect(state, "heed gate " CHEAP "--json", 0, "AMBIGUOUS");
}

/* ---- Criteria ---- */

#define THREE "'b1 h2 s128 d64 f32' 'b1 h2 s100 d64 f32' 'b1 h2 s256 d64 f32' "

/* The verdicts of a run of --criteria that has to give @code, one letter each. */
static void judge(void **state, const char *line, int code, char verdicts[8], char figure[512])
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    size_t index;
    json_t *one;
    int got = run(state, line, out, err);
    if (got != code)
        fail_msg("%s gave %d, not %d: %s%s", line, got, code, out, err);
    json_t *json = json_loads(out, 0, NULL);
    assert_non_null(json);
    memset(verdicts, 0, 8);
    json_array_foreach(json_object_get(json, "criteria"), index, one)
    {
        verdicts[index] = json_string_value(json_object_get(one, "verdict"))[0];
        snprintf(figure, 512, "%s", json_string_value(json_object_get(one, "figure")));
    }
    json_decref(json);
}

/* Who has no rival, no GPU and no tool knows nothing, and that is no pass. */
static void test_unknown(void **state)
{
    char verdicts[8], figure[512];
    judge(state,
          "mkdir -p none; HEED_PEERS=none HEED_PYTHON=none heed gate --criteria " SPEC
          " --json --seconds 0.05 --peers torch-none",
          3, verdicts, figure);
    assert_string_equal(verdicts, "UUUUU");
}

/* A peer that is slower or faster in the place of SDPA. */
static void test_criteria(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    char verdicts[8], figure[512];
    assert_int_equal(run(state, "unset HEED_CPU; heed plan " SPEC, out, err), 0);
    if (strstr(out, "fwd_any_scalar_row"))
        skip();
    judge(state,
          "ln -sf " NAIVE_PEER " torch_peer; unset HEED_CPU; HEED_PEERS=$PWD heed gate --criteria "
          "--json --seconds 0.2 -t 1 " THREE,
          3, verdicts, figure);
    assert_string_equal(verdicts, "PPPUU");
    judge(state,
          "unset HEED_CPU; HEED_PEERS=$PWD heed gate --criteria --json --seconds 0.2 -t 1 " SPEC, 3,
          verdicts, figure);
    assert_string_equal(verdicts, "UUPUU"); /* one problem is neither two nor a third */
#ifdef FAST_PEER
    judge(state,
          "ln -sf " FAST_PEER " torch_peer; HEED_PEERS=$PWD heed gate --criteria --json "
          "--seconds 0.2 -t 1 " THREE,
          1, verdicts, figure);
    assert_string_equal(verdicts, "FFFUU");
#endif
    must(state, "rm torch_peer", 0);
}

/* What ncu counts, from one that counts what it is told to. What the driver here computes is wrong,
 * which fails whatever the criteria are. */
static void test_conflicts(void **state)
{
    static const struct {
        const char *says;
        char verdict;
        const char *figure;
    } rows[] = {
        { "1,\"f(int, int)\",\"1,000\",\"50,000\"", 'P', "2.00 %" },
        { "1,\"f(int, int)\",\"6,000\",\"50,000\"", 'F', "12.00 %" },
        { "1,\"f(int, int)\",\"n/a\",\"n/a\"", 'U', "nothing that heed understands" },
        { "==ERROR== ERR_NVGPUCTRPERM", 'U', "ERR_NVGPUCTRPERM" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[2048], verdicts[8], figure[512];
        snprintf(line, sizeof line,
                 "cat >ncu <<'END'\n#!/bin/sh\ncat <<'STOP'\n==PROF== one\n\"ID\",\"Kernel "
                 "Name\",\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\","
                 "\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\"\n\"\",\"\",\"\",\"\"\n%s\n"
                 "STOP\nEND\nchmod +x ncu; unset HEED_CPU; export PATH=$PWD:$PATH " FAKE
                 "; heed gate --criteria --device cuda 'b1 h2 s64 d64 f16' --seconds 0.05 --json "
                 "--peers none",
                 rows[i].says);
        judge(state, line, 1, verdicts, figure);
        if (verdicts[4] != rows[i].verdict || !strstr(figure, rows[i].figure))
            fail_msg("%s: %s, %s", rows[i].says, verdicts, figure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),      cmocka_unit_test(test_slower),
        cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_wrong),     cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_source),    cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_criteria),  cmocka_unit_test(test_conflicts),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
