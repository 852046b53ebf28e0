/*
 * test_session.c - runs of a search on the board: reuse of earlier results, and challenges
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/session/challenge.h"
#include "lab/tensor/random.h"
#include "record_scene.h"
#include "scratch.h"

enum {
    PROBLEMS = 2
};

static const char specs[PROBLEMS][HEED_SPEC_SIZE] = { "b1 h1 s64 d64 f32", "b1 h1 s128 d64 f32" };
static const char kernel[] = "fwd_any_avx512_tile__m96n64s1";

/* A board, a session of it, and a challenger beside leaders. */
typedef struct scene {
    lab_session session;
    heed_problem problems[PROBLEMS];
    lab_session_name name;
    double ratios[PROBLEMS]; /* time of the leader over that of the challenger */
    bool passes;             /* the gates pass */
    int played, asked, told;
    int64_t trial; /* of the last notification */
} scene;

static lab_session_work work_of(const char *what)
{
    return (lab_session_work){ .what = what,
                               .subject = "space ",
                               .specs = specs[0],
                               .stride = sizeof specs[0],
                               .count = PROBLEMS };
}

static void open_scene(scene *s, void **state, uint64_t seed, const char *what)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    const lab_session_work work = work_of(what);
    memset(s, 0, sizeof *s);
    s->session = (lab_session){
        .record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE),
        .verb = "evolve",
        .seed = seed,
        .device = { .name = "a CPU", .backend = "cpu" },
        .environment = { .features = "avx512", .threads = 1, .build = "0-gcc" }
    };
    for (int i = 0; i < PROBLEMS; i++)
        assert_int_equal(heed_problem_parse(&s->problems[i], specs[i]), HEED_OK);
    lab_session_name_set(&s->name, kernel);
    record_expect(lab_session_begin(&s->session, &work, &error), &error);
}

static void close_scene(scene *s, lab_record_state end)
{
    lab_error error;
    record_expect(lab_session_end(&s->session, end, NULL, &error), &error);
    lab_record_close(s->session.record);
}

/* Adds the time of a kernel on the first problem, or finds it; returns whether it was found. */
static bool ask(scene *s, int attempt, double seconds, lab_evaluation *result)
{
    lab_error error;
    bool found = false;
    lab_entry_parts parts;
    const double samples[3] = { 1.5 * seconds, seconds, 2 * seconds };
    const lab_evaluation timed = {
        .state = LAB_STATE_TIMED, .seconds = seconds, .samples = samples, .sample_count = 3
    };
    lab_record_trial trial = lab_session_trial(&s->session, &s->name, &s->problems[0], attempt);
    record_expect(lab_session_find(&s->session, &trial, result, &found, &error), &error);
    if (!found) {
        lab_entry_take(&trial, &parts, &timed, false);
        record_expect(lab_session_add(&s->session, &trial, NULL, &error), &error);
    }
    return found;
}

/* The same work continues with its earlier results; another seed or other words make different
 * work. */
static void test_goes_on(void **state)
{
    static const struct {
        uint64_t seed;
        const char *what;
        bool resumed;
    } cases[] = { { 1, "space 1", true }, { 2, "space 1", false }, { 1, "space 2", false } };
    scene s;
    lab_evaluation result;
    open_scene(&s, state, 1, "space 1");
    assert_false(s.session.resumed);
    assert_false(ask(&s, 0, 1e-3, &result));
    close_scene(&s, LAB_RECORD_INTERRUPTED);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_scene(&s, state, cases[i].seed, cases[i].what);
        assert_int_equal(s.session.resumed, cases[i].resumed);
        assert_int_equal(ask(&s, 0, 2e-3, &result), cases[i].resumed);
        close_scene(&s, LAB_RECORD_FINISHED);
    }
    open_scene(&s, state, 1, "space 1"); /* finished: started anew */
    assert_false(s.session.resumed);
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* A search uses the minimum of the samples, the board their median. */
static void test_entries(void **state)
{
    scene s;
    lab_evaluation result = { .state = LAB_STATE_FAILED };
    record_row rows[2];
    const lab_record_filter all = { .part = LAB_BOARD_ALL };
    open_scene(&s, state, 1, "space 1");
    assert_false(ask(&s, 3, 1e-3, &result));
    assert_true(ask(&s, 3, 9, &result));
    assert_int_equal(result.state, LAB_STATE_TIMED);
    assert_true(result.seconds == 1e-3);
    assert_int_equal(record_scene_rows(s.session.record, &all, rows, 2), 1);
    assert_string_equal(rows[0].row.kernel, "fwd_any_avx512_tile");
    assert_string_equal(rows[0].row.config, "m96n64s1");
    assert_true(rows[0].row.seconds == 1.5e-3);
    close_scene(&s, LAB_RECORD_FINISHED);
    s.session.record = NULL; /* without a board nothing is found or added */
    assert_false(ask(&s, 3, 1e-3, &result));
    assert_false(ask(&s, 3, 1e-3, &result));
}

/* ---- Challenges ---- */

typedef struct actor {
    double seconds;
    uint64_t blocks;
} actor;

static heed_status act(void *data, double *seconds)
{
    actor *it = data;
    *seconds = it->seconds * exp(0.002 * lab_random_normal(3, it->blocks++));
    return HEED_OK;
}

static heed_status play(void *data, size_t index, const lab_duel_options *options, lab_duel *duel)
{
    scene *s = data;
    lab_duel_options mine = *options;
    actor one = { 1e-3, 0 }, other = { 1e-3 * s->ratios[index], 1000 };
    const lab_side a = { act, NULL, &one }, b = { act, NULL, &other };
    mine.round = 1;
    s->played++;
    return lab_duel_run(duel, &a, &b, &mine);
}

static lab_record_trial trial_of(void *data, size_t index, int round)
{
    const scene *s = data;
    return lab_session_trial(&s->session, &s->name, &s->problems[index], 1 + round);
}

static const char *leader_of(void *data, size_t index)
{
    (void)data;
    return index == 0 ? "one" : "two";
}

static heed_status gates(void *data, bool *yes, bool *asked)
{
    scene *s = data;
    s->asked++;
    *yes = s->passes;
    *asked = true;
    return HEED_OK;
}

static heed_status won(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                       const char *reason)
{
    scene *s = data;
    assert_int_equal(fresh->verdict, LAB_FASTER);
    assert_non_null(strstr(reason, "on fresh samples FASTER"));
    assert_true(index == 0 || trial > s->trial);
    s->told++;
    s->trial = trial;
    return HEED_OK;
}

static heed_status try_challenge(scene *s, lab_challenge_result *result, lab_error *error)
{
    const lab_challenge it = { .session = &s->session,
                               .count = PROBLEMS,
                               .seconds = 96,
                               .seed = 5,
                               .data = s,
                               .judge = s,
                               .trial = trial_of,
                               .leader = leader_of,
                               .play = play,
                               .gates = gates,
                               .won = won };
    return lab_challenge_run(&it, result, error);
}

static lab_challenge_result challenge(scene *s)
{
    lab_challenge_result result;
    lab_error error;
    record_expect(try_challenge(s, &result, &error), &error);
    return result;
}

/* It wins twice and passes the gates; the second time the result is found on the board. */
static void test_challenge_won(void **state)
{
    scene s;
    open_scene(&s, state, 1, "space 1");
    s.ratios[0] = s.ratios[1] = 1.1;
    s.passes = true;
    lab_challenge_result result = challenge(&s);
    assert_true(result.won && !result.known && !result.refuted);
    assert_int_equal(s.played, 2 * PROBLEMS);
    assert_int_equal(s.asked, 1);
    assert_int_equal(s.told, PROBLEMS);
    assert_string_equal(record_show(s.session.record, s.trial, "gates", 0, "name").text, "verify");
    assert_string_equal(record_show(s.session.record, s.trial, "comparisons", 0, "against").text,
                        "two");
    result = challenge(&s);
    assert_true(result.won && result.known);
    assert_int_equal(s.played, 2 * PROBLEMS);
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* It loses the first round: no second round, and no gates. */
static void test_challenge_lost(void **state)
{
    scene s;
    open_scene(&s, state, 1, "space 1");
    s.ratios[0] = 1.2;
    s.ratios[1] = 0.9;
    lab_challenge_result result = challenge(&s);
    assert_false(result.won || result.known || result.refuted);
    assert_non_null(strstr(result.reason, "SLOWER on 1 of 2"));
    assert_int_equal(s.played, PROBLEMS);
    assert_int_equal(s.asked + s.told, 0);
    result = challenge(&s);
    assert_true(result.known && !result.won);
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* It wins, but fails the gates: no notification, and the fresh trials are wrong. */
static void test_challenge_refuted(void **state)
{
    scene s;
    record_row rows[4];
    const lab_record_filter all = { .part = LAB_BOARD_ALL };
    int wrong = 0;
    open_scene(&s, state, 1, "space 1");
    s.ratios[0] = s.ratios[1] = 1.1;
    lab_challenge_result result = challenge(&s);
    assert_true(result.refuted && !result.won);
    assert_int_equal(s.told, 0);
    assert_int_equal(record_scene_rows(s.session.record, &all, rows, 4), 4);
    for (int i = 0; i < 4; i++)
        wrong += strcmp(rows[i].row.verdict, "wrong") == 0;
    assert_int_equal(wrong, 2);
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* The board cannot be read to the end after the decision was reported: that is a failure, and
 * neither a win nor a reason to play again. */
static void test_challenge_unread(void **state)
{
    scene s;
    char path[SCRATCH_PATH_SIZE], line[1024];
    lab_challenge_result result;
    lab_error error;
    open_scene(&s, state, 1, "space 1");
    s.ratios[0] = s.ratios[1] = 1.1;
    s.passes = true;
    assert_true(challenge(&s).won);
    s.ratios[0] = s.ratios[1] = 0.9;
    snprintf(line, sizeof line,
             "python3 -c \"import sqlite3; sqlite3.connect('%s').execute('DROP TABLE promotion')\"",
             scratch_path(state, "b.db", path));
    assert_int_equal(system(line), 0);
    record_refused(try_challenge(&s, &result, &error), HEED_ERR_CORRUPT, &error, "promotion");
    assert_false(result.won || result.known);
    assert_int_equal(s.played, 2 * PROBLEMS);
    lab_record_close(s.session.record);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_goes_on, test_entries, test_challenge_won,
               test_challenge_lost, test_challenge_refuted, test_challenge_unread)
