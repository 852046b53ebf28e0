/*
 * link.c - the hash chain: each added row is sealed together with the previous one
 *
 * If another program changes a row, its hash differs from its link's; a row that it inserts has no
 * link; a row that it deletes leaves its link, and deleting that breaks the chain. Only the newest
 * rows can be removed together with their links, if sqlite_sequence is adjusted as well; the hash
 * of the last link (lab_record_check()), stored elsewhere, reveals even that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "store.h"

/* The tables whose rows have links, each after those that it refers to, in the order in which the
 * rows of an older file get links. */
static const struct {
    const char *kind, *key;
} kinds[] = {
    { "verdict", "name" },    { "device", "id" },    { "environment", "id" }, { "source", "id" },
    { "artifact", "id" },     { "problem", "id" },   { "candidate", "id" },   { "library", "id" },
    { "manifest", "sha256" }, { "run", "id" },       { "event", "id" },       { "selftest", "id" },
    { "trial", "id" },        { "promotion", "id" },
};
#define KINDS (sizeof kinds / sizeof *kinds)
#define SQL_SIZE 256

/* Writes the hash of the row @name of a table, "" if it does not exist. */
static heed_status hash_row(lab_record *record, size_t kind, const char *name,
                            char hash[LAB_RECORD_HASH_SIZE], lab_error *error)
{
    char sql[SQL_SIZE];
    bool found = false;
    hasher h;
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE %s = ?", kinds[kind].kind, kinds[kind].key);
    hasher_start(&h);
    statement s = statement_make(record, sql, error);
    statement_text(&s, name); /* converted to a number for an integer column */
    for (; statement_row(&s); found = true)
        s.status = lab_record_hash_row(&s, kinds[kind].kind, &h);
    hasher_end(&h, hash);
    if (!found)
        *hash = '\0';
    return statement_end(&s);
}

static heed_status content_of(lab_record *record, size_t kind, const char *name,
                              char hash[LAB_RECORD_HASH_SIZE], lab_error *error)
{
    if (strcmp(kinds[kind].kind, "trial") == 0)
        return lab_record_seal(record, strtoll(name, NULL, 10), hash, error);
    return hash_row(record, kind, name, hash, error);
}

static void chain_of(const char *before, int64_t id, const char *kind, const char *name,
                     const char *sha256, char chain[LAB_RECORD_HASH_SIZE])
{
    hasher h;
    hasher_start(&h);
    hasher_text(&h, before);
    hasher_integer(&h, id);
    hasher_text(&h, kind);
    hasher_text(&h, name);
    hasher_text(&h, sha256);
    hasher_end(&h, chain);
}

/* -------------------------------------------------------------------------- */
/* Adding                                                                     */
/* -------------------------------------------------------------------------- */

/* The last link: number 0 and "" if none. */
static heed_status find_head(lab_record *record, int64_t *id, char chain[LAB_RECORD_HASH_SIZE],
                             lab_error *error)
{
    *id = 0;
    *chain = '\0';
    statement s = statement_make(record, "SELECT id, chain FROM link ORDER BY id DESC LIMIT 1",
                                 error);
    if (statement_row(&s)) {
        const char *text = statement_get_text(&s, 1);
        *id = statement_get_integer(&s, 0);
        snprintf(chain, LAB_RECORD_HASH_SIZE, "%s", text ? text : "");
    }
    return statement_end(&s);
}

static heed_status append_link(lab_record *record, const char *kind, const char *name,
                               const char *sha256, lab_error *error)
{
    char before[LAB_RECORD_HASH_SIZE], chain[LAB_RECORD_HASH_SIZE];
    int64_t id;
    heed_status status = find_head(record, &id, before, error);
    if (status != HEED_OK)
        return status;
    chain_of(before, id + 1, kind, name, sha256, chain);
    statement s = statement_make(record, "INSERT INTO link VALUES (?, ?, ?, ?, ?)", error);
    statement_integer(&s, id + 1);
    statement_text(&s, kind);
    statement_text(&s, name);
    statement_text(&s, sha256);
    statement_text(&s, chain);
    return statement_do(&s);
}

/* The index of a table, which exists for every name that heed uses. */
static size_t find_kind(const char *kind)
{
    size_t i = 0;
    while (i + 1 < KINDS && strcmp(kinds[i].kind, kind) != 0)
        i++;
    return i;
}

heed_status link_add_named(lab_record *record, const char *kind, const char *name, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    int64_t there = 0;
    statement s = statement_make(record, "SELECT count(*) FROM link WHERE kind = ? AND name = ?",
                                 error);
    statement_text(&s, kind);
    statement_text(&s, name);
    heed_status status = statement_one(&s, &there);
    if (status != HEED_OK || there)
        return status;
    status = content_of(record, find_kind(kind), name, hash, error);
    return status == HEED_OK ? append_link(record, kind, name, hash, error) : status;
}

heed_status link_add(lab_record *record, const char *kind, int64_t id, lab_error *error)
{
    char name[24];
    snprintf(name, sizeof name, "%" PRId64, id);
    return link_add_named(record, kind, name, error);
}

heed_status link_insert(lab_record *record, const char *kind, const cell *cells, const char *rest,
                        int64_t *id, lab_error *error)
{
    statement s = statement_insert(record, kind, cells, rest, error);
    heed_status status = statement_one(&s, id);
    return status == HEED_OK && *id > 0 ? link_add(record, kind, *id, error) : status;
}

/* -------------------------------------------------------------------------- */
/* Older files                                                                */
/* -------------------------------------------------------------------------- */

/* A trial keeps the hash from when it was added, so one changed since does not become sound. One
 * without a hash is not sound either. */
static heed_status adopt_trial(lab_record *record, const char *name, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE] = "";
    statement s = statement_make(record, "SELECT sha256 FROM seal WHERE trial = ?", error);
    statement_text(&s, name);
    if (statement_row(&s)) {
        const char *text = statement_get_text(&s, 0);
        snprintf(hash, sizeof hash, "%s", text ? text : "");
    }
    heed_status status = statement_end(&s);
    return status == HEED_OK ? append_link(record, "trial", name, hash, error) : status;
}

static heed_status adopt_kind(lab_record *record, size_t kind, lab_error *error)
{
    char sql[SQL_SIZE];
    bool trials = strcmp(kinds[kind].kind, "trial") == 0;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY 1", kinds[kind].key, kinds[kind].kind);
    statement s = statement_make(record, sql, error);
    while (statement_row(&s)) {
        const char *name = statement_get_text(&s, 0);
        s.status = trials ? adopt_trial(record, name, error)
                          : link_add_named(record, kinds[kind].kind, name, error);
    }
    return statement_end(&s);
}

heed_status link_adopt(lab_record *record, lab_error *error)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < KINDS && status == HEED_OK; i++)
        status = adopt_kind(record, i, error);
    return status == HEED_OK ? lab_record_run_sql(record, "DROP TABLE seal", error) : status;
}

/* -------------------------------------------------------------------------- */
/* Checks                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status damaged(statement *s, const char *kind, const char *name, const char *how)
{
    return lab_fail(s->error, HEED_ERR_CORRUPT, "%s: damaged: %s %.80s %s", s->record->path, kind,
                    name ? name : "?", how);
}

/* Follows the chain from the first link to the last, whose hash goes to @head. */
static heed_status check_chain(lab_record *record, const char *known, lab_record_chain *chain,
                               lab_error *error)
{
    statement s = statement_make(
        record, "SELECT id, kind, name, sha256, chain FROM link ORDER BY id", error);
    while (statement_row(&s)) {
        char wanted[LAB_RECORD_HASH_SIZE];
        const char *kind = statement_get_text(&s, 1), *name = statement_get_text(&s, 2);
        const char *hash = statement_get_text(&s, 4);
        chain->links++;
        chain_of(chain->head, chain->links, kind, name, statement_get_text(&s, 3), wanted);
        if (statement_get_integer(&s, 0) != chain->links)
            s.status = damaged(&s, "the", "chain", "has a gap: rows were removed");
        else if (!hash || strcmp(hash, wanted) != 0)
            s.status = damaged(&s, kind ? kind : "?", name,
                               "does not follow the row before: the chain is broken");
        snprintf(chain->head, sizeof chain->head, "%s", wanted);
        chain->known |= known && strcmp(known, wanted) == 0;
    }
    return statement_end(&s);
}

/* SQLite remembers how many links there were. */
static heed_status check_end(lab_record *record, const lab_record_chain *chain, lab_error *error)
{
    int64_t last;
    statement s = statement_make(record, "SELECT seq FROM sqlite_sequence WHERE name = 'link'",
                                 error);
    heed_status status = statement_one(&s, &last);
    if (status == HEED_OK && last != chain->links)
        status = lab_fail(error, HEED_ERR_CORRUPT,
                          "%s: damaged: the chain has %" PRId64 " link%s, and had %" PRId64
                          ": rows were removed from its end",
                          record->path, chain->links, lab_plural(chain->links), last);
    return status;
}

/* Fails if @sql returns a row: it selects rows that must not exist. */
static heed_status find_none(lab_record *record, const char *sql, const char *kind, const char *how,
                             lab_error *error)
{
    statement s = statement_make(record, sql, error);
    while (statement_row(&s))
        s.status = damaged(&s, kind, statement_get_text(&s, 0), how);
    return statement_end(&s);
}

/* Finds rows without a link, and links without a row. */
static heed_status check_census(lab_record *record, size_t index, lab_error *error)
{
    const char *kind = kinds[index].kind, *key = kinds[index].key;
    char sql[SQL_SIZE];
    snprintf(sql, sizeof sql,
             "SELECT %s FROM %s AS t WHERE NOT EXISTS (SELECT 1 FROM link WHERE kind = '%s' "
             "AND name = CAST(t.%s AS TEXT)) LIMIT 1",
             key, kind, kind, key);
    heed_status status = find_none(record, sql, kind, "was not added by heed", error);
    if (status != HEED_OK)
        return status;
    snprintf(sql, sizeof sql,
             "SELECT name FROM link WHERE kind = '%s' "
             "AND NOT EXISTS (SELECT 1 FROM %s WHERE %s = link.name) LIMIT 1",
             kind, kind, key);
    return find_none(record, sql, kind, "is gone", error);
}

/* Checks that every row of the table is unchanged. */
static heed_status check_content(lab_record *record, size_t kind, lab_error *error)
{
    bool trials = strcmp(kinds[kind].kind, "trial") == 0;
    statement s = statement_make(record, "SELECT name, sha256 FROM link WHERE kind = ? ORDER BY id",
                                 error);
    statement_text(&s, kinds[kind].kind);
    while (statement_row(&s)) {
        char hash[LAB_RECORD_HASH_SIZE];
        const char *name = statement_get_text(&s, 0), *sha256 = statement_get_text(&s, 1);
        s.status = content_of(record, kind, name, hash, error);
        if (s.status == HEED_OK && (!sha256 || strcmp(hash, sha256) != 0))
            s.status = damaged(&s, trials ? "a row that belongs to trial" : kinds[kind].kind, name,
                               "is not what was added");
    }
    return statement_end(&s);
}

heed_status link_check(lab_record *record, const char *known, bool trials, lab_record_chain *chain,
                       lab_error *error)
{
    lab_record_chain own = { .links = 0 };
    chain = chain ? chain : &own;
    *chain = (lab_record_chain){ .links = 0 };
    heed_status status = check_chain(record, known, chain, error);
    if (status == HEED_OK)
        status = check_end(record, chain, error);
    for (size_t i = 0; i < KINDS && status == HEED_OK; i++) {
        status = check_census(record, i, error);
        if (status == HEED_OK && (trials || strcmp(kinds[i].kind, "trial") != 0))
            status = check_content(record, i, error);
    }
    return status;
}

heed_status lab_record_intact(lab_record *record, int64_t trial, bool *intact, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    *intact = false;
    heed_status status = lab_record_seal(record, trial, hash, error);
    if (status != HEED_OK)
        return status;
    statement s = statement_make(
        record, "SELECT sha256 FROM link WHERE kind = 'trial' AND name = CAST(? AS TEXT)", error);
    statement_integer(&s, trial);
    if (statement_row(&s)) {
        const char *text = statement_get_text(&s, 0);
        *intact = text && strcmp(text, hash) == 0;
    }
    return statement_end(&s);
}
