/*
 * doctor_lock.c - `heed doctor --lock` and `--check`: manifests of tools and libraries
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "doctor.h"
#include "manifest.h"
#include "report/table.h"

#define DIFFERENCES_MAX 256

static cli_exit no_memory(void)
{
    cli_error("not enough memory for a manifest");
    return CLI_ENVIRONMENT;
}

/* A regular file is replaced atomically; a device is written to. */
static cli_exit write_file(const char *text, const char *path)
{
    lab_output output;
    lab_error error = { "" };
    heed_status status = lab_output_begin(&output, path, &error);
    if (status == HEED_OK) {
        lab_output_write(&output, text, strlen(text));
        lab_output_write(&output, "\n", 1);
        status = lab_output_commit(&output, &error);
    }
    if (status != HEED_OK)
        cli_error("--lock: %s", error.text);
    return cli_exit_of(status);
}

static cli_exit tell(const cli_args *args, const json_t *manifest, const char *path)
{
    size_t parts = json_object_size(json_object_get(manifest, "parts"));
    const char *hash = cli_manifest_hash(manifest);
    if (cli_args_json(args))
        return cli_json_print(json_pack("{s:o, s:s, s:I}", "file", cli_json_text(path), "hash",
                                        hash, "parts", (json_int_t)parts),
                              "doctor-lock");
    cli_message("%zu tools and libraries in %s, hash %.12s", parts, path, hash);
    return CLI_OK;
}

cli_exit doctor_lock(const cli_args *args)
{
    const char *path = cli_args_operand_count(args) > 0 ? cli_args_operand(args, 0) : "-";
    json_t *manifest = cli_manifest_take();
    char *text = manifest ? json_dumps(manifest, JSON_INDENT(2)) : NULL;
    cli_exit code = text ? CLI_OK : no_memory();
    if (text && strcmp(path, "-") == 0)
        puts(text);
    else if (text && (code = write_file(text, path)) == CLI_OK)
        code = tell(args, manifest, path);
    free(text);
    json_decref(manifest);
    return code;
}

static cli_exit print_json(const json_t *then, const json_t *now,
                           const cli_manifest_difference *found, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        list = cli_json_append(list, json_pack("{s:s, s:o, s:o, s:b}", "name", found[i].name,
                                               "then", cli_json_word(found[i].then), "now",
                                               cli_json_word(found[i].now), "content_differs",
                                               found[i].content));
    return cli_json_print(json_pack("{s:s, s:s, s:b, s:o}", "then", cli_manifest_hash(then), "now",
                                    cli_manifest_hash(now), "same", count == 0, "differences",
                                    list),
                          "doctor-check");
}

static cli_exit print_text(const cli_manifest_difference *found, size_t count, size_t parts)
{
    if (count == 0) {
        printf("all %zu tools and libraries are the same\n", parts);
        return CLI_OK;
    }
    lab_table *table = lab_table_create();
    lab_table_columns(table, "|then|now");
    for (size_t i = 0; i < count; i++) {
        lab_table_cell(table, "%s", found[i].name);
        lab_table_cell(table, "%s", found[i].then ? found[i].then : "not there");
        lab_table_cell(table, "%s%s", found[i].now ? found[i].now : "not there",
                       found[i].content ? ", another file" : "");
    }
    return cli_table_print(table);
}

cli_exit doctor_check(const cli_args *args)
{
    json_t *then, *now;
    cli_manifest_difference found[DIFFERENCES_MAX];
    cli_exit code = cli_manifest_read(&then, cli_args_text(args, "check"));
    if (code != CLI_OK)
        return code;
    now = cli_manifest_take();
    if (!now) {
        json_decref(then);
        return no_memory();
    }
    size_t count = cli_manifest_compare(then, now, found, DIFFERENCES_MAX);
    size_t shown = count < DIFFERENCES_MAX ? count : DIFFERENCES_MAX;
    code = cli_args_json(args)
               ? print_json(then, now, found, shown)
               : print_text(found, shown, json_object_size(json_object_get(now, "parts")));
    json_decref(now);
    json_decref(then);
    return code == CLI_OK && count > 0 ? CLI_FINDING : code;
}
