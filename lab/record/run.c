/*
 * run.c - runs and their progress, selftests, the path of the board, and its clock
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const states[] = {
    [LAB_RECORD_BEGUN] = "begun",
    [LAB_RECORD_RESUMED] = "resumed",
    [LAB_RECORD_INTERRUPTED] = "interrupted",
    [LAB_RECORD_BROKEN] = "failed",
    [LAB_RECORD_FINISHED] = "finished",
};

static heed_status add_event(lab_record *record, int64_t run, lab_record_state state,
                             const char *note, lab_error *error)
{
    char now[LAB_RECORD_TIME_SIZE];
    int64_t id;
    lab_record_now(now);
    return link_insert(record, "event",
                       CELLS(cell_integer("run", run), cell_text("at", now),
                             cell_text("state", states[state]), cell_text("note", note)),
                       "RETURNING id", &id, error);
}

/* The newest run of @key: *@run is 0 if none. */
static heed_status newest(lab_record *record, const char *key, bool finished, int64_t *run,
                          lab_error *error)
{
    statement s = statement_make(record,
                                 "SELECT run.id FROM run WHERE key = ?1 AND (NOT ?2 OR EXISTS "
                                 "(SELECT 1 FROM event WHERE run = run.id AND state = 'finished')) "
                                 "ORDER BY run.id DESC LIMIT 1",
                                 error);
    statement_text(&s, key);
    statement_integer(&s, finished);
    return statement_one(&s, run);
}

static heed_status is_finished(lab_record *record, int64_t run, int64_t *finished, lab_error *error)
{
    statement s = statement_make(
        record, "SELECT count(*) FROM event WHERE run = ? AND state = 'finished'", error);
    statement_integer(&s, run);
    return statement_one(&s, finished);
}

static heed_status add_run(lab_record *record, const lab_record_work *work, int64_t *run,
                           lab_error *error)
{
    return link_insert(record, "run",
                       CELLS(cell_text("key", work->key), cell_text("verb", work->verb),
                             cell_text("command", work->command), cell_text("budget", work->budget),
                             cell_integer("seed", (int64_t)work->seed)),
                       "RETURNING id", run, error);
}

static heed_status begin_run(lab_record *record, const lab_record_work *work, int64_t *run,
                             bool *resumed, lab_error *error)
{
    int64_t finished = 1;
    heed_status status = HEED_OK;
    if (!work->afresh)
        status = newest(record, work->key, false, run, error);
    if (status == HEED_OK && *run > 0)
        status = is_finished(record, *run, &finished, error);
    *resumed = *run > 0 && finished == 0;
    if (status == HEED_OK && !*resumed)
        status = add_run(record, work, run, error);
    if (status == HEED_OK)
        status = add_event(record, *run, *resumed ? LAB_RECORD_RESUMED : LAB_RECORD_BEGUN, NULL,
                           error);
    return status;
}

heed_status lab_record_begin(lab_record *record, const lab_record_work *work, int64_t *run,
                             bool *resumed, lab_error *error)
{
    *run = 0;
    *resumed = false;
    if (!work->key || !work->verb || !work->command)
        return lab_fail(error, HEED_ERR_INVALID, "a run needs a key, a verb and a command");
    heed_status status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status == HEED_OK)
        status = lab_record_commit(record, begin_run(record, work, run, resumed, error), error);
    return status;
}

heed_status lab_record_end(lab_record *record, int64_t run, lab_record_state state,
                           const char *note, lab_error *error)
{
    if (state != LAB_RECORD_INTERRUPTED && state != LAB_RECORD_BROKEN &&
        state != LAB_RECORD_FINISHED)
        return lab_fail(error, HEED_ERR_INVALID, "a run cannot end as %d", (int)state);
    heed_status status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status == HEED_OK)
        status = lab_record_commit(record, add_event(record, run, state, note, error), error);
    return status;
}

heed_status lab_record_finished(lab_record *record, const char *key, int64_t *run, lab_error *error)
{
    return newest(record, key, true, run, error);
}

static heed_status add_selftest(lab_record *record, const lab_record_selftest *selftest,
                                int64_t *id, lab_error *error)
{
    char now[LAB_RECORD_TIME_SIZE];
    lab_record_now(now);
    return link_insert(
        record, "selftest",
        CELLS(cell_text("at", now), cell_text("backend", selftest->backend),
              cell_text("suite", selftest->suite), cell_text("git_commit", selftest->commit),
              cell_integer("killed", selftest->killed), cell_integer("wrong", selftest->wrong),
              cell_integer("accepted", selftest->accepted),
              cell_integer("honest", selftest->honest)),
        "RETURNING id", id, error);
}

heed_status lab_record_selftest_add(lab_record *record, const lab_record_selftest *selftest,
                                    int64_t *id, lab_error *error)
{
    heed_status status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status == HEED_OK)
        status = lab_record_commit(record, add_selftest(record, selftest, id, error), error);
    return status;
}

heed_status lab_record_selftest_find(lab_record *record, const lab_record_selftest *alike,
                                     int64_t *id, lab_error *error)
{
    statement s = statement_make(record,
                                 "SELECT id FROM selftest WHERE backend = ? AND suite = ? AND "
                                 "git_commit IS ? ORDER BY id DESC LIMIT 1",
                                 error);
    statement_text(&s, alike->backend);
    statement_text(&s, alike->suite);
    statement_text(&s, alike->commit);
    return statement_one(&s, id);
}

/* -------------------------------------------------------------------------- */
/* The path of the board, and its clock                                       */
/* -------------------------------------------------------------------------- */

/* The environment variable @name, or NULL if it is not set or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

heed_status lab_record_path(const char *given, char path[LAB_RECORD_PATH_SIZE], lab_error *error)
{
    const char *board = given ? given : environment("HEED_BOARD");
    const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");
    int length = 0;
    if (board)
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s", board);
    else if (data && *data == '/') /* its specification says to ignore a relative one */
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s/heed/board.db", data);
    else if (home)
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s/.local/share/heed/board.db", home);
    else
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "no place for the board: HEED_BOARD, XDG_DATA_HOME and HOME are not set");
    if (length <= 0)
        return lab_fail(error, HEED_ERR_INVALID, "the name of the board is empty");
    if (length >= LAB_RECORD_PATH_SIZE)
        return lab_fail(error, HEED_ERR_INVALID,
                        "the name of the board has %d bytes; %d are the most", length,
                        LAB_RECORD_PATH_SIZE - 1);
    return HEED_OK;
}

void lab_record_now(char text[LAB_RECORD_TIME_SIZE])
{
    struct timespec now;
    struct tm utc;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    if (!gmtime_r(&now.tv_sec, &utc))
        memset(&utc, 0, sizeof utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, LAB_RECORD_TIME_SIZE, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}
