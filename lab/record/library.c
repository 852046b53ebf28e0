/*
 * library.c - heed's sources, the launch parameters of its device code, and the tools and libraries
 * that trials were made with: enough to rebuild the code of a trial after heed has changed
 *
 * A library is stored once per build. Libraries share the rows of equal files. A manifest belongs
 * to an environment, and is stored once. It is identified by the hash of its text, so the text
 * needs no seal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store.h"

/* -------------------------------------------------------------------------- */
/* Adding                                                                     */
/* -------------------------------------------------------------------------- */

static const char *language_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cuh") == 0) ? "cuda" : "c";
}

static void hash_library(const lab_record_library *library, char hash[LAB_RECORD_HASH_SIZE])
{
    hasher h;
    hasher_start(&h);
    for (size_t i = 0; i < library->count; i++) {
        hasher_text(&h, library->files[i].path);
        hasher_text(&h, library->files[i].text);
    }
    hasher_end(&h, hash);
}

static heed_status add_file(lab_record *record, int64_t library, const lab_record_file *file,
                            lab_error *error)
{
    int64_t source = 0;
    heed_status status = references_add_source(record, language_of(file->path), file->text, &source,
                                               error);
    if (status != HEED_OK)
        return status;
    statement s = statement_make(record, "INSERT INTO library_file VALUES (?, ?, ?)", error);
    statement_integer(&s, library);
    statement_text(&s, file->path);
    statement_integer(&s, source);
    return statement_do(&s);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const lab_record_file *)a)->path, ((const lab_record_file *)b)->path);
}

/* Adds the files in the order in which they will be read. */
static heed_status add_files(lab_record *record, const lab_record_library *library,
                             const char *build, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    int64_t id = 0;
    lab_record_file *files = calloc(library->count + 1, sizeof *files);
    if (!files)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu files", record->path,
                        library->count);
    memcpy(files, library->files, library->count * sizeof *files);
    qsort(files, library->count, sizeof *files, compare_paths);
    hash_library(&(lab_record_library){ .files = files, .count = library->count }, hash);
    statement s = statement_insert(record, "library",
                                   CELLS(cell_text("build", build), cell_text("sha256", hash)),
                                   "RETURNING id", error);
    heed_status status = statement_one(&s, &id);
    for (size_t i = 0; status == HEED_OK && i < library->count; i++)
        status = add_file(record, id, &files[i], error);
    free(files);
    return status == HEED_OK ? link_add(record, "library", id, error) : status;
}

heed_status library_add(lab_record *record, const lab_record_environment *environment,
                        lab_error *error)
{
    const char *build = environment->build;
    int64_t there = 0;
    if (!environment->library || !build || strcmp(record->library, build) == 0)
        return HEED_OK;
    statement s = statement_make(record, "SELECT count(*) FROM library WHERE build = ?", error);
    statement_text(&s, build);
    heed_status status = statement_one(&s, &there);
    if (status == HEED_OK && !there)
        return add_files(record, environment->library, build, error);
    /* Cached only if it was there before: a row just added may be rolled back. */
    if (status == HEED_OK)
        snprintf(record->library, sizeof record->library, "%s", build);
    return status;
}

void lab_record_describe(lab_record *record, lab_record_describer *describe)
{
    record->describe = describe;
}

void library_describe(lab_record *record, const lab_record_trial *trial,
                      lab_record_described *described)
{
    memset(described, 0, sizeof *described);
    if (record->describe && !trial->candidate.source)
        record->describe(trial, described);
}

heed_status library_add_launch(lab_record *record, int64_t id, const char *words, lab_error *error)
{
    statement s = statement_make(record, "INSERT INTO launch VALUES (?, ?)", error);
    statement_integer(&s, id);
    statement_text(&s, words);
    return statement_do(&s);
}

/* -------------------------------------------------------------------------- */
/* Reading                                                                    */
/* -------------------------------------------------------------------------- */

heed_status lab_record_launch(lab_record *record, int64_t trial, char **words, lab_error *error)
{
    *words = NULL;
    statement s = statement_make(record, "SELECT words FROM launch WHERE trial = ?", error);
    statement_integer(&s, trial);
    if (statement_row(&s))
        *words = statement_copy_text(&s, 0);
    return statement_end(&s);
}

void lab_record_library_free(lab_record_library *library)
{
    if (!library)
        return;
    for (size_t i = 0; i < library->count; i++) {
        free((char *)library->files[i].path);
        free((char *)library->files[i].text);
    }
    free((lab_record_file *)library->files);
    free(library);
}

/* Adds a copy of a file. */
static bool keep_file(lab_record_library *library, const char *path, const char *text)
{
    size_t count = library->count;
    lab_record_file *files = (lab_record_file *)library->files;
    if (!lab_grow(&files, count, sizeof *files))
        return false;
    library->files = files;
    files[count] = (lab_record_file){ .path = path ? strdup(path) : NULL,
                                      .text = text ? strdup(text) : NULL };
    library->count++;
    return files[count].path && files[count].text;
}

static heed_status read_files(lab_record *record, int64_t id, lab_record_library *library,
                              lab_error *error)
{
    statement s = statement_make(record,
                                 "SELECT path, text FROM library_file JOIN source "
                                 "ON source.id = library_file.source WHERE library = ? "
                                 "ORDER BY path",
                                 error);
    statement_integer(&s, id);
    while (statement_row(&s))
        if (!keep_file(library, statement_get_text(&s, 0), statement_get_text(&s, 1)))
            s.status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for the sources of heed",
                                record->path);
    return statement_end(&s);
}

/* Reads the library @id, which must have the hash @sha256. */
static heed_status read_library(lab_record *record, int64_t id, const char *sha256,
                                lab_record_library **library, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    lab_record_library *made = calloc(1, sizeof *made);
    heed_status status = made ? read_files(record, id, made, error)
                              : lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory", record->path);
    if (status == HEED_OK)
        hash_library(made, hash);
    if (status == HEED_OK && (!sha256 || strcmp(hash, sha256) != 0))
        status = lab_fail(error, HEED_ERR_CORRUPT,
                          "%s: damaged: the sources of library %lld are not what was added",
                          record->path, (long long)id);
    if (status != HEED_OK) {
        lab_record_library_free(made);
        made = NULL;
    }
    *library = made;
    return status;
}

heed_status lab_record_library_read(lab_record *record, int64_t trial, lab_record_library **library,
                                    lab_error *error)
{
    *library = NULL;
    statement s = statement_make(
        record,
        "SELECT library.id, library.sha256 FROM library JOIN environment "
        "ON environment.build = library.build "
        "WHERE environment.id = (SELECT environment FROM trial WHERE id = ?)",
        error);
    statement_integer(&s, trial);
    if (statement_row(&s))
        s.status = read_library(record, statement_get_integer(&s, 0), statement_get_text(&s, 1),
                                library, error);
    return statement_end(&s);
}

heed_status library_check(lab_record *record, lab_error *error)
{
    statement s = statement_make(record, "SELECT id, sha256 FROM library ORDER BY id", error);
    while (statement_row(&s)) {
        lab_record_library *library = NULL;
        s.status = read_library(record, statement_get_integer(&s, 0), statement_get_text(&s, 1),
                                &library, error);
        lab_record_library_free(library);
    }
    return statement_end(&s);
}

/* -------------------------------------------------------------------------- */
/* Manifests                                                                  */
/* -------------------------------------------------------------------------- */

heed_status manifest_add(lab_record *record, int64_t environment, const lab_record_environment *e,
                         lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    heed_status status = HEED_OK;
    if (!e->manifest)
        return HEED_OK;
    if (e->manifest_text) {
        lab_record_hash(e->manifest_text, strlen(e->manifest_text), hash);
        if (strcmp(hash, e->manifest) != 0)
            return lab_fail(error, HEED_ERR_INVALID,
                            "manifest is %.64s, and the hash of its text %s", e->manifest, hash);
        statement s = statement_make(
            record, "INSERT INTO manifest VALUES (?, ?) ON CONFLICT DO NOTHING", error);
        statement_text(&s, e->manifest);
        statement_text(&s, e->manifest_text);
        status = statement_do(&s);
        if (status == HEED_OK)
            status = link_add_named(record, "manifest", hash, error);
    }
    if (status != HEED_OK)
        return status;
    statement s = statement_make(
        record, "INSERT INTO made_with VALUES (?, ?) ON CONFLICT DO NOTHING", error);
    statement_integer(&s, environment);
    statement_text(&s, e->manifest);
    return statement_do(&s);
}

heed_status lab_record_manifest(lab_record *record, int64_t trial, char hash[LAB_RECORD_HASH_SIZE],
                                char **text, lab_error *error)
{
    *text = NULL;
    *hash = '\0';
    statement s = statement_make(record,
                                 "SELECT made_with.manifest, text FROM made_with "
                                 "LEFT JOIN manifest ON manifest.sha256 = made_with.manifest "
                                 "WHERE environment = (SELECT environment FROM trial WHERE id = ?)",
                                 error);
    statement_integer(&s, trial);
    if (statement_row(&s)) {
        const char *name = statement_get_text(&s, 0);
        strncat(hash, name ? name : "", LAB_RECORD_HASH_SIZE - 1);
        *text = statement_copy_text(&s, 1);
    }
    return statement_end(&s);
}

heed_status manifest_check(lab_record *record, lab_error *error)
{
    statement s = statement_make(record, "SELECT sha256, text FROM manifest ORDER BY sha256",
                                 error);
    while (statement_row(&s)) {
        char hash[LAB_RECORD_HASH_SIZE];
        const char *name = statement_get_text(&s, 0), *text = statement_get_text(&s, 1);
        lab_record_hash(text ? text : "", text ? strlen(text) : 0, hash);
        if (!name || strcmp(name, hash) != 0)
            s.status = lab_fail(error, HEED_ERR_CORRUPT,
                                "%s: damaged: the manifest %.64s is not what was added",
                                record->path, name ? name : "?");
    }
    return statement_end(&s);
}
