/*
 * test_sweep.c - the `heed sweep` command: searches, records, resumed runs, replays, errors
 */
#include "run_tests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "

/* A space with faults: a point without meaning, one that the kernel does not have, and one that is
 * not legal on the problem. */
static const char odd_space[] = "kernel fwd_none fwd_any_scalar_row\n"
                                "knob splits 1 2 3 4 8 64\n"
                                "require splits != 2 because two is company\n"
                                "config s = splits\n";

static const run_heed_way way = { HEED_PROGRAM, "HEED_CACHE=\"$PWD/cache\" HEED_BOARD=board.db "
                                                "HEED_DEVICE=cpu" };
static heed_said said;

static int open_folder(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    scratch_text_write(state, "odd.txt", odd_space);
    return 0;
}

static void test_search(void **state)
{
    json_t *json = run_heed_json(state, &way,
                                 "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' -t 1 --json", 0);
    assert_string_equal(text_of(json, "schema"), "heed.sweep/1");
    assert_string_equal(text_of(json, "kernel"), "fwd_any_scalar_row");
    assert_int_equal(integer_of(json, "points"), 6);
    assert_int_equal(integer_of(json, "refused"), 4); /* 2; 3; 8 and 64, beyond the key tiles */
    assert_int_equal(integer_of(json, "launched"), 2);
    assert_true(json_is_true(json_object_get(json, "verified")));
    const json_t *best = json_array_get(json_object_get(json, "trials"), 0);
    const char *kernel = text_of(best, "kernel");
    assert_true(strcmp(kernel, "fwd_any_scalar_row__s1") == 0 ||
                strcmp(kernel, "fwd_any_scalar_row__s4") == 0);
    assert_true(number_of(best, "mean_seconds") > 0);
    /* Both finalists passed the gates. */
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(text_of(json_array_get(json_object_get(json, "trials"), i), "gates"),
                            "all");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(text_of(shape, "problem"), "b1 h1 s8/200 d16 f32");
    /* heed's plan passed them too, and is ranked. */
    char planned[100], line[200];
    snprintf(planned, sizeof planned, "%s", text_of(shape, "planned"));
    *strstr(planned, "__") = '\0';
    snprintf(line, sizeof line, "heed board --ranking --csv | grep -c '\"%s\"'", planned);
    run_heed_as(state, &way, line, 0, &said);
    json_decref(json);
}

/* The number of earlier trials that the sweep @line reuses. */
static json_int_t reused_by(void **state, const char *line)
{
    json_t *json = run_heed_json(state, &way, line, 0);
    const json_int_t reused = integer_of(json, "reused");
    json_decref(json);
    return reused;
}

/* Every trial is on the board, and an interrupted sweep is resumed from there without a file. */
static void test_board(void **state)
{
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' sweep cpu_tile 'b1 h4 s512 d64 f32' -t 1 --no-verify "
        "--no-compare --board own.db & await_trials own.db 3; kill -INT $!; wait $!";
    run_heed_as(state, &way, line, 130, &said);
    assert_non_null(strstr(said.err, "on the board, and the same command goes on from there"));
    assert_non_null(strstr(said.err, "'untested' on the board"));
    assert_non_null(strstr(said.err, "'heed selftest --record --board own.db'"));
    assert_true(reused_by(state, "heed sweep cpu_tile 'b1 h4 s512 d64 f32' -t 1 --no-verify "
                                 "--no-compare --board own.db --trials 4 --json") >= 3);
    /* The best point is ranked, even if it is heed's plan: it was timed again. */
    run_heed_must(state, &way,
                  "heed sweep cpu_tile 'b1 h4 s128 d64 f32' -t 1 --board one.db --trials 1", 0);
    run_heed_as(state, &way, "heed board --board one.db --csv | wc -l", 0, &said);
    assert_string_equal(said.out, "2\n");
    run_heed_as(state, &way, "heed board show 1 --board own.db", 0, &said);
    assert_non_null(strstr(said.out, "proposer        sweep"));
    run_heed_as(state, &way,
                "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' -t 1 --no-board --no-verify "
                "--no-compare --board none.db; test ! -e none.db",
                0, &said);
}

/* A second run evaluates nothing again, and a third one with more trials only the new ones. */
static void test_record(void **state)
{
#define LINE                                                                                  \
    "heed sweep cpu_few 'b1 h2 s1/4096 d64 f32' 'b1 h2 s1/2048 d64 f32' -t 1 --record t.txt " \
    "--no-verify --no-compare --json --strategy random "
    json_t *first = run_heed_json(state, &way, LINE "--trials 4", 0);
    assert_int_equal(integer_of(first, "launched"), 4);
    assert_int_equal(integer_of(first, "reused"), 0);
    json_t *second = run_heed_json(state, &way, LINE "--trials 4", 0);
    assert_int_equal(integer_of(second, "reused"), integer_of(second, "evaluations"));
    assert_int_equal(integer_of(second, "evaluations"), integer_of(first, "evaluations"));
    json_t *third = run_heed_json(state, &way, LINE "--trials 6", 0);
    assert_int_equal(integer_of(third, "launched"), 6);
    assert_true(integer_of(third, "reused") >= 8);
    assert_true(integer_of(third, "reused") < integer_of(third, "evaluations"));
    json_decref(first);
    json_decref(second);
    json_decref(third);
    json_t *replay = run_heed_json(state, &way,
                                   "heed sweep cpu_few --replay t.txt --runs 10 --json", 0);
    assert_string_equal(text_of(replay, "schema"), "heed.sweep-replay/1");
    assert_int_equal(integer_of(replay, "working"), 6);
    assert_int_equal(json_array_size(json_object_get(replay, "strategies")), 6);
    json_decref(replay);
    /* Every time is good, or noise as large as the times hides the best. A busy machine may have
     * interrupted one for long, so the file gets others. */
    run_heed_as(
        state, &way,
        "awk '/^trial/ && / time / { $5 = 1e-4 * (9 + n++ % 3) } { print }' t.txt >u.txt && "
        "mv u.txt t.txt",
        0, &said);
    replay = run_heed_json(state, &way, "heed sweep cpu_few --replay t.txt --within 1000 --json",
                           0);
    assert_int_equal(integer_of(replay, "good"), 6);
    json_decref(replay);
    replay = run_heed_json(
        state, &way, "heed sweep cpu_few --replay t.txt --strategy random --noise 100 --json", 0);
    assert_true(integer_of(json_array_get(json_object_get(replay, "strategies"), 0), "missed") > 0);
    json_decref(replay);
    run_heed_as(state, &way, "heed sweep cpu_few 'b1 h1 s1/4096 d64 f32' -t 1 --record t.txt", 2,
                &said);
    assert_non_null(strstr(said.err, "other"));
}

/* A search ignores a time that is impossible on the machine, here one from the file. */
static void test_impossible(void **state)
{
#define IMPOSSIBLE                                                                            \
    "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' -t 1 --record f.txt --no-verify --no-compare " \
    "--strategy exhaustive --board f.db --json"
    json_decref(run_heed_json(state, &way, IMPOSSIBLE, 0));
    run_heed_as(state, &way,
                "awk '/^trial/ && / time / && !n { n = 1; $5 = 1e-12 } { print }' "
                "f.txt >g.txt && "
                "! cmp -s f.txt g.txt && mv g.txt f.txt && grep -c 1e-12 f.txt",
                0, &said);
    json_t *json = run_heed_json(state, &way, IMPOSSIBLE, 0);
    const json_t *trials = json_object_get(json, "trials");
    assert_string_equal(text_of(json_array_get(trials, 0), "fate"), "time");
    assert_string_equal(text_of(json_array_get(trials, 1), "fate"), "impossible");
    json_decref(json);
}

/* After Ctrl-C every trial is in the file, and the same command resumes. */
static void test_interrupt(void **state)
{
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' sweep cpu_tile 'b1 h8 s512 d64 f32' -t 1 --no-verify "
        "--no-compare --record i.txt & for i in $(seq 3000); do "
        "[ \"$(grep -c ^trial i.txt 2>/dev/null)\" -ge 3 ] 2>/dev/null && break; sleep 0.02; done; "
        "kill -INT $!; wait $!";
    run_heed_as(state, &way, line, 130, &said);
    assert_non_null(strstr(said.err, "goes on from there"));
    assert_true(reused_by(state, "heed sweep cpu_tile 'b1 h8 s512 d64 f32' -t 1 --no-verify "
                                 "--no-compare --record i.txt --trials 4 --json") >= 3);
}

/* On a driver that runs nothing: code is compiled and pruned, and every launched kernel is
 * wrong. */
static void test_device(void **state)
{
    run_heed_as(state, &way,
                FAKE "'" HEED_PROGRAM "' sweep sweep90 'b1 h2 s64 d64 f16' --device cuda", 1,
                &said);
    assert_non_null(strstr(said.err, "90 pruned"));
    assert_non_null(strstr(said.err, "no point of sweep90 ran"));
}

/* A pruned point is known from the record too, and does not count as a launch in either run. */
static void test_pruned_record(void **state)
{
    static const char line[] = FAKE
        "'" HEED_PROGRAM "' sweep sweep90 'b1 h2 s64 d64 f16' --device cuda --record p.txt "
        "--no-board --json";
    for (int i = 0; i < 2; i++) {
        json_t *json = run_heed_json(state, &way, line, 1);
        assert_int_equal(integer_of(json, "pruned"), 90);
        assert_int_equal(integer_of(json, "evaluations"), 0);
        assert_int_equal(integer_of(json, "reused"), 0);
        json_decref(json);
    }
    run_heed_as(state, &way, "grep -c '^trial 0 0 pruned' p.txt", 0, &said);
    assert_string_equal(said.out, "90\n"); /* once each */
}

static void test_refusals(void **state)
{
    static const run_heed_row rows[] = {
        { "heed sweep", 2, NULL, "SPACE" },
        { "heed sweep nothing.txt 'b1 h1 s8 d8 f32'", 3, NULL, "nothing.txt" },
        { "heed sweep odd.txt", 2, NULL, "no problem given" },
        { "printf 'kernel fwd_any_scalar_row\\nknob a 1 2\\nconfig z = a\\n' >z.txt; heed sweep "
          "z.txt "
          "'b1 h1 s8 d8 f32' --no-board",
          1, NULL, "no point of z is taken: the first one, fwd_any_scalar_row__z1, is refused: " },
        { "printf 'kernel fwd_any_scalar_row\\nknob a 1 2\\nrequire a / 0 because of nothing\\n"
          "config s = a\\n' >n.txt; heed sweep n.txt 'b1 h1 s8 d8 f32' --no-board",
          1, NULL, "no point of n satisfies its constraints; the first one fails:" },
        { "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' --seconds 1e-9 --no-board", 1, NULL,
          "no time for one" },
        { "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' 'f32 d16 s8/200 h1 b1' -t 1 --no-board "
          "--no-verify --no-compare",
          0, NULL, "is named more than once" },
        { "heed sweep odd.txt 'b1 h1 s8 d8'", 2, NULL, "type" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --strategy luck", 2, NULL, "--strategy" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --static sm_1", 2, NULL, "--static: 'sm_1'" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --static sm_90", 4, NULL,
          "another kind of device" },
        { "heed sweep sweep90 'b1 h1 s8 d64 f16' -t 1", 4, NULL, "fwd_16bit_sm80_mma" },
        { "heed sweep odd.txt --replay odd.txt", 7, NULL, "not heed-trials 1" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --record odd.txt", 7, NULL, "not heed-trials 1" },
        { "printf 'kernel k\\nknob x\\n' >bad.txt; heed sweep bad.txt 'b1 h1 s8 d8 f32'", 2, NULL,
          "bad.txt:2: no values for knob \"x\"" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

RUN_TESTS_WITHIN(open_folder, scratch_close, test_search, test_board, test_record, test_interrupt,
                 test_impossible, test_device, test_pruned_record, test_refusals)
