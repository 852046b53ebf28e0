/*
 * manifest.c - the tools and libraries that trials were made with
 *
 * A manifest belongs to an environment, and is stored once. It is identified by the hash of its
 * text, so the text needs no seal.
 */
#include <string.h>

#include "store.h"

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
