/*
 * roofline_file.c - ceilings in a text file
 *
 *     heed-ceilings 1
 *     device NVIDIA H200
 *     features sm_90 driver 13000
 *     time 1763742103
 *     matrix.f16 9.12e+14
 *     ...
 *     check 0123456789abcdef
 *
 * The check is the 64-bit FNV-1a hash (Fowler, Noll, Vo) of all lines before it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "roofline.h"

#define FILE_MAX 8192 /* bytes */
#define HEAD "heed-ceilings 1\n"

static uint64_t hash_of(const char *text, size_t size, uint64_t hash)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The figures by line name; if there is one per element type, the type follows a dot. */
static const struct {
    const char *name;
    size_t offset;
    size_t count;
} fields[] = {
    { "matrix", offsetof(lab_ceilings, matrix), HEED_TYPE_COUNT },
    { "sustained", offsetof(lab_ceilings, sustained), HEED_TYPE_COUNT },
    { "exp", offsetof(lab_ceilings, exp), 1 },
    { "fma", offsetof(lab_ceilings, fma), 1 },
    { "read", offsetof(lab_ceilings, read), 1 },
    { "copy", offsetof(lab_ceilings, copy), 1 },
    { "memory", offsetof(lab_ceilings, memory), 1 },
    { "cache", offsetof(lab_ceilings, cache), 1 },
    { "cache-bytes", offsetof(lab_ceilings, cache_bytes), 1 },
    { "launch", offsetof(lab_ceilings, launch), 1 },
};
#define FIELDS (sizeof fields / sizeof *fields)

/* One line of the file. */
typedef struct figure {
    char name[24];
    size_t offset;
} figure;

/* Figure number @index, counted over all fields; false past the last one. */
static bool figure_at(size_t index, figure *it)
{
    size_t i = 0;
    for (; i < FIELDS && index >= fields[i].count; i++)
        index -= fields[i].count;
    if (i == FIELDS)
        return false;
    const bool typed = fields[i].count > 1;
    snprintf(it->name, sizeof it->name, "%s%s%s", fields[i].name, typed ? "." : "",
             typed ? heed_type_name((heed_type)index) : "");
    it->offset = fields[i].offset + index * sizeof(double);
    return true;
}

/* -------------------------------------------------------------------------- */
/* Its path                                                                   */
/* -------------------------------------------------------------------------- */

heed_status lab_ceilings_path(char path[LAB_CEILINGS_PATH], const char *device,
                              const char *features, lab_error *error)
{
    char name[48];
    uint64_t hash = hash_of(device, strlen(device) + 1, HASH_START);
    hash = hash_of(features, strlen(features), hash);
    snprintf(name, sizeof name, "ceilings/%016" PRIx64 ".txt", hash);
    return lab_file_cache(path, LAB_CEILINGS_PATH, name, error);
}

/* -------------------------------------------------------------------------- */
/* Write                                                                      */
/* -------------------------------------------------------------------------- */

static size_t print(const lab_ceilings *ceilings, char text[FILE_MAX])
{
    const char *base = (const char *)ceilings;
    int size = snprintf(text, FILE_MAX, HEAD "device %s\nfeatures %s\ntime %" PRId64 "\n",
                        ceilings->device, ceilings->features, ceilings->time);
    figure it;
    for (size_t i = 0; figure_at(i, &it); i++)
        size += snprintf(text + size, FILE_MAX - (size_t)size, "%s %.9g\n", it.name,
                         *(const double *)(const void *)(base + it.offset));
    size += snprintf(text + size, FILE_MAX - (size_t)size, "check %016" PRIx64 "\n",
                     hash_of(text, (size_t)size, HASH_START));
    return (size_t)size;
}

heed_status lab_ceilings_write(const lab_ceilings *ceilings, const char *path, lab_error *error)
{
    char text[FILE_MAX];
    lab_output output;
    size_t size = print(ceilings, text);
    heed_status status = lab_file_folders(path, 0700, error);
    if (status == HEED_OK)
        status = lab_output_begin(&output, path, error);
    if (status != HEED_OK)
        return status;
    lab_output_write(&output, text, size);
    return lab_output_commit(&output, error);
}

/* -------------------------------------------------------------------------- */
/* Read                                                                       */
/* -------------------------------------------------------------------------- */

static heed_status corrupt(const char *name, const char *what, lab_error *error)
{
    return lab_fail(error, HEED_ERR_CORRUPT, "%s: %s", name, what);
}

/* Copies the next line at *@at, without the newline, to @line; false past the last one. */
static bool next_line(const char **at, char *line, size_t room)
{
    const char *end = strchr(*at, '\n');
    if (!end || (size_t)(end - *at) >= room)
        return false;
    memcpy(line, *at, (size_t)(end - *at));
    line[end - *at] = '\0';
    *at = end + 1;
    return true;
}

/* The text after @name and a space in @line, or NULL. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static bool read_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number) && *number >= 0;
}

/* Reads the lines after the header. Returns NULL, or an error. */
static const char *read_lines(lab_ceilings *ceilings, const char *at)
{
    char line[160];
    const char *value;
    double number;
    if (!next_line(&at, line, sizeof line) || !(value = value_of(line, "device")))
        return "it has no device";
    snprintf(ceilings->device, sizeof ceilings->device, "%s", value);
    if (!next_line(&at, line, sizeof line) || !(value = value_of(line, "features")))
        return "it has no features";
    snprintf(ceilings->features, sizeof ceilings->features, "%s", value);
    if (!next_line(&at, line, sizeof line) || !(value = value_of(line, "time")) ||
        !read_number(value, &number) || number > 1e12)
        return "it has no time";
    ceilings->time = (int64_t)number;
    figure it;
    for (size_t i = 0; figure_at(i, &it); i++) {
        if (!next_line(&at, line, sizeof line) || !(value = value_of(line, it.name)) ||
            !read_number(value, &number))
            return "a figure is missing, or is not a number";
        memcpy((char *)ceilings + it.offset, &number, sizeof number);
    }
    return next_line(&at, line, sizeof line) && value_of(line, "check") && !*at
               ? NULL
               : "it does not end with its checksum";
}

/* True if the last line is the hash of those before it. */
static bool is_whole(const char *text, size_t size)
{
    char line[32];
    const size_t length = strlen("check 0123456789abcdef\n");
    if (size < length)
        return false;
    snprintf(line, sizeof line, "check %016" PRIx64 "\n", hash_of(text, size - length, HASH_START));
    return memcmp(line, text + size - length, length) == 0;
}

heed_status lab_ceilings_parse(lab_ceilings *ceilings, const char *text, size_t size,
                               const char *name, lab_error *error)
{
    char copy[FILE_MAX + 1];
    *ceilings = (lab_ceilings){ .measured = true };
    if (size > FILE_MAX)
        return corrupt(name, "it is too long for a ceilings file", error);
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (strncmp(copy, "heed-ceilings ", 14) != 0)
        return corrupt(name, "it is not a ceilings file", error);
    if (strncmp(copy, HEAD, strlen(HEAD)) != 0)
        return corrupt(name, "its version is not 1", error);
    if (!is_whole(copy, size))
        return corrupt(name, "it is damaged: its checksum does not match", error);
    const char *wrong = read_lines(ceilings, copy + strlen(HEAD));
    return wrong ? corrupt(name, wrong, error) : HEED_OK;
}

heed_status lab_ceilings_read(lab_ceilings *ceilings, const char *path, lab_error *error)
{
    char text[FILE_MAX + 1];
    FILE *file = fopen(path, "re");
    if (!file)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    size_t size = fread(text, 1, sizeof text, file);
    bool failed = ferror(file);
    fclose(file);
    if (failed)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: it cannot be read", path);
    return lab_ceilings_parse(ceilings, text, size, path, error);
}
