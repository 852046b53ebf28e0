/*
 * store.h - declarations shared by the files of lab/record: the open file, its lock, statements
 *
 * Only here and in the sources of this folder is SQLite seen.
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
    lab_record_describer *describe; /* how code is launched; or NULL */
    lab_record_judging *judge;      /* can a time be? Or NULL */
    void *judge_data;
    void (*judge_end)(void *data);
    bool whole;       /* its chain was looked at, and is */
    int64_t left_out; /* a trial that was not ranked for a fault; 0: none */
    char library[96]; /* a build whose library is there; "": none is known to be */
};

/* schema.c: schema.sql, and schema_2.sql to schema_4.sql. */
extern const char lab_record_schema[];
extern const char lab_record_schema_2[];
extern const char lab_record_schema_3[];
extern const char lab_record_schema_4[];

/* lock.c: the right to write to @path. lab_record_lock() writes a file descriptor to *@lock, which
 * lab_record_unlock() closes (-1 is ignored); HEED_ERR_SYSTEM says who has the right. */
heed_status lab_record_lock(const char *path, int *lock, lab_error *error);
void lab_record_unlock(int lock);

/* -------------------------------------------------------------------------- */
/* statement.c                                                                */
/* -------------------------------------------------------------------------- */

/* lab_record_blame() returns the status that stands for what SQLite said last, and says it. */
heed_status lab_record_blame(lab_record *record, lab_error *error);

/* lab_record_run_sql() runs statements that return nothing. */
heed_status lab_record_run_sql(lab_record *record, const char *sql, lab_error *error);

/* lab_record_commit() ends the transaction that "BEGIN IMMEDIATE" began: for good if @status is
 * HEED_OK, else as if it had not been. Returns @status, or why it could not. */
heed_status lab_record_commit(lab_record *record, heed_status status, lab_error *error);

/* A statement on its way. A failure is remembered, and later steps ignored, so that one look at
 * the end is enough:
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
    int bound; /* values so far */
    heed_status status;
    lab_error *error;
} statement;

statement statement_make(lab_record *record, const char *sql, lab_error *error);
heed_status statement_end(statement *s);

/* The next value. Texts must live until statement_end(). NULL, and a real number that is not
 * finite, is NULL; so is one that is not above 0 for statement_positive(). */
void statement_text(statement *s, const char *text);
void statement_integer(statement *s, int64_t value);
void statement_real(statement *s, double value);
void statement_positive(statement *s, double value);
void statement_null(statement *s);
/* The number @value, or NULL if that is below @least. */
void statement_at_least(statement *s, int64_t least, int64_t value);
/* Numbers of 64 bits, little-endian. */
void statement_reals(statement *s, const double *values, size_t count);

/* statement_row() goes to the next row of the answer: false at the end, or after a failure.
 * statement_do() runs a statement that has none, and ends it. */
bool statement_row(statement *s);
heed_status statement_do(statement *s);

/* Columns of the row, from 0. A text is NULL if it is not known, and valid until the next row.
 * statement_get_real() returns 0 for NULL. statement_get_reals() writes a new array, to be freed by
 * the caller, or NULL if the column holds no such thing. */
const char *statement_get_text(statement *s, int column);
int64_t statement_get_integer(statement *s, int column);
double statement_get_real(statement *s, int column);
double *statement_get_reals(statement *s, int column, size_t *count);

/* statement_one() runs a statement and writes the integer that it answers with to *@value, @none if
 * there is no row; and ends it. */
heed_status statement_one(statement *s, int64_t none, int64_t *value);

/* -------------------------------------------------------------------------- */
/* references.c                                                               */
/* -------------------------------------------------------------------------- */

/* Numbers of the rows that a trial refers to; 0: none. */
typedef struct references {
    int64_t candidate, problem, device, environment, artifact;
} references;

/* references_add() finds the rows that @trial refers to, and adds those that are not there yet.
 * references_add_source() does so with a text alone.
 * references_find_candidate() writes the number of the candidate of @hash, 0 if there is none. */
heed_status references_add(lab_record *record, const lab_record_trial *trial, references *to,
                           lab_error *error);
heed_status references_add_source(lab_record *record, const char *language, const char *text,
                                  int64_t *id, lab_error *error);
heed_status references_find_candidate(lab_record *record, const char *hash, int64_t *id,
                                      lab_error *error);

/* -------------------------------------------------------------------------- */
/* library.c                                                                  */
/* -------------------------------------------------------------------------- */

/* library_add() adds the library of @environment, if it has one that is not there yet;
 * library_add_launch() how the code of the trial @id is launched. library_describe() asks for what
 * @trial does not say of its code.
 * library_check() looks whether every library is what was added. */
heed_status library_add(lab_record *record, const lab_record_environment *environment,
                        lab_error *error);
heed_status library_add_launch(lab_record *record, int64_t id, const char *words, lab_error *error);
void library_describe(lab_record *record, const lab_record_trial *trial,
                      lab_record_described *described);
heed_status library_check(lab_record *record, lab_error *error);

/* -------------------------------------------------------------------------- */
/* manifest.c                                                                 */
/* -------------------------------------------------------------------------- */

/* manifest_add() adds the manifest of @e, if it has one, to the environment of that number.
 * manifest_check() looks whether every manifest is what was added. */
heed_status manifest_add(lab_record *record, int64_t environment, const lab_record_environment *e,
                         lab_error *error);
heed_status manifest_check(lab_record *record, lab_error *error);

/* -------------------------------------------------------------------------- */
/* hash.c: SHA-256 of several things                                          */
/* -------------------------------------------------------------------------- */

typedef struct hasher {
    SHA2_CTX state;
} hasher;

/* Each thing is preceded by its size, so that neighbours cannot be cut differently. */
void hasher_start(hasher *h);
void hasher_bytes(hasher *h, const void *data, size_t size);
void hasher_text(hasher *h, const char *text); /* NULL differs from "" */
void hasher_real(hasher *h, double value);
void hasher_integer(hasher *h, int64_t value);
void hasher_end(hasher *h, char hash[LAB_RECORD_HASH_SIZE]);

/* -------------------------------------------------------------------------- */
/* show.c                                                                     */
/* -------------------------------------------------------------------------- */

/* lab_record_seal() writes the hash of all that belongs to @trial to @hash. */
heed_status lab_record_seal(lab_record *record, int64_t trial, char hash[LAB_RECORD_HASH_SIZE],
                            lab_error *error);

/* lab_record_hash_row() adds the row of @s to @h, column by column, as fields of @section. */
heed_status lab_record_hash_row(statement *s, const char *section, hasher *h);

/* -------------------------------------------------------------------------- */
/* link.c                                                                     */
/* -------------------------------------------------------------------------- */

/* link_add() makes the row @id of the table @kind the next link of the chain, unless it is one;
 * link_add_named() a row whose key is a text. To be called in the transaction that adds the row,
 * when all that belongs to it is there.
 * link_adopt() makes links of all rows of an older file. */
heed_status link_add(lab_record *record, const char *kind, int64_t id, lab_error *error);
heed_status link_add_named(lab_record *record, const char *kind, const char *name,
                           lab_error *error);
heed_status link_adopt(lab_record *record, lab_error *error);

/* link_check() looks whether the chain is whole, whether every row is a link and every link a row,
 * and whether each row is unchanged; it reads the rows of @trials, which takes long, only if asked
 * to. @chain, which may be NULL, is what was found, also of @known (lab_record_check()). */
heed_status link_check(lab_record *record, const char *known, bool trials, lab_record_chain *chain,
                       lab_error *error);

/* lab_record_whole() does so once for an open file, without what belongs to trials: of a file that
 * is not whole has no leaders. */
heed_status lab_record_whole(lab_record *record, lab_error *error);

/* lab_record_intact() looks whether what belongs to @trial is what it was added with. */
heed_status lab_record_intact(lab_record *record, int64_t trial, bool *intact, lab_error *error);

/* -------------------------------------------------------------------------- */
/* evidence.c, recall.c                                                       */
/* -------------------------------------------------------------------------- */

/* evidence_check() returns HEED_OK if the figures of @trial agree with each other, else
 * HEED_ERR_INVALID with the field, its value and what it must be.
 * evidence_demand() does if it has the samples that a trial to be ranked must have.
 * evidence_names() does if its names are lines that can be printed in a table.
 * evidence_recall() is the former of the trial @id of the board, and asks the judge: *@sound, else
 * @why not. */
heed_status evidence_check(const lab_record_trial *trial, lab_error *error);
heed_status evidence_demand(const lab_record_trial *trial, lab_error *error);
heed_status evidence_names(const lab_record_trial *trial, lab_error *error);
heed_status evidence_recall(lab_record *record, int64_t id, bool *sound, lab_error *why,
                            lab_error *error);

/* append.c: "cold", "hot" or "eager"; NULL: untimed. */
const char *timing_name(lab_record_timing timing);

#endif /* LAB_RECORD_STORE_H */
