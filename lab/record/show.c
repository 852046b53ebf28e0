/*
 * show.c - all fields of one trial and its rows, and its seal
 */
#include <stdlib.h>

#include "store.h"

/* One section: a query about the trial ?1 whose columns are the fields. Sealed sections are
 * complete when the trial is added. */
static const struct {
    const char *name, *sql;
    bool list, sealed;
} sections[] = {
    { "trial",
      "SELECT attempt, verdict, reason, seed, started, ended, confirmed, timing, seconds, p90, "
      "of_roofline FROM trial WHERE id = ?1",
      false, true },
    { "problem",
      "SELECT spec, flops, bytes FROM problem WHERE id = (SELECT problem FROM trial WHERE id = ?1)",
      false, true },
    { "candidate",
      "SELECT hash, kernel, config, proposer, candidate.seed, thought, language, sha256 AS "
      "source_sha256 FROM candidate LEFT JOIN source ON source.id = candidate.source "
      "WHERE candidate.id = (SELECT candidate FROM trial WHERE id = ?1)",
      false, true },
    { "parents",
      "SELECT hash, kernel, config FROM ancestry JOIN candidate ON candidate.id = ancestry.parent "
      "WHERE ancestry.candidate = (SELECT candidate FROM trial WHERE id = ?1) ORDER BY hash",
      true, true },
    { "artifact",
      "SELECT sha256, form, bytes, registers, spill_bytes, shared_bytes FROM artifact "
      "WHERE id = (SELECT artifact FROM trial WHERE id = ?1)",
      false, true },
    { "device",
      "SELECT name, backend, memory_bytes, cache_bytes, multiprocessors, clock_hz, bandwidth "
      "FROM device WHERE id = (SELECT device FROM environment WHERE id = "
      "(SELECT environment FROM trial WHERE id = ?1))",
      false, true },
    { "environment",
      "SELECT features, threads, build, heed, git_commit, dirty, driver, nvrtc, compiler, "
      "libraries, cpu, system, governor FROM environment "
      "WHERE id = (SELECT environment FROM trial WHERE id = ?1)",
      false, true },
    { "manifest",
      "SELECT manifest AS sha256 FROM made_with WHERE environment = "
      "(SELECT environment FROM trial WHERE id = ?1)",
      false, true },
    { "selftest",
      "SELECT at, backend, suite, git_commit, killed, wrong, accepted, honest FROM selftest "
      "WHERE id = (SELECT selftest FROM trial WHERE id = ?1)",
      false, true },
    { "run",
      "SELECT id, verb, command, budget, seed FROM run "
      "WHERE id = (SELECT run FROM trial WHERE id = ?1)",
      false, true },
    { "samples",
      "SELECT against, side, kind, calls, seconds FROM sample WHERE trial = ?1 "
      "ORDER BY against, side, kind",
      true, true },
    { "comparisons",
      "SELECT against, hash AS other, version, method, outcome, reason, seconds, ratio, low, high, "
      "margin, verdict, pairs FROM comparison LEFT JOIN candidate ON candidate.id = other "
      "WHERE trial = ?1 ORDER BY against",
      true, true },
    { "gates", "SELECT name, passed, detail, seed FROM gate WHERE trial = ?1 ORDER BY name", true,
      true },
    { "facts", "SELECT name, value FROM fact WHERE trial = ?1 ORDER BY name", true, true },
    { "source",
      "SELECT text FROM source WHERE id = (SELECT source FROM candidate WHERE id = "
      "(SELECT candidate FROM trial WHERE id = ?1))",
      false, true },
    { "launch", "SELECT words FROM launch WHERE trial = ?1", false, true },
    { "library",
      "SELECT library.sha256, (SELECT count(*) FROM library_file WHERE library = library.id) "
      "AS files FROM library JOIN environment ON environment.build = library.build "
      "WHERE environment.id = (SELECT environment FROM trial WHERE id = ?1)",
      false, false },
    { "events",
      "SELECT at, state, note FROM event WHERE run = (SELECT run FROM trial WHERE id = ?1) "
      "ORDER BY id",
      true, false },
    { "promotion", "SELECT at, over, reason FROM promotion WHERE trial = ?1", false, false },
    { "seal", "SELECT sha256, chain FROM link WHERE kind = 'trial' AND name = CAST(?1 AS TEXT)",
      false, false },
};

/* Reads the column into @field. The caller frees samples. */
static heed_status read_field(statement *s, int column, lab_record_field *field)
{
    field->name = sqlite3_column_name(s->code, column);
    switch (sqlite3_column_type(s->code, column)) {
    case SQLITE_INTEGER:
        field->kind = LAB_RECORD_INTEGER;
        field->integer = statement_get_integer(s, column);
        break;
    case SQLITE_FLOAT:
        field->kind = LAB_RECORD_REAL;
        field->real = statement_get_real(s, column);
        break;
    case SQLITE_TEXT:
        field->kind = LAB_RECORD_TEXT;
        field->text = statement_get_text(s, column);
        break;
    case SQLITE_BLOB:
        field->kind = LAB_RECORD_SAMPLES;
        field->samples = statement_get_reals(s, column, &field->count);
        break;
    default:
        field->kind = LAB_RECORD_NOTHING;
    }
    if (field->kind == LAB_RECORD_TEXT && !field->text && s->status == HEED_OK)
        s->status = lab_record_blame(s->record, s->error);
    return s->status;
}

static heed_status show_row(statement *s, const lab_record_field *frame, lab_record_shower *fn,
                            void *data)
{
    heed_status status = HEED_OK;
    for (int column = 0; status == HEED_OK && column < sqlite3_column_count(s->code); column++) {
        lab_record_field field = *frame;
        field.key = frame->list ? statement_get_text(s, 0) : NULL;
        status = read_field(s, column, &field);
        if (status == HEED_OK)
            status = fn(data, &field);
        free((double *)field.samples);
    }
    return status;
}

static heed_status show_sections(lab_record *record, int64_t trial, bool sealed,
                                 lab_record_shower *fn, void *data, lab_error *error)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; status == HEED_OK && i < sizeof sections / sizeof *sections; i++) {
        if (sealed && !sections[i].sealed)
            continue;
        lab_record_field frame = { .section = sections[i].name, .list = sections[i].list };
        statement s = statement_make(record, sections[i].sql, error);
        statement_integer(&s, trial);
        for (; statement_row(&s); frame.row++)
            s.status = show_row(&s, &frame, fn, data);
        status = statement_end(&s);
    }
    return status;
}

static heed_status must_exist(lab_record *record, int64_t trial, lab_error *error)
{
    int64_t there;
    statement s = statement_make(record, "SELECT count(*) FROM trial WHERE id = ?", error);
    statement_integer(&s, trial);
    heed_status status = statement_one(&s, &there);
    if (status == HEED_OK && !there)
        status = lab_fail(error, HEED_ERR_INVALID, "%s: there is no trial %lld", record->path,
                          (long long)trial);
    return status;
}

heed_status lab_record_show(lab_record *record, int64_t trial, lab_record_shower *fn, void *data,
                            lab_error *error)
{
    heed_status status = must_exist(record, trial, error);
    return status == HEED_OK ? show_sections(record, trial, false, fn, data, error) : status;
}

heed_status lab_record_source(lab_record *record, int64_t trial, char **source, lab_error *error)
{
    *source = NULL;
    heed_status status = must_exist(record, trial, error);
    if (status != HEED_OK)
        return status;
    statement s = statement_make(record,
                                 "SELECT text FROM source WHERE id = (SELECT source FROM candidate "
                                 "WHERE id = (SELECT candidate FROM trial WHERE id = ?))",
                                 error);
    statement_integer(&s, trial);
    if (statement_row(&s))
        *source = statement_copy_text(&s, 0);
    return statement_end(&s);
}

/* -------------------------------------------------------------------------- */
/* The seal                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status hash_field(void *data, const lab_record_field *field)
{
    hasher *h = data;
    hasher_text(h, field->section);
    hasher_text(h, field->name);
    hasher_integer(h, field->kind);
    hasher_integer(h, field->integer);
    hasher_real(h, field->real);
    hasher_text(h, field->text);
    hasher_integer(h, (int64_t)field->count);
    for (size_t i = 0; i < field->count; i++)
        hasher_real(h, field->samples[i]);
    return HEED_OK;
}

heed_status lab_record_hash_row(statement *s, const char *section, hasher *h)
{
    const lab_record_field frame = { .section = section };
    return show_row(s, &frame, hash_field, h);
}

heed_status lab_record_seal(lab_record *record, int64_t trial, char hash[LAB_RECORD_HASH_SIZE],
                            lab_error *error)
{
    hasher h;
    hasher_start(&h);
    heed_status status = show_sections(record, trial, true, hash_field, &h, error);
    hasher_end(&h, hash);
    return status;
}
