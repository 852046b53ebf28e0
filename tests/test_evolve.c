/*
 * test_evolve.c - `heed evolve` as people call it: a champion, the board, interruptions, refusals
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
#include <sys/stat.h>
#include <sys/wait.h>

#include "lab/trial/sandbox.h"
#include "scratch.h"

#define OUTPUT_SIZE 262144
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "

/* A kernel that every machine has; four of its twelve points are legal on the problem. */
static const char space[] = "kernel fwd_any_scalar_row\n"
                            "knob splits 1 2 3 4 5 6 7 8 500 600 700 800 as splits\n"
                            "config s = splits\n";
#define PROBLEM "'b1 h2 s2/4096 d16 f32'"
#define EVOLVE "evolve " PROBLEM " --space few.txt -t 2 --duel 0.05 --insights static --board b.db "

static int run(void **state, const char *line, char out[OUTPUT_SIZE], char err[OUTPUT_SIZE])
{
    char command[4096], path[SCRATCH_PATH_SIZE];
    snprintf(command, sizeof command,
             "cd '%s' && export NO_COLOR= HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu && "
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

static const char *text(const json_t *json, const char *key)
{
    assert_true(json_is_string(json_object_get(json, key)));
    return json_string_value(json_object_get(json, key));
}

static int open_folder(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    if (scratch_open(state) != 0)
        return -1;
    scratch_write(scratch_path(state, "few.txt", path), space, strlen(space));
    return 0;
}

static json_int_t trials_of_board(void **state, const char *board)
{
    char line[100];
    snprintf(line, sizeof line, "heed board check --board %s --json", board);
    json_t *json = run_json(state, line);
    assert_true(json_is_true(json_object_get(json, "sound")));
    json_int_t trials = number(json, "trials");
    json_decref(json);
    return trials;
}

/* All legal points are tried, each once. */
static void test_champion(void **state)
{
    json_t *json = run_json(state, "heed " EVOLVE "--no-verify --json");
    assert_string_equal(text(json, "schema"), "heed.evolve/1");
    assert_string_equal(text(json, "kernel"), "fwd_any_scalar_row");
    assert_int_equal(number(json, "launched"), 4);
    assert_int_equal(number(json, "timed"), 4);
    assert_int_equal(number(json, "bred"), 12);
    assert_int_equal(number(json, "reused"), 0);
    assert_true(json_is_false(json_object_get(json, "resumed")));
    const json_t *champion = json_object_get(json, "champion");
    assert_non_null(strstr(text(champion, "kernel"), "fwd_any_scalar_row__s"));
    assert_true(json_number_value(json_object_get(champion, "mean_seconds")) > 0);
    assert_int_equal(json_array_size(json_object_get(json, "shapes")), 1);
    /* Each challenge is there too, one round or two. */
    json_int_t challenges = number(json, "challenges"), trials = trials_of_board(state, "b.db");
    assert_in_range(trials, 4 + challenges, 4 + 2 * challenges);
    json_decref(json);
    /* What is finished is not gone on with. */
    json = run_json(state, "heed " EVOLVE "--no-verify --no-compare --trials 2 --json");
    assert_int_equal(number(json, "reused"), 0);
    assert_int_equal(number(json, "launched"), 2);
    json_decref(json);
}

/* Kernels that were bred name those that they were bred from. */
static void assert_parents(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    bool parents = false;
    for (json_int_t i = trials_of_board(state, "i.db"); i > 0 && !parents; i--) {
        char line[100];
        snprintf(line, sizeof line, "heed board show %d --board i.db --json", (int)i);
        assert_int_equal(run(state, line, out, err), 0);
        assert_non_null(strstr(out, "\"evolve\""));
        parents = strstr(out, "parent") != NULL;
    }
    assert_true(parents);
}

/* Killed and interrupted runs go on, to where one that was not would have come. */
static void test_interruptions(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
#define LONG                                                                                      \
    "evolve 'b1 h1 s128/4096 d64 f32' --space cpu_tile -t 2 --trials 34 --duel 0.5 --board i.db " \
    "--no-verify --no-compare --insights static "
    static const char line[] =
        "set -m; for signal in KILL INT; do '" HEED_PROGRAM "' " LONG "& child=$!; "
        "for i in $(seq 500); do n=$('" HEED_PROGRAM "' board check --board i.db 2>/dev/null | "
        "cut -d' ' -f1); [ \"${n:-0}\" -gt \"${before:-1}\" ] && break; sleep 0.02; done; "
        "before=$n; kill -$signal $child; wait $child; echo $?; done";
    assert_int_equal(run(state, line, out, err), 0);
    if (!strstr(out, "130"))
        skip(); /* it was through too soon */
    assert_non_null(strstr(err, "goes on from there"));
    json_t *json = run_json(state, "heed " LONG "--json");
    assert_true(json_is_true(json_object_get(json, "resumed")));
    assert_int_equal(number(json, "run"), 1);
    assert_true(number(json, "reused") >= 2);
    assert_int_equal(number(json, "launched"), 34);
    json_decref(json);
    assert_parents(state);
}

/* The champion takes the title of the board from a slow leader, and is promoted; who was not
 * verified takes nothing. */
static void test_title(void **state)
{
#define LED "'b1 h2 s8/1024 d64 f32'"
#define CLIMB                                                                               \
    "heed evolve " LED " --cpu avx2 --space cpu_few -t 1 --duel 1 --trials 3 --no-compare " \
    "--insights static --board v.db --json "
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    if (run(state, "heed plan --cpu avx2 -t 1 --kernel fwd_any_avx2_few " LED, out, err) != 0)
        skip();
    assert_int_equal(run(state,
                         "heed bench --cpu avx2 " LED " --peers none --seconds 0.05 -t 1 --kernel "
                         "fwd_any_scalar_row --json >bench.json && heed board add --board v.db "
                         "bench.json",
                         out, err),
                     0);
    json_t *json = run_json(state, CLIMB "--no-verify");
    assert_int_equal(number(json, "titles"), 0);
    json_decref(json);
    json = run_json(state, CLIMB);
    assert_true(json_is_true(json_object_get(json, "verified")));
    assert_int_equal(number(json, "titles"), 1);
    const json_t *best = json_array_get(json_object_get(json, "best"), 0);
    assert_string_equal(text(best, "gates"), "all");
    json_decref(json);
    assert_int_equal(run(state, "heed board --board v.db", out, err), 0);
    assert_non_null(strstr(out, "fwd_any_avx2_few"));
}

/* ---- Sources ---- */

#define SMALL "'b1 h1 s32 d32 f32'"

/* Can this machine hold candidates? */
static bool holds_candidates(void)
{
    const lab_protections protections = lab_protections_find();
    return lab_protections_suffice(&protections);
}

static const json_t *kernel_at(const json_t *json, size_t index)
{
    return json_array_get(json_object_get(json, "kernels"), index);
}

/* The marked regions of the source that comes with heed, without a model. */
static void test_regions(void **state)
{
    if (!holds_candidates())
        skip();
    json_t *json = run_json(state,
                            "heed evolve " SMALL " --proposer regions --trials 3 --duel 0.05 "
                            "--no-verify --board b.db --json");
    assert_string_equal(text(json, "schema"), "heed.evolve-sources/1");
    assert_string_equal(text(json, "proposer"), "heed-propose-regions");
    assert_int_equal(number(json, "tried"), 3);
    assert_int_equal(number(json, "right"), 4);
    const json_t *champion = json_object_get(json, "champion");
    assert_non_null(strstr(text(champion, "source"), "heed_candidate_run"));
    assert_true(json_number_value(json_object_get(champion, "mean_seconds")) <=
                json_number_value(json_object_get(kernel_at(json, 0), "mean_seconds")));
    json_int_t challenges = number(json, "challenges");
    json_decref(json);
    assert_in_range(trials_of_board(state, "b.db"), 4 + challenges, 4 + 2 * challenges);
}

/* What a proposer gets wrong is a verdict, and it is told. */
static void test_bad_sources(void **state)
{
    static const char script[] =
        "#!/bin/sh\nn=0\nsay() { printf '{\"status\":\"ok\",\"name\":\"%s\",\"source\":"
        "\"%s\"}\\n' \"$1\" \"$2\"; }\n"
        "begin='#include \\\"heed_candidate.h\\\"\\nint heed_candidate_run("
        "const heed_candidate_problem *p, const heed_candidate_buffers *b) {(void)p;'\n"
        "while read -r line; do\nprintf '%s\\n' \"$line\" >>asked.txt\nn=$((n + 1))\ncase $n in\n"
        "1) say bad 'int x = ;' ;;\n"
        "2) say none \"$begin (void)b; return 0; }\" ;;\n"
        "3) say crash \"$begin *(volatile int *)0 = b != 0; return 0; }\" ;;\n"
        "4) say none \"$begin (void)b; return 0; }\" ;;\n"
        "5) say fwd_mine \"$begin return b != 0; }\" ;;\n"
        "*) echo '{\"status\":\"unsupported\",\"reason\":\"no idea\"}' ;;\nesac\ndone\n";
    static const char *const verdicts[] = { "ok", "compile", "wrong", "access", "unfit" };
    static char asked[1 << 20];
    char path[SCRATCH_PATH_SIZE];
    if (!holds_candidates())
        skip();
    scratch_write(scratch_path(state, "bad", path), script, strlen(script));
    assert_int_equal(chmod(path, 0700), 0);
    json_t *json = run_json(state, "heed evolve " SMALL " --proposer ./bad --no-verify "
                                   "--board b.db --json");
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(text(kernel_at(json, i), "verdict"), verdicts[i]);
    assert_string_equal(text(kernel_at(json, 4), "name"), "proposed-fwd_mine");
    assert_int_equal(number(json, "tried"), 4);
    assert_int_equal(number(json, "refused"), 1);
    assert_non_null(strstr(text(json, "end"), "no idea"));
    assert_string_equal(text(json_object_get(json, "champion"), "name"), "origin");
    json_decref(json);
    asked[scratch_read(scratch_path(state, "asked.txt", path), asked, sizeof asked - 1)] = '\0';
    assert_non_null(strstr(asked, "expected expression"));
    assert_non_null(strstr(asked, "2 of the last 3 kernels failed"));
}

/* A killed run goes on with what the board has, and ends as if it had not been. */
static void test_killed_sources(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
#define SOURCES \
    "evolve " SMALL " --proposer regions --trials 5 --duel 0.3 --no-verify --board k.db "
    static const char line[] =
        "'" HEED_PROGRAM "' " SOURCES "& child=$!; for i in $(seq 500); do n=$('" HEED_PROGRAM
        "' board check --board k.db 2>/dev/null | cut -d' ' -f1); [ \"${n:-0}\" -ge 2 ] && break; "
        "sleep 0.02; done; kill -KILL $child; wait $child; true";
    if (!holds_candidates())
        skip();
    assert_int_equal(run(state, line, out, err), 0);
    json_t *json = run_json(state, "heed " SOURCES "--json");
    assert_true(json_is_true(json_object_get(json, "resumed")));
    assert_true(number(json, "reused") >= 2);
    assert_int_equal(number(json, "tried"), 5);
    assert_int_equal(number(json, "right"), 6);
    for (size_t i = 1; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(text(kernel_at(json, i), "hash"),
                                    text(kernel_at(json, j), "hash"));
    json_decref(json);
    trials_of_board(state, "k.db");
}

/* On a driver that runs nothing: all that is compiled is pruned, and the board says why. */
static void test_device(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    assert_int_equal(run(state,
                         FAKE "'" HEED_PROGRAM "' evolve 'b1 h2 s64 d64 f16' --device cuda --space "
                              "sweep90 --no-verify --board b.db",
                         out, err),
                     1);
    assert_non_null(strstr(err, "90 kernels bred, 0 launched"));
    assert_int_equal(run(state, "heed board show 1 --board b.db", out, err), 0);
    assert_non_null(strstr(out, "pruned"));
}

/* ---- Sources in CUDA ---- */

/* With the machine's own compiler, if there is one, and a driver that runs nothing. */
#define NO_GPU "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define CUDA_SOURCE \
    NO_GPU "heed evolve 'b1 h2 s64 d128 f16' --device cuda --no-verify --board cu.db --source "

/* The source that comes with heed is compiled, launched, and found not to have computed; what its
 * code takes is on the board, and how it is launched. */
static void test_cuda_source(void **state)
{
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    int code = run(state, CUDA_SOURCE HEED_SOURCE_DIR "/proposers/attention.cu", out, err);
    if (strstr(err, "NVRTC"))
        skip();
    assert_int_equal(code, 1);
    assert_non_null(strstr(err, "attention.cu, which is to be begun with: wrong"));
    assert_int_equal(run(state, "heed board show 1 --board cu.db", out, err), 0);
    static const char *const words[] = { "language        cuda", "form            cubin",
                                         "registers       255",  "shared_bytes    32768",
                                         "spill_bytes     ",     "spills" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(out, words[i]))
            fail_msg("'%s' is not in %s", words[i], out);
    assert_null(strstr(out, "spill_bytes     0"));
}

/* What it says of itself is looked at before anything is compiled, and the compiler is heard. */
static void test_bad_cuda_sources(void **state)
{
    static const char *const rows[][2] = {
        { "int x;", "does not say how it is launched" },
        { "/* heed:launch entry=a threads=2048 rows=1 */", "launch.threads is 2048" },
        { "/* heed:launch entry=a threads=32 rows=1 */\nextern \"C\" __global__ void a() { no(); }",
          "identifier" },
    };
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[SCRATCH_PATH_SIZE];
        scratch_write(scratch_path(state, "bad.cu", path), rows[i][0], strlen(rows[i][0]));
        int code = run(state, CUDA_SOURCE "./bad.cu --afresh", out, err);
        if (strstr(err, "NVRTC"))
            skip();
        if (code != 1 || !strstr(err, rows[i][1]))
            fail_msg("%s: %d %s", rows[i][0], code, err);
    }
}

/* What cannot be is said. */
static void test_refusals(void **state)
{
    static const struct {
        const char *line;
        int code;
        const char *words;
    } cases[] = {
        { "heed evolve", 2, "no problem given" },
        { "heed evolve 'b1 h1 s8 d16 f32' --space none --board r.db --no-verify", 3, "none" },
        { "heed evolve 'b1 h1 s8 d16 f32' --trials 0 --board r.db", 2, "--trials" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer x --source x.cpp --board r.db --no-verify", 2,
          "ends neither with .c nor with .cu" },
        { "heed evolve 'b1 h1 s8 d16 f32' --source x.cu --board r.db --no-verify", 4,
          "is for a CUDA device" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer regions --source x.c --board r.db "
          "--no-verify",
          3, "x.c" },
        { "echo 'int x = ;' > y.c; heed evolve 'b1 h1 s8 d16 f32' --proposer regions --source y.c "
          "--board r.db --no-verify",
          1, "y.c" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer ./nobody --board r.db --no-verify", 3,
          "cannot be started" },
        { "echo junk > j.db; heed evolve 'b1 h1 s8 d16 f32' --board j.db --no-verify", 7, "j.db" },
    };
    static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strstr(cases[i].line, "proposer") && !holds_candidates())
            continue;
        int code = run(state, cases[i].line, out, err);
        if (code != cases[i].code || !strstr(err, cases[i].words))
            fail_msg("%s gave %d: %s", cases[i].line, code, err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_champion, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_interruptions, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_title, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_regions, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_bad_sources, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_killed_sources, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_device, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_cuda_source, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_bad_cuda_sources, open_folder, scratch_close),
        cmocka_unit_test_setup_teardown(test_refusals, open_folder, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
