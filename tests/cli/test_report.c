/*
 * test_report.c - the `heed report` command: figures and warnings for one record, for several and
 * for the board
 */
#include "run_tests.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "expect.h"
#include "lab/report/format.h"
#include "record_scene.h"
#include "report_scene.h"
#include "scratch.h"

#define EXPECT(state, table) \
    run_heed_rows(state, &report_scene_way, table, sizeof(table) / sizeof(table)[0])

/* -------------------------------------------------------------------------- */
/* Figures                                                                    */
/* -------------------------------------------------------------------------- */

/* The page gives how often the device was at its power cap, and the minimum and maximum power. */
static void says_the_state(const char *text, const json_t *record)
{
    char wanted[100];
    double least = INFINITY, most = 0;
    size_t i, capped = 0;
    json_t *row;
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        const json_t *status = json_object_get(json_object_get(row, "replay"), "state");
        const char *throttle = json_string_value(json_object_get(status, "throttle"));
        double power = json_number_value(json_object_get(status, "power_w"));
        capped += throttle && strcmp(throttle, "power cap") == 0;
        least = fmin(least, power);
        most = fmax(most, power);
    }
    assert_in_range(capped, 1, i - 1);
    snprintf(wanted, sizeof wanted, "power cap, during %zu of %zu problems", capped, i);
    report_scene_says(text, wanted);
    snprintf(wanted, sizeof wanted, "power %.0f to %.0f W", least, most);
    report_scene_says(text, wanted);
}

/* Every figure of a long record is on the page, with the value of the record. */
static void shows_the_figures_of_a_record(void **state)
{
    json_t *record = report_scene_load(HEED_H200_RECORD), *row, *rival;
    const char *text = report_scene_page(state, HEED_H200_RECORD, "h.html");
    size_t i, j;
    int faster = 0;
    char wanted[160], time[LAB_FORMAT_SIZE];
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        double p50 = json_number_value(json_object_get(json_object_get(row, "seconds"), "p50"));
        snprintf(wanted, sizeof wanted, "<td>%s</td><td class=\"r\">%s</td>",
                 json_string_value(json_object_get(row, "problem")), lab_format_seconds(p50, time));
        report_scene_says(text, wanted);
        json_array_foreach(json_object_get(row, "rivals"), j, rival)
        {
            const json_t *c = json_object_get(rival, "comparison");
            double high = json_number_value(json_object_get(c, "high"));
            int decimals = high < 9.9995 ? 3 : 1;
            int length = snprintf(wanted, sizeof wanted, "<td class=\"r\">%.3fx</td><td>",
                                  json_number_value(json_object_get(c, "ratio")));
            if (high > 0)
                snprintf(wanted + length, sizeof wanted - (size_t)length, "%.*f to %.*f</td>",
                         decimals, json_number_value(json_object_get(c, "low")), decimals, high);
            else
                snprintf(wanted + length, sizeof wanted - (size_t)length,
                         "<span class=\"warn\">none</span></td>");
            report_scene_says(text, wanted);
            const char *verdict = json_string_value(json_object_get(c, "verdict"));
            faster += j == 2 && strcmp(verdict, "FASTER") == 0;
        }
    }
    snprintf(wanted, sizeof wanted,
             "<td>torch-cudnn</td><td class=\"r\">%zu</td><td class=\"r\"><span class=\"good\">%d"
             "</span>",
             i, faster);
    report_scene_says(text, wanted);
    snprintf(wanted, sizeof wanted, "manifest %.12s.",
             json_string_value(json_object_get(record, "manifest")));
    report_scene_says(text, wanted);
    const json_t *environment = json_object_get(record, "environment");
    report_scene_says(text, json_string_value(json_object_get(environment, "commit")));
    says_the_state(text, record);
    json_decref(record);
    static const char *const parts[] = {
        "sm_90-driver13.0-nvrtc13.0", "<h3>Software</h3>",  "of driver 580.159.04",
        "Hodges and Lehmann",         "Cold: calls rotate", "bound by",
    };
    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        report_scene_says(text, parts[i]);
    report_scene_lacks(text, "Untrusted");
    report_scene_lacks(text, "Unverified");
    report_scene_lacks(text, "History");
}

/* The geometric mean is that of the ratios, and there is one mark per figure. */
static void json_has_the_same(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    run_heed_must(state, &report_scene_way, "heed report --json -o r.json '" HEED_H200_RECORD "'",
                  0);
    json_t *record = report_scene_load(HEED_H200_RECORD), *row;
    json_t *report = report_scene_load(scratch_path(state, "r.json", path));
    const json_t *set = json_array_get(json_object_get(report, "sets"), 0);
    assert_string_equal(json_string_value(json_object_get(report, "schema")), "heed.report/1");
    assert_string_equal(json_string_value(json_object_get(set, "device")), "NVIDIA H200");
    assert_int_equal(json_array_size(json_object_get(set, "rows")),
                     json_array_size(json_object_get(record, "rows")));
    double logs = 0;
    size_t i;
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        const json_t *mine = json_array_get(json_object_get(set, "rows"), i);
        const json_t *cudnn = json_array_get(json_object_get(row, "rivals"), 2);
        double ratio = json_number_value(
            json_object_get(json_object_get(cudnn, "comparison"), "ratio"));
        const json_t *rival = json_array_get(json_object_get(mine, "rivals"), 2);
        assert_true(json_equal(json_object_get(mine, "problem"), json_object_get(row, "problem")));
        assert_true(json_number_value(json_object_get(rival, "ratio")) == ratio);
        assert_true(json_number_value(json_object_get(mine, "p50")) ==
                    json_number_value(json_object_get(json_object_get(row, "seconds"), "p50")));
        logs += log(ratio);
        /* Every row has a limit, from the record or the data sheet, and the unit that binds. */
        double share = json_number_value(json_object_get(mine, "share"));
        assert_true(share > 0.01 && share < 1);
        assert_true(json_is_string(json_object_get(mine, "share_of")));
        assert_true(json_is_string(json_object_get(mine, "bound_by")));
    }
    double mean = json_number_value(
        json_object_get(json_object_get(set, "geometric_means"), "torch-cudnn"));
    assert_true(fabs(mean - exp(logs / (double)i)) < 1e-8);
    json_decref(report);
    json_decref(record);
}

/* -------------------------------------------------------------------------- */
/* Doubts                                                                     */
/* -------------------------------------------------------------------------- */

static void says_what_speaks_against(void **state)
{
    json_t *record = report_scene_load(REPORT_RECORD);
    json_t *environment = json_object_get(record, "environment");
    json_object_set_new(environment, "load", json_real(3.5));
    json_object_set_new(record, "replay", json_false());
    json_object_set_new(report_scene_row(record, 1), "error", json_real(7));
    json_t *status = json_object_get(json_object_get(report_scene_row(record, 0), "replay"),
                                     "state");
    json_object_set_new(status, "throttle", json_string("too hot"));
    json_object_set_new(status, "other_processes", json_integer(3));
    report_scene_save(state, record, "doubtful.json");
    const char *text = report_scene_page(state, "doubtful.json", "d.html");
    const char *const *parts = WORDS(
        "made by sources with changes on top of commit 503eb534e5cd-dirty",
        "The load average was 3.50",
        "Others than heed and its rivals used the device during 1 of 4 problems",
        "The clocks were throttled by: too hot, during 1 of 4",
        "Unsteady: p90 is more than 10 % above the median in 2 of 4 problems, most in b1 h8 s512",
        "Unverified: no reference checked the results of torch-flash in b1 h8 s512 d64 f16",
        "Untrusted: the results of heed in layer1. b1 h8 s512 d64 f16",
        "No figure of xformers in b1 h8 s512 d64 f16 (refused): not installed",
        "No figure of fwd_16bit_sm80_mma__m64n64 in b1 h8 s512 d128 f16 (wrong): row 3 is off",
        "No figure of heed in b1 h8 s512 d512 f16 (refused): none",
        "torch-flash (flash), unverified", "fwd_16bit_sm80_mma__m32n64, untrusted");
    for (size_t i = 0; parts[i]; i++)
        report_scene_says(text, parts[i]);
}

/* A mean over ratios without a verdict is marked, and the page does not claim checks that were not
 * made. */
static void claims_no_more_than_it_knows(void **state)
{
    json_t *record = report_scene_load(REPORT_RECORD);
    report_scene_lacks(report_scene_page(state, REPORT_RECORD, "k.html"), "ambiguous</span>");
    report_scene_says(report_scene_last(), "Outputs: of 3 that have a figure");
    report_scene_lacks(report_scene_last(), "all 3 were compared");
    json_object_set_new(json_object_get(report_scene_rival(record, 0, 0), "comparison"), "verdict",
                        json_string("AMBIGUOUS"));
    report_scene_save(state, record, "a.json");
    report_scene_says(report_scene_page(state, "a.json", "a.html"), "2.00x, 1 of 1 ambiguous");
}

/* -------------------------------------------------------------------------- */
/* Several records                                                            */
/* -------------------------------------------------------------------------- */

static void save_faster(void **state, const char *name, const char *time, double p50, bool cold)
{
    json_t *record = report_scene_load(REPORT_RECORD), *row = report_scene_row(record, 0);
    json_object_set_new(json_object_get(record, "environment"), "time", json_string(time));
    json_object_set_new(json_object_get(row, "seconds"), "p50", json_real(p50));
    json_object_set_new(json_object_get(row, "replay"), "cold", json_real(p50));
    json_object_set_new(row, "samples", json_pack("[f, f, f]", p50, p50, 6e-6));
    json_object_set_new(record, "cold", json_boolean(cold));
    report_scene_save(state, record, name);
}

static void puts_two_beside_each_other(void **state)
{
    save_faster(state, "after.json", "2026-02-02T03:04:05Z", 2.5e-6, true);
    const char *text = report_scene_page(state, "after.json " REPORT_RECORD, "h.html");
    report_scene_says(text, "<h2>History: NVIDIA Test before and after</h2>");
    report_scene_says(text, "a difference here proves nothing and has no verdict");
    report_scene_says(
        text, "<td>b1 h8 s512 d64 f16</td><td class=\"r\">5.00 us</td><td class=\"r\">2.50 us"
              "</td><td class=\"r\">2.00x</td>");
    char *section = strstr(report_scene_last(), "<h2>History"), *end = strstr(section + 4, "<h2>");
    assert_non_null(end);
    *end = '\0';
    report_scene_lacks(section, "FASTER");
    report_scene_lacks(section, "SLOWER");
    json_t *report = run_heed_json(state, &report_scene_way,
                                   "heed report --json after.json '" REPORT_RECORD "'", 0);
    const json_t *pair = json_array_get(json_object_get(report, "history"), 0);
    assert_true(json_is_null(json_object_get(pair, "verdict")));
    assert_string_equal(json_string_value(json_object_get(pair, "before")), REPORT_RECORD);
    const json_t *row = json_array_get(json_object_get(pair, "rows"), 0);
    assert_true(json_number_value(json_object_get(row, "before_over_after")) == 2);
    json_decref(report);

    save_faster(state, "hot.json", "2026-02-02T03:04:05Z", 2.5e-6, false);
    report_scene_lacks(report_scene_page(state, "hot.json " REPORT_RECORD, "h.html"),
                       "<h2>History");
    report_scene_says(report_scene_last(), "No two of these records can be compared");
}

/* Times after a kernel of another module are in a separate table. */
static void keeps_times_behind_another_kernel_apart(void **state)
{
    static const run_heed_row lines[] = {
        { "mkdir -p b/dev/2026-01-02 && cp '" REPORT_RECORD "' b/dev/2026-01-02/a.json", 0, "",
          "" },
        { "heed report --brief b | grep -c behind", 1, "0", "" },
        { "cp behind.json b/dev/2026-01-02/b.json", 0, "", "" },
        { "heed report --brief b | grep -c 'cold buffers; '", 0, "1\n", "" },
        { "heed report --brief b | grep -c 'cold buffers, behind a kernel of another module; '", 0,
          "1\n", "" },
    };
    json_t *record = report_scene_load(REPORT_RECORD);
    json_object_set_new(record, "behind", json_true());
    report_scene_save(state, record, "behind.json");
    report_scene_lacks(report_scene_page(state, "behind.json " REPORT_RECORD, "h.html"),
                       "<h2>History");
    report_scene_says(report_scene_last(), "cold buffers, behind a kernel of another module</h2>");
    report_scene_says(report_scene_last(), "launched before each call of a graph");
    EXPECT(state, lines);
}

/* Of a directory the newest date is used, and of problems measured twice there the last one. */
static void takes_the_newest_of_a_folder(void **state)
{
    static const run_heed_row lines[] = {
        { "mkdir -p b/dev/2026-01-01 b/dev/2026-01-02 b/dev/2026-01-03 b/other/2026-01-01; "
          "touch b/dev/2026-01-03/notes.md",
          0, "", "" },
        { "cp '" REPORT_RECORD "' b/dev/2026-01-01/old.json", 0, "", "" },
    };
    EXPECT(state, lines);
    save_faster(state, "b/dev/2026-01-02/z.json", "2026-01-02T01:00:00Z", 3e-6, true);
    save_faster(state, "b/dev/2026-01-02/y.json", "2026-01-02T01:30:00Z", 3e-6, true);
    save_faster(state, "b/dev/2026-01-02/a.json", "2026-01-02T02:00:00Z", 4e-6, true);
    json_t *report = run_heed_json(state, &report_scene_way, "heed report --json b", 0);
    const json_t *sets = json_object_get(report, "sets");
    assert_int_equal(json_array_size(sets), 1);
    const json_t *set = json_array_get(sets, 0), *rows = json_object_get(set, "rows");
    assert_int_equal(json_array_size(json_object_get(set, "records")), 3);
    assert_int_equal(json_array_size(rows), 4);
    assert_true(json_number_value(json_object_get(json_array_get(rows, 0), "p50")) == 4e-6);
    json_decref(report);
    report_scene_page(state, "b", "f.html");
    report_scene_says(
        report_scene_last(),
        "<li>Records b/dev/2026-01-02/z.json, of 2026-01-02T01:00:00Z; b/dev/2026-01-02/y.json, "
        "of 2026-01-02T01:30:00Z: all of them were measured again later.</li>");
    report_scene_lacks(report_scene_last(), "old.json");
}

/* A record of commit @commit; only the first problem unless @all. */
static void save_commit(void **state, const char *name, const char *time, const char *commit,
                        bool all)
{
    char path[SCRATCH_PATH_SIZE];
    save_faster(state, name, time, 3e-6, true);
    json_t *record = report_scene_load(scratch_path(state, name, path));
    json_t *rows = json_object_get(record, "rows");
    json_object_set_new(json_object_get(record, "environment"), "commit", json_string(commit));
    while (!all && json_array_size(rows) > 1)
        json_array_remove(rows, 1);
    report_scene_save(state, record, name);
}

/* A short table lists each commit of its rows once. */
static void names_the_commits_of_its_rows(void **state)
{
    static const run_heed_row folder[] = { { "mkdir -p b/dev/2026-01-02", 0, "", "" } };
    static const run_heed_row same[] = { { "heed report --brief b", 0,
                                           ", heed at commit aaaa, cold", "" } };
    static const run_heed_row other[] = {
        { "heed report --brief b", 0, ", heed at commit bbbb, other rows at aaaa, cold", "" },
    };
    EXPECT(state, folder);
    save_commit(state, "b/dev/2026-01-02/y.json", "2026-01-02T01:00:00Z", "aaaa", true);
    EXPECT(state, same);
    save_commit(state, "b/dev/2026-01-02/z.json", "2026-01-02T02:00:00Z", "aaaa", false);
    EXPECT(state, same);
    save_commit(state, "b/dev/2026-01-02/z.json", "2026-01-02T02:00:00Z", "bbbb", false);
    EXPECT(state, other);
}

/* The rows of the newest record come first, in its order, followed by those that only older records
 * have. */
static void begins_with_the_newest_rows(void **state)
{
    static const run_heed_row folder[] = { { "mkdir -p b/dev/2026-01-02", 0, "", "" } };
    char path[SCRATCH_PATH_SIZE];
    EXPECT(state, folder);
    save_commit(state, "b/dev/2026-01-02/a.json", "2026-01-02T01:00:00Z", "aaaa", true);
    save_commit(state, "b/dev/2026-01-02/b.json", "2026-01-02T02:00:00Z", "bbbb", true);
    json_t *record = report_scene_load(scratch_path(state, "b/dev/2026-01-02/b.json", path));
    json_array_remove(json_object_get(record, "rows"), 0);
    report_scene_save(state, record, "b/dev/2026-01-02/b.json");
    json_t *report = run_heed_json(state, &report_scene_way, "heed report --json b", 0);
    const json_t *set = json_array_get(json_object_get(report, "sets"), 0);
    const json_t *rows = json_object_get(set, "rows");
    assert_int_equal(json_array_size(rows), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "label")),
                        "layer1.");
    assert_true(json_number_value(json_object_get(json_array_get(rows, 3), "p50")) == 3e-6);
    json_decref(report);
}

/* Rivals keep their columns where heed has no figure for any problem. */
static void shows_rivals_without_heed(void **state)
{
    json_t *record = report_scene_load(HEED_H200_RECORD), *row;
    size_t i;
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        json_object_set_new(row, "outcome", json_string("failed"));
        json_object_set_new(row, "seconds", json_null());
        json_object_set_new(row, "samples", json_array());
    }
    report_scene_save(state, record, "none.json");
    static const run_heed_row lines[] = {
        { "heed report -m -o none.md none.json", 0, "", "written to none.md" },
        { "grep '^| problem, kernel' none.md | tr -cd '|' >heads.txt; "
          "grep -m 1 '^| torch-flash (' none.md | tr -cd '|' | cmp - heads.txt",
          0, "", "" },
        { "grep -m 1 '^| torch-flash (' none.md | cut -d'|' -f4-7", 0, "  | - | - |  \n", "" },
    };
    EXPECT(state, lines);
}

/* -------------------------------------------------------------------------- */
/* The board                                                                  */
/* -------------------------------------------------------------------------- */

static void shows_the_board(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    save_faster(state, "first.json", "2026-02-02T03:04:05Z", 4e-6, true);
    json_t *record = report_scene_load(
        scratch_path(state, "first.json", path)); /* wrong, but fast */
    json_object_set_new(report_scene_row(record, 2), "seconds", json_pack("{s:f}", "p50", 1e-9));
    report_scene_save(state, record, "later.json");
    static const run_heed_row lines[] = {
        { "heed report | grep -c 'There is no board yet: the file does not exist'", 0, "1\n",
          "There is no board yet" },
        { "heed board add later.json '" REPORT_RECORD "'", 0, "", NULL },
        { "heed report -o b.html", 0, "", "written to b.html" },
        { "heed report '" REPORT_RECORD "' | grep -c '<h2>The board'", 1, "0\n", "" },
        { "heed report --board board.db '" REPORT_RECORD "' | grep -c '<h2>The board'", 0, "1\n",
          "" },
        { "sed 's/not installed/not xnstalled/' board.db >d.db; heed report --board d.db", 7,
          "Damaged and left out: ", "d.db: damaged: the content of " },
        { "head -c 9000 board.db >d.db; heed report --board d.db -o d.html; ls d.html", 2, "",
          "d.db: damaged" },
        { "echo rubbish >r.db; heed report --board r.db", 7, "", "r.db: not a board of heed" },
    };
    EXPECT(state, lines);
    const char *text = report_scene_page(state, "", "b.html");
    const char *const *parts = WORDS(
        "6 trials, 4 of them right, timed, and confirmed",
        "NVIDIA Test (cuda, sm_90-driver13.0-nvrtc12.9), 1 thread",
        "<td class=\"r\"><span class=\"bold\">4.00 us</span></td>", "torch-flash 2.00x",
        "<td>wrong</td><td class=\"r\">2</td>", "<td>ok</td><td class=\"r\">4</td>", "untested",
        "The best so far of each problem, over time", "trial 1, 2026-02-02T03:04:05: 4.00 us");
    for (size_t i = 0; parts[i]; i++)
        report_scene_says(text, parts[i]);
    json_t *report = run_heed_json(state, &report_scene_way, "heed report --json", 0);
    const json_t *board = json_object_get(report, "board");
    assert_int_equal(json_integer_value(json_object_get(board, "trials")), 6);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(board, "verdicts"), "wrong")), 2);
    json_decref(report);
}

/* Trials with known code: the second is slower and uses fewer registers, the third is worse in
 * everything, the gates that judged the fourth had passed a wrong kernel, and the fifth was not
 * confirmed. */
static void shows_whom_nobody_beats(void **state)
{
    static const struct {
        int64_t registers;
        bool trusted, confirmed;
    } trials[] = {
        { 128, true, true }, { 96, true, true }, { 130, true, true },
        { 8, false, true },  { 8, true, false },
    };
    char path[SCRATCH_PATH_SIZE], hash[3];
    const lab_record_selftest failed = { .backend = "cuda", .suite = "s", .killed = 1, .wrong = 2 };
    lab_error error;
    int64_t selftest;
    lab_record *record = record_scene_open(scratch_path(state, "board.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "sweep");
    record_expect(lab_record_selftest_add(record, &failed, &selftest, &error), &error);
    for (int i = 0; i < 5; i++) {
        record_scene scene;
        record_scene_make(&scene, run, i);
        snprintf(hash, sizeof hash, "%02d", i);
        scene.trial.artifact.sha256 = hash;
        scene.trial.artifact.registers = trials[i].registers;
        scene.trial.selftest = trials[i].trusted ? 0 : selftest;
        scene.trial.confirmed = trials[i].confirmed;
        record_append(record, &scene.trial);
    }
    lab_record_close(record);
    json_t *report = run_heed_json(state, &report_scene_way, "heed report --json", 0);
    const json_t *ranked = json_object_get(json_object_get(report, "board"), "ranked");
    static const struct {
        bool leads, front;
    } wanted[] = { { true, true }, { false, true }, { false, false } };
    assert_int_equal(json_array_size(ranked), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *trial = json_array_get(ranked, i);
        assert_int_equal(json_is_true(json_object_get(trial, "leads")), wanted[i].leads);
        assert_int_equal(json_is_true(json_object_get(trial, "front")), wanted[i].front);
    }
    json_decref(report);
    const char *text = report_scene_page(state, "--board board.db", "p.html");
    report_scene_says(text, "Untrusted and not ranked: 1 trial, made while");
    report_scene_says(text, "<h3>The Pareto front</h3>");
    report_scene_says(text, "5 trials, 3 of them right, timed, and confirmed");
    report_scene_says(text, "<td class=\"r\">96</td>");
    report_scene_lacks(text, "<td class=\"r\">130</td>");
    report_scene_lacks(text, "m3n64");
    report_scene_lacks(text, "m4n64");
}

/* A board without trials is not an error. */
static void shows_an_empty_board(void **state)
{
    static const run_heed_row lines[] = {
        { "echo '{\"schema\": \"heed.bench/1\", \"device\": \"x\", \"threads\": 1, \"cold\": true, "
          "\"environment\": {\"time\": \"\"}, \"rows\": []}' >no.json; "
          "heed board add no.json",
          0, "", NULL },
        { "heed report -m", 0, "There is no trial on the board.", "" },
        { "heed report --json", 0, "\"trials\": 0", "" },
    };
    EXPECT(state, lines);
}

RUN_TESTS_EACH(scratch_open, scratch_close, shows_the_figures_of_a_record, json_has_the_same,
               says_what_speaks_against, claims_no_more_than_it_knows, puts_two_beside_each_other,
               takes_the_newest_of_a_folder, shows_rivals_without_heed, shows_the_board,
               shows_whom_nobody_beats, shows_an_empty_board, names_the_commits_of_its_rows,
               begins_with_the_newest_rows, keeps_times_behind_another_kernel_apart)
