/*
 * test_record_library.c - versions 2 and 3 of the leaderboard: heed's sources, launches of device
 * code, manifests; and older files, which are read and upgraded
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_scene.h"
#include "scratch.h"

/* The rows that heed wrote for the trial of make_old() before version 2. */
#define OLD_SEAL "44c135d911ab695ec68ad1f60c27cf9c1ecc2507bd237c93bd2774f37053f9b1"

static const lab_record_filter all = { .part = LAB_BOARD_ALL };

static const lab_record_file files[] = { { "src/b.c", "int b;\n" },
                                         { "src/a.cu", "__global__ void a() { }\n" },
                                         { "include/empty.h", "" } };
static const lab_record_library sources = { files, 3 };

/* -------------------------------------------------------------------------- */
/* Libraries                                                                  */
/* -------------------------------------------------------------------------- */

static int64_t add(lab_record *record, int64_t run, int number, const char *build,
                   const lab_record_library *library)
{
    record_scene scene;
    record_scene_make(&scene, run, number);
    scene.trial.environment.build = build;
    scene.trial.environment.library = library;
    return record_append(record, &scene.trial);
}

static void expect_sources(lab_record *record, int64_t trial)
{
    lab_record_library *library;
    lab_error error;
    record_expect(lab_record_library_read(record, trial, &library, &error), &error);
    assert_non_null(library);
    assert_int_equal(library->count, 3);
    assert_string_equal(library->files[0].path, "include/empty.h");
    assert_string_equal(library->files[0].text, "");
    assert_string_equal(library->files[1].path, "src/a.cu");
    assert_string_equal(library->files[2].text, "int b;\n");
    lab_record_library_free(library);
}

static void sources_come_back(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_record_library *library;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "a.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    int64_t first = add(record, run, 1, "one", &sources);
    int64_t second = add(record, run, 2, "one", NULL); /* the same build has the same sources */
    int64_t other = add(record, run, 3, "two", NULL);
    int64_t third = add(record, run, 4, "three", &sources);
    add(record, run, 5, "three", &sources);
    expect_sources(record, first);
    expect_sources(record, second);
    expect_sources(record, third);
    record_expect(lab_record_library_read(record, other, &library, &error), &error);
    assert_null(library);
    assert_int_equal(record_show(record, first, "library", 0, "files").field.integer, 3);
    lab_record_library_free(NULL);
    lab_record_close(record);
}

/* Python's SQLite represents any other program. */
static int python(const char *path, const char *code)
{
    char line[4096];
    snprintf(line, sizeof line,
             "python3 -c \"\nimport sqlite3, sys\ndb = sqlite3.connect('%s')\n%s\"", path, code);
    return system(line);
}

static void changed_sources_are_told(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_record_library *library;
    lab_error error;
    lab_record_chain chain;
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t trial = add(record, record_scene_begin(record, "work"), 1, "one", &sources);
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    lab_record_close(record);
    assert_int_equal(python(path, "sql = db.execute('SELECT sql FROM sqlite_schema WHERE name = "
                                  "\\'source_keep\\'').fetchone()[0]\n"
                                  "db.execute('DROP TRIGGER source_keep')\n"
                                  "db.execute('UPDATE source SET text = replace(text, \\'int b\\', "
                                  "\\'int c\\')')\n"
                                  "db.execute(sql)\n"
                                  "db.commit()\n"),
                     0);
    record = record_scene_open(path, LAB_RECORD_READ);
    record_refused(lab_record_library_read(record, trial, &library, &error), HEED_ERR_CORRUPT,
                   &error, "library 1 are not what was added");
    assert_null(library);
    record_refused(lab_record_check(record, NULL, &chain, &error), HEED_ERR_CORRUPT, &error,
                   "library");
    lab_record_close(record);
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

static void describe(const lab_record_trial *trial, lab_record_described *described)
{
    if (strcmp(trial->candidate.config, "m3n64") == 0)
        return;
    snprintf(described->launch, sizeof described->launch, "entry=%s", trial->candidate.kernel);
    snprintf(described->sha256, sizeof described->sha256, "described");
    described->artifact = (lab_record_artifact){
        .sha256 = described->sha256, .form = "cubin", .bytes = 7, .registers = 42
    };
}

static void launches_come_back(void **state)
{
    char path[SCRATCH_PATH_SIZE], *words;
    record_scene scene;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "c.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    lab_record_describe(record, describe);

    record_scene_make(&scene, run, 1);
    scene.trial.launch = "threads=128";
    int64_t given = record_append(record, &scene.trial);
    record_expect(lab_record_launch(record, given, &words, &error), &error);
    assert_string_equal(words, "threads=128");
    free(words);
    assert_string_equal(record_show(record, given, "launch", 0, "words").text, "threads=128");

    for (int i = 2; i < 5; i++) { /* heed's own, one unknown to the describer, foreign */
        record_scene_make(&scene, run, i);
        if (i < 4)
            scene.trial.candidate.source = scene.trial.candidate.language = NULL;
        scene.trial.artifact.sha256 = NULL;
        int64_t id = record_append(record, &scene.trial);
        record_expect(lab_record_launch(record, id, &words, &error), &error);
        if (i != 2) {
            assert_null(words);
            continue;
        }
        assert_string_equal(words, "entry=fwd_16bit_sm80_mma");
        assert_int_equal(record_show(record, id, "artifact", 0, "registers").field.integer, 42);
        free(words);
    }
    lab_record_close(record);
}

/* -------------------------------------------------------------------------- */
/* Manifests                                                                  */
/* -------------------------------------------------------------------------- */

static const char tools[] = "{\"cc\":{\"version\":\"12\"}}";

/* Adds a trial that was made with that hash, or with the hash of @text. */
static heed_status add_made_with(lab_record *record, int64_t run, int number, const char *hash,
                                 const char *text, int64_t *id, lab_error *error)
{
    char own[LAB_RECORD_HASH_SIZE];
    record_scene scene;
    record_scene_make(&scene, run, number);
    if (text)
        lab_record_hash(text, strlen(text), own);
    scene.trial.environment.manifest = hash ? hash : own;
    scene.trial.environment.manifest_text = text;
    return lab_record_append(record, &scene.trial, id, error);
}

static void expect_manifest(lab_record *record, int64_t trial, const char *wanted)
{
    char hash[LAB_RECORD_HASH_SIZE], own[LAB_RECORD_HASH_SIZE], *text;
    lab_error error;
    record_expect(lab_record_manifest(record, trial, hash, &text, &error), &error);
    if (!wanted) {
        assert_string_equal(hash, "");
        assert_null(text);
        return;
    }
    lab_record_hash(wanted, strlen(wanted), own);
    assert_string_equal(hash, own);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    assert_string_equal(record_show(record, trial, "manifest", 0, "sha256").text, own);
    free(text);
}

/* A manifest that is first recorded by its hash alone may get its text later, with another
 * trial. */
static void manifests_come_back(void **state)
{
    char path[SCRATCH_PATH_SIZE], hash[LAB_RECORD_HASH_SIZE], seen[LAB_RECORD_HASH_SIZE], *text;
    int64_t first, second, alone, refused;
    lab_record_chain chain;
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "m.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    static const char later[] = "{\"cc\":{\"version\":\"13\"}}";
    lab_record_hash(later, strlen(later), hash);
    record_expect(add_made_with(record, run, 1, NULL, tools, &first, &error), &error);
    record_expect(add_made_with(record, run, 2, NULL, tools, &second, &error), &error);
    record_expect(add_made_with(record, run, 3, hash, NULL, &alone, &error), &error);
    record_refused(add_made_with(record, run, 4, hash, tools, &refused, &error), HEED_ERR_INVALID,
                   &error, "manifest is ");
    expect_manifest(record, first, tools);
    expect_manifest(record, second, tools);
    record_expect(lab_record_manifest(record, alone, seen, &text, &error), &error);
    assert_string_equal(seen, hash);
    assert_null(text);
    record_expect(add_made_with(record, run, 5, NULL, later, &refused, &error), &error);
    expect_manifest(record, alone, later);
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    assert_int_equal(chain.trials, 4);
    lab_record_close(record);
}

static void changed_manifests_are_told(void **state)
{
    static const char *const changes[] = { "UPDATE manifest SET text = replace(text, 12, 13)",
                                           "UPDATE made_with SET manifest = replace(manifest, "
                                           "substr(manifest, 1, 4), \\'beef\\')" };
    static const char *const says[] = { "the manifest ", "trial 1 is not what was added" };
    for (int i = 0; i < 2; i++) {
        char path[SCRATCH_PATH_SIZE], name[16], code[1024];
        int64_t trial;
        lab_record_chain chain;
        lab_error error;
        snprintf(name, sizeof name, "n%d.db", i);
        lab_record *record = record_scene_open(scratch_path(state, name, path), LAB_RECORD_WRITE);
        record_expect(add_made_with(record, record_scene_begin(record, "work"), 1, NULL, tools,
                                    &trial, &error),
                      &error);
        lab_record_close(record);
        snprintf(code, sizeof code,
                 "keep = db.execute('SELECT name, sql FROM sqlite_schema WHERE name IN "
                 "(\\'manifest_keep\\', \\'made_with_keep\\')').fetchall()\n"
                 "for name, sql in keep: db.execute('DROP TRIGGER ' + name)\n"
                 "db.execute('%s')\n"
                 "for name, sql in keep: db.execute(sql)\n"
                 "db.commit()\n",
                 changes[i]);
        assert_int_equal(python(path, code), 0);
        record = record_scene_open(path, LAB_RECORD_READ);
        record_refused(lab_record_check(record, NULL, &chain, &error), HEED_ERR_CORRUPT, &error,
                       says[i]);
        lab_record_close(record);
    }
}

/* -------------------------------------------------------------------------- */
/* Older versions                                                             */
/* -------------------------------------------------------------------------- */

/* A board as written before version 2 or 3: with the verdicts of that time, and one sealed
 * trial. */
static void make_old(const char *path, int version)
{
    char code[4096];
    snprintf(code, sizeof code,
             "db.executescript(open('%s').read())\n"
             "if %d > 1: db.executescript(open('%s').read())\n"
             "db.executescript('PRAGMA application_id = 1751475556; PRAGMA user_version = %d;')\n"
             "add = lambda table, *values: db.execute(f'INSERT INTO {table} VALUES (' + "
             "', '.join('?' * len(values)) + ')', values)\n"
             "add('verdict', 'ok', 'right, and timed')\n"
             "add('device', 1, 'd', 'some CPU', 'cpu', None, None, None, None, None)\n"
             "add('environment', 1, 'e', 1, 'avx2', 2, 'old-gcc12', '0.1.0', 'abc', 0, None, None, "
             "'gcc', None, None, None, None)\n"
             "add('problem', 1, 'b1 h1 s8 d8 f32', 1.0, 1.0)\n"
             "add('candidate', 1, 'c', 'fwd_any_avx2_tile', 'm1', None, 'tune', 1, None)\n"
             "add('run', 1, 'key', 'tune', 'heed tune', None, 1)\n"
             "add('trial', 1, 1, 1, 1, 0, 1, None, None, 'ok', None, 1, 't', 't', 1, 'hot', 1e-3, "
             "None, None)\n"
             "add('seal', 1, '" OLD_SEAL "')\n"
             "db.commit()\n",
             HEED_SCHEMA, version, HEED_SCHEMA_2, version);
    assert_int_equal(python(path, code), 0);
}

static void expect_old(lab_record *record)
{
    record_row row;
    char *words, hash[LAB_RECORD_HASH_SIZE];
    lab_record_library *library;
    lab_error error;
    lab_record_chain chain;
    assert_int_equal(record_scene_rows(record, &all, &row, 1), 1);
    assert_string_equal(row.row.kernel, "fwd_any_avx2_tile");
    assert_string_equal(row.row.trusted, "untested"); /* not damaged: the seal is valid */
    record_expect(lab_record_check(record, NULL, &chain, &error), &error);
    record_expect(lab_record_launch(record, 1, &words, &error), &error);
    assert_null(words);
    record_expect(lab_record_library_read(record, 1, &library, &error), &error);
    assert_null(library);
    record_expect(lab_record_manifest(record, 1, hash, &words, &error), &error);
    assert_string_equal(hash, "");
    assert_null(words);
}

static void expect_left_alone(void **state, const char *name, int version)
{
    static char before[1 << 20], after[1 << 20];
    char path[SCRATCH_PATH_SIZE];
    make_old(scratch_path(state, name, path), version);
    size_t length = scratch_read(path, before, sizeof before);
    lab_record *record = record_scene_open(path, LAB_RECORD_READ);
    expect_old(record);
    lab_record_close(record);
    assert_int_equal(scratch_read(path, after, sizeof after), length);
    assert_memory_equal(before, after, length);
}

static void an_old_file_is_read_as_it_is(void **state)
{
    expect_left_alone(state, "d1.db", 1);
    expect_left_alone(state, "d2.db", 2);
}

/* The additions include the words that the old heed did not have. */
static void expect_new(void **state, const char *name, int version)
{
    char path[SCRATCH_PATH_SIZE];
    record_scene scene;
    make_old(scratch_path(state, name, path), version);
    lab_record *record = record_scene_open(path, LAB_RECORD_WRITE);
    expect_old(record);
    int64_t run = record_scene_begin(record, "work");
    int64_t trial = add(record, run, 1, "new", &sources);
    record_scene_make(&scene, run, 2);
    scene.trial.verdict = LAB_RECORD_FORBIDDEN;
    scene.trial.timing = LAB_RECORD_UNTIMED;
    scene.trial.seconds = scene.trial.p90 = 0;
    int64_t forbidden = record_append(record, &scene.trial);
    assert_string_equal(record_show(record, forbidden, "trial", 0, "verdict").text, "forbidden");
    lab_record_close(record);
    assert_int_equal(python(path, "sys.exit(db.execute('PRAGMA user_version').fetchone()[0] != "
                                  "4)\n"),
                     0);
    record = record_scene_open(path, LAB_RECORD_READ);
    assert_int_equal(record_scene_count(record, &all), 3);
    expect_sources(record, trial);
    expect_manifest(record, trial, NULL);
    lab_record_close(record);
}

static void an_old_file_is_brought_up_to_date(void **state)
{
    expect_new(state, "e1.db", 1);
    expect_new(state, "e2.db", 2);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, sources_come_back, changed_sources_are_told,
                 launches_come_back, manifests_come_back, changed_manifests_are_told,
                 an_old_file_is_read_as_it_is, an_old_file_is_brought_up_to_date)
