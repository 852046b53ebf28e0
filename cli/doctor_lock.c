/*
 * doctor_lock.c - `heed doctor --lock` and `--check`: what a figure was made with
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "manifest.h"
#include "report/table.h"

#define DIFFERENCES_MAX 256

static cli_exit no_memory(void)
{
    cli_error("not enough memory for a manifest");
    return CLI_ENVIRONMENT;
}

/* Writes @manifest to a file beside @path, which then takes its name. */
static cli_exit write_file(const json_t *manifest, const char *path)
{
    char beside[1024];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside) {
        cli_error("--lock: the name of the file has %zu bytes; %zu are the most", strlen(path),
                  sizeof beside - 5);
        return CLI_USAGE;
    }
    FILE *file = fopen(beside, "we");
    bool written = file && json_dumpf(manifest, file, JSON_INDENT(2)) == 0 &&
                   fputc('\n', file) >= 0;
    if (file && fclose(file) != 0)
        written = false;
    if (written && rename(beside, path) == 0)
        return CLI_OK;
    cli_error("--lock: %s: %s", path, strerror(errno));
    if (file)
        unlink(beside);
    return CLI_ENVIRONMENT;
}

cli_exit doctor_lock(const cli_args *args)
{
    const char *path = cli_args_operand_count(args) > 0 ? cli_args_operand(args, 0) : NULL;
    json_t *manifest = cli_manifest_take();
    cli_exit code = CLI_OK;
    if (!manifest)
        return no_memory();
    if (path) {
        code = write_file(manifest, path);
        if (code == CLI_OK)
            cli_message("%zu tools and libraries in %s, hash %.12s",
                        json_object_size(json_object_get(manifest, "parts")), path,
                        cli_manifest_hash(manifest));
    } else if (json_dumpf(manifest, stdout, JSON_INDENT(2)) != 0 || putchar('\n') < 0) {
        code = no_memory();
    }
    json_decref(manifest);
    return code;
}

static json_t *text_or_null(const char *text)
{
    return text ? cli_json_text(text) : json_null();
}

static cli_exit print_json(const json_t *then, const json_t *now,
                           const cli_manifest_difference *found, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        list = cli_json_append(list, json_pack("{s:s, s:o, s:o, s:b}", "name", found[i].name,
                                               "then", text_or_null(found[i].then), "now",
                                               text_or_null(found[i].now), "content_differs",
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
    lab_table_column(table, "", LAB_LEFT);
    lab_table_column(table, "then", LAB_LEFT);
    lab_table_column(table, "now", LAB_LEFT);
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
