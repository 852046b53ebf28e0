/*
 * test_sweep.c - `heed sweep` as people call it: searches, records, resumes, replays, refuses
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

#define OUTPUT_SIZE 65536
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "

/* A space with faults: a point without meaning, one that the kernel does not have, and one that is
 * not legal on the problem. */
static const char odd_space[] = "kernel fwd_none fwd_any_scalar_row\n"
                                "knob splits 1 2 3 4 8 64\n"
                                "require splits != 2 because two is company\n"
                                "config s = splits\n";

static int run(void **state, const char *line, char out[OUTPUT_SIZE], char err[OUTPUT_SIZE])
{
    char command[4096], path[SCRATCH_PATH_SIZE];
    snprintf(command, sizeof command,
             "cd '%s' && export NO_COLOR= HEED_CACHE=\"$PWD/cache\" HEED_BOARD=board.db "
             "HEED_DEVICE=cpu && "
             "heed() { '%s' \"$@\"; }; { %s\n} >stdout.txt 2>stderr.txt",
             (const char *)*state, HEED_PROGRAM, line);
    int status = system(command);
    out[scratch_read(scratch_path(state, "stdout.txt", path), out, OUTPUT_SIZE - 1)] = '\0';
    err[scratch_read(scratch_path(state, "stderr.txt", path), err, OUTPUT_SIZE - 1)] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_t *run_json(void **state, const char *line)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    int code = run(state, line, out, err);
    if (code != 0)
        fail_msg("%s gave %d: %s", line, code, err);
    json_t *json = json_loads(out, 0, NULL);
    assert_non_null(json);
    return json;
}

static json_int_t number(const json_t *json, const char *key)
{
    assert_true(json_is_integer(json_object_get(json, key)));
    return json_integer_value(json_object_get(json, key));
}

static int open_folder(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    if (scratch_open(state) != 0)
        return -1;
    scratch_write(scratch_path(state, "odd.txt", path), odd_space, strlen(odd_space));
    return 0;
}

static void test_search(void **state)
{
    json_t *json = run_json(state, "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' -t 1 --json");
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "heed.sweep/1");
    assert_string_equal(json_string_value(json_object_get(json, "kernel")), "fwd_any_scalar_row");
    assert_int_equal(number(json, "points"), 6);
    assert_int_equal(number(json, "refused"), 4); /* 2; 3; 8 and 64, more than the key tiles */
    assert_int_equal(number(json, "launched"), 2);
    assert_true(json_is_true(json_object_get(json, "verified")));
    const json_t *best = json_array_get(json_object_get(json, "trials"), 0);
    const char *kernel = json_string_value(json_object_get(best, "kernel"));
    assert_true(strcmp(kernel, "fwd_any_scalar_row__s1") == 0 ||
                strcmp(kernel, "fwd_any_scalar_row__s4") == 0);
    assert_true(json_number_value(json_object_get(best, "mean_seconds")) > 0);
    /* Both finalists went through the gates. */
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(json_string_value(json_object_get(
                                json_array_get(json_object_get(json, "trials"), i), "gates")),
                            "all");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(json_string_value(json_object_get(shape, "problem")),
                        "b1 h1 s8/200 d16 f32");
    json_decref(json);
}

/* Every trial is on the board, and an interrupted sweep goes on from there without a file. */
static void test_board(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' sweep cpu_tile 'b1 h4 s512 d64 f32' -t 1 --no-verify "
        "--no-compare --board own.db & for i in $(seq 3000); do n=$('" HEED_PROGRAM
        "' board check --board own.db 2>/dev/null | cut -d' ' -f1); [ \"${n:-0}\" -ge 3 ] && "
        "break; "
        "sleep 0.02; done; kill -INT $!; wait $!";
    assert_int_equal(run(state, line, out, err), 130);
    assert_non_null(strstr(err, "on the board, and the same command goes on from there"));
    json_t *json = run_json(state, "heed sweep cpu_tile 'b1 h4 s512 d64 f32' -t 1 --no-verify "
                                   "--no-compare --board own.db --trials 4 --json");
    assert_true(number(json, "reused") >= 3);
    json_decref(json);
    assert_int_equal(run(state, "heed board show 1 --board own.db", out, err), 0);
    assert_non_null(strstr(out, "proposer        sweep"));
    assert_int_equal(run(state,
                         "heed sweep odd.txt 'b1 h1 s8/200 d16 f32' -t 1 --no-board --no-verify "
                         "--no-compare --board none.db; test ! -e none.db",
                         out, err),
                     0);
}

/* A second run asks nothing again, and a third one with more trials only what is new. */
static void test_record(void **state)
{
#define LINE                                                                                  \
    "heed sweep cpu_few 'b1 h2 s1/4096 d64 f32' 'b1 h2 s1/2048 d64 f32' -t 1 --record t.txt " \
    "--no-verify --no-compare --json --strategy random "
    json_t *first = run_json(state, LINE "--trials 4");
    assert_int_equal(number(first, "launched"), 4);
    assert_int_equal(number(first, "reused"), 0);
    json_t *second = run_json(state, LINE "--trials 4");
    assert_int_equal(number(second, "reused"), number(second, "evaluations"));
    assert_int_equal(number(second, "evaluations"), number(first, "evaluations"));
    json_t *third = run_json(state, LINE "--trials 6");
    assert_int_equal(number(third, "launched"), 6);
    assert_true(number(third, "reused") >= 8);
    assert_true(number(third, "reused") < number(third, "evaluations"));
    json_decref(first);
    json_decref(second);
    json_decref(third);
    json_t *replay = run_json(state, "heed sweep cpu_few --replay t.txt --runs 10 --json");
    assert_string_equal(json_string_value(json_object_get(replay, "schema")),
                        "heed.sweep-replay/1");
    assert_int_equal(number(replay, "working"), 6);
    assert_int_equal(json_array_size(json_object_get(replay, "strategies")), 5);
    json_decref(replay);
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    assert_int_equal(
        run(state, "heed sweep cpu_few 'b1 h1 s1/4096 d64 f32' -t 1 --record t.txt", out, err), 2);
    assert_non_null(strstr(err, "other"));
}

/* Ctrl-C leaves every trial in the file, and the same command goes on. */
static void test_interrupt(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' sweep cpu_tile 'b1 h8 s512 d64 f32' -t 1 --no-verify "
        "--no-compare --record i.txt & for i in $(seq 3000); do "
        "[ \"$(grep -c ^trial i.txt 2>/dev/null)\" -ge 3 ] 2>/dev/null && break; sleep 0.02; done; "
        "kill -INT $!; wait $!";
    assert_int_equal(run(state, line, out, err), 130);
    assert_non_null(strstr(err, "goes on from there"));
    json_t *json = run_json(state, "heed sweep cpu_tile 'b1 h8 s512 d64 f32' -t 1 --no-verify "
                                   "--no-compare --record i.txt --trials 4 --json");
    assert_true(number(json, "reused") >= 3);
    json_decref(json);
}

/* On a driver that runs nothing: code is compiled and pruned, and what was launched is wrong. */
static void test_device(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    assert_int_equal(run(state,
                         FAKE "'" HEED_PROGRAM "' sweep sweep90 'b1 h2 s64 d64 f16' --device cuda",
                         out, err),
                     1);
    assert_non_null(strstr(err, "90 pruned"));
    assert_non_null(strstr(err, "no point of sweep90 ran"));
}

static void test_refusals(void **state)
{
    static const struct {
        const char *line;
        int code;
        const char *says;
    } rows[] = {
        { "heed sweep", 2, "SPACE" },
        { "heed sweep nothing.txt 'b1 h1 s8 d8 f32'", 3, "nothing.txt" },
        { "heed sweep odd.txt", 2, "no problem given" },
        { "heed sweep odd.txt 'b1 h1 s8 d8'", 2, "type" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --strategy luck", 2, "--strategy" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --static sm_1", 2, "--static: 'sm_1'" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --static sm_90", 4, "another kind of device" },
        { "heed sweep sweep90 'b1 h1 s8 d64 f16' -t 1", 4, "fwd_16bit_sm80_mma" },
        { "heed sweep odd.txt --replay odd.txt", 7, "not heed-trials 1" },
        { "heed sweep odd.txt 'b1 h1 s8 d8 f32' --record odd.txt", 7, "not heed-trials 1" },
        { "printf 'kernel k\\nknob x\\n' >bad.txt; heed sweep bad.txt 'b1 h1 s8 d8 f32'", 2,
          "bad.txt:2: no values for knob \"x\"" },
    };
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int code = run(state, rows[i].line, out, err);
        if (code != rows[i].code || !strstr(err, rows[i].says))
            fail_msg("%s gave %d: %s", rows[i].line, code, err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search), cmocka_unit_test(test_board),
        cmocka_unit_test(test_record), cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_device), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_folder, scratch_close);
}
