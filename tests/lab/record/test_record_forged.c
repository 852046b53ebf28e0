/*
 * test_record_forged.c - boards that another program changed: each change is detected, and no
 * kernel gains from it
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record_scene.h"
#include "scratch.h"

enum {
    TRIALS = 4,
    LIST_SIZE = 1 << 16
};

static const lab_record_file files[] = { { "src/a.c", "int a;" }, { "src/b.c", "int b;" } };
static const lab_record_library sources = { .files = files, .count = 2 };

/* Trial i, with rows in all its tables. */
static int64_t add_trial(lab_record *record, int64_t run, int64_t selftest, int i)
{
    static const char tools[] = "{\"cc\":{\"version\":\"12\"}}";
    char hash[LAB_RECORD_HASH_SIZE], parent[LAB_RECORD_HASH_SIZE];
    record_scene scene, before;
    record_scene_make(&scene, run, i);
    record_scene_make(&before, run, i - 1);
    lab_record_hash(tools, strlen(tools), hash);
    lab_record_candidate_hash(&before.trial.candidate, parent);
    scene.trial.candidate.parents = (const char *const[]){ parent };
    scene.trial.candidate.parent_count = i > 0;
    scene.trial.environment.library = &sources;
    scene.trial.environment.manifest = hash;
    scene.trial.environment.manifest_text = tools;
    scene.trial.launch = "threads=128";
    scene.trial.selftest = selftest;
    return record_append(record, &scene.trial);
}

/* A board with a row in each table; the second fastest kernel is promoted. Returns the number of
 * ranked rows. */
static size_t make_board(const char *path, record_row rows[TRIALS])
{
    const lab_record_selftest selftest = {
        .backend = "cuda", .suite = "0", .killed = 5, .wrong = 5, .accepted = 2, .honest = 2
    };
    int64_t id, trials[TRIALS];
    lab_error error;
    lab_record *record = record_scene_open(path, LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    record_expect(lab_record_selftest_add(record, &selftest, &id, &error), &error);
    for (int i = 0; i < TRIALS; i++)
        trials[i] = add_trial(record, run, id, i);
    record_expect(lab_record_promote(record, trials[1], trials[0], "faster", &error), &error);
    record_expect(lab_record_end(record, run, LAB_RECORD_FINISHED, NULL, &error), &error);
    const lab_record_filter ranked = { .part = LAB_BOARD_RANKED };
    size_t count = record_scene_rows(record, &ranked, rows, TRIALS);
    lab_record_close(record);
    assert_int_equal(rows[0].row.trial, trials[1]);
    return count;
}

static heed_status pass(void *data, const lab_record_row *row)
{
    (void)data;
    (void)row;
    return HEED_OK;
}

/* All trials that are still ranked were ranked before, and are unchanged. */
static void expect_no_gain(lab_record *record, const char *name, const record_row *rows,
                           size_t count)
{
    const lab_record_filter ranked = { .part = LAB_BOARD_RANKED };
    record_row now[2 * TRIALS];
    size_t place = 0, seen = 0;
    if (lab_record_visit(record, &ranked, pass, NULL, NULL) == HEED_ERR_CORRUPT)
        return; /* nothing is ranked */
    seen = record_scene_rows(record, &ranked, now, 2 * TRIALS);
    for (size_t i = 0; i < seen; i++) {
        while (place < count && rows[place].row.trial != now[i].row.trial)
            place++;
        if (place == count || rows[place].row.seconds != now[i].row.seconds ||
            strcmp(rows[place].row.config, now[i].row.config) != 0)
            fail_msg("%s: trial %lld has come to place %zu", name, (long long)now[i].row.trial,
                     i + 1);
    }
}

static void expect_found(const char *path, const char *name, const record_row *rows, size_t count)
{
    lab_record *record;
    lab_record_chain chain;
    lab_error error;
    heed_status status = lab_record_open(&record, path, LAB_RECORD_READ, &error);
    if (status == HEED_OK) {
        status = lab_record_check(record, NULL, &chain, &error);
        expect_no_gain(record, name, rows, count);
        lab_record_close(record);
    }
    if (status != HEED_ERR_CORRUPT)
        fail_msg("%s: not found", name);
    if (!strstr(error.text, path) || strstr(error.text, "  "))
        fail_msg("%s: %s", name, error.text);
}

static void every_forgery_is_found(void **state)
{
    static char list[LIST_SIZE];
    char path[SCRATCH_PATH_SIZE], folder[SCRATCH_PATH_SIZE], line[2048], *at = list;
    record_row rows[TRIALS];
    size_t ranked = make_board(scratch_path(state, "good.db", path), rows), count = 0;
    assert_int_equal(ranked, TRIALS);
    assert_int_equal(mkdir(scratch_path(state, "forged", folder), 0777), 0);
    snprintf(line, sizeof line, "python3 '%s/tests/helpers/forge_board.py' '%s' '%s'",
             HEED_SOURCE_DIR, path, folder);
    assert_int_equal(system(line), 0);
    scratch_text_read(state, "forged/list", list, sizeof list);
    for (char *end; (end = strchr(at, '\n')); at = end + 1, count++) {
        *end = '\0';
        snprintf(line, sizeof line, "forged/%zu.db", count);
        expect_found(scratch_path(state, line, path), at, rows, ranked);
    }
    print_message("%zu forgeries\n", count);
    assert_true(count > 200);
}

/* A forgery that is not visible in the chain, but contradicts yesterday's head. */
static void a_lost_end_is_found_by_the_head(void **state)
{
    char path[SCRATCH_PATH_SIZE], line[2048];
    record_row rows[TRIALS];
    lab_record_chain whole, more, cut;
    lab_error error;
    char folder[SCRATCH_PATH_SIZE];
    make_board(scratch_path(state, "head.db", path), rows);
    lab_record *record = record_scene_open(path, LAB_RECORD_WRITE);
    record_expect(lab_record_check(record, NULL, &whole, &error), &error);
    assert_int_equal(strlen(whole.head), LAB_RECORD_HASH_SIZE - 1);
    record_scene_begin(record, "more"); /* later links do not invalidate a head */
    record_expect(lab_record_check(record, whole.head, &more, &error), &error);
    assert_true(more.known && more.links == whole.links + 2);
    lab_record_close(record);
    assert_int_equal(mkdir(scratch_path(state, "cut", folder), 0777), 0);
    snprintf(line, sizeof line, "python3 '%s/tests/helpers/forge_board.py' '%s' '%s' %lld",
             HEED_SOURCE_DIR, path, folder, (long long)whole.links);
    assert_int_equal(system(line), 0);
    record = record_scene_open(scratch_path(state, "cut/0.db", path), LAB_RECORD_READ);
    record_expect(lab_record_check(record, whole.head, &cut, &error), &error);
    record_refused(lab_record_check(record, more.head, &cut, &error), HEED_ERR_CORRUPT, &error,
                   "is not a link of it");
    lab_record_close(record);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, every_forgery_is_found,
                 a_lost_end_is_found_by_the_head)
