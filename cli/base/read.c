/*
 * read.c - reads whole files
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli.h"
#include "tensor/json.h"

static heed_status read_open(FILE *file, const char *path, int64_t most, char **text, size_t *size,
                             lab_error *error)
{
    int64_t left = lab_file_left(file);
    if (left < 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot read: not a regular file", path);
    if (left > most)
        return lab_fail(error, HEED_ERR_CORRUPT, "%s: %lld bytes; at most %lld are read", path,
                        (long long)left, (long long)most);
    *size = (size_t)left;
    *text = malloc(*size + 1);
    if (!*text)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory to read it", path);
    (*text)[*size] = '\0';
    return lab_file_read(file, path, "its content", *text, *size, error);
}

heed_status cli_read_text(const char *path, int64_t most, char **text, size_t *size,
                          lab_error *error)
{
    FILE *file;
    *text = NULL;
    *size = 0;
    heed_status status = lab_file_open_whole(&file, path, error);
    if (status != HEED_OK)
        return status;
    status = read_open(file, path, most, text, size, error);
    fclose(file);
    if (status != HEED_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

cli_exit cli_read_file(const char *path, int64_t most, char **text, size_t *size)
{
    lab_error error;
    heed_status status = cli_read_text(path, most, text, size, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

cli_exit cli_read_json(const char *path, int64_t most, json_t **json,
                       char hash[LAB_RECORD_HASH_SIZE])
{
    json_error_t where;
    lab_error error;
    size_t size;
    char *text;
    *json = NULL;
    cli_exit code = cli_read_file(path, most, &text, &size);
    if (code != CLI_OK)
        return code;
    if (hash)
        lab_record_hash(text, size, hash);
    *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (*json)
        return CLI_OK;
    lab_fail(&error, HEED_ERR_CORRUPT, "%s: line %d: cannot be read as JSON: %s", path, where.line,
             lab_json_fault(&where));
    return cli_fail_error(HEED_ERR_CORRUPT, &error);
}

cli_exit cli_read_record(const char *path, json_t **record, char hash[LAB_RECORD_HASH_SIZE])
{
    lab_error error;
    cli_exit code = cli_read_json(path, CLI_RECORD_SIZE_MAX, record, hash);
    if (code != CLI_OK)
        return code;
    const char *schema = json_string_value(json_object_get(*record, "schema"));
    if (schema && strcmp(schema, CLI_RECORD_SCHEMA) == 0)
        return CLI_OK;
    lab_fail(&error, HEED_ERR_CORRUPT,
             "%s: schema is %.60s; " CLI_RECORD_SCHEMA " is what 'heed bench --record' writes",
             path, schema ? schema : "missing");
    json_decref(*record);
    *record = NULL;
    return cli_fail_error(HEED_ERR_CORRUPT, &error);
}
