/*
 * safetensors.c - safetensors files of named arrays
 */
#include "safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "convert.h"
#include "json.h"

#define LENGTH_SIZE 8

struct lab_safetensors {
    FILE *stream;
    char *path;
    json_t *header; /* owns names and dtypes */
    uint64_t data_start;
    uint64_t data_bytes;
    lab_safetensors_entry *entries; /* sorted by begin */
    size_t count;
};

/* Bits of the element types, and heed's kind of those that it supports. */
static const struct dtype {
    const char *name;
    unsigned bits;
    heed_data kind; /* HEED_DATA_NONE: not supported */
} dtypes[] = {
    { "F32", 32, HEED_DATA_F32 },     { "F16", 16, HEED_DATA_F16 },
    { "BF16", 16, HEED_DATA_BF16 },   { "I32", 32, HEED_DATA_I32 },
    { "U32", 32, HEED_DATA_BITS },    { "U8", 8, HEED_DATA_BYTES },
    { "BOOL", 8, HEED_DATA_BYTES },   { "F64", 64, HEED_DATA_NONE },
    { "I64", 64, HEED_DATA_I64 },     { "U64", 64, HEED_DATA_NONE },
    { "I16", 16, HEED_DATA_NONE },    { "U16", 16, HEED_DATA_NONE },
    { "I8", 8, HEED_DATA_NONE },      { "F8_E4M3", 8, HEED_DATA_NONE },
    { "F8_E5M2", 8, HEED_DATA_NONE }, { "F8_E8M0", 8, HEED_DATA_NONE },
    { "C64", 64, HEED_DATA_NONE },    { "F4", 4, HEED_DATA_NONE },
    { "F6_E2M3", 6, HEED_DATA_NONE }, { "F6_E3M2", 6, HEED_DATA_NONE },
};

static const struct dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* The header                                                                 */
/* -------------------------------------------------------------------------- */

static heed_status bad_entry(const lab_safetensors *file, const char *name, const char *field,
                             const char *what, lab_error *error)
{
    return lab_fail(error, HEED_ERR_CORRUPT, "%s: array '%.100s': %s %s", file->path, name, field,
                    what);
}

static heed_status read_shape(const lab_safetensors *file, lab_safetensors_entry *entry,
                              const json_t *shape, uint64_t *elements, lab_error *error)
{
    if (!json_is_array(shape))
        return bad_entry(file, entry->name, "shape", "is not an array", error);
    bool empty = false, fits = true;
    *elements = 1;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *value = json_array_get(shape, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return bad_entry(file, entry->name, "shape",
                             "has elements that are not integers of 0 or more", error);
        if (i < LAB_RANK_MAX)
            entry->shape[i] = json_integer_value(value);
        empty = empty || json_integer_value(value) == 0;
        fits = fits &&
               !__builtin_mul_overflow(*elements, (uint64_t)json_integer_value(value), elements);
    }
    entry->rank = (int)json_array_size(shape);
    if (empty)
        *elements = 0;
    return empty || fits
               ? HEED_OK
               : bad_entry(file, entry->name, "shape", "has more than 2^64 elements", error);
}

static heed_status read_offsets(const lab_safetensors *file, lab_safetensors_entry *entry,
                                const json_t *offsets, lab_error *error)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bad_entry(file, entry->name, "data_offsets", "is not an array of two integers",
                         error);
    if (json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return bad_entry(file, entry->name, "data_offsets", "ends before it begins", error);
    entry->begin = (uint64_t)json_integer_value(begin);
    entry->end = (uint64_t)json_integer_value(end);
    if (entry->end > file->data_bytes)
        return lab_fail(
            error, HEED_ERR_CORRUPT,
            "%s: array '%.100s': data_offsets end at %" PRIu64 "; the data has %" PRIu64 " byte%s",
            file->path, entry->name, entry->end, file->data_bytes, lab_plural(file->data_bytes));
    return HEED_OK;
}

/* Checks that the data's size agrees with shape and type. An unknown type has no size to compare.
 */
static heed_status check_size(const lab_safetensors *file, const lab_safetensors_entry *entry,
                              uint64_t elements, lab_error *error)
{
    const struct dtype *dtype = find_dtype(entry->dtype);
    uint64_t bits, bytes = entry->end - entry->begin;
    if (!dtype)
        return HEED_OK;
    if (__builtin_mul_overflow(elements, (uint64_t)dtype->bits, &bits))
        return bad_entry(file, entry->name, "shape", "has more than 2^64 bits", error);
    if (bits % 8 != 0 || bits / 8 != bytes)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: array '%.100s': shape and dtype %s need %" PRIu64
                        " byte%s, data_offsets give %" PRIu64,
                        file->path, entry->name, entry->dtype, bits / 8, lab_plural(bits / 8),
                        bytes);
    return HEED_OK;
}

static heed_status read_entry(const lab_safetensors *file, lab_safetensors_entry *entry,
                              const char *name, json_t *value, lab_error *error)
{
    uint64_t elements = 0;
    entry->name = name;
    entry->dtype = json_string_value(json_object_get(value, "dtype"));
    if (!entry->dtype)
        return bad_entry(file, name, "dtype", "is missing or not a string", error);
    if (json_object_size(value) != 3)
        return bad_entry(file, name, "it",
                         "must have dtype, shape and data_offsets, and nothing else", error);
    heed_status status = read_shape(file, entry, json_object_get(value, "shape"), &elements, error);
    if (status == HEED_OK)
        status = read_offsets(file, entry, json_object_get(value, "data_offsets"), error);
    return status == HEED_OK ? check_size(file, entry, elements, error) : status;
}

static heed_status check_metadata(const lab_safetensors *file, json_t *metadata, lab_error *error)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return lab_fail(error, HEED_ERR_CORRUPT, "%s: __metadata__ is not an object", file->path);
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return lab_fail(
        error, HEED_ERR_CORRUPT, "%s: __metadata__: '%.100s' is not a string", file->path, key);
    return HEED_OK;
}

static int by_place(const void *a, const void *b)
{
    const lab_safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Checks that arrays do not overlap, without gaps, and nothing after the last one. */
static heed_status check_places(const lab_safetensors *file, lab_error *error)
{
    uint64_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        const lab_safetensors_entry *entry = &file->entries[i];
        if (entry->begin != at)
            return lab_fail(error, HEED_ERR_CORRUPT,
                            "%s: array '%.100s': begins at %" PRIu64 " where %" PRIu64
                            " is expected: %s",
                            file->path, entry->name, entry->begin, at,
                            entry->begin < at ? "an overlap" : "a hole");
        at = entry->end;
    }
    if (at != file->data_bytes)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: the arrays end at %" PRIu64 "; the data has %" PRIu64 " byte%s",
                        file->path, at, file->data_bytes, lab_plural(file->data_bytes));
    return HEED_OK;
}

static heed_status read_entries(lab_safetensors *file, lab_error *error)
{
    const char *name;
    json_t *value;
    file->entries = calloc(json_object_size(file->header) + 1, sizeof *file->entries);
    if (!file->entries)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: not enough memory for its header",
                        file->path);
    json_object_foreach(file->header, name, value)
    {
        bool metadata = strcmp(name, "__metadata__") == 0;
        heed_status status = metadata ? check_metadata(file, value, error)
                                      : read_entry(file, &file->entries[file->count], name, value,
                                                   error);
        if (status != HEED_OK)
            return status;
        file->count += !metadata;
    }
    qsort(file->entries, file->count, sizeof *file->entries, by_place);
    return check_places(file, error);
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status parse_header(lab_safetensors *file, const char *text, size_t length,
                                lab_error *error)
{
    json_error_t where;
    if (length == 0 || text[0] != '{')
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: not a .safetensors file: its header does not begin with '{'",
                        file->path);
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (!file->header)
        return lab_fail(error, HEED_ERR_CORRUPT, "%s: header, byte %d: %s", file->path,
                        where.position, lab_json_fault(&where));
    return read_entries(file, error);
}

/* The length is compared with the file's size before memory is allocated. */
static heed_status read_length(lab_safetensors *file, size_t *length, lab_error *error)
{
    unsigned char bytes[LENGTH_SIZE];
    uint64_t value = 0;
    int64_t left = lab_file_left(file->stream);
    if (left < 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: not a regular file", file->path);
    heed_status status = lab_file_read(file->stream, file->path, "the header's length", bytes,
                                       sizeof bytes, error);
    if (status != HEED_OK)
        return status;
    for (int i = LENGTH_SIZE - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    if (value > LAB_SAFETENSORS_HEADER_MAX || value > (uint64_t)left - LENGTH_SIZE)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: the header's length is %" PRIu64
                        "; at most %d and the rest of the file (%lld) are allowed",
                        file->path, value, LAB_SAFETENSORS_HEADER_MAX,
                        (long long)left - LENGTH_SIZE);
    *length = (size_t)value;
    file->data_start = LENGTH_SIZE + value;
    file->data_bytes = (uint64_t)left - LENGTH_SIZE - value;
    return HEED_OK;
}

static heed_status read_header(lab_safetensors *file, lab_error *error)
{
    size_t length = 0;
    heed_status status = read_length(file, &length, error);
    if (status != HEED_OK)
        return status;
    char *text = malloc(length + 1);
    if (!text)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: not enough memory for its header",
                        file->path);
    status = lab_file_read(file->stream, file->path, "the header", text, length, error);
    if (status == HEED_OK)
        status = parse_header(file, text, length, error);
    free(text);
    return status;
}

heed_status lab_safetensors_open(lab_safetensors **file, const char *path, lab_error *error)
{
    lab_safetensors *opened = calloc(1, sizeof *opened);
    *file = NULL;
    if (!opened || !(opened->path = strdup(path))) {
        free(opened);
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: not enough memory", path);
    }
    heed_status status = lab_file_open_whole(&opened->stream, path, error);
    if (status == HEED_OK)
        status = read_header(opened, error);
    if (status == HEED_OK)
        *file = opened;
    else
        lab_safetensors_close(opened);
    return status;
}

void lab_safetensors_close(lab_safetensors *file)
{
    if (!file)
        return;
    if (file->stream)
        fclose(file->stream);
    json_decref(file->header);
    free(file->entries);
    free(file->path);
    free(file);
}

size_t lab_safetensors_count(const lab_safetensors *file)
{
    return file->count;
}

const lab_safetensors_entry *lab_safetensors_at(const lab_safetensors *file, size_t index)
{
    return index < file->count ? &file->entries[index] : NULL;
}

static const lab_safetensors_entry *find_entry(const lab_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->entries[i].name, name) == 0)
            return &file->entries[i];
    return NULL;
}

heed_status lab_safetensors_read(lab_safetensors *file, const char *name, bool operand,
                                 lab_tensor *tensor, lab_error *error)
{
    memset(tensor, 0, sizeof *tensor);
    const lab_safetensors_entry *entry = find_entry(file, name);
    if (!entry)
        return lab_fail(error, HEED_ERR_INVALID,
                        "%s: there is no array '%s'; the first of %zu is '%s'", file->path, name,
                        file->count, file->count ? file->entries[0].name : "");
    const struct dtype *dtype = find_dtype(entry->dtype);
    if (!dtype || (operand ? dtype->kind == HEED_DATA_NONE : !lab_data_is_element(dtype->kind)))
        return lab_fail(error, HEED_ERR_UNSUPPORTED,
                        "%s: array '%s': dtype is %s; heed takes F32, F16 or BF16%s", file->path,
                        name, entry->dtype, operand ? ", I32, I64, BOOL, U8 or U32" : "");
    if (entry->rank > LAB_RANK_MAX)
        return lab_fail(error, HEED_ERR_UNSUPPORTED,
                        "%s: array '%s': %d dimensions; at most %d can be handled", file->path,
                        name, entry->rank, LAB_RANK_MAX);
    if (fseeko(file->stream, (off_t)(file->data_start + entry->begin), SEEK_SET) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot go to array '%s'", file->path, name);
    heed_status status = lab_tensor_create_kind(tensor, dtype->kind, entry->shape, entry->rank,
                                                error);
    if (status == HEED_OK)
        status = lab_file_read(file->stream, file->path, name, tensor->data,
                               lab_tensor_bytes(tensor), error);
    if (status != HEED_OK)
        lab_tensor_free(tensor);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Writing                                                                    */
/* -------------------------------------------------------------------------- */

static const char *dtype_name(heed_type type)
{
    size_t i = 0;
    while (dtypes[i].kind != lab_data_of(type))
        i++;
    return dtypes[i].name;
}

static json_t *entry_json(const lab_tensor *tensor, uint64_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++)
        if (json_array_append_new(shape, json_integer(tensor->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    uint64_t end = begin + lab_tensor_bytes(tensor);
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(tensor->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header's text, padded so the data begins at a multiple of 8; the caller frees it. NULL if
 * there is no memory. */
static char *header_text(const char *const *names, const lab_tensor *tensors, size_t count)
{
    uint64_t at = 0;
    bool complete = true;
    json_t *header = json_object();
    for (size_t i = 0; i < count; i++) {
        complete = complete &&
                   json_object_set_new(header, names[i], entry_json(&tensors[i], at)) == 0;
        at += lab_tensor_bytes(&tensors[i]);
    }
    char *compact = complete ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    size_t length = compact ? strlen(compact) : 0, padded = (length + 7) / 8 * 8;
    char *text = compact ? malloc(padded + 1) : NULL;
    if (text)
        snprintf(text, padded + 1, "%-*s", (int)padded, compact);
    free(compact);
    return text;
}

heed_status lab_safetensors_write(const char *path, const char *const *names,
                                  const lab_tensor *tensors, size_t count, lab_error *error)
{
    lab_output output;
    unsigned char length[LENGTH_SIZE];
    char *header = header_text(names, tensors, count);
    if (!header)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: not enough memory for its header", path);
    uint64_t size = strlen(header);
    for (int i = 0; i < LENGTH_SIZE; i++)
        length[i] = (unsigned char)(size >> (8 * i));
    heed_status status = lab_output_begin(&output, path, error);
    if (status == HEED_OK) {
        lab_output_write(&output, length, sizeof length);
        lab_output_write(&output, header, (size_t)size);
        for (size_t i = 0; i < count; i++)
            lab_output_write(&output, tensors[i].data, lab_tensor_bytes(&tensors[i]));
        status = lab_output_commit(&output, error);
    }
    free(header);
    return status;
}
