/*
 * record.c - opens, closes, migrates and checks the board
 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/file.h"
#include "store.h"

/* "heed": distinguishes a board from other SQLite files. */
#define APPLICATION 0x68656564

/* schema.sql and the migrations of later versions. HEED_SCHEMA and the others are their paths, from
 * CMake, which also declares them as dependencies of this object. */
LAB_EMBED(lab_record_schema, HEED_SCHEMA);
LAB_EMBED(lab_record_schema_2, HEED_SCHEMA_2);
LAB_EMBED(lab_record_schema_3, HEED_SCHEMA_3);
LAB_EMBED(lab_record_schema_4, HEED_SCHEMA_4);

/* Statements that migrate a file from version i to i + 1. */
static const char *const migrations[] = { lab_record_schema, lab_record_schema_2,
                                          lab_record_schema_3, lab_record_schema_4 };
#define CHAINED 4 /* first version with links */
#define VERSION ((int64_t)(sizeof migrations / sizeof *migrations))

/* Time limit for another process's transaction. */
#define PATIENCE_MS 10000

/* A rollback journal, since SQLite before 3.51.3 can damage a file in WAL mode when several
 * processes use it. It is truncated, not deleted, at the end of a transaction, which syncs the
 * file; synchronous = FULL would not sync the folder. */
static const char settings[] = "PRAGMA journal_mode = TRUNCATE;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA foreign_keys = ON;"
                               "PRAGMA recursive_triggers = ON;"
                               "PRAGMA trusted_schema = OFF;"
                               "PRAGMA cell_size_check = ON;";

/* -------------------------------------------------------------------------- */
/* Before SQLite sees the file                                                */
/* -------------------------------------------------------------------------- */

/* Rejects anything but a regular file: SQLite would block on a pipe. */
static heed_status check_path(const char *path, lab_record_mode mode, lab_error *error)
{
    struct stat info;
    if (!path || !*path)
        return lab_fail(error, HEED_ERR_INVALID, "the name of the board is empty");
    if (strlen(path) >= LAB_RECORD_PATH_SIZE)
        return lab_fail(error, HEED_ERR_INVALID,
                        "the name of the board has %zu bytes; %d are the most", strlen(path),
                        LAB_RECORD_PATH_SIZE - 1);
    if (stat(path, &info) == 0) {
        if (S_ISREG(info.st_mode))
            return HEED_OK;
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot open: %s", path,
                        S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    }
    if (errno == ENOENT && mode == LAB_RECORD_WRITE)
        return lab_file_folders(path, 0777, error);
    return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot open: %s", path, strerror(errno));
}

/* -------------------------------------------------------------------------- */
/* Versions                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status ask(lab_record *record, const char *sql, int64_t *value, lab_error *error)
{
    statement s = statement_make(record, sql, error);
    return statement_one(&s, value);
}

/* The version of the file, 0 if it is empty. */
static heed_status read_version(lab_record *record, int64_t *version, lab_error *error)
{
    int64_t application, tables;
    heed_status status = ask(record, "SELECT count(*) FROM sqlite_schema", &tables, error);
    if (status == HEED_OK)
        status = ask(record, "PRAGMA application_id", &application, error);
    if (status == HEED_OK)
        status = ask(record, "PRAGMA user_version", version, error);
    if (status != HEED_OK)
        return status;
    if (application != APPLICATION && (tables > 0 || application != 0))
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: not a board of heed, but a database of another program", record->path);
    if (*version > VERSION)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: has version %lld, which a newer heed made; this one knows up to %lld",
                        record->path, (long long)*version, (long long)VERSION);
    if (*version < 0 || (*version == 0) != (tables == 0))
        return lab_fail(error, HEED_ERR_CORRUPT, "%s: damaged, and left as it is (version %lld)",
                        record->path, (long long)*version);
    return HEED_OK;
}

/* Adds the verdicts, for the foreign key of trials. */
static heed_status add_verdicts(lab_record *record, lab_error *error)
{
    heed_status status = HEED_OK;
    for (int i = 0; status == HEED_OK && i < LAB_RECORD_VERDICTS; i++) {
        statement s = statement_make(
            record, "INSERT INTO verdict VALUES (?, ?) ON CONFLICT DO NOTHING", error);
        statement_text(&s, lab_record_verdict_name((lab_record_verdict)i));
        statement_text(&s, lab_record_verdict_meaning((lab_record_verdict)i));
        status = statement_do(&s);
        if (status == HEED_OK)
            status = link_add_named(record, "verdict",
                                    lab_record_verdict_name((lab_record_verdict)i), error);
    }
    return status;
}

/* One transaction for all migrations: a killed process leaves the old version or the new one. */
static heed_status migrate(lab_record *record, int64_t version, lab_error *error)
{
    char marks[96];
    snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %lld;",
             APPLICATION, (long long)VERSION);
    heed_status status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status != HEED_OK)
        return status;
    for (int64_t i = version; status == HEED_OK && i < VERSION; i++)
        status = lab_record_run_sql(record, migrations[i], error);
    if (status == HEED_OK && version < CHAINED)
        status = link_adopt(record, error);
    if (status == HEED_OK)
        status = add_verdicts(record, error);
    if (status == HEED_OK && version < VERSION)
        status = lab_record_run_sql(record, marks, error);
    return lab_record_commit(record, status, error);
}

/* -------------------------------------------------------------------------- */
/* Soundness                                                                  */
/* -------------------------------------------------------------------------- */

/* @pragma returns a row for each damage, or "ok"; the message is @words and the first column. */
static heed_status check_rows(lab_record *record, const char *pragma, const char *words,
                              lab_error *error)
{
    statement s = statement_make(record, pragma, error);
    while (statement_row(&s)) {
        const char *text = statement_get_text(&s, 0);
        if (!text || strcmp(text, "ok") != 0)
            s.status = lab_fail(error, HEED_ERR_CORRUPT, "%s: damaged, and left as it is (%s%s)",
                                record->path, words, text ? text : "?");
    }
    return statement_end(&s);
}

/* SQLite does not notice a truncated or extended file: it reads zeros past the end, and overwrites
 * extra data. There is no writer during the check. A board read through a copy in memory has
 * another size than its file. */
static heed_status check_size(lab_record *record, lab_error *error)
{
    struct stat file;
    int64_t size = -1;
    const char *path = sqlite3_db_filename(record->db, "main");
    if (!path || !*path)
        return HEED_OK;
    heed_status status = lab_record_run_sql(record, "BEGIN", error);
    if (status != HEED_OK)
        return status;
    statement s = statement_make(
        record, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
        error);
    if (statement_row(&s))
        size = statement_get_integer(&s, 0);
    if (size >= 0 && (stat(path, &file) != 0 || (int64_t)file.st_size != size))
        s.status = lab_fail(error, HEED_ERR_CORRUPT,
                            "%s: damaged, and left as it is (its size is not the %lld bytes that "
                            "it had)",
                            record->path, (long long)size);
    return lab_record_commit(record, statement_end(&s), error);
}

static heed_status check_structure(lab_record *record, lab_error *error)
{
    heed_status status = check_size(record, error);
    if (status == HEED_OK)
        status = check_rows(record, "PRAGMA integrity_check(1)", "", error);
    if (status == HEED_OK)
        status = check_rows(record, "PRAGMA foreign_key_check",
                            "a row refers to one that is not there, in ", error);
    return status;
}

heed_status lab_record_check(lab_record *record, const char *known, lab_record_chain *chain,
                             lab_error *error)
{
    *chain = (lab_record_chain){ .links = 0 };
    heed_status status = check_structure(record, error);
    if (status == HEED_OK)
        status = library_check(record, error);
    if (status == HEED_OK)
        status = manifest_check(record, error);
    if (status == HEED_OK)
        status = link_check(record, known, true, chain, error);
    if (status == HEED_OK)
        status = ask(record, "SELECT count(*) FROM trial", &chain->trials, error);
    if (status == HEED_OK && known && !chain->known)
        status = lab_fail(error, HEED_ERR_CORRUPT,
                          "%s: damaged: %.64s is not a link of it: rows were removed, or another "
                          "program wrote it again",
                          record->path, known);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Open and close                                                             */
/* -------------------------------------------------------------------------- */

heed_status lab_record_whole(lab_record *record, lab_error *error)
{
    heed_status status = record->whole ? HEED_OK : link_check(record, NULL, false, NULL, error);
    record->whole = status == HEED_OK;
    return status;
}

static heed_status open_database(lab_record *record, lab_record_mode mode, lab_error *error)
{
    /* Readers, too, must be able to roll back a killed writer's transaction. */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (mode == LAB_RECORD_WRITE)
        flags |= SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(record->path, &record->db, flags, NULL);
    if (!record->db)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to open it", record->path);
    if (code != SQLITE_OK)
        return lab_record_blame(record, error);
    sqlite3_busy_timeout(record->db, PATIENCE_MS);
    sqlite3_db_config(record->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return HEED_OK;
}

/* Makes an empty board in memory, for @record, which has no file open. */
static heed_status open_memory(lab_record *record, lab_error *error)
{
    if (sqlite3_open(":memory:", &record->db) != SQLITE_OK)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to open it", record->path);
    return migrate(record, 0, error);
}

/* A board whose creation was interrupted is read as an empty one. */
static heed_status read_nothing(lab_record *record, lab_error *error)
{
    sqlite3_close(record->db);
    record->db = NULL;
    return open_memory(record, error);
}

/* Copies the whole file to @to, an open database. */
static heed_status copy_database(lab_record *record, sqlite3 *to, lab_error *error)
{
    sqlite3_backup *copy = sqlite3_backup_init(to, "main", record->db, "main");
    if (!copy)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to read it", record->path);
    int code = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy);
    if (code == SQLITE_DONE)
        return HEED_OK;
    return code == SQLITE_NOMEM || sqlite3_errcode(record->db) == SQLITE_OK
               ? lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot be read: %s", record->path,
                          sqlite3_errstr(code))
               : lab_record_blame(record, error);
}

/* A file of an older version is read through a migrated copy in memory. */
static heed_status read_older(lab_record *record, int64_t version, lab_error *error)
{
    sqlite3 *copy = NULL;
    heed_status status = check_structure(record, error);
    if (status != HEED_OK)
        return status;
    if (sqlite3_open(":memory:", &copy) != SQLITE_OK)
        status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to read it", record->path);
    if (status == HEED_OK)
        status = copy_database(record, copy, error);
    if (status != HEED_OK) {
        sqlite3_close(copy);
        return status;
    }
    sqlite3_close(record->db);
    record->db = copy;
    return migrate(record, version, error);
}

static heed_status compare_schemas(lab_record *record, lab_record *fresh, lab_error *error)
{
    int64_t ours = 0, theirs = 0;
    static const char count[] = "SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL AND name "
                                "NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    heed_status status = ask(fresh, count, &ours, error);
    if (status == HEED_OK)
        status = ask(record, count, &theirs, error);
    if (status == HEED_OK && ours != theirs)
        status = lab_fail(error, HEED_ERR_CORRUPT,
                          "%s: damaged, and left as it is (it has %lld tables, views and triggers, "
                          "and version %lld has %lld)",
                          record->path, (long long)theirs, (long long)VERSION, (long long)ours);
    if (status != HEED_OK)
        return status;
    statement s = statement_make(fresh, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL",
                                 error);
    while (statement_row(&s)) {
        int64_t same = 0;
        statement t = statement_make(
            record, "SELECT count(*) FROM sqlite_schema WHERE name = ? AND sql = ?", error);
        statement_text(&t, statement_get_text(&s, 0));
        statement_text(&t, statement_get_text(&s, 1));
        s.status = statement_one(&t, &same);
        if (s.status == HEED_OK && same != 1)
            s.status = lab_fail(error, HEED_ERR_CORRUPT,
                                "%s: damaged, and left as it is (%s is not that of version %lld)",
                                record->path, statement_get_text(&s, 0), (long long)VERSION);
    }
    return statement_end(&s);
}

/* Checks that tables, views and triggers are those of a new board. One changed byte in a view could
 * alter the leaderboard. */
static heed_status check_schema(lab_record *record, lab_error *error)
{
    lab_record fresh = { .path = record->path, .lock = -1 };
    heed_status status = open_memory(&fresh, error);
    if (status == HEED_OK)
        status = compare_schemas(record, &fresh, error);
    sqlite3_close(fresh.db);
    return status;
}

static heed_status prepare_to_read(lab_record *record, int64_t version, lab_error *error)
{
    heed_status status = HEED_OK;
    if (version == 0)
        status = read_nothing(record, error);
    else if (version < VERSION)
        status = read_older(record, version, error);
    if (status == HEED_OK && version > 0)
        status = check_schema(record, error);
    if (status == HEED_OK)
        status = lab_record_run_sql(record, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;",
                                    error);
    return status;
}

static heed_status prepare_to_write(lab_record *record, int64_t version, lab_error *error)
{
    if (sqlite3_db_readonly(record->db, "main") == 1 && access(record->path, W_OK) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot write: %s", record->path,
                        strerror(errno));
    if (sqlite3_db_readonly(record->db, "main") == 1)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: damaged, or made by a newer SQLite, and left as it is", record->path);
    heed_status status = check_structure(record, error);
    if (status == HEED_OK)
        status = lab_record_run_sql(record, settings, error);
    /* Also at the current version, which may have gained verdicts. */
    if (status == HEED_OK && version == VERSION)
        status = check_schema(record, error);
    if (status == HEED_OK)
        status = migrate(record, version, error);
    if (status == HEED_OK)
        status = lab_record_whole(record, error);
    return status;
}

static heed_status open_record(lab_record *record, lab_record_mode mode, lab_error *error)
{
    int64_t version = 0;
    heed_status status = HEED_OK;
    if (mode == LAB_RECORD_WRITE)
        status = lab_record_lock(record->path, &record->lock, error);
    if (status == HEED_OK)
        status = open_database(record, mode, error);
    if (status == HEED_OK)
        status = read_version(record, &version, error);
    if (status == HEED_OK)
        status = mode == LAB_RECORD_WRITE ? prepare_to_write(record, version, error)
                                          : prepare_to_read(record, version, error);
    return status;
}

heed_status lab_record_open(lab_record **record, const char *path, lab_record_mode mode,
                            lab_error *error)
{
    *record = NULL;
    heed_status status = check_path(path, mode, error);
    if (status != HEED_OK)
        return status;
    lab_record *made = calloc(1, sizeof *made);
    size_t size = strlen(path) + 3;
    char *name = malloc(size);
    if (!made || !name) {
        free(made);
        free(name);
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to open it", path);
    }
    /* SQLite does not treat a name that begins with a colon as a file. */
    snprintf(name, size, "%s%s", *path == ':' ? "./" : "", path);
    *made = (lab_record){ .path = name, .lock = -1 };
    status = open_record(made, mode, error);
    if (status != HEED_OK) {
        lab_record_close(made);
        made = NULL;
    }
    *record = made;
    return status;
}

void lab_record_close(lab_record *record)
{
    if (!record)
        return;
    sqlite3_close(record->db);
    if (record->judge_end)
        record->judge_end(record->judge_data);
    lab_record_unlock(record->lock);
    free(record->path);
    free(record);
}

const char *lab_record_place(const lab_record *record)
{
    return record->path;
}

const char *lab_record_software(void)
{
    return sqlite3_libversion();
}
