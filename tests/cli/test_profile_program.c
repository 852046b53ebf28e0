/*
 * test_profile_program.c - the `heed profile` command, with an ncu that succeeds and fails in many
 * ways
 */
#include "run_tests.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define TEXT_SIZE 262144
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define DATA HEED_SOURCE_DIR "/tests/data/ncu/"
#define SPEC "'b1 h2 s128 d64 f16'"

/* An ncu that logs its arguments, and then acts according to NCU. The recordings were made with all
 * metrics; its output does not depend on the request. */
static const char script[] =
    "#!/bin/sh\n"
    "echo \"$@\" >>args.txt\n"
    "while [ \"$1\" != --metrics ]; do shift; done\n"
    "asked=$2; shift 2\n"
    "case $NCU in\n"
    "perm) echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1;;\n"
    "gvisor) echo '==ERROR== Failed to initialize the profiler: LibraryNotLoaded' >&2; exit 1;;\n"
    "hang) echo $$ >pid.txt; sleep 600;;\n"
    "deaf) trap '' TERM INT; echo $$ >pid.txt; while :; do sleep 1; done;;\n"
    "crash) kill -SEGV $$;;\n"
    "garbage) head -c 3000000 /dev/urandom;;\n"
    "silent) ;;\n"
    "fails) exit 7;;\n"
    "none) echo '==WARNING== No kernels were profiled.';;\n"
    "half) head -c 4000 '" DATA "h200-mma-b2.txt';;\n"
    "late) cat '" DATA "h200-mma-b2.txt'; exit 3;;\n"
    "picky) for metric in sm__instruction_throughput.avg.pct_of_peak_sustained_active \\\n"
    "  smsp__warps_eligible.avg.per_cycle_active; do\n"
    "  case ,$asked, in *,$metric,*) echo \"==ERROR== Failed to find metric "
    "regex:^${metric%%.*}\"\\\n"
    "    '\\.(sum|min|max|avg|pct|ratio|max_rate)$'; exit 9;; esac; done\n"
    "  sed s/smsp__warps_eligible.avg/x/ '" DATA "h200-mma-b2.txt';;\n"
    "picky_always) echo '==ERROR== Failed to find metric something_else'; exit 9;;\n"
    "run) \"$@\" >said.txt 2>&1; echo $? >status.txt; cat '" DATA "h200-mma-b2.txt';;\n"
    "through) \"$@\" || { echo '==ERROR== The application returned an error code'; exit 9; };;\n"
    "*) cat '" DATA "'$NCU.txt;;\n"
    "esac\n";

static const run_heed_way way = { HEED_PROGRAM,
                                  "HEED_CACHE=\"$PWD/cache\" PATH=\"$PWD:$PATH\" " FAKE };

static int open_folder(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    scratch_script_write(state, "ncu", script);
    return 0;
}

/* @line, with a new log of ncu. */
static const char *noted_anew(const char *line)
{
    static char text[4096];
    int length = snprintf(text, sizeof text, "rm -f args.txt pid.txt; %s", line);
    assert_in_range(length, 1, sizeof text - 1);
    return text;
}

static void must(void **state, const char *line, int code, const char *says)
{
    run_heed_says(state, &way, noted_anew(line), code, says);
}

static json_t *answer(void **state, const char *line, int code, const char *schema)
{
    json_t *json = run_heed_json(state, &way, noted_anew(line), code);
    assert_string_equal(text_of(json, "schema"), schema);
    return json;
}

static const json_t *problem_of(const json_t *json, size_t index)
{
    const json_t *it = json_array_get(json_object_get(json, "problems"), index);
    assert_non_null(it);
    return it;
}

/* Finds the member of an array of objects whose @key is @value. */
static const json_t *find(const json_t *array, const char *key, const char *value)
{
    size_t i;
    json_t *it;
    json_array_foreach(array, i, it) if (strcmp(text_of(it, key), value) == 0) return it;
    fail_msg("there is no %s %s", key, value);
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* Counters                                                                   */
/* -------------------------------------------------------------------------- */

static void test_counters(void **state)
{
    static char text[TEXT_SIZE];
    json_t *json = answer(state, "NCU=h200-wgmma-long heed profile --json --device cuda " SPEC, 0,
                          "heed.profile/1");
    const json_t *row = problem_of(json, 0);
    assert_string_equal(text_of(row, "problem"), "b1 h2 s128 d64 f16");
    assert_non_null(strstr(text_of(row, "kernel"), "fwd_16bit_sm"));
    assert_string_equal(text_of(row, "verdict"), "PASS");
    assert_true(json_is_true(json_object_get(row, "asynchronous")));
    assert_string_equal(text_of(row, "limiter"), "registers");
    const json_t *gate = find(json_object_get(row, "gates"), "gate", "issue_slots");
    assert_string_equal(text_of(gate, "verdict"), "OFF");
    const json_t *busy = json_object_get(json_object_get(row, "metrics"), "sm_busy");
    assert_true(number_of(busy, "value") == 72.11);
    assert_string_equal(text_of(json_array_get(json_object_get(row, "stalls"), 0), "stall"),
                        "wait");
    json_decref(json);
    scratch_text_read(state, "args.txt", text, sizeof text);
    const char *const *wanted = WORDS(
        "--csv --page raw", "--clock-control none", "--cache-control all", "--launch-count 1",
        "launch --device cuda --kernel fwd_16bit_sm", "b1 h2 s128 d64 f16");
    for (size_t i = 0; wanted[i]; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("ncu was not given '%s': %s", wanted[i], text);
    must(state, "NCU=h200-naive-b2 heed profile --caches keep --device cuda:0 " SPEC, 0,
         "lg_throttle");
    scratch_text_read(state, "args.txt", text, sizeof text);
    assert_non_null(strstr(text, "--cache-control none"));
    assert_non_null(strstr(text, "--device cuda:0"));
}

/* The profiled program is this one, and it runs the planned kernel. */
static void test_launch(void **state)
{
    static char text[TEXT_SIZE];
    json_t *json = answer(state, "NCU=run heed profile --json --device cuda " SPEC, 0,
                          "heed.profile/1");
    scratch_text_read(state, "status.txt", text, sizeof text);
    assert_string_equal(text, "0\n");
    scratch_text_read(state, "said.txt", text, sizeof text);
    assert_non_null(strstr(text, "heed launched "));
    assert_non_null(strstr(text, text_of(problem_of(json, 0), "kernel")));
    json_decref(json);
    must(state, "NCU=run heed profile --device cuda --kernel fwd_any_sm80_naive " SPEC, 0,
         "fwd_any_sm80_naive");
    scratch_text_read(state, "said.txt", text, sizeof text);
    assert_non_null(strstr(text, "heed launched fwd_any_sm80_naive"));
    /* a source in place of the kernel's own */
    must(state,
         "echo 'extern \"C\" __global__ void heed_attend() {}' >own.cu; NCU=run heed profile "
         "--device cuda --source own.cu --kernel fwd_16bit_sm80_mma " SPEC,
         0, "fwd_16bit_sm80_mma__");
    scratch_text_read(state, "said.txt", text, sizeof text);
    assert_non_null(strstr(text, "heed launched fwd_16bit_sm80_mma__"));
    scratch_text_read(state, "args.txt", text, sizeof text);
    assert_non_null(strstr(text, "--source own.cu"));
    must(state, "heed launch --device cuda --source /nowhere.cu " SPEC, 3, "/nowhere.cu");
    must(state, "heed launch --device cpu --source own.cu " SPEC, 2, "is for a GPU");
    /* the output of a program that fails under ncu is quoted */
    must(state, "export HEED_LIBCUDA=" FAKE_CUDA "; NCU=through heed profile --device cuda " SPEC,
         3, "UNKNOWN");
    must(state, "heed launch --device cpu 'b1 h1 s8 d8 f32' 'b1 h1 s8 d8 f32'", 2, "one is");
    must(state, "heed launch --device cpu --calls 3 'b1 h1 s8 d8 f32'", 0, "heed launched fwd_any");
}

static void test_gate(void **state)
{
    must(state, "NCU=h200-wgmma-long heed profile --gate --device cuda " SPEC, 0, "PASS");
    must(state, "NCU=h200-naive-b2 heed profile --gate --device cuda " SPEC, 1, "FAIL");
    must(state, "NCU=h200-naive-b2 heed profile --device cuda " SPEC, 0, "FAIL");
    must(state, "NCU=picky heed profile --gate --device cuda " SPEC, 1, "UNKNOWN");
    must(state,
         "sed 's/\"no data\"/\"0\"/; s/l1tex__data_bank/x/' " DATA
         "h200-wgmma-long.txt | heed profile --gate --read -",
         3, "UNKNOWN");
}

/* Two names that this ncu does not have: one has an alternative, one does not, and nothing else is
 * lost. */
static void test_missing(void **state)
{
    static char text[TEXT_SIZE];
    json_t *json = answer(state, "NCU=picky heed profile --json --device cuda " SPEC, 0,
                          "heed.profile/1");
    const json_t *metrics = json_object_get(problem_of(json, 0), "metrics");
    const json_t *busy = json_object_get(metrics, "sm_busy");
    assert_string_equal(text_of(busy, "ncu"),
                        "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed");
    assert_true(json_is_null(json_object_get(json_object_get(metrics, "eligible_warps"), "value")));
    assert_true(json_is_real(json_object_get(json_object_get(metrics, "issue_slots"), "value")));
    const json_t *gate = find(json_object_get(problem_of(json, 0), "gates"), "gate",
                              "eligible_warps");
    assert_string_equal(text_of(gate, "verdict"), "UNKNOWN");
    json_decref(json);
    scratch_text_read(state, "args.txt", text, sizeof text);
    int runs = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        runs++;
    assert_int_equal(runs, 3);
}

/* -------------------------------------------------------------------------- */
/* Trouble                                                                    */
/* -------------------------------------------------------------------------- */

static void test_trouble(void **state)
{
    static const text_pair rows[] = {
        { "perm", "NVreg_RestrictProfilingToAdminUsers=0" },
        { "gvisor", "LibraryNotLoaded" },
        { "crash", "ended by signal 11" },
        { "garbage", "no ncu table" },
        { "silent", "no ncu table" },
        { "fails", "exit status 7" },
        { "none", "started no kernel" },
        { "half", "damaged" },
        { "late", "exit status 3" },
        { "picky_always", "Failed to find metric something_else" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512];
        snprintf(line, sizeof line, "NCU=%s heed profile --device cuda " SPEC, rows[i].given);
        must(state, line, 3, rows[i].wanted);
        snprintf(line, sizeof line, "NCU=%s heed profile --gate --json --device cuda " SPEC,
                 rows[i].given);
        json_t *json = answer(state, line, 3, "heed.profile/1");
        assert_string_equal(text_of(problem_of(json, 0), "verdict"), "UNKNOWN");
        assert_int_equal(integer_of(json, "exit"), 3);
        json_decref(json);
    }
}

/* An ncu that hangs is killed with its children; also after Ctrl-C. */
static void test_hang(void **state)
{
    static const char *const gone = "; code=$?; sleep 0.1; kill -0 $(cat pid.txt) && exit 99; "
                                    "exit $code";
    char line[512];
    snprintf(line, sizeof line, "(NCU=hang heed profile --timeout 1 --device cuda " SPEC "%s)",
             gone);
    must(state, line, 3, "did not finish within 1 s");
    snprintf(line, sizeof line, "(NCU=deaf heed profile --timeout 1 --device cuda " SPEC "%s)",
             gone);
    must(state, line, 3, "did not finish within 1 s");
    snprintf(
        line, sizeof line,
        "(NCU=hang timeout --foreground --preserve-status -s INT 1 '%s' profile --device cuda " SPEC
        "%s)",
        HEED_PROGRAM, gone);
    must(state, line, 130, "");
}

/* Returns whether an ncu is found without the variable. */
static bool is_installed(void)
{
    static const char *const places[] = { "/usr/local/cuda*/bin/ncu", "/usr/bin/ncu",
                                          "/opt/nvidia/nsight-compute/*/ncu" };
    bool found = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        glob_t files;
        if (glob(places[i], 0, NULL, &files) != 0)
            continue;
        found = true;
        globfree(&files);
    }
    return found;
}

static void test_absent(void **state)
{
    if (is_installed())
        print_message("skipped: ncu is here, so how heed does without it cannot be seen\n");
    else
        must(state,
             "PATH=/usr/bin:/bin; unset CUDA_HOME CUDA_PATH; heed profile --device cuda " SPEC, 3,
             "install Nsight Compute");
    must(state, "heed profile --ncu /nowhere/ncu --device cuda " SPEC, 3, "'/nowhere/ncu' is no");
    must(state, "heed profile --device cpu " SPEC, 3, "a CPU has no such counters");
    must(state, "heed profile --device cpu " SPEC " | grep -c -e caches -e clocks", 1, "0\n");
    must(state, "heed profile --device cuda", 2, "no problem given");
    must(state, "heed profile --device cuda --kernel fwd_any_sm80_naiv " SPEC, 2, "did you mean");
    must(state, "heed profile --device cuda --kernel fwd_16bit_sm80_mma 'b1 h1 s8 d8 f32'", 4,
         "element type");
}

/* -------------------------------------------------------------------------- */
/* Recordings, and conflicting options                                        */
/* -------------------------------------------------------------------------- */

static void test_read(void **state)
{
    must(state, "heed profile --read " DATA "h200-wgmma-b2.txt", 0, "of a recording");
    must(state, "heed profile --read - <" DATA "h200-wgmma-b2.txt", 0,
         "9.44 us: 128 blocks of 384");
    must(state, "heed profile --gate --read " DATA "h200-wgmma-b2.txt", 1, "SM busy");
    must(state, "heed profile --read /nowhere", 3, "--read: /nowhere: No such file");
    must(state, "heed profile --read " DATA "h200-missing.txt", 7, "no ncu table");
    must(state, "echo ERR_NVGPUCTRPERM | heed profile --read -", 3, "reboot");
    must(state, "heed profile --read - " SPEC, 2, "takes no problem");
}

static void test_usage(void **state)
{
    must(state, "heed profile --scaling --timeline " SPEC, 2, "cannot be used together");
    must(state, "heed profile --scaling --gate " SPEC, 2, "--gate is for hardware counters");
    must(state, "heed profile --timeline --ncu x " SPEC, 2, "--ncu is for hardware counters");
    must(state, "heed profile --steps 3 " SPEC, 2, "--steps goes with --scaling");
    must(state, "heed profile --scaling --calls 3 " SPEC, 2, "--calls goes with --timeline");
    must(state, "heed profile --scaling --steps 1 " SPEC, 2, "--steps");
    must(state, "heed profile --timeline", 2, "no problem given");
}

/* -------------------------------------------------------------------------- */
/* Scaling and timeline                                                       */
/* -------------------------------------------------------------------------- */

/* Sizes double, the work is as computed, and every axis has a result; the times do not matter
 * here. */
static void check_axis(const json_t *row, const char *name, int64_t size, double work)
{
    const json_t *axis = find(json_object_get(row, "axes"), "axis", name);
    const json_t *points = json_object_get(axis, "points");
    assert_int_equal(json_array_size(points), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *point = json_array_get(points, i);
        assert_int_equal(integer_of(point, "size"), size << i);
        assert_true(number_of(point, "seconds") > 0);
        assert_string_not_equal(text_of(point, "kernel"), "");
    }
    double flops = number_of(json_array_get(points, 1), "flops") /
                   number_of(json_array_get(points, 0), "flops");
    assert_true(flops == work);
    assert_string_not_equal(text_of(axis, "cause"), "");
}

static json_t *scale(void **state, const char *arguments)
{
    static heed_said said;
    char line[1024];
    snprintf(line, sizeof line, "heed profile --scaling --json --steps 2 --seconds 0.005 %s",
             arguments);
    run_heed(state, &way, line, &said);
    json_t *json = json_loads(said.out, 0, NULL);
    if ((said.code != 0 && said.code != 1) || !json)
        fail_msg("%s gave %d: %s%s", line, said.code, said.out, said.err);
    assert_string_equal(text_of(json, "schema"), "heed.profile-scaling/1");
    assert_int_equal(integer_of(json, "exit"), said.code);
    return json;
}

static void test_scaling(void **state)
{
    json_t *json = scale(state, "--device cpu -t 1 'b1 h2/1 s64 d32 f32 layout=bhsd' "
                                "'b2 h2 s1/128 d16 bf16'");
    check_axis(problem_of(json, 0), "batch", 1, 2);
    check_axis(problem_of(json, 0), "heads", 2, 2);
    check_axis(problem_of(json, 0), "length", 64, 4);
    check_axis(problem_of(json, 1), "queries", 1, 2);
    check_axis(problem_of(json, 1), "keys", 128, 2);
    json_decref(json);
    json = scale(state, "--device cuda " SPEC);
    check_axis(problem_of(json, 0), "batch", 1, 2);
    const json_t *axis = find(json_object_get(problem_of(json, 0), "axes"), "axis", "batch");
    const json_t *points = json_object_get(axis, "points");
    assert_true(integer_of(json_array_get(points, 0), "blocks") > 0);
    assert_true(integer_of(json_array_get(points, 0), "capacity") >= 132);
    assert_true(integer_of(json_array_get(points, 1), "blocks") >
                integer_of(json_array_get(points, 0), "blocks"));
    json_decref(json);
    /* strides that are too small for the larger size: only that size is left out */
    must(state,
         "heed profile --scaling --steps 2 --seconds 0.005 --device cpu -t 1 "
         "'b1 h2 s8 d8 f32 o=192:24:8' || [ $? = 1 ]",
         0, "overlap");
}

static void test_timeline(void **state)
{
    json_t *json = answer(state,
                          "heed profile --timeline --json --calls 4 --device cpu "
                          "'b1 h1 s16 d16 f32'",
                          0, "heed.profile-timeline/1");
    const json_t *calls = json_object_get(problem_of(json, 0), "calls");
    double end = 0;
    assert_int_equal(json_array_size(calls), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *it = json_array_get(calls, i);
        double start = number_of(it, "host_start");
        double seconds = number_of(it, "host_seconds");
        assert_true(start >= end && seconds > 0);
        assert_true(number_of(it, "device_seconds") == seconds);
        end = start + seconds;
    }
    json_decref(json);
    must(state, "heed profile --timeline --device cpu 'b1 h1 s16 d16 f32'", 0, "call time");
    json = answer(state, "heed profile --timeline --json --calls 5 --device cuda " SPEC, 0,
                  "heed.profile-timeline/1");
    calls = json_object_get(problem_of(json, 0), "calls");
    assert_int_equal(json_array_size(calls), 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(number_of(json_array_get(calls, i), "device_seconds") >= 0);
    assert_true(json_is_real(json_object_get(problem_of(json, 0), "replay_seconds")));
    json_decref(json);
    must(state, "heed profile --timeline --device cuda " SPEC, 0, "in a graph");
}

RUN_TESTS_WITHIN(open_folder, scratch_close, test_counters, test_launch, test_gate, test_missing,
                 test_trouble, test_hang, test_absent, test_read, test_usage, test_scaling,
                 test_timeline)
