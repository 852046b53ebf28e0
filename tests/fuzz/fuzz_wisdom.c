/*
 * fuzz_wisdom.c - arbitrary wisdom texts
 *
 * An input is a wisdom text as in a file. One that begins with 'L' has only the lines: header,
 * count and hash are added, since a fuzzer could not guess them. In it, byte 1 is replaced by the
 * columns device, cpu, threads and build of this machine, and byte 2 by the name of an existing
 * kernel.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "wisdom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char header[] =
    "heed wisdom 1: problem, device, cpu, threads, build, kernel, seconds, effort\n";

/* Created once: creating one for every input would take most of the time. */
static heed_context *one, *other;

static bool start(void)
{
    const heed_options options = { .size = sizeof options, .threads = 1 };
    return one || (heed_context_create(&one, &options) == HEED_OK &&
                   heed_context_create(&other, &options) == HEED_OK);
}

static char *export_text(heed_context *context, size_t *length)
{
    *length = heed_wisdom_export(context, NULL, 0);
    char *text = malloc(*length + 1);
    require(text && heed_wisdom_export(context, text, *length + 1) == *length,
            "the length of an export is what it was said to be");
    return text;
}

/* Lines that were accepted can be written, read and written again. */
static void check_taken(size_t taken)
{
    size_t length, other_length, back = 0, skipped = 0;
    char *text = export_text(one, &length);
    heed_wisdom_forget(other);
    require(heed_wisdom_read(other, "export", text, length, &back, &skipped) == HEED_OK,
            "an export can be imported");
    require(back <= taken && (back > 0) == (taken > 0) && skipped == 0,
            "an export holds what was imported");
    char *other_text = export_text(other, &other_length);
    require(strcmp(text, other_text) == 0, "an import is exported as it was");
    free(other_text);
    free(text);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void try_text(const char *text, size_t length, bool sealed)
{
    size_t taken = 0, skipped = 0, empty = heed_wisdom_export(one, NULL, 0);
    heed_status status = heed_wisdom_read(one, "fuzz", text, length, &taken, &skipped);
    if (status == HEED_OK) {
        check_taken(taken);
        heed_wisdom_forget(one);
        return;
    }
    require(status == HEED_ERR_CORRUPT, "a bad text is corrupt");
    require(strncmp(heed_message(), "fuzz: line ", 11) == 0, "a message names the line");
    require(!sealed || !ends_with(heed_message(), "the text was changed"),
            "count and hash are right");
    require(heed_wisdom_export(one, NULL, 0) == empty, "a bad text adds nothing");
}

/* Header, the lines of @data with the bytes 1 and 2 replaced, count and hash. */
static char *seal(const uint8_t *data, size_t size, size_t *length)
{
    char identity[256], kernel[HEED_NAME_SIZE], end[64];
    snprintf(identity, sizeof identity, "%s\t%s\t%d\t%s", heed_context_device(one),
             heed_context_cpu(one), heed_context_threads(one), heed_kernel_build());
    heed_kernel_config(0, 0, kernel, sizeof kernel);

    char *text = malloc(sizeof header + size * sizeof identity + sizeof end);
    require(text != NULL, "there is memory");
    *length = sizeof header - 1;
    memcpy(text, header, *length);
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        const char *word = data[i] == 1 ? identity : kernel;
        size_t word_length = data[i] == 1 || data[i] == 2 ? strlen(word) : 0;
        memcpy(text + *length, word_length > 0 ? word : (const char *)&data[i],
               word_length > 0 ? word_length : 1);
        *length += word_length > 0 ? word_length : 1;
        lines += data[i] == '\n';
    }
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < *length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    int end_length = snprintf(end, sizeof end, "end %zu %016" PRIx64 "\n", lines, hash);
    memcpy(text + *length, end, (size_t)end_length);
    *length += (size_t)end_length;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!start() || size > 4096)
        return 0;
    if (size == 0 || data[0] != 'L') {
        try_text((const char *)data, size, false);
        return 0;
    }
    size_t length;
    char *text = seal(data + 1, size - 1, &length);
    try_text(text, length, size == 1 || data[size - 1] == '\n');
    free(text);
    return 0;
}
