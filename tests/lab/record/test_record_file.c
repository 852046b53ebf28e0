/*
 * test_record_file.c - the file of the leaderboard: its location, write access, and files that are
 * refused
 */
#include "run_tests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_scene.h"
#include "scratch.h"

static const lab_record_filter all = { .part = LAB_BOARD_ALL };

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
        record_refused(status, cases[i].status, &error, cases[i].part);
        assert_null(record);
    }
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    record_refused(lab_record_open(&record, long_path, LAB_RECORD_WRITE, &error), HEED_ERR_INVALID,
                   &error, "1999 bytes");
    snprintf(deep, sizeof deep, "%s/x", scratch_path(state, "l.db", path));
    lab_record_close(record_scene_open(path, LAB_RECORD_WRITE));
    record_refused(lab_record_open(&record, deep, LAB_RECORD_WRITE, &error), HEED_ERR_SYSTEM,
                   &error, "Not a directory");
    if (geteuid() == 0)
        return;
    assert_int_equal(chmod(path, 0444), 0); /* root may still write */
    record_refused(lab_record_open(&record, path, LAB_RECORD_WRITE, &error), HEED_ERR_SYSTEM,
                   &error, "denied");
    lab_record_close(record_scene_open(path, LAB_RECORD_READ));
}

/* Other files are reported and left alone. */
static void refused_files(void **state)
{
    static const text_pair cases[] = {
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
                 path, path, path, cases[i].given, path);
        assert_int_equal(system(line), 0);
        size_t length = scratch_read(path, before, sizeof before);
        for (int mode = LAB_RECORD_READ; mode <= LAB_RECORD_WRITE; mode++) {
            lab_record *record;
            lab_error error;
            heed_status status = lab_record_open(&record, path, (lab_record_mode)mode, &error);
            record_refused(status, HEED_ERR_CORRUPT, &error, cases[i].wanted);
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
    record = record_scene_open(path, LAB_RECORD_READ); /* its writer was killed here */
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

/* A limit on file sizes simulates a full disk. */
static void a_full_disk_takes_nothing_half(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    struct rlimit old, limit;
    lab_error error;
    int64_t added = 0;
    lab_record_chain chain;
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
    record_refused(status, HEED_ERR_SYSTEM, &error, path);
    assert_in_range(added, 1, 199);
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    assert_int_equal(chain.trials, added);
    record_append(record, &scene.trial); /* there is space again */
    lab_record_close(record);
}

static void finds_its_place(void **state)
{
    char path[LAB_RECORD_PATH_SIZE], long_name[1200];
    lab_error error;
    record_expect(lab_record_path("given.db", path, &error), &error);
    assert_string_equal(path, "given.db");
    setenv("HEED_BOARD", "/x/y.db", 1);
    record_expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/x/y.db");
    setenv("HEED_BOARD", "", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/me", 1);
    record_expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/data/heed/board.db");
    setenv("XDG_DATA_HOME", "relative", 1);
    record_expect(lab_record_path(NULL, path, &error), &error);
    assert_string_equal(path, "/home/me/.local/share/heed/board.db");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    record_refused(lab_record_path(NULL, path, &error), HEED_ERR_SYSTEM, &error, "HEED_BOARD");
    record_refused(lab_record_path("", path, &error), HEED_ERR_INVALID, &error, "empty");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    record_refused(lab_record_path(long_name, path, &error), HEED_ERR_INVALID, &error, "1199");
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, one_process_writes, refused_places, refused_files,
                 an_empty_file_becomes_one, a_full_disk_takes_nothing_half, finds_its_place)
