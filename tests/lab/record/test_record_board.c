/*
 * test_record_board.c - the leaders of the leaderboard, and the results of filters
 */
#include "run_tests.h"

#include <stdio.h>

#include "record_scene.h"
#include "scratch.h"

static const lab_record_filter all = { .part = LAB_BOARD_ALL }, best = { .part = LAB_BOARD_BEST },
                               ranked = { .part = LAB_BOARD_RANKED };

/* Adds candidate @number that took @seconds. */
static int64_t add(lab_record *record, int64_t run, int number, int attempt, double seconds,
                   const char *ended)
{
    record_scene scene;
    record_scene_make(&scene, run, number);
    scene.trial.attempt = attempt;
    record_scene_time(&scene, seconds, LAB_RECORD_COLD);
    scene.trial.ended = ended;
    return record_append(record, &scene.trial);
}

static void the_newest_figure_counts(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_row rows[4];
    lab_record *record = record_scene_open(scratch_path(state, "f.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    add(record, run, 1, 0, 1e-5, "2026-01-01T00:00:00.000Z"); /* lucky once */
    int64_t now = add(record, run, 1, 1, 3e-5, "2026-01-02T00:00:00.000Z");
    int64_t steady = add(record, run, 2, 0, 2e-5, "2026-01-01T12:00:00.000Z");
    assert_int_equal(record_scene_rows(record, &ranked, rows, 4), 2);
    assert_int_equal(rows[0].row.trial, steady);
    assert_int_equal(rows[1].row.trial, now);
    assert_int_equal(rows[1].row.place, 2);
    assert_int_equal(record_scene_rows(record, &all, rows, 4), 3);
    assert_int_equal(rows[0].row.trial, now);

    lab_error error; /* a promotion outweighs a time from another day */
    record_expect(lab_record_promote(record, now, steady, "1.05 times as fast", &error), &error);
    record_expect(lab_record_promote(record, now, steady, "once more", &error), &error);
    assert_int_equal(record_scene_rows(record, &best, rows, 4), 1);
    assert_int_equal(rows[0].row.trial, now);
    assert_true(rows[0].row.promoted);
    assert_string_equal(record_show(record, now, "promotion", 0, "reason").text,
                        "1.05 times as fast");
    /* and belongs to the candidate: its next time has it too */
    int64_t later = add(record, run, 1, 2, 4e-5, "2026-01-03T00:00:00.000Z");
    assert_int_equal(record_scene_rows(record, &best, rows, 4), 1);
    assert_int_equal(rows[0].row.trial, later);
    record_refused(lab_record_promote(record, 99, 0, "x", &error), HEED_ERR_INVALID, &error, "99");
    lab_record_close(record);
}

/* A source that is found to be wrong after it was timed is no longer ranked, on any problem. One
 * that no longer supports a problem is not ranked on that one. An earlier fault of the same run
 * counts as well. */
static void what_was_found_out(void **state)
{
    static const struct {
        lab_record_verdict verdict;
        bool elsewhere; /* on another problem */
        bool before;    /* it was timed before that */
        bool ranked;
    } faults[] = {
        { LAB_RECORD_WRONG, false, false, false },  { LAB_RECORD_WRONG, true, false, false },
        { LAB_RECORD_WRONG, false, true, false },   { LAB_RECORD_EXITED, true, false, false },
        { LAB_RECORD_FILES, false, false, false },  { LAB_RECORD_UNFIT, false, false, false },
        { LAB_RECORD_UNFIT, true, false, true },    { LAB_RECORD_CRASH, false, false, false },
        { LAB_RECORD_HANG, true, false, true },     { LAB_RECORD_COMPILE, false, false, true },
        { LAB_RECORD_FAILED, false, false, true },  { LAB_RECORD_LOST, false, false, true },
        { LAB_RECORD_MEMORY, false, false, false }, { LAB_RECORD_MEMORY, false, true, false },
    };
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        remove(scratch_path(state, "w.db", path));
        lab_record *record = record_scene_open(path, LAB_RECORD_WRITE);
        int64_t run = record_scene_begin(record, "work");
        for (int turn = 0; turn < 2; turn++) {
            record_scene_make(&scene, run, 1);
            assert_non_null(scene.trial.candidate.source);
            scene.trial.attempt = turn;
            if (turn == faults[i].before) {
                record_append(record, &scene.trial);
                continue;
            }
            scene.problem.seq_q += faults[i].elsewhere;
            scene.trial.verdict = faults[i].verdict;
            scene.trial.confirmed = false;
            scene.trial.timing = LAB_RECORD_UNTIMED;
            scene.trial.seconds = scene.trial.p90 = 0;
            scene.trial.gate_count = scene.trial.sample_count = scene.trial.comparison_count = 0;
            record_append(record, &scene.trial);
        }
        if (record_scene_count(record, &ranked) != faults[i].ranked)
            fail_msg("%s, row %zu", lab_record_verdict_name(faults[i].verdict), i);
        lab_record_close(record);
    }
}

/* A refuted leader loses its place, and the board is intact. */
static void a_leader_is_refuted(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    record_row rows[4];
    lab_error error;
    lab_record_chain chain;
    lab_record *record = record_scene_open(scratch_path(state, "l.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    record_scene_make(&scene, run, 1);
    int64_t leader = record_append(record, &scene.trial);
    record_expect(lab_record_promote(record, leader, 0, "first", &error), &error);
    for (int i = 0; i < 2; i++) { /* in the same run and in another one */
        record_expect(lab_record_refute(record, run, leader, LAB_RECORD_UNFIT, "will not", &error),
                      &error);
        assert_int_equal(record_scene_count(record, &ranked), 0);
        run = record_scene_begin(record, "other work");
    }
    assert_int_equal(record_scene_rows(record, &all, rows, 4), 3);
    assert_string_equal(rows[0].row.verdict, "unfit");
    assert_string_equal(rows[0].row.reason, "will not");
    assert_string_equal(rows[0].row.problem, rows[2].row.problem);
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    assert_int_equal(chain.trials, 3);
    lab_record_close(record);
}

static void what_is_ranked(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    lab_record *record = record_scene_open(scratch_path(state, "g.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    record_scene_make(&scene, run, 1);
    scene.trial.confirmed = false;
    record_append(record, &scene.trial);
    record_scene_make(&scene, run, 2);
    scene.trial.verdict = LAB_RECORD_WRONG;
    scene.gates[1].passed = false;
    record_append(record, &scene.trial);
    record_scene_make(&scene, run, 3);
    scene.trial.verdict = LAB_RECORD_COMPILE;
    scene.trial.timing = LAB_RECORD_UNTIMED;
    scene.trial.seconds = scene.trial.p90 = 0;
    record_append(record, &scene.trial);
    assert_int_equal(record_scene_count(record, &ranked), 0);
    assert_int_equal(record_scene_count(record, &all), 3);

    for (int i = 0; i < 2; i++) { /* cold times are not comparable with hot ones */
        record_scene_make(&scene, run, 4);
        scene.trial.attempt = i;
        record_scene_time(&scene, 5e-5, i ? LAB_RECORD_HOT : LAB_RECORD_COLD);
        record_append(record, &scene.trial);
    }
    scene.trial.attempt = 2;
    scene.trial.environment.threads = 2;
    record_append(record, &scene.trial);
    assert_int_equal(record_scene_count(record, &best), 3);
    lab_record_close(record);
}

static void a_failing_selftest_taints(void **state)
{
    static const lab_record_selftest good = { "cpu", "suite", "commit", 40, 40, 12, 12 },
                                     bad = { "cpu", "suite", "commit", 39, 40, 12, 12 },
                                     none = { "cpu", "suite", "commit", 0, 0, 0, 0 };
    const lab_record_selftest *const tests[] = { &good, &bad, &none };
    static const char *const trusted[] = { "yes", "no", "no" };
    char path[SCRATCH_PATH_SIZE];
    record_row rows[4];
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "h.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    for (int i = 0; i < 3; i++) {
        record_scene scene;
        record_scene_make(&scene, run, i);
        record_expect(lab_record_selftest_add(record, tests[i], &scene.trial.selftest, &error),
                      &error);
        record_append(record, &scene.trial);
    }
    assert_int_equal(record_scene_rows(record, &all, rows, 4), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(rows[2 - i].row.trusted, trusted[i]);
    assert_int_equal(record_scene_rows(record, &ranked, rows, 4), 1);
    int64_t newest;
    record_expect(lab_record_selftest_find(record, &good, &newest, &error), &error);
    assert_int_equal(newest, 3);
    static const lab_record_selftest others[] = { { "cuda", "suite", "commit", 0, 0, 0, 0 },
                                                  { "cpu", "fewer", "commit", 0, 0, 0, 0 },
                                                  { "cpu", "suite", "another", 0, 0, 0, 0 },
                                                  { "cpu", "suite", NULL, 0, 0, 0, 0 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        record_expect(lab_record_selftest_find(record, &others[i], &newest, &error), &error);
        assert_int_equal(newest, 0);
    }
    const lab_record_selftest odd = { "cpu", "suite", "commit", 41, 40, 0, 0 };
    int64_t id;
    record_refused(lab_record_selftest_add(record, &odd, &id, &error), HEED_ERR_INVALID, &error,
                   "killed");
    lab_record_close(record);
}

static bool is_slow(void *data, const lab_record_trial *trial, lab_error *why)
{
    (void)data;
    return lab_fail(why, HEED_ERR_INVALID, "too fast") == HEED_OK || trial->seconds > 5e-5;
}

/* A time that is impossible on this device contradicts a trial that passed, but not one with that
 * verdict. */
static void impossible_is_not_damaged(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_row rows[4];
    lab_record *record = record_scene_open(scratch_path(state, "i.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    for (int i = 0; i < 3; i++) {
        record_scene scene;
        record_scene_make(&scene, run, i);
        record_scene_time(&scene, i == 0 ? 6e-5 : 4e-5, LAB_RECORD_HOT);
        if (i == 2)
            scene.trial.verdict = LAB_RECORD_IMPOSSIBLE;
        record_append(record, &scene.trial);
    }
    lab_record_judge(record, is_slow, NULL, NULL);
    assert_int_equal(record_scene_rows(record, &all, rows, 4), 3);
    assert_string_equal(rows[0].row.trusted, "untested");
    assert_string_equal(rows[1].row.trusted, "impossible");
    assert_string_equal(rows[2].row.trusted, "untested");
    lab_record_close(record);
}

static void filters(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    record_row row;
    lab_record *record = record_scene_open(scratch_path(state, "i.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work"), other = record_scene_begin(record, "other");
    record_scene_make(&scene, run, 1);
    record_append(record, &scene.trial);
    scene.problem.seq_q = 5120;
    scene.trial.run = other;
    scene.comparisons[1].ratio = 1.2;
    scene.comparisons[1].outcome = "ok";
    record_append(record, &scene.trial);
#define COUNT(...) record_scene_count(record, &(lab_record_filter){ __VA_ARGS__ })
    assert_int_equal(COUNT(.problem = "h8"), 2);
    assert_int_equal(COUNT(.problem = "s5120"), 1);
    assert_int_equal(COUNT(.problem = "b1 h8 s512 d64 f16"), 1);
    assert_int_equal(COUNT(.problem = "b1 h8 s512 d64 f16", .exact = true), 1);
    assert_int_equal(COUNT(.problem = "h8", .exact = true), 0);
    assert_int_equal(COUNT(.device = "h200"), 2);
    assert_int_equal(COUNT(.device = "H100"), 0);
    assert_int_equal(COUNT(.run = other, .part = LAB_BOARD_ALL), 1);
    /* the fastest rival, unless one is requested */
    record_scene_rows(record, &(lab_record_filter){ .problem = "s5120" }, &row, 1);
    assert_string_equal(row.row.against, "xformers");
    record_scene_rows(record, &(lab_record_filter){ .problem = "s5120", .against = "torch-flash" },
                      &row, 1);
    assert_string_equal(row.row.against, "torch-flash");
    record_scene_rows(record, &(lab_record_filter){ .problem = "s5120", .against = "none" }, &row,
                      1);
    assert_null(row.row.against);
    lab_record_close(record);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, the_newest_figure_counts, what_was_found_out,
                 a_leader_is_refuted, what_is_ranked, impossible_is_not_damaged,
                 a_failing_selftest_taints, filters)
