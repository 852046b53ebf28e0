/*
 * test_record.c - the leaderboard: what is added comes back, once, and never changes
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/trial/verdict.h"
#include "record_scene.h"
#include "scratch.h"

static void expect(heed_status status, const lab_error *error)
{
    if (status != HEED_OK)
        fail_msg("%s: %s", heed_status_name(status), error->text);
}

static void assert_refused(heed_status status, heed_status wanted, const lab_error *error,
                           const char *part)
{
    if (status != wanted || !strstr(error->text, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", heed_status_name(status), error->text, part);
}

static int64_t append(lab_record *record, const lab_record_trial *trial)
{
    lab_error error;
    int64_t id = 0;
    expect(lab_record_append(record, trial, &id, &error), &error);
    assert_true(id > 0);
    return id;
}

static const lab_record_filter all = { .part = LAB_BOARD_ALL }, best = { .part = LAB_BOARD_BEST },
                               ranked = { .part = LAB_BOARD_RANKED };

/* -------------------------------------------------------------------------- */
/* Trials                                                                     */
/* -------------------------------------------------------------------------- */

static void a_trial_comes_back(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    record_row row;
    lab_error error;
    int64_t trials;
    lab_record *record = record_scene_open(scratch_path(state, "a.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "work"), 3);
    int64_t id = append(record, &scene.trial);
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
    expect(lab_record_check(record, &trials, &error), &error);
    assert_int_equal(trials, 1);
    lab_record_close(record);
}

typedef struct looked {
    const char *section, *name;
    size_t row;
    int found;
    lab_record_field field;
    double samples[16];
    char text[256];
} looked;

static heed_status look(void *data, const lab_record_field *field)
{
    looked *want = data;
    if (strcmp(field->section, want->section) != 0 || strcmp(field->name, want->name) != 0 ||
        field->row != want->row)
        return HEED_OK;
    want->found++;
    want->field = *field;
    snprintf(want->text, sizeof want->text, "%s", field->text ? field->text : "");
    for (size_t i = 0; i < field->count && i < 16; i++)
        want->samples[i] = field->samples[i];
    return HEED_OK;
}

static looked show(lab_record *record, int64_t id, const char *section, size_t row,
                   const char *name)
{
    looked want = { .section = section, .name = name, .row = row };
    lab_error error;
    expect(lab_record_show(record, id, look, &want, &error), &error);
    assert_int_equal(want.found, 1);
    return want;
}

static void shows_everything(void **state)
{
    char path[SCRATCH_PATH_SIZE], hash[LAB_RECORD_HASH_SIZE], *source;
    record_scene scene, child;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    record_scene_make(&scene, run, 3);
    append(record, &scene.trial);
    lab_record_candidate_hash(&scene.trial.candidate, hash);
    record_scene_make(&child, run, 4);
    child.trial.candidate.parents = (const char *const[]){ hash };
    child.trial.candidate.parent_count = 1;
    int64_t id = append(record, &child.trial);

    assert_string_equal(show(record, id, "parents", 0, "hash").text, hash);
    assert_string_equal(show(record, id, "candidate", 0, "thought").text, "fewer registers");
    assert_int_equal(show(record, id, "artifact", 0, "registers").field.integer, 128);
    assert_int_equal(show(record, id, "artifact", 0, "spill_bytes").field.integer, 0);
    assert_int_equal(show(record, id, "gates", 0, "seed").field.integer, 7);
    assert_string_equal(show(record, id, "comparisons", 1, "reason").text, "not installed");
    assert_string_equal(show(record, id, "facts", 2, "value").text, "none");
    assert_true(show(record, id, "facts", 1, "value").field.real == 123.5);
    assert_string_equal(show(record, id, "events", 0, "state").text, "begun");
    looked samples = show(record, id, "samples", 0, "seconds");
    assert_int_equal(samples.field.count, 16);
    assert_memory_equal(samples.samples, child.seconds, sizeof child.seconds);
    expect(lab_record_source(record, id, &source, &error), &error);
    assert_string_equal(source, child.trial.candidate.source);
    free(source);
    assert_refused(lab_record_show(record, 99, look, &samples, &error), HEED_ERR_INVALID, &error,
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
    expect(lab_record_find(record, &scene.trial, &found, &error), &error);
    assert_int_equal(found.trial, 0);
    int64_t id = append(record, &scene.trial);
    scene.trial.candidate.thought = "another"; /* which does not make it another candidate */
    scene.trial.seconds *= 2;
    assert_int_equal(append(record, &scene.trial), id);
    expect(lab_record_find(record, &scene.trial, &found, &error), &error);
    assert_int_equal(found.trial, id);
    assert_int_equal(found.verdict, LAB_RECORD_OK);
    assert_true(found.seconds == scene.seconds[8]);

    scene.trial.attempt = 1;
    assert_int_not_equal(append(record, &scene.trial), id);
    scene.problem.batch = 2;
    assert_int_not_equal(append(record, &scene.trial), id);
    scene.trial.candidate.source = "__global__ void heed() { }";
    assert_int_not_equal(append(record, &scene.trial), id);
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
        assert_refused(lab_record_append(record, &scene.trial, NULL, &error), HEED_ERR_INVALID, \
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
    append(record, &scene.trial);
    lab_record_close(record);
}

/* What SQL does not let happen: the tables of a board cannot be changed by whoever opens it. */
static void nothing_is_changed_or_dropped(void **state)
{
    char path[SCRATCH_PATH_SIZE], line[1024];
    record_scene scene;
    lab_record *record = record_scene_open(scratch_path(state, "e.db", path), LAB_RECORD_WRITE);
    record_scene_make(&scene, record_scene_begin(record, "work"), 1);
    append(record, &scene.trial);
    lab_record_close(record);
    /* Python's SQLite stands for any other program. */
    snprintf(line, sizeof line,
             "python3 -c \"\n"
             "import sqlite3\n"
             "db = sqlite3.connect('%s')\n"
             "tables = [r[0] for r in db.execute(\\\"SELECT name FROM sqlite_schema WHERE "
             "type = 'table'\\\")]\n"
             "assert len(tables) == 18, tables\n"
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

/* -------------------------------------------------------------------------- */
/* Places                                                                     */
/* -------------------------------------------------------------------------- */

/* Adds candidate @number that took @seconds. */
static int64_t add(lab_record *record, int64_t run, int number, int attempt, double seconds,
                   const char *ended)
{
    record_scene scene;
    record_scene_make(&scene, run, number);
    scene.trial.attempt = attempt;
    scene.trial.seconds = seconds;
    scene.trial.ended = ended;
    return append(record, &scene.trial);
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

    lab_error error; /* a title outweighs a figure of another day */
    expect(lab_record_promote(record, now, steady, "1.05 times as fast", &error), &error);
    expect(lab_record_promote(record, now, steady, "once more", &error), &error);
    assert_int_equal(record_scene_rows(record, &best, rows, 4), 1);
    assert_int_equal(rows[0].row.trial, now);
    assert_true(rows[0].row.promoted);
    assert_string_equal(show(record, now, "promotion", 0, "reason").text, "1.05 times as fast");
    /* and is the candidate's: its next figure has it too */
    int64_t later = add(record, run, 1, 2, 4e-5, "2026-01-03T00:00:00.000Z");
    assert_int_equal(record_scene_rows(record, &best, rows, 4), 1);
    assert_int_equal(rows[0].row.trial, later);
    assert_refused(lab_record_promote(record, 99, 0, "x", &error), HEED_ERR_INVALID, &error, "99");
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
    append(record, &scene.trial);
    record_scene_make(&scene, run, 2);
    scene.trial.verdict = LAB_RECORD_WRONG;
    append(record, &scene.trial);
    record_scene_make(&scene, run, 3);
    scene.trial.verdict = LAB_RECORD_COMPILE;
    scene.trial.timing = LAB_RECORD_UNTIMED;
    scene.trial.seconds = scene.trial.p90 = 0;
    append(record, &scene.trial);
    assert_int_equal(record_scene_count(record, &ranked), 0);
    assert_int_equal(record_scene_count(record, &all), 3);

    for (int i = 0; i < 2; i++) { /* cold and hot, and threads, do not compare */
        record_scene_make(&scene, run, 4);
        scene.trial.attempt = i;
        scene.trial.timing = i ? LAB_RECORD_HOT : LAB_RECORD_COLD;
        append(record, &scene.trial);
    }
    scene.trial.attempt = 2;
    scene.trial.environment.threads = 2;
    append(record, &scene.trial);
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
        expect(lab_record_selftest_add(record, tests[i], &scene.trial.selftest, &error), &error);
        append(record, &scene.trial);
    }
    assert_int_equal(record_scene_rows(record, &all, rows, 4), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(rows[2 - i].row.trusted, trusted[i]);
    assert_int_equal(record_scene_rows(record, &ranked, rows, 4), 1);
    int64_t newest;
    expect(lab_record_selftest_find(record, "cpu", "commit", &newest, &error), &error);
    assert_int_equal(newest, 3);
    expect(lab_record_selftest_find(record, "cuda", "commit", &newest, &error), &error);
    assert_int_equal(newest, 0);
    const lab_record_selftest odd = { "cpu", "suite", "commit", 41, 40, 0, 0 };
    int64_t id;
    assert_refused(lab_record_selftest_add(record, &odd, &id, &error), HEED_ERR_INVALID, &error,
                   "killed");
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
    append(record, &scene.trial);
    scene.problem.seq_q = 5120;
    scene.trial.run = other;
    scene.comparisons[1].ratio = 1.2;
    scene.comparisons[1].outcome = "ok";
    append(record, &scene.trial);
#define COUNT(...) record_scene_count(record, &(lab_record_filter){ __VA_ARGS__ })
    assert_int_equal(COUNT(.problem = "h8"), 2);
    assert_int_equal(COUNT(.problem = "s5120"), 1);
    assert_int_equal(COUNT(.problem = "b1 h8 s512 d64 f16"), 1);
    assert_int_equal(COUNT(.problem = "b1 h8 s512 d64 f16", .exact = true), 1);
    assert_int_equal(COUNT(.problem = "h8", .exact = true), 0);
    assert_int_equal(COUNT(.device = "h200"), 2);
    assert_int_equal(COUNT(.device = "H100"), 0);
    assert_int_equal(COUNT(.run = other, .part = LAB_BOARD_ALL), 1);
    /* the fastest rival, unless one is asked for */
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

/* -------------------------------------------------------------------------- */
/* Runs                                                                       */
/* -------------------------------------------------------------------------- */

static void a_run_goes_on(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    int64_t first, second, finished;
    bool resumed;
    lab_record_work work = { .key = "k", .verb = "sweep", .command = "heed sweep" };
    lab_record *record = record_scene_open(scratch_path(state, "j.db", path), LAB_RECORD_WRITE);
    expect(lab_record_begin(record, &work, &first, &resumed, &error), &error);
    assert_false(resumed);
    expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(resumed && second == first); /* killed */
    expect(lab_record_end(record, first, LAB_RECORD_INTERRUPTED, "Ctrl-C", &error), &error);
    expect(lab_record_finished(record, "k", &finished, &error), &error);
    assert_int_equal(finished, 0);
    expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(resumed && second == first);
    work.afresh = true;
    expect(lab_record_begin(record, &work, &second, &resumed, &error), &error);
    assert_true(!resumed && second != first);
    work.afresh = false;
    expect(lab_record_end(record, second, LAB_RECORD_FINISHED, NULL, &error), &error);
    expect(lab_record_finished(record, "k", &finished, &error), &error);
    assert_int_equal(finished, second);
    expect(lab_record_begin(record, &work, &first, &resumed, &error), &error);
    assert_true(!resumed && first != second);
    work.key = NULL;
    assert_refused(lab_record_begin(record, &work, &first, &resumed, &error), HEED_ERR_INVALID,
                   &error, "key");
    assert_refused(lab_record_end(record, 1, LAB_RECORD_BEGUN, NULL, &error), HEED_ERR_INVALID,
                   &error, "end");
    lab_record_close(record);
}

/* -------------------------------------------------------------------------- */
/* Files                                                                      */
/* -------------------------------------------------------------------------- */

static void one_process_writes(void **state)
{
    char path[SCRATCH_PATH_SIZE], pid[32];
    lab_record *record = record_scene_open(scratch_path(state, "k.db", path), LAB_RECORD_WRITE);
    snprintf(pid, sizeof pid, "process %ld, since 20", (long)getpid());
    pid_t child = fork();
    if (child == 0) {
        lab_record *other;
        lab_error error;
        bool told = lab_record_open(&other, path, LAB_RECORD_WRITE, &error) == HEED_ERR_SYSTEM &&
                    strstr(error.text, pid);
        if (!told)
            fprintf(stderr, "%s\n", error.text);
        bool read = lab_record_open(&other, path, LAB_RECORD_READ, &error) == HEED_OK;
        lab_record_close(other);
        _exit(told && read ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    lab_record_close(record);
    lab_record_close(record_scene_open(path, LAB_RECORD_WRITE));
    lab_record_close(NULL);
}

static void refused_places(void **state)
{
    static const struct {
        const char *path;
        lab_record_mode mode;
        heed_status status;
        const char *part;
    } cases[] = {
        { "", LAB_RECORD_READ, HEED_ERR_INVALID, "empty" },
        { "/nonexistent/board.db", LAB_RECORD_READ, HEED_ERR_SYSTEM, "No such file" },
        { "/proc/heed/board.db", LAB_RECORD_WRITE, HEED_ERR_SYSTEM, "/proc/heed" },
        { "/proc/board.db", LAB_RECORD_WRITE, HEED_ERR_SYSTEM, "/proc/board.db" },
        { "/dev/null", LAB_RECORD_READ, HEED_ERR_SYSTEM, "not a regular file" },
        { "/dev/null/board.db", LAB_RECORD_WRITE, HEED_ERR_SYSTEM, "/dev/null" },
        { "/tmp", LAB_RECORD_WRITE, HEED_ERR_SYSTEM, "a folder" },
    };
    char path[SCRATCH_PATH_SIZE], deep[SCRATCH_PATH_SIZE + 32], long_path[2000];
    lab_record *record;
    lab_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_status status = lab_record_open(&record, cases[i].path, cases[i].mode, &error);
        assert_refused(status, cases[i].status, &error, cases[i].part);
        assert_null(record);
    }
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    assert_refused(lab_record_open(&record, long_path, LAB_RECORD_WRITE, &error), HEED_ERR_INVALID,
                   &error, "1999 bytes");
    snprintf(deep, sizeof deep, "%s/x", scratch_path(state, "l.db", path));
    lab_record_close(record_scene_open(path, LAB_RECORD_WRITE));
    assert_refused(lab_record_open(&record, deep, LAB_RECORD_WRITE, &error), HEED_ERR_SYSTEM,
                   &error, "Not a directory");
    if (geteuid() == 0)
        return;
    assert_int_equal(chmod(path, 0444), 0); /* root may write all the same */
    assert_refused(lab_record_open(&record, path, LAB_RECORD_WRITE, &error), HEED_ERR_SYSTEM,
                   &error, "denied");
    lab_record_close(record_scene_open(path, LAB_RECORD_READ));
}

/* Files that are something else are told, and left alone. */
static void refused_files(void **state)
{
    static const struct {
        const char *make, *part;
    } cases[] = {
        { "printf 'hello'", "not a board" },
        { "head -c 5000 /dev/zero", "not a board" },
        { "head -c 5000 /dev/urandom", "not a board" },
        { "sql 'CREATE TABLE t (x)'", "another program" },
        { "sql 'PRAGMA user_version = 5; CREATE TABLE t (x)'", "another program" },
        { "sql 'PRAGMA application_id = 7'", "another program" },
        { "sql 'PRAGMA application_id = 1751475556; CREATE TABLE t (x); PRAGMA user_version = 99'",
          "version 99, which a newer heed made" },
        { "sql 'PRAGMA application_id = 1751475556; CREATE TABLE t (x)'", "version 0" },
    };
    char path[SCRATCH_PATH_SIZE], line[1024];
    static char before[65536], after[65536];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_path(state, "m.db", path);
        snprintf(line, sizeof line,
                 "sql() { python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
                 "db.executescript(sys.argv[2])' '%s.made' \"$1\"; cat '%s.made'; rm '%s.made'; }; "
                 "{ %s; } >'%s'",
                 path, path, path, cases[i].make, path);
        assert_int_equal(system(line), 0);
        size_t length = scratch_read(path, before, sizeof before);
        for (int mode = LAB_RECORD_READ; mode <= LAB_RECORD_WRITE; mode++) {
            lab_record *record;
            lab_error error;
            heed_status status = lab_record_open(&record, path, (lab_record_mode)mode, &error);
            assert_refused(status, HEED_ERR_CORRUPT, &error, cases[i].part);
            assert_non_null(strstr(error.text, path));
        }
        assert_int_equal(scratch_read(path, after, sizeof after), length);
        assert_memory_equal(before, after, length);
    }
}

static void an_empty_file_becomes_one(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_record *record;
    lab_error error;
    scratch_write(scratch_path(state, "n.db", path), "", 0);
    record = record_scene_open(path, LAB_RECORD_READ); /* whoever made it was killed then */
    assert_int_equal(record_scene_count(record, &all), 0);
    lab_record_close(record);
    lab_record_close(record_scene_open(path, LAB_RECORD_WRITE));
    record = record_scene_open(path, LAB_RECORD_READ);
    assert_int_equal(record_scene_count(record, &all), 0);
    record_scene scene;
    record_scene_make(&scene, 1, 1);
    assert_int_not_equal(lab_record_append(record, &scene.trial, NULL, &error), HEED_OK);
    lab_record_close(record);
}

/* A limit on file sizes stands for a disk that is full. */
static void a_full_disk_takes_nothing_half(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    struct rlimit old, limit;
    lab_error error;
    int64_t trials, added = 0;
    signal(SIGXFSZ, SIG_IGN);
    lab_record *record = record_scene_open(scratch_path(state, "o.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = (rlim_t)info.st_size + 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    heed_status status = HEED_OK;
    for (; status == HEED_OK && added < 200; added += status == HEED_OK) {
        record_scene_make(&scene, run, (int)added);
        status = lab_record_append(record, &scene.trial, NULL, &error);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_refused(status, HEED_ERR_SYSTEM, &error, path);
    assert_in_range(added, 1, 199);
    expect(lab_record_check(record, &trials, &error), &error);
    assert_int_equal(trials, added);
    append(record, &scene.trial); /* there is room again */
    lab_record_close(record);
}

static void finds_its_place(void **state)
{
    char path[LAB_RECORD_PATH_SIZE], long_name[1200];
    lab_error error;
    expect(lab_record_path("given.db", path, &error), &error);
    assert_string_equal(path, "given.db");
    setenv("HEED_BOARD", "/x/y.db", 1);
    expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/x/y.db");
    setenv("HEED_BOARD", "", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/me", 1);
    expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/data/heed/board.db");
    setenv("XDG_DATA_HOME", "relative", 1);
    expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/home/me/.local/share/heed/board.db");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_refused(lab_record_path(NULL, path, &error), HEED_ERR_SYSTEM, &error, "HEED_BOARD");
    assert_refused(lab_record_path("", path, &error), HEED_ERR_INVALID, &error, "empty");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_refused(lab_record_path(long_name, path, &error), HEED_ERR_INVALID, &error, "1199");
}

static void verdicts_have_words(void **state)
{
    for (int i = 0; i < LAB_RECORD_VERDICTS; i++) {
        const char *name = lab_record_verdict_name((lab_record_verdict)i);
        assert_int_equal(lab_record_verdict_find(name), i);
        assert_true(strlen(lab_record_verdict_meaning((lab_record_verdict)i)) > 5);
    }
    for (int i = 0; i < LAB_TRIAL_VERDICTS; i++) { /* what a trial says can be recorded */
        const char *name = lab_trial_verdict_name((lab_trial_verdict)i);
        if (lab_record_verdict_find(name) == LAB_RECORD_VERDICTS)
            fail_msg("the board does not know \"%s\"", name);
    }
    assert_int_equal(lab_record_verdict_find("good"), LAB_RECORD_VERDICTS);
    assert_int_equal(lab_record_verdict_find(NULL), LAB_RECORD_VERDICTS);
    assert_string_equal(lab_record_verdict_name(LAB_RECORD_VERDICTS), "unknown");
    assert_string_equal(lab_record_verdict_meaning(LAB_RECORD_VERDICTS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_comes_back),
        cmocka_unit_test(shows_everything),
        cmocka_unit_test(a_trial_is_there_once),
        cmocka_unit_test(refuses_half_a_trial),
        cmocka_unit_test(nothing_is_changed_or_dropped),
        cmocka_unit_test(the_newest_figure_counts),
        cmocka_unit_test(what_is_ranked),
        cmocka_unit_test(a_failing_selftest_taints),
        cmocka_unit_test(filters),
        cmocka_unit_test(a_run_goes_on),
        cmocka_unit_test(one_process_writes),
        cmocka_unit_test(refused_places),
        cmocka_unit_test(refused_files),
        cmocka_unit_test(an_empty_file_becomes_one),
        cmocka_unit_test(a_full_disk_takes_nothing_half),
        cmocka_unit_test(verdicts_have_words),
        cmocka_unit_test(finds_its_place),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
