/*
 * fuzz_safetensors.c - arbitrary .safetensors files
 *
 * An input that begins with '{' has only the header and the data: the length of the header, which
 * ends at the first byte 1, is put in front, and that byte is removed.
 */
#include <string.h>

#include "lab/tensor/safetensors.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(lab_safetensors *file, size_t index, uint64_t begin, uint64_t limit)
{
    const lab_safetensors_entry *entry = lab_safetensors_at(file, index);
    lab_tensor tensor;
    lab_error error = { "" };
    require(entry && entry->name && entry->dtype, "an entry has a name and a type");
    require(entry->begin == begin && entry->end >= begin && entry->end <= limit,
            "entries follow each other within the file");
    heed_status status = lab_safetensors_read(file, entry->name, false, &tensor, &error);
    if (status == HEED_OK) {
        require(lab_tensor_bytes(&tensor) == entry->end - entry->begin,
                "an array is as large as its room in the file");
        lab_tensor_free(&tensor);
        return;
    }
    require(status == HEED_ERR_UNSUPPORTED,
            "an entry of an open file can be read or is unsupported");
    require(error.text[0] != '\0' && tensor.data == NULL, "an array that is not read is empty");
}

static void try_file(const char *path, size_t size)
{
    lab_safetensors *file;
    lab_error error = { "" };
    heed_status status = lab_safetensors_open(&file, path, &error);
    if (status != HEED_OK) {
        require(status == HEED_ERR_CORRUPT, "a bad file is corrupt");
        require(strncmp(error.text, path, strlen(path)) == 0, "a message names the file");
        require(file == NULL, "a bad file is not open");
        return;
    }
    uint64_t at = 0;
    for (size_t i = 0; i < lab_safetensors_count(file); i++) {
        check_entry(file, i, at, size);
        at = lab_safetensors_at(file, i)->end;
    }
    require(lab_safetensors_at(file, lab_safetensors_count(file)) == NULL, "the entries end");
    lab_safetensors_close(file);
}

/* Prepends the length of the header. */
static uint8_t *complete(const uint8_t *data, size_t size, size_t *length)
{
    const uint8_t *end = memchr(data, 1, size);
    size_t header = end ? (size_t)(end - data) : size;
    uint8_t *file = malloc(size + 8);
    require(file != NULL, "there is memory");
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)header >> (8 * i));
    memcpy(file + 8, data, header);
    size_t rest = end ? size - header - 1 : 0;
    if (rest > 0)
        memcpy(file + 8 + header, end + 1, rest);
    *length = 8 + header + rest;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH_SIZE];
    uint8_t *completed = NULL;
    if (size > 0 && data[0] == '{')
        data = completed = complete(data, size, &size);
    int file = memory_file_open(data, size, path);
    try_file(path, size);
    close(file);
    free(completed);
    return 0;
}
