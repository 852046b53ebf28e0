/*
 * test_record.c - the leaderboard: rows are added once, read back, and never change
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/trial/verdict.h"
#include "record_scene.h"
#include "scratch.h"

static const lab_record_filter all = { .part = LAB_BOARD_ALL }, best = { .part = LAB_BOARD_BEST };

static void a_trial_comes_back(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    record_row row;
    lab_error error;
    lab_record_chain chain;
    lab_record *record = record_scene_open(scratch_path(state, "a.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "work"), 3);
    int64_t id = record_append(record, &scene.trial);
    assert_int_equal(record_scene_rows(record, &best, &row, 1), 1);
    assert_int_equal(row.row.trial, id);
    assert_int_equal(row.row.place, 1);
    assert_int_equal(row.row.threads, 1);
    assert_string_equal(row.row.problem, "b1 h8 s512 d64 f16");
    assert_string_equal(row.row.device, "NVIDIA H200");
    assert_string_equal(row.row.features, "sm_90-driver13.0-nvrtc13.0");
    assert_string_equal(row.row.kernel, "fwd_16bit_sm80_mma");
    assert_string_equal(row.row.config, "m3n64");
    assert_string_equal(row.row.timing, "cold");
    assert_true(row.row.seconds == scene.trial.seconds && row.row.p90 == scene.trial.p90);
    assert_true(fabs(row.row.rate / (536870912.0 / scene.trial.seconds) - 1) < 1e-12);
    assert_true(row.row.of_roofline == 0.5);
    assert_string_equal(row.row.against, "torch-flash");
    assert_true(row.row.ratio == 1.5 && row.row.low == 1.4 && row.row.high == 1.6);
    assert_string_equal(row.row.compared, "FASTER");
    assert_string_equal(row.row.commit, "503eb534e5cd");
    assert_true(row.row.dirty && row.row.confirmed && !row.row.promoted);
    assert_string_equal(row.row.trusted, "untested");
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    assert_int_equal(chain.trials, 1);
    lab_record_close(record);
}

static heed_status ignore(void *data, const lab_record_field *field)
{
    (void)data;
    (void)field;
    return HEED_OK;
}

static void shows_everything(void **state)
{
    char path[SCRATCH_PATH_SIZE], hash[LAB_RECORD_HASH_SIZE], *source;
    record_scene scene, child;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    record_scene_make(&scene, run, 3);
    record_append(record, &scene.trial);
    lab_record_candidate_hash(&scene.trial.candidate, hash);
    record_scene_make(&child, run, 4);
    child.trial.candidate.parents = (const char *const[]){ hash };
    child.trial.candidate.parent_count = 1;
    int64_t id = record_append(record, &child.trial);

    assert_string_equal(record_show(record, id, "parents", 0, "hash").text, hash);
    assert_string_equal(record_show(record, id, "candidate", 0, "thought").text, "fewer registers");
    assert_int_equal(record_show(record, id, "artifact", 0, "registers").field.integer, 128);
    assert_int_equal(record_show(record, id, "artifact", 0, "spill_bytes").field.integer, 0);
    assert_int_equal(record_show(record, id, "gates", 0, "seed").field.integer, 7);
    assert_string_equal(record_show(record, id, "comparisons", 1, "reason").text, "not installed");
    assert_string_equal(record_show(record, id, "facts", 2, "value").text, "none");
    assert_true(record_show(record, id, "facts", 1, "value").field.real == 123.5);
    assert_string_equal(record_show(record, id, "events", 0, "state").text, "begun");
    record_looked samples = record_show(record, id, "samples", 0, "seconds");
    assert_int_equal(samples.field.count, 16);
    assert_memory_equal(samples.samples, child.seconds, sizeof child.seconds);
    record_expect(lab_record_source(record, id, &source, &error), &error);
    assert_string_equal(source, child.trial.candidate.source);
    free(source);
    record_refused(lab_record_show(record, 99, ignore, NULL, &error), HEED_ERR_INVALID, &error,
                   "no trial 99");
    lab_record_close(record);
}

static void a_trial_is_there_once(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    lab_record_found found;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "c.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "work"), 1);
    record_expect(lab_record_find(record, &scene.trial, &found, &error), &error);
    assert_int_equal(found.trial, 0);
    int64_t id = record_append(record, &scene.trial);
    scene.trial.candidate.thought = "another"; /* but it is the same candidate */
    record_scene_time(&scene, 2 * scene.seconds[8], LAB_RECORD_COLD);
    double twice = scene.seconds[8];
    assert_int_equal(record_append(record, &scene.trial), id);
    record_expect(lab_record_find(record, &scene.trial, &found, &error), &error);
    assert_int_equal(found.trial, id);
    assert_int_equal(found.verdict, LAB_RECORD_OK);
    assert_true(found.seconds > 0.49 * twice && found.seconds < 0.51 * twice);

    scene.trial.attempt = 1;
    assert_int_not_equal(record_append(record, &scene.trial), id);
    scene.problem.batch = 2;
    assert_int_not_equal(record_append(record, &scene.trial), id);
    scene.trial.candidate.source = "__global__ void heed() { }";
    assert_int_not_equal(record_append(record, &scene.trial), id);
    assert_int_equal(record_scene_count(record, &all), 4);
    lab_record_close(record);
}

static void refuses_half_a_trial(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "d.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
#define REFUSED(change, part)                                                                   \
    do {                                                                                        \
        record_scene_make(&scene, run, 1);                                                      \
        change;                                                                                 \
        record_refused(lab_record_append(record, &scene.trial, NULL, &error), HEED_ERR_INVALID, \
                       &error, part);                                                           \
    } while (0)
    REFUSED(scene.trial.candidate.kernel = NULL, "kernel");
    REFUSED(scene.trial.problem = NULL, "problem");
    REFUSED(scene.trial.device.backend = "tpu", "backend");
    REFUSED(scene.trial.candidate.language = NULL, "language");
    REFUSED(scene.trial.timing = LAB_RECORD_UNTIMED, "seconds");
    REFUSED(scene.trial.seconds = 0, "seconds");
    REFUSED(scene.trial.run = 77, "FOREIGN KEY");
    REFUSED(scene.trial.verdict = LAB_RECORD_VERDICTS, "verdict");
    REFUSED(scene.problem.batch = 0, "batch");
    REFUSED(scene.comparisons[0].verdict = "GOOD", "verdict");
    REFUSED(scene.samples[0].kind = LAB_RECORD_UNTIMED, "kind");
    REFUSED(scene.comparisons[1].against = "torch-flash", "UNIQUE");
    REFUSED(scene.trial.candidate.parents = (const char *const[]){ "x" };
            scene.trial.candidate.parent_count = 1, "parents[0] is x");
    assert_int_equal(record_scene_count(record, &all), 0);
    record_scene_make(&scene, run, 1);
    record_append(record, &scene.trial);
    lab_record_close(record);
}

/* SQL triggers forbid changes: a program that opens a board cannot change its tables. */
static void nothing_is_changed_or_dropped(void **state)
{
    char path[SCRATCH_PATH_SIZE], line[1024];
    record_scene scene;
    lab_record *record = record_scene_open(scratch_path(state, "e.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "work"), 1);
    record_append(record, &scene.trial);
    lab_record_close(record);
    /* Python's SQLite represents any other program. */
    snprintf(line, sizeof line,
             "python3 -c \"\n"
             "import sqlite3\n"
             "db = sqlite3.connect('%s')\n"
             "tables = [r[0] for r in db.execute(\\\"SELECT name FROM sqlite_schema WHERE "
             "type = 'table' AND name NOT LIKE 'sqlite%%'\\\")]\n"
             "assert len(tables) == 23, tables\n"
             "for t in tables:\n"
             "    column = db.execute(f'SELECT name FROM pragma_table_info(\\\"{t}\\\")')"
             ".fetchone()[0]\n"
             "    events = {r[0].split('_')[-1] for r in db.execute(\\\"SELECT name FROM "
             "sqlite_schema WHERE type = 'trigger' AND tbl_name = ?\\\", (t,))}\n"
             "    assert events == {'keep', 'stay'}, t\n"
             "    rows = db.execute(f'SELECT count(*) FROM {t}').fetchone()[0]\n"
             "    for sql in (f'UPDATE {t} SET {column} = {column}', f'DELETE FROM {t}'):\n"
             "        try:\n"
             "            db.execute(sql)\n"
             "            assert rows == 0, sql\n"
             "        except sqlite3.IntegrityError as e:\n"
             "            assert 'append-only' in str(e), e\n"
             "\"",
             path);
    assert_int_equal(system(line), 0);
}

static void a_run_goes_on(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    int64_t first, second, finished;
    bool resumed;
    lab_record_work work = { .key = "k", .verb = "sweep", .command = "heed sweep" };
    lab_record *record = record_scene_open(scratch_path(state, "j.db", path), LAB_RECORD_WRITE);
    record_expect(lab_record_begin(record, &work, &first, &resumed, &error), &error);
    assert_false(resumed);
    record_expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(resumed && second == first); /* killed */
    record_expect(lab_record_end(record, first, LAB_RECORD_INTERRUPTED, "Ctrl-C", &error), &error);
    record_expect(lab_record_finished(record, "k", &finished, &error), &error);
    assert_int_equal(finished, 0);
    record_expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(resumed && second == first);
    work.afresh = true;
    record_expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(!resumed && second != first);
    work.afresh = false;
    record_expect(lab_record_end(record, second, LAB_RECORD_FINISHED, NULL, &error), &error);
    record_expect(lab_record_finished(record, "k", &finished, &error), &error);
    assert_int_equal(finished, second);
    record_expect(lab_record_begin(record, &work, &first, &resumed, &error), &error);
    assert_true(!resumed && first != second);
    work.key = NULL;
    record_refused(lab_record_begin(record, &work, &first, &resumed, &error), HEED_ERR_INVALID,
                   &error, "key");
    record_refused(lab_record_end(record, 1, LAB_RECORD_BEGUN, NULL, &error), HEED_ERR_INVALID,
                   &error, "end");
    lab_record_close(record);
}

static void verdicts_have_words(void **state)
{
    for (int i = 0; i < LAB_RECORD_VERDICTS; i++) {
        const char *name = lab_record_verdict_name((lab_record_verdict)i);
        assert_int_equal(lab_record_verdict_find(name), i);
        assert_true(strlen(lab_record_verdict_meaning((lab_record_verdict)i)) > 5);
    }
    for (int i = 0; i < LAB_TRIAL_VERDICTS; i++) { /* all verdicts of trials can be recorded */
        const char *name = lab_trial_verdict_name((lab_trial_verdict)i);
        if (lab_record_verdict_find(name) == LAB_RECORD_VERDICTS)
            fail_msg("the board does not know \"%s\"", name);
    }
    assert_int_equal(lab_record_verdict_find("good"), LAB_RECORD_VERDICTS);
    assert_int_equal(lab_record_verdict_find(NULL), LAB_RECORD_VERDICTS);
    assert_string_equal(lab_record_verdict_name(LAB_RECORD_VERDICTS), "unknown");
    assert_string_equal(lab_record_verdict_meaning(LAB_RECORD_VERDICTS), "unknown");
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, a_trial_comes_back, shows_everything,
                 a_trial_is_there_once, refuses_half_a_trial, nothing_is_changed_or_dropped,
                 a_run_goes_on, verdicts_have_words)
