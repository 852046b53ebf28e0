/*
 * safetensors.h - safetensors files of named arrays
 *
 * A file is the length of the header (8 bytes, little-endian), the header (JSON) and the data. The
 * reader is strict: arrays must be contiguous, without overlaps and gaps, names unique, and every
 * size must agree with its shape. Arrays of unsupported types are listed, but cannot be read.
 */
#ifndef LAB_SAFETENSORS_H
#define LAB_SAFETENSORS_H

#include "tensor.h"

typedef struct lab_safetensors lab_safetensors;

/* One array of a file. The texts belong to the file. */
typedef struct lab_safetensors_entry {
    const char *name;
    const char *dtype; /* as in the file, such as "BF16" */
    int rank; /* may exceed LAB_RANK_MAX: then it cannot be read, and shape has the first dimensions
               */
    int64_t shape[LAB_RANK_MAX];
    uint64_t begin; /* bytes from the start of the data */
    uint64_t end;
} lab_safetensors_entry;

/* Maximum length of a header. */
#define LAB_SAFETENSORS_HEADER_MAX 100000000

/* lab_safetensors_open() opens @path and reads its header. Returns HEED_OK; HEED_ERR_SYSTEM;
 * HEED_ERR_CORRUPT, naming the array and the field; HEED_ERR_NO_MEMORY. On failure *@file is NULL.
 */
heed_status lab_safetensors_open(lab_safetensors **file, const char *path, lab_error *error);
void lab_safetensors_close(lab_safetensors *file); /* NULL is ignored */

/* Entries in the order of their data. */
size_t lab_safetensors_count(const lab_safetensors *file);
const lab_safetensors_entry *lab_safetensors_at(const lab_safetensors *file,
                                                size_t index); /* NULL past the end */

/* lab_safetensors_read() reads the array @name; of an @operand also I32, I64, BOOL and U8 as bytes,
 * and U32 as words of bits. On HEED_OK the caller owns @tensor; else it is zeroed: HEED_ERR_INVALID
 * if there is no such name, HEED_ERR_UNSUPPORTED for an unsupported type or rank, HEED_ERR_SYSTEM,
 * HEED_ERR_CORRUPT, HEED_ERR_NO_MEMORY. */
heed_status lab_safetensors_read(lab_safetensors *file, const char *name, bool operand,
                                 lab_tensor *tensor, lab_error *error);

/* lab_safetensors_write() writes @count arrays with unique names to @path, replacing the file
 * atomically. HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_safetensors_write(const char *path, const char *const *names,
                                  const lab_tensor *tensors, size_t count, lab_error *error);

#endif /* LAB_SAFETENSORS_H */
