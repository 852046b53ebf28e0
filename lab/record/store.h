/*
 * store.h - declarations shared by the files of lab/record: the open file, its lock, statements
 *
 * SQLite is visible only here and in the sources of this folder.
 */
#ifndef LAB_RECORD_STORE_H
#define LAB_RECORD_STORE_H

#include <sha2.h>
#include <sqlite3.h>

#include "record.h"

struct lab_record {
    sqlite3 *db;
    char *path;
    int lock;                       /* file descriptor; -1: read only */
    lab_record_describer *describe; /* describes launches and code; or NULL */
    lab_record_judging *judge;      /* checks that a time is possible; or NULL */
    void *judge_data;
    void (*judge_end)(void *data);
    bool whole;       /* its chain was checked and is sound */
    int64_t left_out; /* a trial not ranked because of a fault; 0: none */
    char library[96]; /* a build whose library is known to be there; "": none */
};

/* lock.c: the lock for writing to @path. lab_record_lock() writes a file descriptor to *@lock,
 * which lab_record_unlock() closes (-1 is ignored); the message of HEED_ERR_SYSTEM names the owner.
 */
heed_status lab_record_lock(const char *path, int *lock, lab_error *error);
void lab_record_unlock(int lock);

/* -------------------------------------------------------------------------- */
/* statement.c                                                                */
/* -------------------------------------------------------------------------- */

/* lab_record_blame() returns the status for SQLite's last error, with its message. */
heed_status lab_record_blame(lab_record *record, lab_error *error);

/* lab_record_run_sql() runs statements that return nothing. */
heed_status lab_record_run_sql(lab_record *record, const char *sql, lab_error *error);

/* lab_record_commit() ends the transaction begun with "BEGIN IMMEDIATE": commits if @status is
 * HEED_OK, else rolls back. Returns @status, or the failure to commit. */
heed_status lab_record_commit(lab_record *record, heed_status status, lab_error *error);

/* A statement in progress. After a failure later steps are ignored, so one check at the end is
 * enough:
 *
 *     statement s = statement_make(record, "SELECT name FROM device WHERE id = ?", error);
 *     statement_integer(&s, id);
 *     while (statement_row(&s))
 *         ... statement_get_text(&s, 0) ...
 *     return statement_end(&s);
 */
typedef struct statement {
    lab_record *record;
    sqlite3_stmt *code;
    int bound; /* values bound so far */
    heed_status status;
    lab_error *error;
} statement;

statement statement_make(lab_record *record, const char *sql, lab_error *error);
heed_status statement_end(statement *s);

/* Bind the next value. Texts must remain valid until statement_end(). A NULL text or a real number
 * that is not finite binds NULL. */
void statement_text(statement *s, const char *text);
void statement_integer(statement *s, int64_t value);
void statement_real(statement *s, double value);

/* A value of a new row, and its column. */
typedef struct cell {
    const char *name;
    enum {
        CELL_TEXT,
        CELL_INTEGER,
        CELL_REAL,
        CELL_REALS
    } kind;
    const void *data; /* the text, or the numbers */
    size_t count;     /* of the numbers */
    int64_t integer;
    double real;
} cell;

/* A NULL text or a real number that is not finite is NULL; for cell_positive() so is one that is
 * not above 0, and for cell_at_least() a number below @least. Numbers of cell_reals() have 64
 * bits, little-endian. */
cell cell_text(const char *name, const char *text);
cell cell_integer(const char *name, int64_t value);
cell cell_real(const char *name, double value);
cell cell_positive(const char *name, double value);
cell cell_at_least(const char *name, int64_t least, int64_t value);
cell cell_reals(const char *name, const double *values, size_t count);

#define CELLS(...) ((const cell[]){ __VA_ARGS__, { .name = NULL } })

/* statement_insert() makes a statement that adds a row of @cells to @table. @rest is the rest of
 * the statement, or "". */
statement statement_insert(lab_record *record, const char *table, const cell *cells,
                           const char *rest, lab_error *error);

/* statement_row() steps to the next row of the result: false at the end, or after a failure.
 * statement_do() runs a statement without rows, and ends it. */
bool statement_row(statement *s);
heed_status statement_do(statement *s);

/* Columns of the row, from 0. A text may be NULL, and is valid until the next row.
 * statement_copy_text() returns a copy, which the caller frees, or NULL if the column has none.
 * statement_get_real() returns 0 for NULL. statement_get_reals() writes a new array, which the
 * caller frees, or NULL if the column has none. */
const char *statement_get_text(statement *s, int column);
char *statement_copy_text(statement *s, int column);
int64_t statement_get_integer(statement *s, int column);
double statement_get_real(statement *s, int column);
double *statement_get_reals(statement *s, int column, size_t *count);

/* statement_one() runs a statement, writes its integer result to *@value, 0 if there is no row, and
 * ends it. */
heed_status statement_one(statement *s, int64_t *value);

/* -------------------------------------------------------------------------- */
/* references.c                                                               */
/* -------------------------------------------------------------------------- */

/* Numbers of the rows that a trial refers to; 0: none. */
typedef struct references {
    int64_t candidate, problem, device, environment, artifact;
} references;

/* references_add() finds the rows that @trial refers to, and adds missing ones.
 * references_add_source() does so for a source text only. references_find_candidate() writes the
 * number of the candidate of @hash, 0 if there is none. */
heed_status references_add(lab_record *record, const lab_record_trial *trial, references *to,
                           lab_error *error);
heed_status references_add_source(lab_record *record, const char *language, const char *text,
                                  int64_t *id, lab_error *error);
heed_status references_find_candidate(lab_record *record, const char *hash, int64_t *id,
                                      lab_error *error);

/* -------------------------------------------------------------------------- */
/* library.c                                                                  */
/* -------------------------------------------------------------------------- */

/* library_add() adds the library of @environment, if any and not yet there; library_add_launch()
 * adds the launch parameters of the trial @id. library_describe() gets missing facts about the code
 * of @trial from the callback. library_check() checks that every library is unchanged. */
heed_status library_add(lab_record *record, const lab_record_environment *environment,
                        lab_error *error);
heed_status library_add_launch(lab_record *record, int64_t id, const char *words, lab_error *error);
void library_describe(lab_record *record, const lab_record_trial *trial,
                      lab_record_described *described);
heed_status library_check(lab_record *record, lab_error *error);

/* manifest_add() adds the manifest of @e, if any, to the environment of that number.
 * manifest_check() checks that every manifest is unchanged. */
heed_status manifest_add(lab_record *record, int64_t environment, const lab_record_environment *e,
                         lab_error *error);
heed_status manifest_check(lab_record *record, lab_error *error);

/* -------------------------------------------------------------------------- */
/* hash.c: SHA-256 of a sequence of values                                    */
/* -------------------------------------------------------------------------- */

typedef struct hasher {
    SHA2_CTX state;
} hasher;

void hasher_start(hasher *h);
void hasher_text(hasher *h, const char *text); /* NULL differs from "" */
void hasher_real(hasher *h, double value);
void hasher_integer(hasher *h, int64_t value);
void hasher_end(hasher *h, char hash[LAB_RECORD_HASH_SIZE]);

/* -------------------------------------------------------------------------- */
/* show.c                                                                     */
/* -------------------------------------------------------------------------- */

/* lab_record_seal() writes the hash of @trial and its rows to @hash. */
heed_status lab_record_seal(lab_record *record, int64_t trial, char hash[LAB_RECORD_HASH_SIZE],
                            lab_error *error);

/* lab_record_hash_row() adds the row of @s to @h, column by column, as fields of @section. */
heed_status lab_record_hash_row(statement *s, const char *section, hasher *h);

/* -------------------------------------------------------------------------- */
/* link.c                                                                     */
/* -------------------------------------------------------------------------- */

/* link_insert() adds a row of @cells to the table @kind, as statement_insert() does, with its link,
 * and writes its number to *@id; 0, without a link, if @rest adds none. */
heed_status link_insert(lab_record *record, const char *kind, const cell *cells, const char *rest,
                        int64_t *id, lab_error *error);

/* link_add() adds a link for the row @id of the table @kind to the chain, unless it has one;
 * link_add_named() does so for a row whose key is text. Call them in the transaction that adds the
 * row, when it is complete. link_adopt() adds links for all rows of an older file. */
heed_status link_add(lab_record *record, const char *kind, int64_t id, lab_error *error);
heed_status link_add_named(lab_record *record, const char *kind, const char *name,
                           lab_error *error);
heed_status link_adopt(lab_record *record, lab_error *error);

/* link_check() checks that the chain is complete, that rows and links match one to one, and that
 * each row is unchanged; it reads the rows of trials, which takes long, only if @trials. The
 * result, including that for @known (lab_record_check()), goes to @chain, which may be NULL. */
heed_status link_check(lab_record *record, const char *known, bool trials, lab_record_chain *chain,
                       lab_error *error);

/* lab_record_whole() does so once for an open file, without the rows of trials: a damaged file has
 * no leaders. */
heed_status lab_record_whole(lab_record *record, lab_error *error);

/* lab_record_intact() checks that @trial and its rows are unchanged. */
heed_status lab_record_intact(lab_record *record, int64_t trial, bool *intact, lab_error *error);

/* -------------------------------------------------------------------------- */
/* evidence.c, recall.c                                                       */
/* -------------------------------------------------------------------------- */

/* evidence_check() returns HEED_OK if the figures of @trial are consistent, else HEED_ERR_INVALID
 * with the field, its value and the expected one. evidence_demand() does so if it has the samples
 * required for ranking. evidence_names() does so if its names can be printed in a table.
 * evidence_recall() applies evidence_check() and the judge to the trial @id of the board, and
 * writes *@sound, with the reason in @why if false. */
heed_status evidence_check(const lab_record_trial *trial, lab_error *error);
heed_status evidence_demand(const lab_record_trial *trial, lab_error *error);
heed_status evidence_names(const lab_record_trial *trial, lab_error *error);
heed_status evidence_recall(lab_record *record, int64_t id, bool *sound, lab_error *why,
                            lab_error *error);

/* append.c: "cold", "hot" or "eager"; NULL: untimed. */
const char *timing_name(lab_record_timing timing);

#endif /* LAB_RECORD_STORE_H */
