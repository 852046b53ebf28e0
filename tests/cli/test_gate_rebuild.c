/*
 * test_gate_rebuild.c - champions built from the code of their time: a regression in one of heed's
 * kernels is found, whether it is slow or wrong
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda/driver/nvrtc.h"
#include "cuda/facts.h"
#include "expect.h"
#include "lab/build/sources.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/compile/library.h"
#include "lab/trial/launch.h"
#include "lab/trial/process.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"
#include "wisdom_line.h"

/* -------------------------------------------------------------------------- */
/* The gate, with the good program and one with a regression                  */
/* -------------------------------------------------------------------------- */

#define VARIABLES "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu HEED_BOARD=board.db "
static const run_heed_way well = { HEED_PROGRAM, VARIABLES };
static const run_heed_way planted = { HEED_PLANTED, VARIABLES "HEED_PLANTED=300 " };

static const json_t *shape_of(const json_t *json, const char *spec)
{
    size_t i;
    json_t *shape;
    json_array_foreach(json_object_get(json, "shapes"), i, shape)
    {
        if (strstr(text_of(shape, "problem"), spec))
            return shape;
    }
    fail_msg("no shape of %s", spec);
    return NULL;
}

static json_t *gate_planted(void **state, const char *seconds)
{
    char line[100];
    snprintf(line, sizeof line, "heed gate --seconds %s -t 1 --no-verify --json", seconds);
    return run_heed_json(state, &planted, line, 1);
}

/* A directory with the board of the good program. */
static int open_board(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    run_heed_must(
        state, &well,
        "heed bench 'b1 h2 s128 d64 f32' 'b2 h2 s128 d64 f32' 'b3 h2 s128 d64 f32' "
        "--peers none --seconds 0.05 -t 1 --json >bench.json && heed board add bench.json",
        0);
    return 0;
}

/* Real regressions are found, and others are not. */
static void regressions_are_found(void **state)
{
    json_t *json = gate_planted(state, "15");
    if (strcmp(text_of(shape_of(json, "b1"), "verdict"), "AMBIGUOUS") == 0) {
        json_decref(json); /* the machine is busy: more time */
        json = gate_planted(state, "60");
    }
    const json_t *slower = shape_of(json, "b1"), *wrong = shape_of(json, "b2"),
                 *same = shape_of(json, "b3");
    if (strcmp(text_of(slower, "verdict"), "SLOWER") != 0)
        fail_msg("the slower kernel is %s: %s", text_of(slower, "verdict"), text_of(slower, "why"));
    assert_true(number_of(slower, "high") < 0.98);
    assert_true(json_is_true(json_object_get(slower, "rebuilt")));
    assert_string_equal(text_of(wrong, "verdict"), "WRONG");
    assert_non_null(strstr(text_of(wrong, "why"), "computes a wrong result"));
    assert_true(json_is_true(json_object_get(same, "rebuilt")));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (strcmp(text_of(same, "verdict"), "SLOWER") == 0 ||
        strcmp(text_of(same, "verdict"), "WRONG") == 0)
        fail_msg("the unchanged kernel is %s: %s", text_of(same, "verdict"), text_of(same, "why"));
#endif
    json_decref(json);
}

/* A kernel that takes 8.5 times as long is detected however little time there is, since the
 * required number of pairs is always timed. It must never pass, least of all because nothing is
 * detectable. */
static void far_slower_in_no_time(void **state)
{
    const run_heed_way far = { HEED_PLANTED, VARIABLES "HEED_PLANTED=750 " };
    json_t *json = run_heed_json(
        state, &far,
        "heed gate --seconds 0.01 -t 1 --no-verify --problem b1 --allow-ambiguous --json", 1);
    assert_string_equal(text_of(shape_of(json, "b1"), "verdict"), "SLOWER");
    json_decref(json);
}

/* The same, with a library that compiles in half the time. */
static void far_slower_than_a_small_library(void **state)
{
#define SMALL "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu HEED_CPU=scalar HEED_BOARD=small.db "
    const run_heed_way then = { HEED_PLANTED, SMALL "HEED_PLANTED_WELL=1 " };
    const run_heed_way now = { HEED_PLANTED, SMALL "HEED_PLANTED=750 " };
    run_heed_must(state, &then,
                  "heed bench 'b1 h2 s128 d64 f32' --peers none --seconds 0.05 -t 1 --json "
                  ">small.json && heed board add small.json",
                  0);
    json_t *json = run_heed_json(
        state, &now, "heed gate --seconds 0.01 -t 1 --no-verify --allow-ambiguous --json", 1);
    const json_t *shape = shape_of(json, "b1");
    assert_string_equal(text_of(shape, "verdict"), "SLOWER");
    assert_true(json_is_true(json_object_get(shape, "rebuilt")));
    json_decref(json);
}

/* If the code of that time is not available, nothing passes. */
static void what_cannot_be_rebuilt(void **state)
{
    static const char gate[] = "heed gate --seconds 0.2 -t 1 --no-verify --problem b3 --json";
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(chmod(scratch_path(state, "board.db", path), 0666), 0);
    json_t *json = run_heed_json(state, &planted, gate, 8);
    const json_t *shape = shape_of(json, "b3");
    assert_string_equal(text_of(shape, "verdict"), "AMBIGUOUS");
    assert_false(json_is_true(json_object_get(shape, "rebuilt")));
    assert_non_null(strstr(text_of(shape, "why"), "--trust-board"));
    json_decref(json);
    assert_int_equal(chmod(path, 0644), 0);
    const run_heed_way without = { HEED_PLANTED, VARIABLES "HEED_CC=none " };
    json = run_heed_json(state, &without, gate, 8);
    shape = shape_of(json, "b3");
    assert_string_equal(text_of(shape, "verdict"), "AMBIGUOUS");
    assert_non_null(strstr(text_of(shape, "why"), "no C compiler"));
    json_decref(json);
}

/* -------------------------------------------------------------------------- */
/* Sources that are not libheed                                               */
/* -------------------------------------------------------------------------- */

#define RECIPE "heed library 1\nflags -Iinclude\nsource src/a.c\nlink -lm\n"

static void refused_sources(void **state)
{
    static const struct {
        const char *recipe, *path, *text;
        const char *header; /* NULL: the current one */
        lab_trial_verdict verdict;
        const char *words;
    } cases[] = {
        { "", "src/a.c", "", NULL, LAB_TRIAL_REFUSED, "no recipe" },
        { "heed library 2\n", "src/a.c", "", NULL, LAB_TRIAL_REFUSED, "no recipe" },
        { "heed library 1\nrun rm\n", "src/a.c", "", NULL, LAB_TRIAL_REFUSED, "run rm" },
        { "heed library 1\n", "src/a.c", "", NULL, LAB_TRIAL_REFUSED, "names no source" },
        { RECIPE, "../a.c", "", NULL, LAB_TRIAL_REFUSED, "../a.c" },
        { RECIPE, "/tmp/a.c", "", NULL, LAB_TRIAL_REFUSED, "/tmp/a.c" },
        { RECIPE, "src/a.c", "int a = ;\n", NULL, LAB_TRIAL_COMPILE_ERROR, "error" },
        { RECIPE, "src/a.c", "int a;\n", NULL, LAB_TRIAL_REFUSED, "heed_context_create" },
        { RECIPE, "src/a.c", "int a;\n",
          "#include <stddef.h>\n#include <stdint.h>\n"
          "typedef struct { int64_t type; } heed_problem;\n",
          LAB_TRIAL_COMPILE_ERROR, "" },
    };
    const char *header = NULL;
    (void)state;
    for (size_t i = 0; i < lab_build_sources()->count; i++)
        if (strcmp(lab_build_sources()->files[i].path, "include/heed.h") == 0)
            header = lab_build_sources()->files[i].text;
    assert_non_null(header);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_library_file files[] = {
            { "include/heed.h", cases[i].header ? cases[i].header : header },
            { cases[i].path, cases[i].text },
            { LAB_LIBRARY_RECIPE, cases[i].recipe },
        };
        lab_library library;
        lab_trial_outcome outcome;
        assert_false(lab_library_load(&library, files, 3, NULL, &outcome));
        if (outcome.verdict != cases[i].verdict || !strstr(outcome.text, cases[i].words))
            fail_msg("%zu: %s: %s", i, lab_trial_verdict_name(outcome.verdict), outcome.text);
        lab_library_unload(&library);
    }
}

/* -------------------------------------------------------------------------- */
/* Device code                                                                */
/* -------------------------------------------------------------------------- */

#define PLAIN "b2 h8 s512 d64 f16"

/* Describes a trial of @kernel on @spec as on the board. */
static void describe(const char *kernel, const char *spec, heed_problem *problem,
                     lab_launched *launched)
{
    static lab_record_described described;
    const char *bad = "";
    assert_int_equal(heed_problem_parse(problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(problem, problem), HEED_OK);
    const lab_record_trial trial = {
        .candidate = { .kernel = kernel },
        .problem = problem,
        .device = { .name = "some GPU", .backend = "cuda" },
        .environment = { .features = "sm_90-driver13.0-nvrtc13.0", .build = heed_wisdom_build() },
    };
    memset(&described, 0, sizeof described);
    lab_build_describe(&trial, &described);
    if (!lab_launch_parse(launched, described.launch, &bad))
        fail_msg("%s: %s", described.launch, bad);
    assert_string_equal(described.artifact.form, "cubin");
    assert_int_equal(strlen(described.artifact.sha256), LAB_RECORD_HASH_SIZE - 1);
    assert_in_range(described.artifact.registers, 16, 255);
}

/* Compiles the source of the kernel by the words of its launch, and compares the code with that of
 * the kernel itself. */
static void compare_code(const char *kernel, const char *spec, const char *runner)
{
    heed_problem problem;
    heed_cuda_facts facts;
    heed_cubin cubin;
    lab_launched launched;
    lab_trial_outcome outcome;
    lab_code code;
    char why[256];
    describe(kernel, spec, &problem, &launched);
    char *text = lab_build_kernel(lab_build_sources(), &problem, launched.source, NULL, why,
                                  sizeof why);
    if (!text)
        fail_msg("%s: %s", kernel, why);
    assert_null(strstr(text, "#include \""));
    const lab_limits limits = { .compile_seconds = 300 };
    const lab_candidate candidate = { .name = kernel,
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = text,
                                      .source_size = strlen(text),
                                      .knobs = launched.knobs,
                                      .knob_count = launched.knob_count,
                                      .launch = launched.launch,
                                      .problem = &problem };
    if (!lab_compile_cuda(&candidate, &limits, runner, 90, &code, &outcome))
        fail_msg("%s on '%s': %s\n%s", kernel, spec, outcome.text, code.log);
    assert_int_equal(heed_cuda_facts_find(kernel, &problem, 90, &facts), HEED_OK);
    heed_build build = heed_cuda_facts_build(&facts, 90);
    build.fresh = true;
    assert_int_equal(heed_jit_build(&build, &cubin), HEED_OK);
    assert_int_equal(code.size, cubin.size);
    assert_memory_equal(code.data, cubin.data, cubin.size);
    heed_cubin_free(&cubin);
    lab_code_free(&code);
    free(text);
}

typedef struct compared {
    const char *kernel, *spec;
} compared;

static void compare_codes(const compared *cases, size_t count)
{
    char runner[PATH_MAX];
    lab_trial_outcome outcome;
    const heed_nvrtc *nvrtc;
    if (heed_nvrtc_get(&nvrtc) != HEED_OK)
        skip();
    assert_true(lab_program_find(LAB_RUNNER_CUDA, runner, &outcome));
    for (size_t i = 0; i < count; i++)
        compare_code(cases[i].kernel, cases[i].spec, runner);
}

static void device_code_is_the_same(void **state)
{
    static const compared cases[] = {
        { "fwd_any_sm80_naive", PLAIN },
        { "fwd_16bit_sm80_mma", PLAIN " causal alibi" },
        { "fwd_16bit_sm90_wgmma", PLAIN " causal alibi" },
    };
    (void)state;
    compare_codes(cases, sizeof cases / sizeof *cases);
}

static void device_code_of_other_problems(void **state)
{
    static const compared cases[] = {
        { "fwd_any_sm80_naive", PLAIN " causal alibi" },
        { "fwd_16bit_sm80_mma", PLAIN },
        { "fwd_16bit_sm90_wgmma", PLAIN },
    };
    (void)state;
    compare_codes(cases, sizeof cases / sizeof *cases);
}

/* Sources of an older version: the current ones with one file changed or left out. */
static char *with(const char *spec, const char *path, const char *text, char *why, size_t size)
{
    const lab_record_library *now = lab_build_sources();
    lab_record_file *files = calloc(now->count, sizeof *files);
    lab_record_library then = { .files = files };
    assert_non_null(files);
    for (size_t i = 0; i < now->count; i++) {
        bool is = strcmp(now->files[i].path, path) == 0;
        files[then.count] = now->files[i];
        if (is && text)
            files[then.count].text = text;
        then.count += !is || text;
    }
    heed_problem problem;
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    char *made = lab_build_kernel(&then, &problem, "attn_mma.cu", NULL, why, size);
    free(files);
    return made;
}

static void device_sources_of_another_day(void **state)
{
    char why[256], commented[16384];
    const lab_record_library *now = lab_build_sources();
    (void)state;
    for (size_t i = 0; i < now->count; i++)
        if (strcmp(now->files[i].path, "src/cuda/kernels/args.cuh") == 0)
            snprintf(commented, sizeof commented, "/* as it was */\n%s\n\n", now->files[i].text);
    char *text = with(PLAIN, "src/cuda/kernels/args.cuh", commented, why, sizeof why);
    assert_non_null(text); /* comments are ignored */
    free(text);
    text = with(PLAIN, "src/cuda/kernels/tile.cuh", "int tile_of_another_day;\n", why, sizeof why);
    assert_non_null(text);
    assert_non_null(strstr(text, "tile_of_another_day"));
    free(text);
    assert_null(with(PLAIN, "src/cuda/kernels/args.cuh", "struct heed_cuda_args { int a; };\n", why,
                     sizeof why));
    assert_non_null(strstr(why, "has changed since (args.cuh)"));
    /* Steps need the current score.cuh, which plain problems do not use. */
    text = with(PLAIN, "src/cuda/kernels/score.cuh", "int of_another_day;\n", why, sizeof why);
    assert_non_null(text);
    free(text);
    assert_null(with(PLAIN " alibi", "src/cuda/kernels/score.cuh", "int of_another_day;\n", why,
                     sizeof why));
    assert_non_null(strstr(why, "has changed since (score.cuh)"));
    assert_null(with(PLAIN, "src/cuda/kernels/ptx.cuh", NULL, why, sizeof why));
    assert_non_null(strstr(why, "header ptx.cuh is missing"));
    assert_null(with(PLAIN, "src/cuda/kernels/attn_mma.cu", NULL, why, sizeof why));
    assert_non_null(strstr(why, "attn_mma.cu"));
}

static void launches_are_read_as_written(void **state)
{
    const heed_launch_facts launch = { .entry = "heed_attend",
                                       .threads = 384,
                                       .smem = 200000,
                                       .registers = 168,
                                       .rows = 128,
                                       .splits = 2,
                                       .mapped = 64,
                                       .map_columns = 16,
                                       .apart = true,
                                       .aligned = true,
                                       .persistent = true,
                                       .cluster = true,
                                       .resident = 2 };
    const lab_knob knobs[] = { { "TILE_M", 64 }, { "SCALE", -3 } };
    char words[LAB_LAUNCH_SIZE];
    lab_launched launched;
    const char *bad;
    (void)state;
    assert_true(lab_launch_print(&launch, NULL, knobs, 2, words));
    assert_true(lab_launch_parse(&launched, words, &bad));
    assert_string_equal(launched.launch.entry, "heed_attend");
    launched.launch.entry = launch.entry;
    assert_int_equal(launched.launch.threads, 384);
    assert_true(launched.launch.smem == 200000 && launched.launch.registers == 168);
    assert_true(launched.launch.rows == 128 && launched.launch.splits == 2);
    assert_true(launched.launch.mapped == 64 && launched.launch.aligned);
    assert_true(!launched.launch.window && launched.launch.persistent);
    assert_true(launched.launch.cluster && launched.launch.resident == 2);
    assert_int_equal(launched.launch.map_columns, 16);
    assert_true(launched.launch.apart);
    assert_null(launched.source);
    assert_int_equal(launched.knob_count, 2);
    assert_string_equal(launched.knobs[1].name, "SCALE");
    assert_true(launched.knobs[1].value == -3);
}

#define OLD "entry=f threads=1 smem=0 registers=0 rows=1 splits=1 mapped=0 aligned=0 window=0 "

/* From a board without the word for pairs. */
static void launches_of_older_boards(void **state)
{
    char words[LAB_LAUNCH_SIZE];
    lab_launched launched;
    const char *bad;
    (void)state;
    assert_true(lab_launch_parse(&launched, OLD "in_turn=1", &bad));
    assert_true(launched.launch.persistent && !launched.launch.cluster);
    assert_int_equal(launched.launch.resident, 0);
    assert_int_equal(launched.launch.map_columns, 0);
    /* The usual number of columns needs no word, so the words are the same as on older boards. */
    assert_true(lab_launch_print(&launched.launch, NULL, NULL, 0, words));
    assert_string_equal(words, OLD "in_turn=1 paired=0 resident=0");
}

static void bad_launches_are_refused(void **state)
{
    const char *const *refused = WORDS(
        "", "threads=128",
        "entry=f threads=x smem=0 registers=0 rows=1 splits=1 mapped=0 aligned=0 window=0 "
        "in_turn=0",
        OLD "in_turn=0 rm", OLD "in_turn=0 -DA=b");
    lab_launched launched;
    const char *bad;
    (void)state;
    for (size_t i = 0; refused[i]; i++)
        assert_false(lab_launch_parse(&launched, refused[i], &bad));
}

RUN_TESTS_WITHIN(open_board, scratch_close, launches_are_read_as_written, launches_of_older_boards,
                 bad_launches_are_refused, refused_sources, device_sources_of_another_day,
                 device_code_is_the_same, device_code_of_other_problems, regressions_are_found,
                 far_slower_in_no_time, far_slower_than_a_small_library, what_cannot_be_rebuilt)
