/*
 * bench_record.c - stores the result: FOLDER/<device>/<date>/<what>-<time>.json
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "bench.h"

#define PATH_MAX_SIZE 1024
#define RECORD_DIGITS                                                      \
    7 /* of a real number: the error is below the millionth that the board \
       * allows */

/* Copies @text as a file name: lower case letters and digits, with dashes for anything else. */
static void copy_name(char *to, size_t size, const char *text)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (isalnum(c))
            to[length++] = (char)tolower(c);
        else if (length > 0 && to[length - 1] != '-')
            to[length++] = '-';
    }
    while (length > 0 && to[length - 1] == '-')
        length--;
    to[length] = '\0';
}

/* The subject of the times: the name of the shape file, or of the kernel, or simply "bench". */
static void describe(const lab_bench *bench, const char *shapes, char *text, size_t size)
{
    const char *from = shapes ? shapes : bench->kernel ? bench->kernel : "bench";
    const char *slash = strrchr(from, '/');
    char stem[64], name[64];
    snprintf(stem, sizeof stem, "%s", slash ? slash + 1 : from);
    if (shapes && strrchr(stem, '.'))
        *strrchr(stem, '.') = '\0';
    copy_name(name, sizeof name, stem);
    snprintf(text, size, "%s%s%s", name, bench->cold ? "-cold" : "",
             bench->behind ? "-behind" : "");
}

/* Makes the path, from the time of the run, such as 2026-01-31T23:59:59Z. */
static bool make_path(const lab_bench *bench, const bench_options *options,
                      char path[PATH_MAX_SIZE])
{
    char device[96], what[80], folders[PATH_MAX_SIZE];
    lab_error error;
    const char *time = bench->environment.time;
    if (strlen(time) < 19) /* "unknown" */
        time = "0000-00-00T00:00:00Z";
    copy_name(device, sizeof device, heed_context_device(bench->context));
    describe(bench, options->shapes, what, sizeof what);
    int length = snprintf(folders, sizeof folders, "%s/%s/%.10s", options->record, device, time);
    if (length < 0 || length > PATH_MAX_SIZE - 128) {
        cli_error("--record: the name of the folder is longer than %d bytes", PATH_MAX_SIZE - 128);
        return false;
    }
    snprintf(path, PATH_MAX_SIZE, "%.895s/%s-%.2s%.2s%.2s.json", folders, what, time + 11,
             time + 14, time + 17);
    if (lab_file_folders(path, 0777, &error) == HEED_OK)
        return true;
    cli_error("--record: %s", error.text);
    return false;
}

/* Drops the folders of a rival's path: records are published, and the folders are private. */
static void drop_folders(json_t *rival)
{
    const char *path = json_string_value(json_object_get(rival, "path"));
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) /* if memory runs out the path stays whole */
        json_object_set_new(rival, "path", json_string(slash + 1));
}

/* Removes null members, and all members of summaries but the median and the 90th percentile:
 * readers of a record use no others, and they follow from the samples. */
static void compact(json_t *value)
{
    void *next;
    const char *name;
    json_t *member;
    size_t i;
    json_array_foreach(value, i, member)
    {
        compact(member);
    }
    json_object_foreach_safe(value, next, name, member)
    {
        compact(member);
        if (strcmp(name, "eager") == 0 || strcmp(name, "seconds") == 0) {
            json_object_del(member, "min");
            json_object_del(member, "mean");
            json_object_del(member, "mad");
        }
        if (json_is_null(member))
            json_object_del(value, name);
    }
}

static bool write_record(const lab_bench *bench, const json_t *manifest, FILE *file)
{
    json_t *all = bench_json(bench, manifest), *rivals = json_object_get(all, "rivals");
    for (size_t i = 0; i < json_array_size(rivals); i++)
        drop_folders(json_array_get(rivals, i));
    compact(all);
    json_object_set(all, "parts", json_object_get(manifest, "parts"));
    return cli_json_write(all, "bench", JSON_COMPACT | JSON_REAL_PRECISION(RECORD_DIGITS), file);
}

cli_exit bench_record(const lab_bench *bench, const bench_options *options, const json_t *manifest)
{
    char path[PATH_MAX_SIZE];
    if (!make_path(bench, options, path))
        return CLI_ENVIRONMENT;
    FILE *file = fopen(path, "wex");
    if (!file) {
        cli_error("--record: %s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    bool written = write_record(bench, manifest, file), failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        cli_error("--record: %s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (!written) {
        cli_error("not enough memory for %s", path);
        return CLI_ENVIRONMENT;
    }
    cli_message("recorded in %s", path);
    return CLI_OK;
}
