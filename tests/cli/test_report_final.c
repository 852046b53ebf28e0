/*
 * test_report_final.c - `heed report --final`: the files in the directory, their contents, and
 * refused input
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/trial/launch.h"
#include "record_scene.h"
#include "report_scene.h"
#include "scratch.h"

#define EXPECT(state, table) \
    run_heed_rows(state, &report_scene_way, table, sizeof(table) / sizeof(table)[0])

/* ---- A board ---- */

/* A trial of a search for sources: number 1 started it, and others beat earlier ones. */
typedef struct wanted {
    int number, attempt;
    double seconds;
    const char *source, *thought, *over;
    bool confirmed;
} wanted;

static void add_trial(lab_record *record, int64_t run, const wanted *it)
{
    static const lab_record_fact won[] = {
        { .name = "succeeds", .number = 1 },
        { .name = "binds", .text = "exp_bound" },
        { .name = "counter tensor", .number = 0.25 },
        { .name = "ablation no-exp", .number = 0.8 },
        { .name = "ablation no-exp low", .number = 0.75 },
        { .name = "ablation no-exp high", .number = 0.85 },
        { .name = "ablation no-loads", .number = 0.999 },
        { .name = "ablation no-loads low", .number = 0.99 },
        { .name = "ablation no-loads high", .number = 1.005 },
    };
    char words[LAB_LAUNCH_SIZE], hash[8];
    const heed_launch_facts launch = { .entry = "fwd", .threads = 128, .rows = 64, .splits = 1 };
    record_scene scene;
    record_scene_make(&scene, run, it->number);
    record_scene_time(&scene, it->seconds, LAB_RECORD_COLD);
    assert_true(lab_launch_print(&launch, NULL, NULL, 0, words));
    snprintf(hash, sizeof hash, "%02d", it->number);
    lab_record_trial *trial = &scene.trial;
    trial->candidate.source = it->source;
    trial->candidate.thought = it->thought;
    trial->attempt = it->attempt;
    trial->artifact.sha256 = hash;
    trial->artifact.registers = 200 - 20 * it->number;
    trial->launch = words;
    trial->confirmed = it->confirmed;
    trial->of_roofline = 0;
    trial->facts = won;
    trial->fact_count = it->over ? sizeof won / sizeof *won : 0;
    if (it->over)
        scene.comparisons[0].against = scene.samples[1].against = scene.samples[2].against =
            it->over;
    record_append(record, trial);
}

static void make_board(void **state)
{
    static const wanted trials[] = {
        { 1, 0, 4e-5, "int a;\nint b;\nint c;\n", NULL, NULL, true },
        { 2, 0, 3e-5, "int a;\nint two;\nint c;\n", "two in the place of b", NULL, false },
        { 2, 2, 3e-5, "int a;\nint two;\nint c;\n", "two in the place of b", "origin", false },
        { 3, 2, 2e-5, "int a;\nint <three>;\nint c;\n", "three", "fwd_2", true },
        { 3, 0, 2e-5, "int a;\nint <three>;\nint c;\n", "three", NULL, false },
    };
    char path[SCRATCH_PATH_SIZE];
    lab_record *record = record_scene_open(scratch_path(state, "board.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "sweep");
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        add_trial(record, run, &trials[i]);
    lab_record_close(record);
}

static void expect_parts(void **state, const char *name, const char *const *parts)
{
    const char *text = report_scene_read(state, name);
    for (; *parts; parts++)
        report_scene_says(text, *parts);
}

/* ---- The files ---- */

static void writes_what_the_board_knows(void **state)
{
    static const run_heed_row lines[] = {
        { "heed report --final out/it --board board.db '" REPORT_RECORD "'", 0, "",
          "written to out/it" },
        { "ls out/it | tr '\\n' ' '", 0,
          "champion.diff final_summary.md findings.md leaderboard.md pareto.svg report.html "
          "roofline.svg",
          "" },
        { "mkdir try; heed report --final try --board board.db; cmp try/champion.diff "
          "out/it/champion.diff",
          0, "", NULL },
    };
    static const char *const summary[] = {
        "| b1 h8 s512 d64 f16, cold | - |", /* the leader was not compared with SDPA */
        "| torch-flash | 10.0 us | 10.3 us | 5.00 us | 6.00 us | 2.00x | 1.900 to 2.100 | FASTER |",
        "In 2 of 3 rows no SDPA took turns with the kernel.",
        "Lifted 1.500x (1.400 to 1.600, FASTER in turns with fwd_2)",
        NULL,
    };
    static const char *const findings[] = {
        "3 kernels, 3 of them right, 2 challenges won",
        "40.0 us, and ended with fwd",
        "by two medians that were not taken in turns",
        "two in the place of b",
        "exp_bound",
        "no-exp: built so, the champion takes 0.800 (0.750 to 0.850) of its time (trial 4)",
        "tensor 0.25 (trial 4)",
        "Code: first 180 registers, 0 spilled bytes, 49152 bytes of shared memory, 8 of 64 warps",
        "The champion leads the board (trial 4)",
        NULL,
    };
    static const char *const change[] = { "-int b;\n+int <three>;\n", NULL };
    static const char *const leaders[] = { "### NVIDIA H200\n\n| trial | problem |",
                                           "| 4 | b1 h8 s512 d64 f16, cold | fwd_16bit",
                                           "503eb534e5cd+", NULL };
    static const char *const drawing[] = { "<svg xmlns", "<style>", "Roofline of NVIDIA H200",
                                           "products, 989", NULL };
    static const char *const page[] = { "<h2>Results</h2>",
                                        "<h2>Findings</h2>",
                                        "<pre>",
                                        "+int &lt;three&gt;;",
                                        "Roofline of NVIDIA H200",
                                        "Time against registers",
                                        "Time against occupancy",
                                        "heed gate --device cuda --threads 1 --board board.db",
                                        "heed bench --device cuda --threads 1 --cold --kernel",
                                        "__m32n64 --peers torch-flash --seed 5",
                                        NULL };
    make_board(state);
    EXPECT(state, lines);
    expect_parts(state, "out/it/final_summary.md", summary);
    expect_parts(state, "out/it/champion.diff", change);
    expect_parts(state, "out/it/leaderboard.md", leaders);
    expect_parts(state, "out/it/roofline.svg", drawing);
    expect_parts(state, "out/it/report.html", page);
    report_scene_sound(report_scene_last());
    expect_parts(state, "out/it/findings.md", findings);
    report_scene_lacks(report_scene_last(), "no-loads"); /* it had no effect */
}

/* A sentence states what is unknown, and no file is written for it. An older drawing is removed. */
static void says_what_is_missing(void **state)
{
    static const run_heed_row lines[] = {
        { "heed board add '" REPORT_RECORD "'", 0, "", NULL },
        { "mkdir out; echo old >out/roofline.svg; echo mine >out/mine.txt; heed report --final out",
          0, "", "written to out" },
        { "ls out | tr '\\n' ' '", 0,
          "final_summary.md findings.md leaderboard.md mine.txt report.html", "" },
    };
    static const char *const parts[] = {
        "There is no search on the board",
        "There is none: no device of these figures has known ceilings.",
        "No trial of the board has known occupancy",
        NULL,
    };
    EXPECT(state, lines);
    expect_parts(state, "out/final_summary.md", parts);
}

/* The share that a trial kept is told where the device's ceilings are not known. */
static void tells_a_share_that_was_kept(void **state)
{
    static const run_heed_row lines[] = {
        { "heed report --final out --board board.db", 0, "", "written to out" },
    };
    static const char *const parts[] = { "In trial 1 the champion had 50.0 % of the limit.", NULL };
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    lab_record *record = record_scene_open(scratch_path(state, "board.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "sweep"), 1);
    record_scene_time(&scene, 4e-5, LAB_RECORD_COLD);
    scene.trial.device.name = "Nobody's device";
    scene.trial.of_roofline = 0.5;
    scene.trial.confirmed = true;
    record_append(record, &scene.trial);
    lab_record_close(record);
    EXPECT(state, lines);
    expect_parts(state, "out/findings.md", parts);
    report_scene_lacks(report_scene_last(), "How far the champion is from the limit");
}

/* ---- Refusals ---- */

static void leaves_nothing_half_written(void **state)
{
    static const run_heed_row lines[] = {
        { "heed report --final out", 3, "", "board.db: there is no board, and --final is about" },
        { "heed report --final out --board none.db", 3, "", "none.db: there is no board" },
        { "echo '{\"schema\": \"heed.bench/1\"}' >bad.json; ls out", 2, "", NULL },
        { "echo rubbish >r.db; heed report --final out --board r.db", 7, "", "r.db: not a board" },
        { "heed board add '" REPORT_RECORD "'", 0, "", NULL },
        { "sed 's/not installed/not xnstalled/' board.db >d.db; heed report --final all --board "
          "d.db; echo $?; ls all | grep -c final_summary",
          0, "7\n1\n", "d.db: damaged: the content of 1 trial is" },
        { "heed report --final out bad.json; echo $?; ls out", 2, "7", "bad.json: " },
        { "heed report --final out none.json; echo $?; ls out", 2, "3", "none.json: " },
        { "echo >file; heed report --final file", 3, "", "file" },
        { "heed report --final file/below", 3, "", "file" },
        { "cat file; ls | grep -c XXXX", 1, "\n0\n", "" },
        { "mkdir -p dir/report.html/x; heed report --final dir", 3, "", "report.html" },
        { "heed report --final out --json", 2, "\"exit\": 2",
          "--final cannot be used with --json" },
        { "heed report --final out -o x.html", 2, "", "--final cannot be used with --output" },
        { "heed report --final out --brief", 2, "", "--final cannot be used with --brief" },
    };
    EXPECT(state, lines);
}

RUN_TESTS_EACH(scratch_open, scratch_close, writes_what_the_board_knows, says_what_is_missing,
               tells_a_share_that_was_kept, leaves_nothing_half_written)
