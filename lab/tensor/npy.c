/*
 * npy.c - NumPy's file format for one array
 *
 * A file is the magic, the version (two bytes), the length of the header (two bytes in version 1,
 * four after it, little-endian), the header, and the elements. The header is a Python dict as text:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 512, 8, 64), }
 */
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "convert.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define HEADER_MAX                                                                              \
    65535 /* version 2 allows 4 GiB, for record types with many fields; a plain array needs 128 \
             bytes */

/* For writing: the magic, version and length; the longest dict with its padding. */
#define PREAMBLE_SIZE (MAGIC_SIZE + 4)
#define DICT_SIZE (64 + LAB_RANK_MAX * 22 + 64)

/* The fields of the header. */
typedef struct npy_header {
    char descr[32];
    bool fortran_order;
    int rank;
    int64_t shape[LAB_RANK_MAX];
} npy_header;

/* The position while parsing a header. */
typedef struct npy_scan {
    const char *at;
    const char *path;
    lab_error *error;
} npy_scan;

/* -------------------------------------------------------------------------- */
/* The dict                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status bad_header(const npy_scan *scan, const char *expected)
{
    return lab_fail(scan->error, HEED_ERR_CORRUPT, "%s: the header has '%.20s' where %s should be",
                    scan->path, scan->at, expected);
}

static void skip_blanks(npy_scan *scan)
{
    scan->at += strspn(scan->at, " \t\n\r\f");
}

/* Consumes @word if it comes next. */
static bool take(npy_scan *scan, const char *word)
{
    skip_blanks(scan);
    size_t length = strlen(word);
    if (strncmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

/* A string between single or double quotes, without escapes. */
static heed_status read_string(npy_scan *scan, const char *what, char *text, size_t size)
{
    skip_blanks(scan);
    char quote = *scan->at;
    const char *start = scan->at + 1;
    const char *end = quote == '\'' || quote == '"' ? strchr(start, quote) : NULL;
    if (!end || (size_t)(end - start) >= size)
        return bad_header(scan, what);
    memcpy(text, start, (size_t)(end - start));
    text[end - start] = '\0';
    scan->at = end + 1;
    return HEED_OK;
}

static heed_status read_descr(npy_scan *scan, npy_header *header)
{
    skip_blanks(scan);
    if (*scan->at == '[')
        return lab_fail(scan->error, HEED_ERR_UNSUPPORTED,
                        "%s: descr is a record type; heed takes '<f4' or '<f2'", scan->path);
    return read_string(scan, "the text of descr", header->descr, sizeof header->descr);
}

static heed_status read_order(npy_scan *scan, npy_header *header)
{
    header->fortran_order = take(scan, "True");
    if (!header->fortran_order && !take(scan, "False"))
        return bad_header(scan, "True or False");
    return HEED_OK;
}

static heed_status read_dimension(npy_scan *scan, int64_t *dimension)
{
    skip_blanks(scan);
    size_t digits = strspn(scan->at, "0123456789");
    if (digits == 0 || digits > 18)
        return bad_header(scan, "a dimension of 1 to 18 digits");
    *dimension = strtoll(scan->at, NULL, 10);
    scan->at += digits;
    return HEED_OK;
}

/* "()", "(3,)", "(3, 4)" or "(3, 4,)" */
static heed_status read_shape(npy_scan *scan, npy_header *header)
{
    if (!take(scan, "("))
        return bad_header(scan, "a shape in parentheses");
    bool comma = true;
    while (!take(scan, ")")) {
        if (header->rank == LAB_RANK_MAX)
            return lab_fail(scan->error, HEED_ERR_UNSUPPORTED,
                            "%s: shape has more than %d dimensions", scan->path, LAB_RANK_MAX);
        if (!comma)
            return bad_header(scan, "',' or ')'");
        heed_status status = read_dimension(scan, &header->shape[header->rank++]);
        if (status != HEED_OK)
            return status;
        comma = take(scan, ",");
    }
    if (header->rank == 1 && !comma)
        return bad_header(scan, "a tuple, such as '(3,)', before this");
    return HEED_OK;
}

static const struct npy_key {
    const char *name;
    heed_status (*read)(npy_scan *scan, npy_header *header);
} npy_keys[] = {
    { "descr", read_descr },
    { "fortran_order", read_order },
    { "shape", read_shape },
};
#define KEY_COUNT (sizeof npy_keys / sizeof npy_keys[0])

static heed_status read_entry(npy_scan *scan, npy_header *header, bool seen[KEY_COUNT])
{
    char name[32];
    heed_status status = read_string(scan, "a key", name, sizeof name);
    if (status != HEED_OK)
        return status;
    size_t key = 0;
    while (key < KEY_COUNT && strcmp(npy_keys[key].name, name) != 0)
        key++;
    if (key == KEY_COUNT || seen[key])
        return lab_fail(scan->error, HEED_ERR_CORRUPT, "%s: the header has %s key '%s'", scan->path,
                        key == KEY_COUNT ? "an unknown" : "twice the", name);
    seen[key] = true;
    return take(scan, ":") ? npy_keys[key].read(scan, header) : bad_header(scan, "':'");
}

static heed_status read_dict(npy_scan *scan, npy_header *header)
{
    bool seen[KEY_COUNT] = { false }, comma = true;
    if (!take(scan, "{"))
        return bad_header(scan, "'{'");
    while (!take(scan, "}")) {
        if (!comma)
            return bad_header(scan, "',' or '}'");
        heed_status status = read_entry(scan, header, seen);
        if (status != HEED_OK)
            return status;
        comma = take(scan, ",");
    }
    for (size_t key = 0; key < KEY_COUNT; key++)
        if (!seen[key])
            return lab_fail(scan->error, HEED_ERR_CORRUPT, "%s: the header lacks '%s'", scan->path,
                            npy_keys[key].name);
    skip_blanks(scan);
    return *scan->at ? bad_header(scan, "the end") : HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

/* Element types by descr; the first of a kind is written. NumPy writes the byte order of a void
 * type as
 * '|'. */
static const struct npy_type {
    const char *descr;
    heed_data kind;
    const char *title; /* if elements are of this type only where the caller says so; else NULL */
} npy_types[] = {
    { "<f4", HEED_DATA_F32, NULL },        { "<f2", HEED_DATA_F16, NULL },
    { "<u2", HEED_DATA_BF16, "bfloat16" }, { "|V2", HEED_DATA_BF16, "bfloat16" },
    { "<V2", HEED_DATA_BF16, "bfloat16" }, { "V2", HEED_DATA_BF16, "bfloat16" },
    { "<i4", HEED_DATA_I32, NULL },        { "<i8", HEED_DATA_I64, NULL },
    { "<u4", HEED_DATA_BITS, NULL },       { "|u1", HEED_DATA_BYTES, NULL },
    { "|b1", HEED_DATA_BYTES, NULL },
};

/* The other types accepted in this mode. */
static const char *more_types(int bits)
{
    return bits == LAB_NPY_OPERAND ? "'<u2' (bfloat16), '<i4', '<i8', '|b1', '|u1' or '<u4'"
                                   : "or 16 bits as bf16";
}

static bool is_accepted(const struct npy_type *type, int bits)
{
    if (bits == LAB_NPY_OPERAND)
        return true;
    return lab_data_is_element(type->kind) &&
           (!type->title || (int)lab_data_type(type->kind) == bits);
}

static heed_status find_type(const char *path, const char *descr, int bits, heed_data *kind,
                             lab_error *error)
{
    const struct npy_type *unsaid = NULL;
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++) {
        if (strcmp(npy_types[i].descr, descr) != 0)
            continue;
        *kind = npy_types[i].kind;
        if (is_accepted(&npy_types[i], bits))
            return HEED_OK;
        if (npy_types[i].title)
            unsaid = &npy_types[i];
    }
    if (unsaid)
        return lab_fail(error, HEED_ERR_UNSUPPORTED,
                        "%s: descr is '%s'; if these are %s, say so with type %s", path, descr,
                        unsaid->title, lab_data_name(unsaid->kind));
    const char *why = descr[0] == '>'      ? " (big-endian)"
                      : strchr(descr, 'O') ? " (Python objects)"
                                           : "";
    return lab_fail(error, HEED_ERR_UNSUPPORTED,
                    "%s: descr is '%s'%s; heed takes '<f4' or '<f2', %s", path, descr, why,
                    more_types(bits));
}

/* The length of the header; the position is then at its start. */
static heed_status read_preamble(FILE *file, const char *path, size_t *length, lab_error *error)
{
    unsigned char magic[MAGIC_SIZE + 2], bytes[4] = { 0 };
    heed_status status = lab_file_read(file, path, "the magic and version", magic, sizeof magic,
                                       error);
    if (status != HEED_OK)
        return status;
    if (memcmp(magic, MAGIC, MAGIC_SIZE) != 0)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: not a .npy file: it does not begin with \\x93NUMPY", path);
    int major = magic[MAGIC_SIZE], minor = magic[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0)
        return lab_fail(error, HEED_ERR_UNSUPPORTED,
                        "%s: version %d.%d of the .npy format; heed reads 1.0, 2.0 and 3.0", path,
                        major, minor);
    status = lab_file_read(file, path, "the header's length", bytes, major == 1 ? 2 : 4, error);
    *length = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    if (status == HEED_OK && *length > HEADER_MAX)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: the header is %zu bytes long; at most %d are allowed", path, *length,
                        HEADER_MAX);
    return status;
}

static heed_status read_header(FILE *file, const char *path, npy_header *header, lab_error *error)
{
    size_t length = 0;
    memset(header, 0, sizeof *header);
    heed_status status = read_preamble(file, path, &length, error);
    if (status != HEED_OK)
        return status;
    char *text = calloc(length + 1, 1);
    if (!text)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: not enough memory for its header", path);
    status = lab_file_read(file, path, "the header", text, length, error);
    if (status == HEED_OK && strlen(text) != length)
        status = lab_fail(error, HEED_ERR_CORRUPT, "%s: the header has a zero byte at %zu", path,
                          strlen(text));
    npy_scan scan = { text, path, error };
    if (status == HEED_OK)
        status = read_dict(&scan, header);
    free(text);
    return status;
}

/* Reads the elements, and checks that nothing follows. The size is compared first, so a damaged
 * shape cannot exhaust memory. */
static heed_status read_elements(FILE *file, const char *path, lab_tensor *tensor, heed_data kind,
                                 const npy_header *header, lab_error *error)
{
    size_t bytes;
    char shape[LAB_SHAPE_SIZE];
    lab_shape_print(header->shape, header->rank, shape);
    if (!lab_shape_bytes(header->shape, header->rank, lab_data_size(kind), &bytes))
        return lab_fail(error, HEED_ERR_CORRUPT, "%s: shape is %s, more than can be addressed",
                        path, shape);
    int64_t left = lab_file_left(file);
    if (left >= 0 && (uint64_t)left != bytes)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: shape %s of '%s' needs %zu byte%s of data, and %lld are there", path,
                        shape, header->descr, bytes, lab_plural(bytes), (long long)left);
    heed_status status = lab_tensor_create_kind(tensor, kind, header->shape, header->rank, error);
    if (status == HEED_OK)
        status = lab_file_read(file, path, "the data", tensor->data, bytes, error);
    if (status == HEED_OK && fgetc(file) != EOF)
        status = lab_fail(error, HEED_ERR_CORRUPT,
                          "%s: more data than shape %s of '%s' needs (%zu byte%s)", path, shape,
                          header->descr, bytes, lab_plural(bytes));
    return status;
}

heed_status lab_npy_read(lab_tensor *tensor, const char *path, int bits, lab_error *error)
{
    FILE *file;
    npy_header header;
    heed_data kind = HEED_DATA_NONE;

    memset(tensor, 0, sizeof *tensor);
    heed_status status = lab_file_open(&file, path, error);
    if (status != HEED_OK)
        return status;
    status = read_header(file, path, &header, error);
    if (status == HEED_OK)
        status = find_type(path, header.descr, bits, &kind, error);
    if (status == HEED_OK && header.fortran_order && header.rank > 1)
        status = lab_fail(
            error, HEED_ERR_UNSUPPORTED,
            "%s: fortran_order is True; heed takes C order: save numpy.ascontiguousarray(x)", path);
    if (status == HEED_OK)
        status = read_elements(file, path, tensor, kind, &header, error);
    fclose(file);
    if (status != HEED_OK)
        lab_tensor_free(tensor);
    return status;
}

/* The dict, padded with spaces and a newline, so the data after it begins at a multiple of 64.
 * Returns its length. */
static size_t print_dict(const lab_tensor *tensor, char text[DICT_SIZE])
{
    size_t type = 0;
    while (npy_types[type].kind != tensor->kind)
        type++;
    size_t length = (size_t)snprintf(text, DICT_SIZE,
                                     "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                     npy_types[type].descr);
    for (int i = 0; i < tensor->rank; i++)
        length += (size_t)snprintf(text + length, DICT_SIZE - length, "%lld,%s",
                                   (long long)tensor->shape[i], i + 1 < tensor->rank ? " " : "");
    length += (size_t)snprintf(text + length, DICT_SIZE - length, "), }");
    while ((PREAMBLE_SIZE + length + 1) % 64 != 0)
        text[length++] = ' ';
    text[length++] = '\n';
    return length;
}

heed_status lab_npy_write(const lab_tensor *tensor, const char *path, lab_error *error)
{
    lab_output output;
    char dict[DICT_SIZE];
    size_t length = print_dict(tensor, dict);
    unsigned char preamble[PREAMBLE_SIZE] = MAGIC "\x01";

    preamble[MAGIC_SIZE + 2] = (unsigned char)(length & 0xff);
    preamble[MAGIC_SIZE + 3] = (unsigned char)(length >> 8);
    heed_status status = lab_output_begin(&output, path, error);
    if (status != HEED_OK)
        return status;
    lab_output_write(&output, preamble, sizeof preamble);
    lab_output_write(&output, dict, length);
    lab_output_write(&output, tensor->data, lab_tensor_bytes(tensor));
    return lab_output_commit(&output, error);
}
