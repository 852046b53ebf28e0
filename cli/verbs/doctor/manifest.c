/*
 * manifest.c - manifests as JSON: hashed, read, compared
 */
#include "manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_SIZE 200

/* The hash of the parts, independent of the order and layout of the file. */
static bool hash_parts(const json_t *parts, char hash[LAB_RECORD_HASH_SIZE])
{
    char *text = json_dumps(parts, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return false;
    lab_record_hash(text, strlen(text), hash);
    free(text);
    return true;
}

json_t *cli_manifest_of(json_t *parts)
{
    char hash[LAB_RECORD_HASH_SIZE];
    if (!parts || !hash_parts(parts, hash)) {
        json_decref(parts);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o}", "schema", MANIFEST_SCHEMA, "hash", hash, "parts", parts);
}

static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

const char *cli_manifest_hash(const json_t *manifest)
{
    const char *hash = text_of(manifest, "hash");
    return hash ? hash : "";
}

char *cli_manifest_text(const json_t *manifest)
{
    return json_dumps(json_object_get(manifest, "parts"), JSON_COMPACT | JSON_SORT_KEYS);
}

const char *cli_manifest_libraries(const json_t *manifest, char *text, size_t size)
{
    static const char *const names[] = { "libc", "sqlite",   "jansson", "nvrtc",
                                         "nvml", "openblas", "torch",   "onnxruntime" };
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && length < size; i++) {
        const json_t *part = json_object_get(json_object_get(manifest, "parts"), names[i]);
        if (part)
            length += (size_t)snprintf(text + length, size - length, "%s%s %s", length ? ", " : "",
                                       names[i], text_of(part, "version"));
    }
    return text;
}

/* ---- Read ---- */

static bool has_good_parts(const json_t *parts)
{
    const char *name;
    json_t *part;
    if (!json_is_object(parts) || json_object_size(parts) == 0)
        return false;
    json_object_foreach((json_t *)(uintptr_t)parts, name, part)
    {
        const json_t *file = json_object_get(part, "file"), *sha = json_object_get(part, "sha256");
        if (!text_of(part, "version") || (file && !json_is_string(file)) ||
            (sha && !json_is_string(sha)))
            return false;
    }
    return true;
}

/* Returns the fault of a manifest, or NULL. */
static const char *find_fault(const json_t *json)
{
    char hash[LAB_RECORD_HASH_SIZE];
    const char *schema = text_of(json, "schema");
    const json_t *parts = json_object_get(json, "parts");
    if (!schema)
        return "it has no schema, so it is not a manifest";
    if (strcmp(schema, MANIFEST_SCHEMA) != 0)
        return "its schema is not " MANIFEST_SCHEMA ", nor that of a record, " CLI_RECORD_SCHEMA;
    if (!has_good_parts(parts))
        return "its parts are missing, or one of them has no version";
    if (!hash_parts(parts, hash) || strcmp(hash, cli_manifest_hash(json)) != 0)
        return "its hash does not fit its parts: it was changed after it was written";
    return NULL;
}

/* Writes to @why how the "parts" of a record differ from those that it was written with; "" if they
 * do not. *@made is then their manifest. */
static cli_exit make_manifest(json_t **made, const json_t *record, char *why, size_t size)
{
    json_t *parts = json_object_get(record, "parts");
    const char *hash = text_of(record, "manifest");
    *made = NULL;
    *why = '\0';
    if (!has_good_parts(parts))
        snprintf(why, size, "parts must be an object of tools, each with its version");
    else if (!hash)
        snprintf(why, size, "manifest is missing; it must be the hash of parts");
    if (*why)
        return CLI_CORRUPT;
    *made = cli_manifest_of(json_incref(parts));
    if (!*made)
        return CLI_ENVIRONMENT;
    const char *is = cli_manifest_hash(*made);
    if (strcmp(is, hash) == 0)
        return CLI_OK;
    snprintf(why, size,
             "its parts do not have the hash that \"manifest\" says, %.12s, but %.12s: they were "
             "changed after they were written",
             hash, is);
    json_decref(*made);
    *made = NULL;
    return CLI_CORRUPT;
}

cli_exit cli_manifest_of_record(json_t **manifest, const json_t *record, const char *path)
{
    char why[WHY_SIZE];
    lab_error error;
    *manifest = NULL;
    if (!json_object_get(record, "parts"))
        return CLI_OK;
    cli_exit code = make_manifest(manifest, record, why, sizeof why);
    if (code == CLI_ENVIRONMENT)
        cli_error("%s: not enough memory", path);
    else if (code == CLI_CORRUPT)
        cli_fail_error(lab_fail(&error, HEED_ERR_CORRUPT, "%s: %s", path, why), &error);
    return code;
}

cli_exit cli_manifest_read(json_t **manifest, const char *path)
{
    json_t *json;
    *manifest = NULL;
    cli_exit code = cli_read_json(path, CLI_RECORD_SIZE_MAX, &json, NULL);
    if (code != CLI_OK)
        return code;
    const char *schema = text_of(json, "schema");
    const char *fault = NULL;
    if (schema && strcmp(schema, CLI_RECORD_SCHEMA) == 0) {
        code = cli_manifest_of_record(manifest, json, path);
        if (code == CLI_OK && !*manifest)
            fault = "it is a record without parts: an earlier heed wrote it";
        json_decref(json);
    } else {
        fault = find_fault(json);
        if (fault)
            json_decref(json);
        else
            *manifest = json;
    }
    if (!fault)
        return code;
    cli_error("%s: %s", path, fault);
    return CLI_CORRUPT;
}

/* ---- Compare ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const cli_manifest_difference *)a)->name,
                  ((const cli_manifest_difference *)b)->name);
}

/* Records the difference in @name, if any. */
static void note(const char *name, const json_t *then, const json_t *now,
                 cli_manifest_difference *differences, size_t room, size_t *count)
{
    const char *old = text_of(then, "version"), *new = text_of(now, "version");
    const char *old_sha = text_of(then, "sha256"), *new_sha = text_of(now, "sha256");
    bool version = !old || !new || strcmp(old, new) != 0;
    bool content = !version && old_sha && new_sha && strcmp(old_sha, new_sha) != 0;
    if (!version && !content)
        return;
    if (*count < room)
        differences[*count] = (cli_manifest_difference){
            .name = name, .then = old, .now = new, .content = content
        };
    ++*count;
}

size_t cli_manifest_compare(const json_t *then, const json_t *now,
                            cli_manifest_difference *differences, size_t room)
{
    const json_t *old = json_object_get(then, "parts"), *new = json_object_get(now, "parts");
    const char *name;
    json_t *part;
    size_t count = 0;
    json_object_foreach((json_t *)(uintptr_t)old, name, part)
    {
        note(name, part, json_object_get(new, name), differences, room, &count);
    }
    json_object_foreach((json_t *)(uintptr_t) new, name, part)
    {
        if (!json_object_get(old, name))
            note(name, NULL, part, differences, room, &count);
    }
    qsort(differences, count < room ? count : room, sizeof *differences, by_name);
    return count;
}
