/*
 * statement.c - SQLite statements and error messages
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

/* -------------------------------------------------------------------------- */
/* Failures                                                                   */
/* -------------------------------------------------------------------------- */

/* SQLite errors with a specific meaning here. */
static const struct {
    int code;
    heed_status status;
    const char *what;
} meanings[] = {
    { SQLITE_CORRUPT, HEED_ERR_CORRUPT, "damaged, and left as it is" },
    { SQLITE_NOTADB, HEED_ERR_CORRUPT, "not a board of heed" },
    { SQLITE_NOMEM, HEED_ERR_NO_MEMORY, "no memory" },
    { SQLITE_FULL, HEED_ERR_SYSTEM, "cannot write: no space left" },
    { SQLITE_READONLY, HEED_ERR_SYSTEM, "cannot write" },
    { SQLITE_BUSY, HEED_ERR_SYSTEM, "another process holds it" },
    { SQLITE_PERM, HEED_ERR_SYSTEM, "no permission" },
    { SQLITE_CANTOPEN, HEED_ERR_SYSTEM, "cannot open" },
    { SQLITE_IOERR, HEED_ERR_SYSTEM, "cannot read or write" },
    { SQLITE_CONSTRAINT, HEED_ERR_INVALID, "refused" },
};

heed_status lab_record_blame(lab_record *record, lab_error *error)
{
    int code = sqlite3_errcode(record->db);
    int reason = sqlite3_system_errno(record->db);
    const char *words = sqlite3_errmsg(record->db);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == (code & 0xff)) {
            bool system = reason &&
                          (meanings[i].code == SQLITE_CANTOPEN || meanings[i].code == SQLITE_IOERR);
            return lab_fail(error, meanings[i].status, "%s: %s (%s)", record->path,
                            meanings[i].what, system ? strerror(reason) : words);
        }
    /* The schema lacks a table or a column. */
    return lab_fail(error, HEED_ERR_CORRUPT, "%s: damaged, and left as it is (%s)", record->path,
                    words);
}

heed_status lab_record_run_sql(lab_record *record, const char *sql, lab_error *error)
{
    if (sqlite3_exec(record->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return HEED_OK;
    return lab_record_blame(record, error);
}

heed_status lab_record_commit(lab_record *record, heed_status status, lab_error *error)
{
    if (status == HEED_OK)
        status = lab_record_run_sql(record, "COMMIT", error);
    /* Some failures have already rolled it back. */
    if (status != HEED_OK && !sqlite3_get_autocommit(record->db))
        lab_record_run_sql(record, "ROLLBACK", NULL);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

/* Notes that a call did not return SQLITE_OK. */
static void expect_ok(statement *s, int code)
{
    if (code != SQLITE_OK && s->status == HEED_OK)
        s->status = lab_record_blame(s->record, s->error);
}

statement statement_make(lab_record *record, const char *sql, lab_error *error)
{
    statement s = { .record = record, .error = error };
    expect_ok(&s, sqlite3_prepare_v2(record->db, sql, -1, &s.code, NULL));
    return s;
}

heed_status statement_end(statement *s)
{
    sqlite3_finalize(s->code);
    s->code = NULL;
    return s->status;
}

void statement_text(statement *s, const char *text)
{
    s->bound++;
    if (s->status == HEED_OK)
        expect_ok(s, sqlite3_bind_text(s->code, s->bound, text, -1, SQLITE_STATIC));
}

void statement_integer(statement *s, int64_t value)
{
    s->bound++;
    if (s->status == HEED_OK)
        expect_ok(s, sqlite3_bind_int64(s->code, s->bound, value));
}

void statement_real(statement *s, double value)
{
    s->bound++;
    if (s->status == HEED_OK)
        expect_ok(s, isfinite(value) ? sqlite3_bind_double(s->code, s->bound, value)
                                     : sqlite3_bind_null(s->code, s->bound));
}

static void put_real(unsigned char *bytes, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
}

static double get_real(const unsigned char *bytes)
{
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void bind_reals(statement *s, const double *values, size_t count)
{
    s->bound++;
    if (s->status != HEED_OK)
        return;
    unsigned char *bytes = count <= SIZE_MAX / 8 ? malloc(8 * count + 1) : NULL;
    if (!bytes) {
        s->status = lab_fail(s->error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu samples",
                             s->record->path, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        put_real(bytes + 8 * i, values[i]);
    expect_ok(s, sqlite3_bind_blob64(s->code, s->bound, bytes, 8 * count, free));
}

/* -------------------------------------------------------------------------- */
/* Rows to add                                                                */
/* -------------------------------------------------------------------------- */

cell cell_text(const char *name, const char *text)
{
    return (cell){ .name = name, .kind = CELL_TEXT, .data = text };
}

cell cell_integer(const char *name, int64_t value)
{
    return (cell){ .name = name, .kind = CELL_INTEGER, .integer = value };
}

cell cell_real(const char *name, double value)
{
    return (cell){ .name = name, .kind = CELL_REAL, .real = value };
}

cell cell_positive(const char *name, double value)
{
    return cell_real(name, value > 0 ? value : (double)NAN);
}

cell cell_at_least(const char *name, int64_t least, int64_t value)
{
    return value >= least ? cell_integer(name, value) : cell_text(name, NULL);
}

cell cell_reals(const char *name, const double *values, size_t count)
{
    return (cell){ .name = name, .kind = CELL_REALS, .data = values, .count = count };
}

static void bind_cell(statement *s, const cell *c)
{
    switch (c->kind) {
    case CELL_TEXT:
        statement_text(s, c->data);
        break;
    case CELL_INTEGER:
        statement_integer(s, c->integer);
        break;
    case CELL_REAL:
        statement_real(s, c->real);
        break;
    case CELL_REALS:
        bind_reals(s, c->data, c->count);
        break;
    }
}

statement statement_insert(lab_record *record, const char *table, const cell *cells,
                           const char *rest, lab_error *error)
{
    char names[512] = "", marks[128] = "", sql[768];
    for (size_t i = 0, name = 0; cells[i].name && name < sizeof names; i++) {
        const char *comma = i ? ", " : "";
        name += (size_t)snprintf(names + name, sizeof names - name, "%s%s", comma, cells[i].name);
        snprintf(marks + strlen(marks), sizeof marks - strlen(marks), "%s?", comma);
    }
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) VALUES (%s) %s", table, names, marks, rest);
    statement s = statement_make(record, sql, error);
    for (; cells->name; cells++)
        bind_cell(&s, cells);
    return s;
}

/* -------------------------------------------------------------------------- */
/* Results                                                                    */
/* -------------------------------------------------------------------------- */

bool statement_row(statement *s)
{
    if (s->status != HEED_OK)
        return false;
    int code = sqlite3_step(s->code);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        s->status = lab_record_blame(s->record, s->error);
    return code == SQLITE_ROW;
}

heed_status statement_do(statement *s)
{
    while (statement_row(s))
        ;
    return statement_end(s);
}

const char *statement_get_text(statement *s, int column)
{
    return (const char *)sqlite3_column_text(s->code, column);
}

char *statement_copy_text(statement *s, int column)
{
    const bool none = sqlite3_column_type(s->code, column) == SQLITE_NULL;
    const char *text = statement_get_text(s, column);
    char *copy = text ? strdup(text) : NULL;
    if (!copy && !none)
        s->status = lab_fail(s->error, HEED_ERR_NO_MEMORY, "%s: no memory for a text",
                             s->record->path);
    return copy;
}

int64_t statement_get_integer(statement *s, int column)
{
    return sqlite3_column_int64(s->code, column);
}

double statement_get_real(statement *s, int column)
{
    return sqlite3_column_double(s->code, column);
}

double *statement_get_reals(statement *s, int column, size_t *count)
{
    const unsigned char *bytes = sqlite3_column_blob(s->code, column);
    *count = (size_t)sqlite3_column_bytes(s->code, column) / 8;
    double *values = malloc(*count * sizeof *values + 1);
    if (!values && s->status == HEED_OK)
        s->status = lab_fail(s->error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu samples",
                             s->record->path, *count);
    for (size_t i = 0; values && i < *count; i++)
        values[i] = get_real(bytes + 8 * i);
    return values;
}

heed_status statement_one(statement *s, int64_t *value)
{
    bool first = true;
    *value = 0;
    /* Runs to the end, where a statement with changes is committed, or fails. */
    for (; statement_row(s); first = false)
        if (first)
            *value = statement_get_integer(s, 0);
    return statement_end(s);
}
